// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <fcntl.h>
#include <linux/kvm_invpolicy.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest-memory.h"
#include "util.h"

#define HUGE_BYTES	(2UL << 20)

static const struct backing backings[] = {
	{ "anon",	false,	MADV_NOHUGEPAGE },
	{ "anon-thp",	false,	MADV_HUGEPAGE },
	{ "memfd",	true,	MADV_NOHUGEPAGE },
	{ "memfd-thp",	true,	MADV_HUGEPAGE },
};

const struct backing *backing_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(backings); i++)
		if (!strcmp(backings[i].name, name))
			return &backings[i];
	errx(2, "no backing %s", name);
}

void memory_map(struct memory *memory)
{
	int flags = memory->backing->shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

	memory->address = mmap(memory->address, memory->bytes, PROT_READ | PROT_WRITE,
			       flags | MAP_FIXED, memory->fd, 0);
	if (memory->address == MAP_FAILED)
		err(1, "mmap");
	if (madvise(memory->address, memory->bytes, memory->backing->advice))
		err(1, "madvise");
}

/* Aligned, so that a huge page of the host is one of the VM's. */
static char *reserve(size_t bytes)
{
	char *address = mmap(NULL, bytes + HUGE_BYTES, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (address == MAP_FAILED)
		err(1, "mmap");
	return (char *)(((uintptr_t)address + HUGE_BYTES - 1) & -HUGE_BYTES);
}

struct memory memory_create(const struct backing *backing, size_t pages)
{
	struct memory memory = {
		.backing = backing,
		.bytes = pages * PAGE_BYTES,
		.fd = -1,
	};

	if (backing->shared) {
		memory.fd = memfd_create("guest", MFD_CLOEXEC);
		if (memory.fd < 0 || ftruncate(memory.fd, memory.bytes))
			err(1, "memfd");
	}
	memory.address = reserve(memory.bytes);
	memory_map(&memory);
	return memory;
}

static void call_policy(unsigned int request, int vm_fd,
			const struct kvm_invpolicy_settings *settings)
{
	struct kvm_invpolicy_vm argument = { .size = sizeof(argument), .vm_fd = vm_fd };
	int device = open(KVM_INVPOLICY_DEVICE, O_RDWR | O_CLOEXEC);

	if (settings)
		argument.settings = *settings;
	if (device < 0 || ioctl(device, request, &argument))
		err(1, "%s, is the module loaded", KVM_INVPOLICY_DEVICE);
	close(device);
}

void policy_attach(int vm_fd, const struct kvm_invpolicy_settings *settings)
{
	struct kvm_invpolicy_settings all = *settings;

	if (!all.numa)
		all.numa = KVM_INVPOLICY_NUMA_KVM;
	call_policy(KVM_INVPOLICY_ATTACH, vm_fd, &all);
}

void policy_teardown(int vm_fd)
{
	call_policy(KVM_INVPOLICY_TEARDOWN, vm_fd, NULL);
}
