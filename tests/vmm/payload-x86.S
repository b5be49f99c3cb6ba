/* SPDX-License-Identifier: GPL-2.0-only */
/* The host starts a vCPU here in 64-bit mode with the mailbox in RDI. */
	.section .entry, "ax"
	.globl payload_entry
payload_entry:
	call guest_sweep
	hlt

	.section .note.GNU-stack, "", @progbits
