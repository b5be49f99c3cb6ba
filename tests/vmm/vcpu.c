// SPDX-License-Identifier: GPL-2.0-only
/* vCPU threads: run, pause, pin. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "payload.h"
#include "util.h"
#include "vm.h"

#define KICK_SIGNAL	SIGUSR1
#define EFAULT_RETRY_US	1000

static void on_kick(int signal)
{
	(void)signal;
}

void vcpu_init(struct vcpu *vcpu, struct vm *vm, unsigned int index, int run_size)
{
	uint64_t share = vm->memory.pages / vm->vcpu_count;
	int stats;
	int i;

	vcpu->vm = vm;
	vcpu->index = index;
	vcpu->fd = ioctl(vm->fd, KVM_CREATE_VCPU, index);
	if (vcpu->fd < 0)
		die("cannot create vCPU %u: %s", index, strerror(errno));
	vcpu->run = mmap(NULL, run_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 vcpu->fd, 0);
	if (vcpu->run == MAP_FAILED)
		die("cannot map the run area of vCPU %u: %s", index,
		    strerror(errno));
	stats = stats_open(vcpu->fd);
	for (i = 0; i < ARCH_VCPU_COUNTERS && arch_vcpu_counters[i]; i++)
		vcpu->counters[i] = stats_find(stats, arch_vcpu_counters[i]);

	vcpu->mailbox = (struct mailbox *)(vm->low + MAILBOX_GPA) + index;
	vcpu->mailbox->records_gpa = RECORDS_GPA;
	vcpu->mailbox->first_page = index * share;
	vcpu->mailbox->end_page = index + 1 == vm->vcpu_count ?
		vm->memory.pages : (index + 1) * share;
	arch_vcpu_init(vcpu);
}

bool vcpu_ended(const struct vcpu *vcpu)
{
	return __atomic_load_n(&vcpu->ended, __ATOMIC_ACQUIRE);
}

bool vcpu_owns(const struct vcpu *vcpu, struct range range)
{
	return range.first < vcpu->mailbox->end_page &&
	       vcpu->mailbox->first_page < range.first + range.count;
}

static void fail(struct vcpu *vcpu, const char *why)
{
	struct vm *vm = vcpu->vm;

	pthread_mutex_lock(&vm->lock);
	if (!vm->failed) {
		snprintf(vm->failure, sizeof(vm->failure),
			 "vCPU %u of VM %u stopped at page %" PRIu64 ": %s",
			 vcpu->index, vm->index, load_word(&vcpu->mailbox->page), why);
		__atomic_store_n(&vm->failed, true, __ATOMIC_RELEASE);
		fprintf(stderr, "vmm: %s\n", vm->failure);
	}
	vcpu->parked = true;
	pthread_cond_broadcast(&vm->wake);
	pthread_mutex_unlock(&vm->lock);
}

static void wait_while_stopped(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;

	pthread_mutex_lock(&vm->lock);
	while (vcpu->stop) {
		vcpu->parked = true;
		pthread_cond_broadcast(&vm->wake);
		pthread_cond_wait(&vm->wake, &vm->lock);
	}
	vcpu->parked = false;
	pthread_mutex_unlock(&vm->lock);
}

static void fail_at_exit(struct vcpu *vcpu)
{
	char why[120];

	if (!arch_vcpu_trapped(vcpu, why, sizeof(why))) {
		if (vcpu->run->exit_reason == KVM_EXIT_MMIO)
			snprintf(why, sizeof(why), "no memory slot at 0x%llx",
				 vcpu->run->mmio.phys_addr);
		else
			snprintf(why, sizeof(why), "unexpected exit reason 0x%x",
				 vcpu->run->exit_reason);
	}
	fail(vcpu, why);
}

static void fail_with_errno(struct vcpu *vcpu, int error)
{
	char why[80];

	snprintf(why, sizeof(why), "KVM_RUN failed: %s", strerror(error));
	fail(vcpu, why);
}

/* Not a failure: the VM was torn down. */
static void end(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;

	pthread_mutex_lock(&vm->lock);
	__atomic_store_n(&vcpu->ended, true, __ATOMIC_RELEASE);
	vcpu->parked = true;
	pthread_cond_broadcast(&vm->wake);
	pthread_mutex_unlock(&vm->lock);
}

static void *vcpu_thread(void *argument)
{
	struct vcpu *vcpu = argument;

	__atomic_store_n(&vcpu->tid, gettid(), __ATOMIC_RELEASE);
	for (;;) {
		wait_while_stopped(vcpu);
		if (!ioctl(vcpu->fd, KVM_RUN, NULL)) {
			fail_at_exit(vcpu);
			return NULL;
		}
		if (errno == EFAULT) {
			__atomic_add_fetch(&vcpu->efaults, 1, __ATOMIC_RELAXED);
			sleep_us(EFAULT_RETRY_US);
		} else if (errno == EIO) {
			end(vcpu);
			return NULL;
		} else if (errno != EINTR && errno != EAGAIN) {
			fail_with_errno(vcpu, errno);
			return NULL;
		}
	}
}

void vm_start(struct vm *vm)
{
	struct sigaction action = { .sa_handler = on_kick };
	unsigned int i;

	sigaction(KICK_SIGNAL, &action, NULL);
	for (i = 0; i < vm->vcpu_count; i++)
		if (pthread_create(&vm->vcpus[i].thread, NULL, vcpu_thread,
				   &vm->vcpus[i]))
			die("cannot start the thread of vCPU %u", i);
	for (i = 0; i < vm->vcpu_count; i++)
		while (!load_word(&vm->vcpus[i].mailbox->visits)) {
			if (vm_failed(vm))
				die("%s", vm->failure);
			sleep_us(1000);
		}
}

/* The signal may come just before KVM_RUN: immediate_exit covers that. */
void vcpu_set_stop(struct vcpu *vcpu, bool stop)
{
	struct vm *vm = vcpu->vm;

	pthread_mutex_lock(&vm->lock);
	vcpu->stop = stop;
	__atomic_store_n(&vcpu->run->immediate_exit, stop, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&vm->wake);
	if (stop && !vcpu->parked)
		pthread_kill(vcpu->thread, KICK_SIGNAL);
	while (stop && !vcpu->parked)
		pthread_cond_wait(&vm->wake, &vm->lock);
	pthread_mutex_unlock(&vm->lock);
}

void vm_pause(struct vm *vm)
{
	unsigned int i;

	vm->paused = true;
	for (i = 0; i < vm->vcpu_count; i++)
		vcpu_set_stop(&vm->vcpus[i], true);
}

void vm_resume(struct vm *vm)
{
	unsigned int i;

	vm->paused = false;
	for (i = 0; i < vm->vcpu_count; i++)
		vcpu_set_stop(&vm->vcpus[i], false);
}

int vm_pin(struct vm *vm, const struct number_list *list)
{
	cpu_set_t set;
	unsigned int i;

	if (!list->count && sched_getaffinity(getpid(), sizeof(set), &set))
		return errno;
	for (i = 0; i < vm->vcpu_count; i++) {
		if (list->count) {
			unsigned int position = vm->index * vm->vcpu_count + i;

			CPU_ZERO(&set);
			CPU_SET(list->numbers[position % list->count], &set);
		}
		if (sched_setaffinity(vm->vcpus[i].tid, sizeof(set), &set))
			return errno;
	}
	return 0;
}
