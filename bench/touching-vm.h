/* SPDX-License-Identifier: GPL-2.0-only */
/* A VM whose only purpose is to have memory mapped. */
#ifndef BENCH_TOUCHING_VM_H
#define BENCH_TOUCHING_VM_H

#include <stdint.h>

#include "stats.h"

/* Where the memory is in the VM; huge pages of the host fit. */
#define MEMORY_GPA	0x40000000ULL

struct vm {
	int fd;
	int vcpu;
	int stats_fd;
	void *memory;
	uint64_t bytes;
	struct counter flushes;
};

/* With no memory if @bytes is zero. */
struct vm vm_create(void *memory, uint64_t bytes);
void vm_add_slot(struct vm *vm, int slot, uint64_t gpa, void *memory, uint64_t bytes);

/* Has the VM map all of its memory, writable. */
void vm_touch_all(struct vm *vm);

#endif
