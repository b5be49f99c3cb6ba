// SPDX-License-Identifier: GPL-2.0-only
/* A VM: its slots and the memory the oracle lives in. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "payload.h"
#include "util.h"
#include "vm.h"

int kvm_open(void)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (kvm < 0)
		die("cannot open /dev/kvm: %s; load KVM and run as root",
		    strerror(errno));
	return kvm;
}

int kvm_create_vm(int kvm)
{
	int fd = ioctl(kvm, KVM_CREATE_VM, 0);

	if (fd < 0)
		die("KVM_CREATE_VM: %s", strerror(errno));
	return fd;
}

static struct kvm_userspace_memory_region slot_region(struct vm *vm,
						      enum slot slot)
{
	struct kvm_userspace_memory_region region = { .slot = slot };

	switch (slot) {
	case SLOT_LOW:
		region.memory_size = vm->low_bytes;
		region.userspace_addr = (uintptr_t)vm->low;
		break;
	case SLOT_SWEPT:
		region.guest_phys_addr = SWEPT_GPA;
		region.memory_size = vm->memory.pages << GUEST_PAGE_SHIFT;
		region.userspace_addr = (uintptr_t)vm->memory.base;
		region.flags = vm->dirty_log ? KVM_MEM_LOG_DIRTY_PAGES : 0;
		break;
	case SLOT_SCRATCH:
		region.guest_phys_addr = SCRATCH_GPA;
		region.memory_size = SCRATCH_BYTES;
		region.userspace_addr = (uintptr_t)vm->scratch;
		break;
	}
	return region;
}

int vm_set_slot(struct vm *vm, enum slot slot, bool present)
{
	struct kvm_userspace_memory_region region = slot_region(vm, slot);

	if (!present)
		region.memory_size = 0;
	if (ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &region))
		return errno;
	return 0;
}

int vm_set_dirty_log(struct vm *vm, bool on)
{
	vm->dirty_log = on;
	return vm_set_slot(vm, SLOT_SWEPT, true);
}

static char *map_private(uint64_t bytes)
{
	char *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (address == MAP_FAILED)
		die("cannot map %llu bytes: %s", (unsigned long long)bytes,
		    strerror(errno));
	return address;
}

static void map_low(struct vm *vm)
{
	vm->low_bytes = RECORDS_GPA +
		vm->memory.pages * sizeof(struct page_record);
	vm->low_bytes = (vm->low_bytes + GUEST_PAGE_SIZE - 1) & -GUEST_PAGE_SIZE;
	vm->low = map_private(vm->low_bytes);
	/* The counters must not cost the guest the faults they are there to count. */
	if (bind_to_all_nodes(vm->low, vm->low_bytes))
		die("mbind of the guest's low memory: %s", strerror(errno));
	madvise(vm->low, vm->low_bytes, MADV_NOHUGEPAGE);
	if (mlock(vm->low, vm->low_bytes))
		die("cannot lock %llu bytes: %s; raise ulimit -l or run as root",
		    (unsigned long long)vm->low_bytes, strerror(errno));
	vm->records = (void *)(vm->low + RECORDS_GPA);
	memcpy(vm->low + PAYLOAD_GPA, payload_image,
	       payload_image_end - payload_image);
}

static void add_slot(struct vm *vm, enum slot slot)
{
	int error = vm_set_slot(vm, slot, true);

	if (error)
		die("cannot add memory slot %d: %s", slot, strerror(error));
}

void vm_init(struct vm *vm, int kvm, const struct config *config)
{
	int run_size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	unsigned int i;

	vm->memory.backing = config->backing;
	vm->memory.mergeable = config->mergeable;
	vm->memory.pages = config->pages;
	memory_init(&vm->memory, &config->nodes);
	vm->control_before = xcalloc(config->pages, sizeof(uint64_t));
	map_low(vm);
	vm->scratch = map_private(SCRATCH_BYTES);

	vm->fd = kvm_create_vm(kvm);
	add_slot(vm, SLOT_LOW);
	add_slot(vm, SLOT_SWEPT);
	add_slot(vm, SLOT_SCRATCH);
	vm->scratch_present = true;
	vm->remote_tlb_flush = stats_find(stats_open(vm->fd), "remote_tlb_flush");
	arch_vm_init(vm);

	pthread_mutex_init(&vm->lock, NULL);
	pthread_cond_init(&vm->wake, NULL);
	vm->vcpu_count = config->vcpus;
	vm->vcpus = xcalloc(config->vcpus, sizeof(struct vcpu));
	for (i = 0; i < config->vcpus; i++)
		vcpu_init(&vm->vcpus[i], vm, i, run_size);
}

bool vm_failed(const struct vm *vm)
{
	return __atomic_load_n(&vm->failed, __ATOMIC_ACQUIRE);
}

uint64_t vm_errors(const struct vm *vm)
{
	uint64_t errors = vm->violations + vm_failed(vm);
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++)
		errors += load_word(&vm->vcpus[i].mailbox->errors);
	return errors;
}
