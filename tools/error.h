/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ERROR_H
#define ERROR_H

/* Documented in kvm-invpolicy(8); scripts rely on the numbers. */
enum exit_code {
	EXIT_OK,
	EXIT_INTERNAL,
	EXIT_USAGE,
	EXIT_NO_MODULE,
	EXIT_NO_ACCESS,
	EXIT_NO_HOOKS,
	EXIT_HOOK_MISMATCH,
	EXIT_NO_PROCESS,
	EXIT_NO_VM,
	EXIT_ATTACHED,
	EXIT_NOT_ATTACHED,
	EXIT_VM_REFUSED,
	EXIT_NO_PTRACE,
};

/* Prints "kvm-invpolicy: <what>: <remedy>" and hands @code back. */
[[gnu::format(printf, 2, 3)]] int fail(enum exit_code code, const char *format, ...);

#endif
