/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VMM_VM_H
#define VMM_VM_H

#include <linux/kvm.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "memory.h"
#include "oracle.h"
#include "payload.h"
#include "stats.h"
#include "util.h"

#define SCRATCH_BYTES	0x10000ULL

enum slot {
	SLOT_LOW,
	SLOT_SWEPT,
	SLOT_SCRATCH,
};

struct config {
	const char *control;
	unsigned int vms;
	unsigned int vcpus;
	uint64_t pages;
	enum backing backing;
	bool mergeable;
	bool keep_fd_in_child;
	bool share_memory;
	struct number_list nodes;
	struct number_list pin;
};

struct io_ring;

struct vcpu {
	struct vm *vm;
	unsigned int index;
	int fd;
	struct kvm_run *run;
	struct mailbox *mailbox;
	pthread_t thread;
	pid_t tid;
	uint64_t efaults;
	bool stop;
	bool parked;
	bool ended;
	struct counter counters[ARCH_VCPU_COUNTERS];
};

struct vm {
	unsigned int index;
	int fd;
	pid_t keeper;
	pid_t sharer;
	struct memory memory;
	struct io_ring *ring;
	char *low;
	uint64_t low_bytes;
	char *scratch;
	bool scratch_present;
	struct page_record *records;
	uint64_t *control_before;
	uint64_t epoch;
	uint64_t violations;
	unsigned int vcpu_count;
	struct vcpu *vcpus;
	bool paused;
	bool dirty_log;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool failed;
	char failure[200];
	struct counter remote_tlb_flush;
};

/* vm.c */
int kvm_open(void);
int kvm_create_vm(int kvm);
void vm_init(struct vm *vm, int kvm, const struct config *config);
int vm_set_slot(struct vm *vm, enum slot slot, bool present);
int vm_set_dirty_log(struct vm *vm, bool on);
/* Whether a vCPU has stopped for good: failure says why. */
bool vm_failed(const struct vm *vm);
uint64_t vm_errors(const struct vm *vm);

/* vcpu.c */
void vcpu_init(struct vcpu *vcpu, struct vm *vm, unsigned int index, int run_size);
void vm_start(struct vm *vm);
void vm_pause(struct vm *vm);
void vm_resume(struct vm *vm);
void vcpu_set_stop(struct vcpu *vcpu, bool stop);
/* KVM does not run it any more: KVM_RUN has failed with EIO. */
bool vcpu_ended(const struct vcpu *vcpu);
bool vcpu_owns(const struct vcpu *vcpu, struct range range);
/* An empty list means all CPUs of the process; 0 or an errno. */
int vm_pin(struct vm *vm, const struct number_list *list);

#endif
