/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DEVICE_H
#define DEVICE_H

#include <linux/kvm_invpolicy.h>
#include <stdbool.h>
#include <sys/types.h>

int device_open(void);

/* All calls return 0 or a positive errno. */
int device_call(int device, unsigned int cmd, void *arg);
/* As a 32-bit program does, where one can run; @arg is below 4 GiB. */
int compat_call(int device, unsigned int cmd, void *arg);
int vm_call(int device, unsigned int cmd, int vm_fd, __u32 numa);
int vm_call_pace(int device, unsigned int cmd, int vm_fd, __u32 numa, __u32 mbps);
int vm_call_settings(int device, unsigned int cmd, int vm_fd,
		     const struct kvm_invpolicy_settings *settings);
int policy_stats(int device, int vm_fd, struct kvm_invpolicy_stats *stats);
int observed_stats(int device, struct kvm_invpolicy_stats *stats);

bool vm_ended(int device, int vm_fd);
struct kvm_invpolicy_settings vm_settings(int device, int vm_fd);
__u32 vm_numa(int device, int vm_fd);
__u32 vm_pace(int device, int vm_fd);

/* These open the device for themselves. */
struct kvm_invpolicy_info device_info(void);
__u32 attached_vms(void);
__u32 attached_vms_of(pid_t pid);
bool wait_attached_vms(__u32 wanted);

#endif
