// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an MMU notifier event costs with a VM on the mm: times rounds of events on a page
 * that neither host nor guest has mapped, so that nothing else is done for it.
 *
 *	events ROUNDS EVENTS MODE...	MODE: unattached, kvm or skip
 *
 * Modes take turns within a round; prints a line "MODE nanoseconds" for each turn.
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
#include <time.h>

#define SLOT_BYTES	(16UL << 20)
#define PAGE_BYTES	4096UL

static int device = -1;
static int vm;

static char *create_vm(void)
{
	struct kvm_userspace_memory_region slot = { .memory_size = SLOT_BYTES };
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	char *memory;

	if (kvm < 0)
		err(1, "/dev/kvm");
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	memory = mmap(NULL, SLOT_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (vm < 0 || memory == MAP_FAILED)
		err(1, "cannot create a VM with memory");
	slot.userspace_addr = (unsigned long)memory;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &slot))
		err(1, "KVM_SET_USER_MEMORY_REGION");
	return memory;
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

static double nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static void turn(const char *mode, char *page, unsigned long events)
{
	unsigned int numa = numa_of(mode);
	unsigned long i;
	double start;

	if (numa)
		policy_call(KVM_INVPOLICY_ATTACH, numa);
	start = nanoseconds();
	for (i = 0; i < events; i++)
		madvise(page, PAGE_BYTES, MADV_DONTNEED);
	printf("%s %.1f\n", mode, (nanoseconds() - start) / events);
	if (numa)
		policy_call(KVM_INVPOLICY_DETACH, KVM_INVPOLICY_NUMA_UNSPEC);
}

int main(int argc, char **argv)
{
	unsigned long rounds, events;
	char *page;
	int i;

	if (argc < 4)
		errx(2, "usage: events ROUNDS EVENTS MODE..., MODE: unattached, kvm or skip");
	rounds = strtoul(argv[1], NULL, 10);
	events = strtoul(argv[2], NULL, 10);
	page = create_vm() + SLOT_BYTES / 2;
	while (rounds--)
		for (i = 3; i < argc; i++)
			turn(argv[i], page, events);
	return 0;
}
