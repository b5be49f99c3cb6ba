/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <sys/types.h>
#include <linux/kvm_invpolicy.h>

/* The version of KVM's hooks that the module of this tree is built for. */
#define INVP_HOOK_VERSION 4

struct device {
	int fd;
	struct kvm_invpolicy_info info;
};

/* Zero or a negative errno, for device_open_fail(). */
int device_try_open(struct device *device);
int device_open_fail(int error);

/* Zero or, after the error was printed, an exit code. */
int device_open(struct device *device);
void device_close(struct device *device);

/* False with an older module, which has neither precise, paced nor their counters. */
bool device_knows_paced(const struct device *device);
/* False with an older module, which has neither unmap, other nor their counters. */
bool device_knows_coalesce(const struct device *device);
/* False with an older module, which has neither exit, teardown nor their counters. */
bool device_knows_exit(const struct device *device);

/* Zero or a negative errno, for device_fail(). */
int device_vm_call(const struct device *device, unsigned long request, int vm_fd,
		   const struct kvm_invpolicy_settings *settings);
int device_stats(const struct device *device, int vm_fd, struct kvm_invpolicy_stats *stats);
int device_observed(const struct device *device, struct kvm_invpolicy_stats *stats);

/* Prints why a call for a VM of @pid failed and what to do; returns the exit code. */
int device_fail(const struct device *device, pid_t pid, int error);

/* Why VMs can only be observed with this module on this kernel. */
const char *device_why_no_hooks(void);

#endif
