// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "../el1.h"
#include "guest.h"

#define TABLE_GPA	0

/* Increments the first byte of each page from 0x2000 to 0xff000. */
static const uint32_t code[] = {
	0xd2840001,		/* start: mov	x1, #0x2000 */
	0x39400022,		/* next:  ldrb	w2, [x1] */
	0x11000442,		/*        add	w2, w2, #1 */
	0x39000022,		/*        strb	w2, [x1] */
	0x91400421,		/*        add	x1, x1, #0x1000 */
	0xf144003f,		/*        cmp	x1, #0x100000 */
	0x54ffff61,		/*        b.ne	next */
	0x17fffff9,		/*        b	start */
};

/* One block of 1 GiB maps all of it: without a stage 1 it would not be cached. */
void guest_load(struct guest *guest)
{
	uint64_t block = EL1_BLOCK;

	memcpy(guest->memory + TABLE_GPA, &block, sizeof(block));
	memcpy(guest->memory + CODE_GPA, code, sizeof(code));
}

int guest_set_registers(struct guest *guest)
{
	struct el1_start start = { .pc = CODE_GPA, .tables = TABLE_GPA };

	return el1_init_vcpu(guest->vm, guest->vcpu, &start);
}
