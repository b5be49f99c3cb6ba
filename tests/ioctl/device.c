// SPDX-License-Identifier: GPL-2.0-only
/* The calls of /dev/kvm-invpolicy. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"
#include "tap.h"

int device_open(void)
{
	int device = open(KVM_INVPOLICY_DEVICE, O_RDWR | O_CLOEXEC);

	if (device < 0)
		die("cannot open %s: %s; run as root after modprobe kvm_invpolicy",
		    KVM_INVPOLICY_DEVICE, strerror(errno));
	return device;
}

int device_call(int device, unsigned int cmd, void *arg)
{
	return ioctl(device, cmd, arg) < 0 ? errno : 0;
}

int vm_call(int device, unsigned int cmd, int vm_fd, __u32 numa)
{
	return vm_call_pace(device, cmd, vm_fd, numa, 0);
}

int vm_call_pace(int device, unsigned int cmd, int vm_fd, __u32 numa, __u32 mbps)
{
	const struct kvm_invpolicy_settings settings = {
		.numa = numa,
		.numa_pace_mbps = mbps,
	};

	return vm_call_settings(device, cmd, vm_fd, &settings);
}

int vm_call_settings(int device, unsigned int cmd, int vm_fd,
		     const struct kvm_invpolicy_settings *settings)
{
	struct kvm_invpolicy_vm arg = {
		.size = sizeof(arg),
		.vm_fd = vm_fd,
		.settings = *settings,
	};

	return device_call(device, cmd, &arg);
}

int policy_stats(int device, int vm_fd, struct kvm_invpolicy_stats *stats)
{
	*stats = (struct kvm_invpolicy_stats){
		.size = sizeof(*stats),
		.vm_fd = vm_fd,
	};
	return device_call(device, KVM_INVPOLICY_GET_STATS, stats);
}

int observed_stats(int device, struct kvm_invpolicy_stats *stats)
{
	*stats = (struct kvm_invpolicy_stats){
		.size = sizeof(*stats),
		.flags = KVM_INVPOLICY_STATS_OBSERVED,
		.vm_fd = -1,
	};
	return device_call(device, KVM_INVPOLICY_GET_STATS, stats);
}

bool vm_ended(int device, int vm_fd)
{
	struct kvm_invpolicy_stats stats;

	expect_errno(policy_stats(device, vm_fd, &stats), 0, "GET_STATS");
	return stats.ended;
}

struct kvm_invpolicy_settings vm_settings(int device, int vm_fd)
{
	struct kvm_invpolicy_stats stats;

	expect_errno(policy_stats(device, vm_fd, &stats), 0, "GET_STATS");
	return stats.settings;
}

__u32 vm_numa(int device, int vm_fd)
{
	return vm_settings(device, vm_fd).numa;
}

__u32 vm_pace(int device, int vm_fd)
{
	return vm_settings(device, vm_fd).numa_pace_mbps;
}

struct kvm_invpolicy_info device_info(void)
{
	struct kvm_invpolicy_info info = { .size = sizeof(info) };
	int device = device_open();
	int error = device_call(device, KVM_INVPOLICY_GET_INFO, &info);

	if (error)
		die("GET_INFO: %s", strerror(error));
	close(device);
	return info;
}

static __u32 list(struct kvm_invpolicy_list_entry *entries, __u32 capacity)
{
	struct kvm_invpolicy_list arg = {
		.size = sizeof(arg),
		.capacity = capacity,
		.entries = (uintptr_t)entries,
	};
	int device = device_open();
	int error = device_call(device, KVM_INVPOLICY_LIST, &arg);

	if (error)
		die("LIST: %s", strerror(error));
	close(device);
	return arg.count;
}

__u32 attached_vms(void)
{
	return list(NULL, 0);
}

__u32 attached_vms_of(pid_t pid)
{
	struct kvm_invpolicy_list_entry entries[64];
	__u32 count = list(entries, ARRAY_SIZE(entries));
	__u32 found = 0;
	__u32 i;

	for (i = 0; i < count && i < ARRAY_SIZE(entries); i++)
		found += entries[i].pid == pid;
	return found;
}

bool wait_attached_vms(__u32 wanted)
{
	int tries;

	for (tries = 0; tries < 500; tries++) {
		if (attached_vms() == wanted)
			return true;
		usleep(10000);
	}
	return false;
}
