/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory for a VM, of every kind that hosts use, and the policy's part in taking it away. */
#ifndef BENCH_GUEST_MEMORY_H
#define BENCH_GUEST_MEMORY_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define PAGE_BYTES	4096UL

struct backing {
	const char *name;
	bool shared;
	int advice;
};

struct memory {
	const struct backing *backing;
	char *address;
	size_t bytes;
	int fd;
};

/* Anon, anon-thp, memfd and memfd-thp. */
const struct backing *backing_find(const char *name);
struct memory memory_create(const struct backing *backing, size_t pages);

/* Over what is there. */
void memory_map(struct memory *memory);

/* The policy stays with the VM. Without a NUMA setting it is numa=kvm. */
struct kvm_invpolicy_settings;
void policy_attach(int vm_fd, const struct kvm_invpolicy_settings *settings);
void policy_teardown(int vm_fd);

#endif
