// SPDX-License-Identifier: GPL-2.0-only
/* A VM is torn down while others are busy with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../pre-fault.h"
#include "device.h"
#include "errors.h"
#include "guest.h"
#include "tap.h"

#define ROUNDS		30
#define PAGE_BYTES	4096UL
#define FIRST_WRITTEN	2
/* Not touched by the guest. */
#define THIRD_SLOT_GPA	(1UL << 30)

/**
 * struct busy - a VM, and threads that call KVM for it until it says EIO
 * @guest: with a vCPU that runs
 * @idle_vcpu: file descriptor of another one
 * @device: file descriptor
 * @torn_down: the VM was, so who goes on without an error is wrong
 */
struct busy {
	struct guest guest;
	int idle_vcpu;
	int device;
	bool torn_down;
};

static bool over(struct busy *busy, int result)
{
	return (result && errno == EIO) ||
	       __atomic_load_n(&busy->torn_down, __ATOMIC_ACQUIRE);
}

static void *change_slots(void *arg)
{
	struct busy *busy = arg;
	struct guest *guest = &busy->guest;
	int result;

	do {
		result = guest_set_slot(guest, 2, THIRD_SLOT_GPA, THIRD_SLOT_GPA, 0);
		result = result ?: guest_set_slot(guest, 1, SECOND_SLOT_GPA, MEMORY_BYTES,
						  KVM_MEM_LOG_DIRTY_PAGES);
		result = result ?: guest_set_slot(guest, 1, SECOND_SLOT_GPA, MEMORY_BYTES, 0);
	} while (!over(busy, result));
	return NULL;
}

static void *read_dirty_log(void *arg)
{
	struct busy *busy = arg;
	unsigned long bitmap[MEMORY_BYTES / PAGE_BYTES / 64];
	struct kvm_dirty_log log = { .slot = 1, .dirty_bitmap = bitmap };

	while (!over(busy, ioctl(busy->guest.vm, KVM_GET_DIRTY_LOG, &log)))
		;
	return NULL;
}

/* x86 only: elsewhere it is not known, which ends the loop when all else ends. */
static void *fault_in(void *arg)
{
	struct busy *busy = arg;
	struct kvm_pre_fault_memory range;
	int result;

	do {
		range = (struct kvm_pre_fault_memory){ .gpa = 0, .size = MEMORY_BYTES };
		result = ioctl(busy->idle_vcpu, KVM_PRE_FAULT_MEMORY, &range);
	} while (!over(busy, result));
	return NULL;
}

static void *discard(void *arg)
{
	struct busy *busy = arg;

	while (!over(busy, 0))
		madvise(busy->guest.memory + SECOND_SLOT_GPA,
			MEMORY_BYTES - SECOND_SLOT_GPA, MADV_DONTNEED);
	return NULL;
}

static void *attach_and_detach(void *arg)
{
	struct busy *busy = arg;
	int device = device_open();

	while (!over(busy, 0)) {
		vm_call(device, KVM_INVPOLICY_DETACH, busy->guest.vm, 0);
		vm_call(device, KVM_INVPOLICY_ATTACH, busy->guest.vm, 0);
	}
	close(device);
	return NULL;
}

static void *(* const jobs[])(void *arg) = {
	change_slots, read_dirty_log, fault_in, discard, attach_and_detach,
};

static void start(struct busy *busy, pthread_t *threads)
{
	size_t i;

	*busy = (struct busy){ .device = device_open() };
	guest_create(&busy->guest);
	guest_run(&busy->guest);
	busy->idle_vcpu = ioctl(busy->guest.vm, KVM_CREATE_VCPU, 1);
	if (busy->idle_vcpu < 0)
		die("KVM_CREATE_VCPU: %s", strerror(errno));
	vm_call(busy->device, KVM_INVPOLICY_ATTACH, busy->guest.vm, 0);
	for (i = 0; i < ARRAY_SIZE(jobs); i++)
		if (pthread_create(&threads[i], NULL, jobs[i], busy))
			die("cannot create a thread: raise ulimit -u");
}

/* The policy comes and goes meanwhile. */
static int teardown_when_attached(struct busy *busy)
{
	int error;

	do {
		error = vm_call(busy->device, KVM_INVPOLICY_TEARDOWN, busy->guest.vm, 0);
	} while (error == ENOENT);
	return error;
}

/* Joins the vCPU's thread, too: it runs as long as KVM lets it. */
static void finish(struct busy *busy, pthread_t *threads)
{
	size_t i;

	pthread_join(busy->guest.thread, NULL);
	__atomic_store_n(&busy->torn_down, true, __ATOMIC_RELEASE);
	for (i = 0; i < ARRAY_SIZE(jobs); i++)
		pthread_join(threads[i], NULL);
}

static void expect_dead(struct busy *busy)
{
	struct guest *guest = &busy->guest;
	struct kvm_dirty_log log = { .slot = 1 };

	expect(ioctl(guest->vcpu, KVM_RUN, 0) && errno == EIO, "KVM_RUN: %s", strerror(errno));
	expect(ioctl(guest->vm, KVM_GET_DIRTY_LOG, &log) && errno == EIO,
	       "KVM_GET_DIRTY_LOG: %s", strerror(errno));
	expect(guest_set_slot(guest, 2, THIRD_SLOT_GPA, THIRD_SLOT_GPA, 0) && errno == EIO,
	       "KVM_SET_USER_MEMORY_REGION: %s", strerror(errno));
}

static void one_round(void)
{
	pthread_t threads[ARRAY_SIZE(jobs)];
	struct busy busy;
	int number;

	start(&busy, threads);
	usleep(rand() % 20000);
	expect_errno(teardown_when_attached(&busy), 0, "TEARDOWN");
	finish(&busy, threads);
	expect_dead(&busy);
	number = busy.guest.number;
	close(busy.idle_vcpu);
	close(busy.guest.vcpu);
	munmap(busy.guest.run, busy.guest.run_bytes);
	busy.guest.running = false;
	guest_close(&busy.guest);
	expect(wait_vm_folder_gone(getpid(), number), "the VM is still there");
	close(busy.device);
}

static void teardown_races(void)
{
	unsigned int round;

	srand(1);
	test_begin("teardown-of-a-busy-vm");
	for (round = 0; round < ROUNDS && !test_failing(); round++)
		one_round();
	test_end();
}

static void teardown_of_one(void)
{
	struct kvm_invpolicy_stats stats, again;
	int device = device_open();
	struct guest guest;

	guest_create(&guest);
	guest_run(&guest);
	test_begin("TEARDOWN");
	expect_errno(vm_call(device, KVM_INVPOLICY_TEARDOWN, guest.vm, 0), ENOENT,
		     "not attached");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, guest.vm, 0), 0, "ATTACH");
	expect_errno(policy_stats(device, guest.vm, &stats), 0, "GET_STATS");
	expect_value(stats.retired, 0, "retired before");
	expect_errno(vm_call(device, KVM_INVPOLICY_TEARDOWN, guest.vm, 0), 0, "TEARDOWN");
	expect_errno(policy_stats(device, guest.vm, &stats), 0, "GET_STATS");
	expect_value(stats.retired, 1, "retired");
	expect(stats.retired_pages > 0, "no page was unmapped");
	expect(stats.retired_flushes > 0, "nothing was flushed");
	expect_errno(vm_call(device, KVM_INVPOLICY_TEARDOWN, guest.vm, 0), 0, "again");
	expect_errno(policy_stats(device, guest.vm, &again), 0, "GET_STATS");
	expect_value(again.retired_pages, stats.retired_pages, "pages, the second time");
	expect_errno(vm_call(device, KVM_INVPOLICY_UPDATE, guest.vm,
			     KVM_INVPOLICY_NUMA_KVM), 0, "UPDATE");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, guest.vm, 0), 0, "DETACH");
	expect_errno(vm_call(device, KVM_INVPOLICY_TEARDOWN, guest.vm, 0), ENOENT, "detached");
	expect(guest.memory[FIRST_WRITTEN * PAGE_BYTES], "what the guest wrote is lost");
	test_end();
	guest_close(&guest);
	close(device);
}

void errors_teardown(void)
{
	teardown_of_one();
	teardown_races();
}
