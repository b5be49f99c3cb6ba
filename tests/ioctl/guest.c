// SPDX-License-Identifier: GPL-2.0-only
/* A VM small enough to be created and destroyed by the hundred. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest.h"
#include "tap.h"

#define LAST_WRITTEN	0xff000

int kvm_open(void)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (kvm < 0)
		die("cannot open /dev/kvm: %s; load KVM and run as root",
		    strerror(errno));
	return kvm;
}

int vm_create(void)
{
	int kvm = kvm_open();
	int vm = ioctl(kvm, KVM_CREATE_VM, 0);

	if (vm < 0)
		die("KVM_CREATE_VM: %s", strerror(errno));
	close(kvm);
	return vm;
}

int guest_set_slot(struct guest *guest, __u32 slot, __u64 start, __u64 end, __u32 flags)
{
	struct kvm_userspace_memory_region region = {
		.slot = slot,
		.flags = flags,
		.guest_phys_addr = start,
		.memory_size = end - start,
		.userspace_addr = (uintptr_t)guest->memory + start,
	};

	return ioctl(guest->vm, KVM_SET_USER_MEMORY_REGION, &region);
}

static void add_slot(struct guest *guest, __u32 slot, __u64 start, __u64 end)
{
	if (guest_set_slot(guest, slot, start, end, 0))
		die("KVM_SET_USER_MEMORY_REGION: %s", strerror(errno));
}

/* Small pages: part of a huge one cannot be unmapped alone. */
static void add_memory(struct guest *guest)
{
	guest->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guest->memory == MAP_FAILED ||
	    madvise(guest->memory, MEMORY_BYTES, MADV_NOHUGEPAGE) ||
	    madvise(guest->memory, MEMORY_BYTES, MADV_POPULATE_WRITE))
		die("cannot map %lu bytes: %s", MEMORY_BYTES, strerror(errno));
	guest_load(guest);
	add_slot(guest, 0, 0, SECOND_SLOT_GPA);
	add_slot(guest, 1, SECOND_SLOT_GPA, MEMORY_BYTES);
}

void guest_create(struct guest *guest)
{
	*guest = (struct guest){ .vm = vm_create(), .vcpu = -1 };
	guest->number = guest->vm;
	add_memory(guest);
}

static void add_vcpu(struct guest *guest)
{
	int kvm = kvm_open();

	guest->vcpu = ioctl(guest->vm, KVM_CREATE_VCPU, 0);
	if (guest->vcpu < 0)
		die("KVM_CREATE_VCPU: %s", strerror(errno));
	guest->run_bytes = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	guest->run = mmap(NULL, guest->run_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED, guest->vcpu, 0);
	if (guest->run == MAP_FAILED)
		die("cannot map the vCPU: %s", strerror(errno));
	close(kvm);

	if (guest_set_registers(guest))
		die("cannot set the vCPU's registers: %s", strerror(errno));
}

static void *run_vcpu(void *arg)
{
	struct guest *guest = arg;

	/* Ends when it is kicked, or by EFAULT when its memory has gone. */
	while (!ioctl(guest->vcpu, KVM_RUN, 0))
		;
	return NULL;
}

static void kick(int signal)
{
	(void)signal;
}

/* On return the guest has touched all of its pages. */
void guest_run(struct guest *guest)
{
	volatile char *last = guest->memory + LAST_WRITTEN;
	struct sigaction action = { .sa_handler = kick };
	int tries;

	add_vcpu(guest);
	sigaction(SIGUSR1, &action, NULL);
	if (pthread_create(&guest->thread, NULL, run_vcpu, guest))
		die("cannot create a thread: raise ulimit -u");
	guest->running = true;
	for (tries = 0; !*last; tries++) {
		if (tries == 20000)
			die("the guest does not run: KVM exit reason %u",
			    guest->run->exit_reason);
		usleep(500);
	}
}

/* Leaves no vCPU, so that the VM depends on its own descriptor only. */
void guest_stop(struct guest *guest)
{
	guest->run->immediate_exit = 1;
	pthread_kill(guest->thread, SIGUSR1);
	pthread_join(guest->thread, NULL);
	guest->running = false;
	munmap(guest->run, guest->run_bytes);
	close(guest->vcpu);
	guest->vcpu = -1;
}

void guest_unmap(struct guest *guest)
{
	if (munmap(guest->memory, MEMORY_BYTES))
		die("munmap: %s", strerror(errno));
	guest->memory = NULL;
}

void guest_close(struct guest *guest)
{
	if (guest->running)
		guest_stop(guest);
	if (guest->vm >= 0)
		close(guest->vm);
	guest->vm = -1;
	if (guest->memory)
		guest_unmap(guest);
}

bool vm_folder_exists(pid_t pid, int number)
{
	char path[64];

	if (access("/sys/kernel/debug/kvm", F_OK))
		die("no /sys/kernel/debug/kvm: mount -t debugfs debugfs /sys/kernel/debug");
	snprintf(path, sizeof(path), "/sys/kernel/debug/kvm/%d-%d", pid, number);
	return !access(path, F_OK);
}

bool wait_vm_folder_gone(pid_t pid, int number)
{
	int tries;

	for (tries = 0; tries < 500; tries++) {
		if (!vm_folder_exists(pid, number))
			return true;
		usleep(10000);
	}
	return false;
}
