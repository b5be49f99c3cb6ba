/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_USER_CALL_H
#define _INVP_USER_CALL_H

#include <asm/ptrace.h>
#include <asm/syscall.h>

/* A system call made by the current task. */
static inline long syscall(unsigned int nr, unsigned long a, unsigned long b, unsigned long c,
			   unsigned long d, unsigned long e, unsigned long f)
{
#ifdef CONFIG_X86_64
	struct pt_regs regs = { .di = a, .si = b, .dx = c, .r10 = d, .r8 = e, .r9 = f };

	return x64_sys_call(&regs, nr);
#else
	struct pt_regs regs = { .regs = { a, b, c, d, e, f } };

	return sys_call_table[nr](&regs);
#endif
}

#endif
