// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that a VM has mapped is taken away, in a window for the plugin bench/tcg-count.
 *
 *	bench-unmap POLICY BACKING OPERATION PAGES
 *
 * Prints a line "POLICY BACKING OPERATION PAGES FLUSHES", and has the plugin write the counts
 * of this window. PAGES are of 4 KiB. To be started on the CPU where it stays. POLICY is
 *	stock		KVM alone
 *	coalesce	with unmap=coalesce and other=coalesce
 *	retired		the VM was torn down before
 *	host		there is no VM: what is left is the host's own work
 * With OPERATION teardown, the teardown itself is what is measured, with munmap-contended a
 * munmap while another thread of the process keeps taking mmu_lock.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kvm_invpolicy.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest-memory.h"
#include "mark.h"
#include "touching-vm.h"
#include "util.h"

/* Who contends for mmu_lock. */
#define NEIGHBOUR_CPU	2
#define NEIGHBOUR_SLOT	2
#define NEIGHBOUR_GPA	0x30000ULL

struct work {
	struct vm vm;
	struct memory memory;
};

static void do_munmap(struct work *work)
{
	munmap(work->memory.address, work->memory.bytes);
}

static void do_mapfixed(struct work *work)
{
	memory_map(&work->memory);
}

static void do_dontneed(struct work *work)
{
	madvise(work->memory.address, work->memory.bytes, MADV_DONTNEED);
}

static void do_punch(struct work *work)
{
	if (fallocate(work->memory.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		      work->memory.bytes))
		err(1, "a hole needs a memfd");
}

static void do_teardown(struct work *work)
{
	policy_teardown(work->vm.fd);
}

/* KVM takes mmu_lock for each, whether anything is mapped or not. */
static void *discard_for_ever(void *page)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(NEIGHBOUR_CPU, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;)
		madvise(page, PAGE_BYTES, MADV_DONTNEED);
	return NULL;
}

static void start_neighbour(struct work *work)
{
	char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	pthread_t thread;

	if (page == MAP_FAILED)
		err(1, "mmap");
	vm_add_slot(&work->vm, NEIGHBOUR_SLOT, NEIGHBOUR_GPA, page, PAGE_BYTES);
	if (pthread_create(&thread, NULL, discard_for_ever, page))
		errx(1, "cannot start a thread");
	/* Until it is at it. */
	usleep(100000);
}

static const struct operation {
	const char *name;
	void (*run)(struct work *work);
	bool contended;
} operations[] = {
	{ "munmap",		do_munmap,	false },
	{ "munmap-contended",	do_munmap,	true },
	{ "mapfixed",		do_mapfixed,	false },
	{ "dontneed",		do_dontneed,	false },
	{ "punch",		do_punch,	false },
	{ "teardown",		do_teardown,	false },
};

/* UNSPEC: no policy is attached. */
static const struct policy {
	const char *name;
	__u32 flush;
	bool retired;
	bool no_vm;
} policies[] = {
	{ "stock",	KVM_INVPOLICY_FLUSH_UNSPEC,	false,	false },
	{ "coalesce",	KVM_INVPOLICY_FLUSH_COALESCE,	false,	false },
	{ "retired",	KVM_INVPOLICY_FLUSH_KVM,	true,	false },
	{ "host",	KVM_INVPOLICY_FLUSH_UNSPEC,	false,	true },
};

static void attach(struct work *work, __u32 flush)
{
	const struct kvm_invpolicy_settings settings = {
		.unmap = flush,
		.other = flush,
		.coalesce_min_pages = 1,
	};

	policy_attach(work->vm.fd, &settings);
}

static void map_all(struct work *work, const struct policy *policy)
{
	if (policy->no_vm) {
		if (madvise(work->memory.address, work->memory.bytes, MADV_POPULATE_WRITE))
			err(1, "MADV_POPULATE_WRITE");
		return;
	}
	if (policy->flush)
		attach(work, policy->flush);
	vm_touch_all(&work->vm);
}

static void measure(const struct policy *policy, const struct backing *backing,
		    const struct operation *operation, size_t pages)
{
	struct work work = { .memory = memory_create(backing, pages) };
	uint64_t flushes;

	/* With nothing of the memory where there is to be none. */
	work.vm = vm_create(work.memory.address, policy->no_vm ? 0 : work.memory.bytes);
	map_all(&work, policy);
	if (policy->retired && operation->run != do_teardown)
		do_teardown(&work);
	if (operation->contended)
		start_neighbour(&work);
	flushes = stats_read(&work.vm.flushes);
	mark_begin(0);
	operation->run(&work);
	mark_end();
	flushes = stats_read(&work.vm.flushes) - flushes;
	mark_dump();
	printf("%s %s %s %zu %" PRIu64 "\n", policy->name, backing->name, operation->name, pages,
	       flushes);
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
		errx(2, "usage: bench-unmap POLICY BACKING OPERATION PAGES");
	measure(find_policy(argv[1]), backing_find(argv[2]), find_operation(argv[3]),
		strtoul(argv[4], NULL, 0));
	return 0;
}
