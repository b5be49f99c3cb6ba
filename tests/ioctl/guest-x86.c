// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <sys/ioctl.h>

#include "guest.h"

/* Real mode: increments the first byte of each page from 0x2000 to 0xff000. */
static const unsigned char code[] = {
	0xb8, 0x00, 0x02,		/* start: mov $0x0200, %ax */
	0x8e, 0xd8,			/* next:  mov %ax, %ds */
	0xfe, 0x06, 0x00, 0x00,		/*        incb 0 */
	0x05, 0x00, 0x01,		/*        add $0x0100, %ax */
	0x73, 0xf5,			/*        jnc next */
	0xeb, 0xf0,			/*        jmp start */
};

void guest_load(struct guest *guest)
{
	memcpy(guest->memory + CODE_GPA, code, sizeof(code));
}

int guest_set_registers(struct guest *guest)
{
	struct kvm_regs regs = { .rip = CODE_GPA, .rflags = 2 };
	struct kvm_sregs sregs;

	if (ioctl(guest->vcpu, KVM_GET_SREGS, &sregs))
		return -1;
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	return ioctl(guest->vcpu, KVM_SET_SREGS, &sregs) ||
	       ioctl(guest->vcpu, KVM_SET_REGS, &regs) ? -1 : 0;
}
