// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>

#include "touching-vm.h"

void vm_add_slot(struct vm *vm, int slot, uint64_t gpa, void *memory, uint64_t bytes)
{
	struct kvm_userspace_memory_region region = {
		.slot = slot,
		.guest_phys_addr = gpa,
		.memory_size = bytes,
		.userspace_addr = (uintptr_t)memory,
	};

	if (ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &region))
		err(1, "KVM_SET_USER_MEMORY_REGION");
}

struct vm vm_create(void *memory, uint64_t bytes)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	struct vm vm = { .memory = memory, .bytes = bytes };

	if (kvm < 0)
		err(1, "/dev/kvm");
	vm.fd = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm.fd < 0)
		err(1, "KVM_CREATE_VM");
	if (bytes)
		vm_add_slot(&vm, 0, MEMORY_GPA, memory, bytes);
	vm.vcpu = ioctl(vm.fd, KVM_CREATE_VCPU, 0);
	if (vm.vcpu < 0)
		err(1, "KVM_CREATE_VCPU");
	vm.stats_fd = stats_open(vm.fd);
	vm.flushes = stats_find(vm.stats_fd, "remote_tlb_flush_requests");
	return vm;
}
