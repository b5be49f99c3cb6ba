// SPDX-License-Identifier: GPL-2.0-only
/* KVM maps the memory without a guest. */
#include <err.h>
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "../tests/pre-fault.h"
#include "touching-vm.h"

/* A page that the host has not written to would be mapped read-only, as the zero page. */
void vm_touch_all(struct vm *vm)
{
	struct kvm_pre_fault_memory range = { .gpa = MEMORY_GPA, .size = vm->bytes };

	if (madvise(vm->memory, vm->bytes, MADV_POPULATE_WRITE))
		err(1, "MADV_POPULATE_WRITE");
	/* It takes what is left of the range itself. */
	while (range.size)
		if (ioctl(vm->vcpu, KVM_PRE_FAULT_MEMORY, &range) &&
		    errno != EINTR && errno != EAGAIN)
			err(1, "KVM_PRE_FAULT_MEMORY");
}
