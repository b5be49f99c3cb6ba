// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that a VM has mapped is taken away, in a window for the plugin bench/tcg-count.
 *
 *	unmap POLICY BACKING OPERATION PAGES
 *
 * Prints a line "POLICY BACKING OPERATION PAGES FLUSHES", and has the plugin write the counts
 * of this window. PAGES are of 4 KiB. To be started on the CPU where it stays. POLICY is
 *	stock		KVM alone
 *	coalesce	with unmap=coalesce and other=coalesce
 *	retired		the VM was torn down before
 * With OPERATION teardown, the teardown itself is what is measured.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kvm.h>
#include <linux/kvm_invpolicy.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mark.h"
#include "touching-vm.h"
#include "util.h"

#define PAGE_BYTES	4096UL
#define HUGE_BYTES	(2UL << 20)

struct backing {
	const char *name;
	bool shared;
	int advice;
};

static const struct backing backings[] = {
	{ "anon",	false,	MADV_NOHUGEPAGE },
	{ "anon-thp",	false,	MADV_HUGEPAGE },
	{ "memfd",	true,	MADV_NOHUGEPAGE },
	{ "memfd-thp",	true,	MADV_HUGEPAGE },
};

struct memory {
	int vm_fd;
	const struct backing *backing;
	char *address;
	size_t bytes;
	int fd;
};

static void map_backing(struct memory *memory, int flags)
{
	flags |= memory->backing->shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
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

static struct memory create_memory(const struct backing *backing, size_t pages)
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
	map_backing(&memory, 0);
	return memory;
}

static void do_munmap(struct memory *memory)
{
	munmap(memory->address, memory->bytes);
}

static void do_mapfixed(struct memory *memory)
{
	map_backing(memory, 0);
}

static void do_dontneed(struct memory *memory)
{
	madvise(memory->address, memory->bytes, MADV_DONTNEED);
}

static void do_punch(struct memory *memory)
{
	if (fallocate(memory->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		      memory->bytes))
		err(1, "a hole needs a memfd");
}

/* Stays with the VM. */
static void call_policy(unsigned int request, int vm_fd, __u32 flush)
{
	struct kvm_invpolicy_vm argument = { .size = sizeof(argument), .vm_fd = vm_fd };
	int device = open(KVM_INVPOLICY_DEVICE, O_RDWR | O_CLOEXEC);

	if (request == KVM_INVPOLICY_ATTACH) {
		argument.settings.numa = KVM_INVPOLICY_NUMA_KVM;
		argument.settings.unmap = flush;
		argument.settings.other = flush;
		argument.settings.coalesce_min_pages = 1;
	}
	if (device < 0 || ioctl(device, request, &argument))
		err(1, "%s, is the module loaded", KVM_INVPOLICY_DEVICE);
	close(device);
}

static void do_teardown(struct memory *memory)
{
	call_policy(KVM_INVPOLICY_TEARDOWN, memory->vm_fd, 0);
}

static const struct operation {
	const char *name;
	void (*run)(struct memory *memory);
} operations[] = {
	{ "munmap", do_munmap },
	{ "mapfixed", do_mapfixed },
	{ "dontneed", do_dontneed },
	{ "punch", do_punch },
	{ "teardown", do_teardown },
};

static const struct policy {
	const char *name;
	__u32 flush;
	bool retired;
} policies[] = {
	{ "stock",	KVM_INVPOLICY_FLUSH_UNSPEC,	false },
	{ "coalesce",	KVM_INVPOLICY_FLUSH_COALESCE,	false },
	{ "retired",	KVM_INVPOLICY_FLUSH_KVM,	true },
};

/* UNSPEC: no policy is attached. */
static void measure(const struct policy *policy, const struct backing *backing,
		    const struct operation *operation, size_t pages)
{
	struct memory memory = create_memory(backing, pages);
	struct vm vm = vm_create(memory.address, memory.bytes);
	uint64_t flushes;

	memory.vm_fd = vm.fd;
	if (policy->flush)
		call_policy(KVM_INVPOLICY_ATTACH, vm.fd, policy->flush);
	vm_touch_all(&vm);
	if (policy->retired && operation->run != do_teardown)
		do_teardown(&memory);
	flushes = stats_read(&vm.flushes);
	mark_begin(0);
	operation->run(&memory);
	mark_end();
	mark_dump();
	printf("%s %s %s %zu %" PRIu64 "\n", policy->name, backing->name, operation->name, pages,
	       stats_read(&vm.flushes) - flushes);
}

static const struct backing *find_backing(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(backings); i++)
		if (!strcmp(backings[i].name, name))
			return &backings[i];
	errx(2, "no backing %s", name);
}

static const struct policy *find_policy(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(policies[i].name, name))
			return &policies[i];
	errx(2, "no policy %s", name);
}

static const struct operation *find_operation(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	errx(2, "no operation %s", name);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		errx(2, "usage: unmap POLICY BACKING OPERATION PAGES");
	measure(find_policy(argv[1]), find_backing(argv[2]), find_operation(argv[3]),
		strtoul(argv[4], NULL, 0));
	return 0;
}
