// SPDX-License-Identifier: GPL-2.0-only
/*
 * MMU notifier events with a VM on the mm, each in a window of its own for the plugin
 * bench/tcg-count: one on a page that neither host nor guest has mapped, so that nothing
 * else is done for it, and one that takes a page away from both.
 *
 *	events ROUNDS WINDOWS MODE...	MODE: stock, unattached, kvm or skip
 *
 * Modes take turns within a round; prints a line "MODE EVENT ID WINDOWS" for each turn, in
 * the order of the counts that the plugin writes. To be started on the CPU where it stays.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <linux/kvm_invpolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "../tests/pre-fault.h"
#include "mark.h"

#define SLOT_BYTES	(16UL << 20)
#define PAGE_BYTES	4096UL
/* Far enough from each other to share no page table. */
#define IDLE_GPA	(SLOT_BYTES / 4)
#define UNMAP_GPA	(SLOT_BYTES / 2)

static int device = -1;
static int vm;
static int vcpu;
static char *memory;

static void create_vm(void)
{
	struct kvm_userspace_memory_region slot = { .memory_size = SLOT_BYTES };
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (kvm < 0)
		err(1, "/dev/kvm");
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	memory = mmap(NULL, SLOT_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (vm < 0 || memory == MAP_FAILED || madvise(memory, SLOT_BYTES, MADV_NOHUGEPAGE))
		err(1, "cannot create a VM with memory");
	slot.userspace_addr = (unsigned long)memory;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &slot))
		err(1, "KVM_SET_USER_MEMORY_REGION");
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (vcpu < 0)
		err(1, "KVM_CREATE_VCPU");
}

static void policy_call(unsigned long call, unsigned int numa)
{
	struct kvm_invpolicy_vm argument = {
		.size = sizeof(argument),
		.vm_fd = vm,
		.settings.numa = numa,
	};

	if (device < 0)
		device = open(KVM_INVPOLICY_DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0 || ioctl(device, call, &argument))
		err(1, "%s, is the module loaded", KVM_INVPOLICY_DEVICE);
}

static unsigned int numa_of(const char *mode)
{
	if (!strcmp(mode, "kvm"))
		return KVM_INVPOLICY_NUMA_KVM;
	if (!strcmp(mode, "skip"))
		return KVM_INVPOLICY_NUMA_SKIP;
	return KVM_INVPOLICY_NUMA_UNSPEC;
}

static void map_in_host_and_vm(unsigned long gpa)
{
	struct kvm_pre_fault_memory range = { .gpa = gpa, .size = PAGE_BYTES };

	*(volatile char *)(memory + gpa) = 1;
	if (ioctl(vcpu, KVM_PRE_FAULT_MEMORY, &range))
		err(1, "KVM_PRE_FAULT_MEMORY");
}

static void loop_event(void)
{
	mark_begin(0);
	mark_loop();
	mark_end();
}

static void idle_event(void)
{
	mark_begin(1);
	madvise(memory + IDLE_GPA, PAGE_BYTES, MADV_DONTNEED);
	mark_end();
}

static void unmap_event(void)
{
	map_in_host_and_vm(UNMAP_GPA);
	mark_begin(2);
	madvise(memory + UNMAP_GPA, PAGE_BYTES, MADV_DONTNEED);
	mark_end();
}

/* Indexed by the id of their windows. */
static const struct {
	const char *name;
	void (*happen)(void);
} events[] = {
	{ "loop", loop_event },
	{ "idle", idle_event },
	{ "unmap", unmap_event },
};

static void turn(const char *mode, int id, int windows)
{
	int i;

	for (i = 0; i < windows; i++) {
		events[id].happen();
		mark_dump();
	}
	printf("%s %s %d %d\n", mode, events[id].name, id, windows);
}

static void turns(const char *mode, int windows)
{
	unsigned int numa = numa_of(mode);

	if (numa)
		policy_call(KVM_INVPOLICY_ATTACH, numa);
	turn(mode, 1, windows);
	turn(mode, 2, windows);
	if (numa)
		policy_call(KVM_INVPOLICY_DETACH, KVM_INVPOLICY_NUMA_UNSPEC);
}

int main(int argc, char **argv)
{
	int rounds, windows, i;

	if (argc < 4)
		errx(2, "usage: events ROUNDS WINDOWS stock|unattached|kvm|skip...");
	rounds = atoi(argv[1]);
	windows = atoi(argv[2]);
	create_vm();
	/* From now on the VM has page tables, as one that runs has. */
	map_in_host_and_vm(UNMAP_GPA);
	turn("no", 0, windows);
	while (rounds--)
		for (i = 3; i < argc; i++)
			turns(argv[i], windows);
	return 0;
}
