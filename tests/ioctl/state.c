// SPDX-License-Identifier: GPL-2.0-only
/* What a call says depends on what was called before. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"
#include "errors.h"
#include "guest.h"
#include "parameter.h"
#include "process.h"
#include "tap.h"

/* Linux 6.8; older headers have no name for it. */
#ifndef KVM_X86_SW_PROTECTED_VM
#define KVM_X86_SW_PROTECTED_VM	1
#endif

#define NUMA_PARAMETER	MODULE_FOLDER "parameters/numa"
#define PACE_PARAMETER	MODULE_FOLDER "parameters/numa_pace_mbps"

/* Bytes of what stats end in. */
#define MODE_COUNTERS	(sizeof(struct kvm_invpolicy_stats) - \
			 offsetof(struct kvm_invpolicy_stats, numa_pages_protected))

static __u32 numa_of_name(const char *name)
{
	static const char * const names[] = {
		[KVM_INVPOLICY_NUMA_KVM] = "kvm",
		[KVM_INVPOLICY_NUMA_SKIP] = "skip",
		[KVM_INVPOLICY_NUMA_PRECISE] = "precise",
		[KVM_INVPOLICY_NUMA_PACED] = "paced",
	};
	__u32 numa;

	for (numa = KVM_INVPOLICY_NUMA_KVM; numa < ARRAY_SIZE(names); numa++)
		if (!strcmp(name, names[numa]))
			return numa;
	die("numa=%s is not known here", name);
}

static bool is_zero(const void *memory, size_t size)
{
	static const char zeros[4096];

	return !memcmp(memory, zeros, size);
}

static void get_info(bool hooks)
{
	struct kvm_invpolicy_info info = device_info();
	char word[64];

	test_begin("GET_INFO-fields");
	expect_value(info.size, sizeof(info), "size");
	expect_value(info.flags, 0, "flags");
	expect_value(info.abi, KVM_INVPOLICY_ABI, "abi");
	expect_value(!!info.hook_version, hooks, "hook_version is set");
	expect_value(info.numa_modes, hooks ? 1 << KVM_INVPOLICY_NUMA_KVM |
		     1 << KVM_INVPOLICY_NUMA_SKIP |
		     1 << KVM_INVPOLICY_NUMA_PRECISE |
		     1 << KVM_INVPOLICY_NUMA_PACED : 0, "numa_modes");
	expect_value(info.attached, attached_vms(), "attached");
	read_word(NUMA_PARAMETER, word, sizeof(word));
	expect_value(info.defaults.numa, numa_of_name(word), "defaults.numa");
	read_word(PACE_PARAMETER, word, sizeof(word));
	expect_value(info.defaults.numa_pace_mbps, atoi(word),
		     "defaults.numa_pace_mbps");
	expect(is_zero(info.defaults.reserved, sizeof(info.defaults.reserved)),
	       "defaults.reserved is not zero");
	read_word(MODULE_FOLDER "parameters/auto_attach", word, sizeof(word));
	expect_value(info.auto_attach, hooks && word[0] == 'Y', "auto_attach");
	expect(is_zero(info.reserved, sizeof(info.reserved)),
	       "reserved is not zero");
	read_word(MODULE_FOLDER "version", word, sizeof(word));
	expect(memchr(info.version, 0, sizeof(info.version)) &&
	       !strcmp(info.version, word), "version is %.32s, not %s",
	       info.version, word);
	test_end();
}

static void read_only_descriptor(void)
{
	struct kvm_invpolicy_info info = { .size = sizeof(info) };
	int device = open(KVM_INVPOLICY_DEVICE, O_RDONLY | O_CLOEXEC);
	char byte = 0;

	test_begin("device-file");
	expect_errno(device_call(device, KVM_INVPOLICY_GET_INFO, &info), 0,
		     "GET_INFO on a read-only descriptor");
	expect(read(device, &byte, 1) < 0 && errno == EINVAL, "read() works");
	expect(lseek(device, 1, SEEK_SET) < 0 && errno == ESPIPE, "lseek() works");
	close(device);
	test_end();
}

/* The same with and without hooks: nothing is attached. */
static void not_attached(int device, int vm, const char *when)
{
	struct kvm_invpolicy_stats stats;

	test_begin("no-policy-%s", when);
	expect_errno(vm_call(device, KVM_INVPOLICY_UPDATE, vm,
			     KVM_INVPOLICY_NUMA_SKIP), ENOENT, "UPDATE");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), ENOENT,
		     "DETACH");
	expect_errno(policy_stats(device, vm, &stats), ENOENT, "GET_STATS");
	expect_value(attached_vms_of(getpid()), 0, "listed");
	test_end();
}

static void attach_refused(int device, int vm)
{
	test_begin("ATTACH-without-hooks");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0), EOPNOTSUPP,
		     "ATTACH");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm,
			     KVM_INVPOLICY_NUMA_SKIP), EOPNOTSUPP, "ATTACH skip");
	expect_value(attached_vms(), 0, "attached VMs");
	test_end();
}

/*
 * A VM with private memory, where this kernel has the type: distributions switch the
 * only one that needs no special CPU off.
 */
static void vm_type_refused(int device)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int vm = ioctl(kvm, KVM_CREATE_VM, KVM_X86_SW_PROTECTED_VM);

	close(kvm);
	if (vm < 0) {
		printf("ok - vm-type-refused # SKIP no VM type with private memory here\n");
		return;
	}
	test_begin("vm-type-refused");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0), EPERM, "ATTACH");
	expect_value(attached_vms(), 0, "attached VMs");
	test_end();
	close(vm);
}

static void attach_default(int device, int vm, const char *name)
{
	write_word(NUMA_PARAMETER, name);
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0), 0,
		     "ATTACH with numa=%s", name);
	expect_value(vm_numa(device, vm), numa_of_name(name), "numa=%s", name);
}

static void defaults(int device, int vm)
{
	char before[16];
	int other = vm_create();

	read_word(NUMA_PARAMETER, before, sizeof(before));
	test_begin("ATTACH-takes-defaults");
	attach_default(device, vm, "precise");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	attach_default(device, vm, "paced");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	attach_default(device, vm, "kvm");
	attach_default(device, other, "skip");
	expect_value(vm_numa(device, vm), KVM_INVPOLICY_NUMA_KVM,
		     "the first VM after the default changed");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm,
			     KVM_INVPOLICY_NUMA_KVM), 0, "ATTACH kvm");
	expect_value(vm_numa(device, vm), KVM_INVPOLICY_NUMA_KVM,
		     "kvm against the default");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	test_end();
	write_word(NUMA_PARAMETER, before);
	close(other);
}

static void attach_pace(int device, int vm, __u32 mbps, __u32 wanted)
{
	expect_errno(vm_call_pace(device, KVM_INVPOLICY_ATTACH, vm,
				  KVM_INVPOLICY_NUMA_PACED, mbps), 0,
		     "ATTACH paced, %u", mbps);
	expect_value(vm_numa(device, vm), KVM_INVPOLICY_NUMA_PACED, "numa");
	expect_value(vm_pace(device, vm), wanted, "numa_pace_mbps");
}

static void default_pace(int device, int vm)
{
	char before[16];

	read_word(PACE_PARAMETER, before, sizeof(before));
	test_begin("ATTACH-takes-default-pace");
	write_word(PACE_PARAMETER, "17");
	attach_pace(device, vm, 0, 17);
	write_word(PACE_PARAMETER, "18");
	expect_value(vm_pace(device, vm), 17, "after the default changed");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	attach_pace(device, vm, 19, 19);
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	test_end();
	write_word(PACE_PARAMETER, before);
}

static void update_pace(int device, int vm)
{
	const __u32 pace[] = { 1, KVM_INVPOLICY_NUMA_PACE_MBPS_MAX, 32 };
	size_t i;

	test_begin("UPDATE-changes-pace");
	attach_pace(device, vm, 7, 7);
	for (i = 0; i < ARRAY_SIZE(pace); i++) {
		expect_errno(vm_call_pace(device, KVM_INVPOLICY_UPDATE, vm, 0, pace[i]),
			     0, "UPDATE 0, %u", pace[i]);
		expect_value(vm_pace(device, vm), pace[i], "numa_pace_mbps");
		expect_value(vm_numa(device, vm), KVM_INVPOLICY_NUMA_PACED, "numa");
		expect_errno(vm_call(device, KVM_INVPOLICY_UPDATE, vm, 0), 0,
			     "UPDATE 0, 0");
		expect_value(vm_pace(device, vm), pace[i], "after UPDATE 0, 0");
	}
	expect_errno(vm_call_pace(device, KVM_INVPOLICY_UPDATE, vm,
				  KVM_INVPOLICY_NUMA_KVM,
				  KVM_INVPOLICY_NUMA_PACE_MBPS_MAX + 1), EINVAL,
		     "UPDATE kvm, bad");
	expect_value(vm_numa(device, vm), KVM_INVPOLICY_NUMA_PACED,
		     "numa after a refused update");
	expect_errno(vm_call(device, KVM_INVPOLICY_UPDATE, vm,
			     KVM_INVPOLICY_NUMA_SKIP), 0, "UPDATE skip");
	expect_value(vm_pace(device, vm), 32, "numa_pace_mbps in another mode");
	expect_errno(vm_call_pace(device, KVM_INVPOLICY_DETACH, vm, 0, 32), EINVAL,
		     "DETACH 0, 32");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	test_end();
}

/* From every mode to every mode, itself included; the last is kvm. */
static void update(int device, int vm)
{
	const __u32 numa[] = {
		KVM_INVPOLICY_NUMA_KVM, KVM_INVPOLICY_NUMA_KVM,
		KVM_INVPOLICY_NUMA_SKIP, KVM_INVPOLICY_NUMA_SKIP,
		KVM_INVPOLICY_NUMA_PRECISE, KVM_INVPOLICY_NUMA_PRECISE,
		KVM_INVPOLICY_NUMA_PACED, KVM_INVPOLICY_NUMA_PACED,
		KVM_INVPOLICY_NUMA_PRECISE, KVM_INVPOLICY_NUMA_SKIP,
		KVM_INVPOLICY_NUMA_PACED, KVM_INVPOLICY_NUMA_SKIP,
		KVM_INVPOLICY_NUMA_KVM, KVM_INVPOLICY_NUMA_PRECISE,
		KVM_INVPOLICY_NUMA_KVM, KVM_INVPOLICY_NUMA_PACED,
		KVM_INVPOLICY_NUMA_KVM
	};
	size_t i;

	test_begin("UPDATE-changes-settings");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm,
			     KVM_INVPOLICY_NUMA_SKIP), 0, "ATTACH skip");
	expect_value(vm_numa(device, vm), KVM_INVPOLICY_NUMA_SKIP, "after attach");
	for (i = 0; i < ARRAY_SIZE(numa); i++) {
		expect_errno(vm_call(device, KVM_INVPOLICY_UPDATE, vm, numa[i]), 0,
			     "UPDATE %u", numa[i]);
		expect_value(vm_numa(device, vm), numa[i], "after update");
		expect_errno(vm_call(device, KVM_INVPOLICY_UPDATE, vm, 0), 0,
			     "UPDATE 0");
		expect_value(vm_numa(device, vm), numa[i], "after update 0");
	}
	expect_errno(vm_call(device, KVM_INVPOLICY_UPDATE, vm,
			     __KVM_INVPOLICY_NUMA_END), EINVAL, "UPDATE bad");
	expect_value(vm_numa(device, vm), numa[i - 1], "after a refused update");
	test_end();
}

/* Expects the policy that update() has left. */
static void attached(int device, int vm)
{
	int other_device = device_open();

	test_begin("attached-once");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0), EEXIST,
		     "ATTACH again");
	expect_errno(vm_call(other_device, KVM_INVPOLICY_ATTACH, vm, 0), EEXIST,
		     "ATTACH by another descriptor");
	expect_value(attached_vms_of(getpid()), 1, "listed");
	close(other_device);
	expect_value(attached_vms_of(getpid()), 1, "listed after a close");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm,
			     KVM_INVPOLICY_NUMA_KVM), EINVAL, "DETACH numa=kvm");
	expect_value(attached_vms_of(getpid()), 1, "listed after a refused detach");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	test_end();
}

static void stats_fields(int device, int vm)
{
	const struct kvm_invpolicy_counter *unmap;
	struct kvm_invpolicy_stats stats;

	unmap = &stats.reason[KVM_INVPOLICY_REASON_UNMAP];
	test_begin("GET_STATS-fields");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm,
			     KVM_INVPOLICY_NUMA_SKIP), 0, "ATTACH");
	expect_errno(policy_stats(device, vm, &stats), 0, "GET_STATS");
	expect_value(unmap->events, 0, "UNMAP events before any");
	unmap_pages(1);
	expect_errno(policy_stats(device, vm, &stats), 0, "GET_STATS");
	expect_value(stats.size, sizeof(stats), "size");
	expect_value(stats.flags, 0, "flags");
	expect_value(stats.vm_fd, vm, "vm_fd");
	expect_value(unmap->events, 1, "UNMAP events after one");
	expect_value(unmap->bytes, 4096, "UNMAP bytes");
	expect(is_zero(&stats.reason[__KVM_INVPOLICY_REASON_END],
		       sizeof(stats.reason[0]) * (KVM_INVPOLICY_NR_REASONS -
						  __KVM_INVPOLICY_REASON_END)),
	       "reasons to come are not zero");
	expect(is_zero(stats.settings.reserved, sizeof(stats.settings.reserved)),
	       "settings.reserved is not zero");
	expect_value(stats.ended, 0, "ended");
	expect(is_zero(&stats.numa_pages_protected, MODE_COUNTERS),
	       "counters of precise, paced and coalesce are not zero with skip");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	test_end();
}

static void observe(int vm)
{
	struct kvm_invpolicy_stats stats = {
		.size = sizeof(stats),
		.flags = KVM_INVPOLICY_STATS_OBSERVED,
	};
	const struct kvm_invpolicy_counter *unmap;
	int device = device_open();
	int second = device_open();
	int other = vm_create();

	unmap = &stats.reason[KVM_INVPOLICY_REASON_UNMAP];
	test_begin("OBSERVE");
	stats.vm_fd = vm;
	expect_errno(device_call(device, KVM_INVPOLICY_GET_STATS, &stats), EINVAL,
		     "stats OBSERVED of a vm_fd");
	stats.vm_fd = 0;
	expect_errno(device_call(device, KVM_INVPOLICY_GET_STATS, &stats), EINVAL,
		     "stats OBSERVED with vm_fd 0");
	expect_errno(observed_stats(device, &stats), ENOENT, "stats before");
	expect_errno(vm_call(device, KVM_INVPOLICY_OBSERVE, vm,
			     KVM_INVPOLICY_NUMA_KVM), EINVAL, "with a setting");
	expect_errno(vm_call(device, KVM_INVPOLICY_OBSERVE, vm, 0), 0, "first");
	unmap_pages(1);
	expect_errno(vm_call(device, KVM_INVPOLICY_OBSERVE, vm, 0), 0, "again");
	expect_errno(vm_call(device, KVM_INVPOLICY_OBSERVE, other, 0), EBUSY,
		     "another VM");
	expect_errno(observed_stats(second, &stats), ENOENT,
		     "stats of another descriptor");
	expect_errno(vm_call(second, KVM_INVPOLICY_OBSERVE, other, 0), 0,
		     "by another descriptor");
	expect_errno(observed_stats(device, &stats), 0, "stats");
	expect_value(stats.flags, KVM_INVPOLICY_STATS_OBSERVED, "flags");
	expect_value(stats.vm_fd, -1, "vm_fd");
	expect_value(unmap->events, 1, "UNMAP events");
	expect_value(stats.ended, 0, "ended");
	expect(is_zero(&stats.settings, sizeof(stats.settings)),
	       "settings are not zero");
	expect(is_zero(&stats.numa_pages_protected, MODE_COUNTERS),
	       "counters of precise, paced and coalesce are not zero");
	expect_value(attached_vms_of(getpid()), 0, "listed");
	test_end();
	close(other);
	close(second);
	close(device);
}

static void own_vm(int socket, const void *arg)
{
	int vm = vm_create();

	(void)arg;
	send_number(socket, vm);
	send_fd(socket, vm);
	for (;;)
		pause();
}

static void foreign(bool hooks)
{
	struct process owner = process_start(own_vm, NULL);
	int number = receive_number(owner.socket);
	int vm = receive_fd(owner.socket);
	struct kvm_invpolicy_stats stats;
	int device = device_open();
	int late = device_open();

	test_begin("VM-of-another-process");
	expect_errno(vm_call(device, KVM_INVPOLICY_OBSERVE, vm, 0), 0, "OBSERVE");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0),
		     hooks ? 0 : EOPNOTSUPP, "ATTACH");
	expect_value(attached_vms_of(owner.pid), hooks, "listed by its pid");
	expect_value(attached_vms_of(getpid()), 0, "listed by ours");
	if (hooks)
		expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0,
			     "DETACH");
	test_end();

	process_kill(&owner);
	test_begin("VM-of-a-process-that-is-gone");
	if (hooks)
		expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0), ESRCH,
			     "ATTACH");
	expect_errno(vm_call(late, KVM_INVPOLICY_OBSERVE, vm, 0), ESRCH,
		     "first OBSERVE");
	expect_errno(vm_call(device, KVM_INVPOLICY_OBSERVE, vm, 0), 0,
		     "OBSERVE again");
	expect_errno(observed_stats(device, &stats), 0, "stats OBSERVED");
	expect_value(stats.ended, 1, "ended");
	expect_value(stats.reason[KVM_INVPOLICY_REASON_EXIT].events > 0, 1,
		     "EXIT events seen");
	expect_value(attached_vms_of(owner.pid), 0, "listed");
	close(vm);
	expect(wait_vm_folder_gone(owner.pid, number), "the VM is still there");
	test_end();
	close(late);
	close(device);
}

void errors_state(bool hooks)
{
	int device = device_open();
	int vm = vm_create();

	get_info(hooks);
	read_only_descriptor();
	not_attached(device, vm, "before");
	if (hooks) {
		vm_type_refused(device);
		defaults(device, vm);
		default_pace(device, vm);
		update_pace(device, vm);
		update(device, vm);
		attached(device, vm);
		stats_fields(device, vm);
		not_attached(device, vm, "after");
	} else {
		attach_refused(device, vm);
	}
	observe(vm);
	foreign(hooks);
	close(vm);
	close(device);
}
