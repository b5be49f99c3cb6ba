/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GUEST_H
#define GUEST_H

#include <linux/kvm.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * struct guest - a VM of this process whose only vCPU writes to its memory
 * @vm: file descriptor, -1 once closed
 * @vcpu: file descriptor, -1 if there is none
 * @number: what @vm was when it was created, KVM's name for the VM
 * @memory: guest physical address 0, NULL once unmapped
 * @run: shared with KVM
 * @run_bytes: size of @run
 * @thread: runs the vCPU while @running
 * @running: the guest writes on and on
 */
struct guest {
	int vm;
	int vcpu;
	int number;
	char *memory;
	struct kvm_run *run;
	size_t run_bytes;
	pthread_t thread;
	bool running;
};

int kvm_open(void);
int vm_create(void);

/* Two memslots, next to each other for guest and host. */
#define SECOND_SLOT_GPA	(512UL << 10)
#define MEMORY_BYTES	(4UL << 20)

void guest_create(struct guest *guest);
/* 0, or -1 with errno. */
int guest_set_slot(struct guest *guest, __u32 slot, __u64 start, __u64 end, __u32 flags);
void guest_run(struct guest *guest);
void guest_stop(struct guest *guest);
void guest_unmap(struct guest *guest);
void guest_close(struct guest *guest);

/* What an architecture has to offer: its code at CODE_GPA, and a vCPU that starts there. */
#define CODE_GPA	0x1000
void guest_load(struct guest *guest);
/* 0, or -1 with errno. */
int guest_set_registers(struct guest *guest);

bool vm_folder_exists(pid_t pid, int number);
bool wait_vm_folder_gone(pid_t pid, int number);

#endif
