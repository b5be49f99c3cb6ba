// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "../el1.h"
#include "guest.h"

#define TABLE_GPA	0

extern const char guest_code[], guest_code_end[];

/* Increments the first byte of each page from 0x2000 to 0xff000. */
asm(".pushsection .rodata\n"
    "	.globl	guest_code, guest_code_end\n"
    "	.balign	4\n"
    "guest_code:\n"
    "	mov	x1, #0x2000\n"
    "1:	ldrb	w2, [x1]\n"
    "	add	w2, w2, #1\n"
    "	strb	w2, [x1]\n"
    "	add	x1, x1, #0x1000\n"
    "	cmp	x1, #0x100000\n"
    "	b.ne	1b\n"
    "	b	guest_code\n"
    "guest_code_end:\n"
    ".popsection");

/* One block of 1 GiB maps all of it: without a stage 1 it would not be cached. */
void guest_load(struct guest *guest)
{
	uint64_t block = EL1_BLOCK;

	memcpy(guest->memory + TABLE_GPA, &block, sizeof(block));
	memcpy(guest->memory + CODE_GPA, guest_code, guest_code_end - guest_code);
}

int guest_set_registers(struct guest *guest)
{
	struct el1_start start = { .pc = CODE_GPA, .tables = TABLE_GPA };

	return el1_init_vcpu(guest->vm, guest->vcpu, &start);
}
