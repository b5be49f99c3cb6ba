/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VMFD_H
#define VMFD_H

#include <stdbool.h>
#include <sys/types.h>

/* The VMs of a process, each held by a descriptor of our own. */
struct vm_set {
	pid_t pid;
	int pidfd;
	unsigned int count;
	int *fds;
};

/* Zero, with at least one VM found, or, after the error was printed, an exit code. */
int vm_set_open(struct vm_set *vms, pid_t pid);
void vm_set_close(struct vm_set *vms);

bool vm_set_process_ended(const struct vm_set *vms);

#endif
