// SPDX-License-Identifier: GPL-2.0-only
/* arm64 has no call to map memory: the guest touches it. */
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "../tests/el1.h"
#include "touching-vm.h"

#define PAGE_BYTES	4096ULL

/* Where the code is, and nothing: a store there is an exit. */
#define CODE_GPA	0x10000ULL
#define NOTHING_GPA	0x20000ULL

/* With the MMU off: x0 the first page, x1 the end, x2 the size of a page, x3 nothing. */
static const uint32_t code[] = {
	0xf9000000,	/* 1: str x0, [x0] */
	0x8b020000,	/* add x0, x0, x2 */
	0xeb01001f,	/* cmp x0, x1 */
	0x54ffffa3,	/* b.lo 1b */
	0xf9000060,	/* str x0, [x3] */
};

void vm_touch_all(struct vm *vm)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int bytes = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	struct kvm_vcpu_init init;
	struct kvm_run *run;
	void *page;

	run = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, vm->vcpu, 0);
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (bytes < 0 || run == MAP_FAILED || page == MAP_FAILED)
		err(1, "mmap");
	memcpy(page, code, sizeof(code));
	__builtin___clear_cache(page, (char *)page + sizeof(code));
	vm_add_slot(vm, 1, CODE_GPA, page, PAGE_BYTES);
	if (ioctl(vm->fd, KVM_ARM_PREFERRED_TARGET, &init) ||
	    ioctl(vm->vcpu, KVM_ARM_VCPU_INIT, &init))
		err(1, "KVM_ARM_VCPU_INIT");
	if (el1_set(vm->vcpu, EL1_CORE(regs.regs[0]), MEMORY_GPA) ||
	    el1_set(vm->vcpu, EL1_CORE(regs.regs[1]), MEMORY_GPA + vm->bytes) ||
	    el1_set(vm->vcpu, EL1_CORE(regs.regs[2]), PAGE_BYTES) ||
	    el1_set(vm->vcpu, EL1_CORE(regs.regs[3]), NOTHING_GPA) ||
	    el1_set(vm->vcpu, EL1_CORE(regs.pc), CODE_GPA))
		err(1, "KVM_SET_ONE_REG");
	if (ioctl(vm->vcpu, KVM_RUN, 0) || run->exit_reason != KVM_EXIT_MMIO ||
	    run->mmio.phys_addr != NOTHING_GPA)
		errx(1, "the guest stopped for reason %u", run->exit_reason);
}
