/* SPDX-License-Identifier: GPL-2.0-only */
/* The host starts a vCPU here at EL1, its MMU on, with the mailbox in X0. */
	.section .entry, "ax"
	.globl payload_entry
payload_entry:
	adr	x1, vectors
	msr	vbar_el1, x1
	isb
	bl	guest_sweep

/* An exception stops its vCPU: TRAPPED_GPA in oracle.h is in no slot, see arch-arm64.c. */
trapped:
	mov	x1, #0x3ffff000
	str	x0, [x1]
	b	trapped

	.balign	0x800
vectors:
	.set	number, 0
	.rept	16
	.balign	0x80
	mov	x0, #number
	b	trapped
	.set	number, number + 1
	.endr

	.section .note.GNU-stack, "", %progbits
