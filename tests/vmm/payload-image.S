/* SPDX-License-Identifier: GPL-2.0-only */
	.section .rodata
	.globl payload_image
	.globl payload_image_end
payload_image:
	.incbin "payload.bin"
payload_image_end:

	.section .note.GNU-stack, "", %progbits
