// SPDX-License-Identifier: GPL-2.0-only
/*
 * A 32-bit caller, by way of the system call gate of 32-bit programs: a 64-bit
 * program reaches the same entry as long as its pointers fit.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "errors.h"
#include "guest.h"
#include "tap.h"

#define IA32_NR_ioctl	54

static union {
	struct kvm_invpolicy_info info;
	struct kvm_invpolicy_vm vm;
	struct kvm_invpolicy_stats stats;
	struct {
		struct kvm_invpolicy_list list;
		struct kvm_invpolicy_list_entry entries[2];
	};
} *low;

int compat_call(int device, unsigned int cmd, void *arg)
{
	long result;

	asm volatile("int $0x80"
		     : "=a" (result)
		     : "a" (IA32_NR_ioctl), "b" ((long)device),
		       "c" ((long)cmd), "d" (arg)
		     : "memory", "cc", "r8", "r9", "r10", "r11");
	return result < 0 ? -result : 0;
}

static int compat_vm_call(int device, unsigned int cmd, int vm, __u32 numa)
{
	memset(low, 0, sizeof(*low));
	low->vm = (struct kvm_invpolicy_vm){
		.size = sizeof(low->vm),
		.vm_fd = vm,
		.settings.numa = numa,
	};
	return compat_call(device, cmd, low);
}

static int compat_stats(int device, int vm, __u32 flags)
{
	low->stats = (struct kvm_invpolicy_stats){
		.size = sizeof(low->stats),
		.flags = flags,
		.vm_fd = vm,
	};
	return compat_call(device, KVM_INVPOLICY_GET_STATS, low);
}

static void get_info(int device)
{
	struct kvm_invpolicy_info info = device_info();

	test_begin("32-bit-GET_INFO");
	memset(low, 0, sizeof(*low));
	low->info.size = sizeof(low->info);
	expect_errno(compat_call(device, KVM_INVPOLICY_GET_INFO, low), 0,
		     "GET_INFO");
	expect(!memcmp(&low->info, &info, sizeof(info)),
	       "not what a 64-bit caller gets");
	test_end();
}

static void cycle(int device, int vm)
{
	test_begin("32-bit-policy");
	expect_errno(compat_vm_call(device, KVM_INVPOLICY_ATTACH, vm,
				    KVM_INVPOLICY_NUMA_KVM), 0, "ATTACH");
	expect_errno(compat_vm_call(device, KVM_INVPOLICY_UPDATE, vm,
				    KVM_INVPOLICY_NUMA_SKIP), 0, "UPDATE");
	expect_errno(compat_stats(device, vm, 0), 0, "GET_STATS");
	expect_value(low->stats.settings.numa, KVM_INVPOLICY_NUMA_SKIP,
		     "settings.numa");

	memset(low, 0, sizeof(*low));
	low->list.size = sizeof(low->list);
	low->list.capacity = ARRAY_SIZE(low->entries);
	low->list.entries = (uintptr_t)low->entries;
	expect_errno(compat_call(device, KVM_INVPOLICY_LIST, low), 0, "LIST");
	expect_value(low->list.count, 1, "count");
	expect_value(low->entries[0].pid, getpid(), "pid");

	expect_errno(compat_vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0,
		     "DETACH");
	test_end();
}

static void observe(int device, int vm)
{
	test_begin("32-bit-OBSERVE");
	expect_errno(compat_vm_call(device, KVM_INVPOLICY_OBSERVE, vm, 0), 0,
		     "OBSERVE");
	expect_errno(compat_stats(device, -1, KVM_INVPOLICY_STATS_OBSERVED), 0,
		     "GET_STATS");
	test_end();
}

static void errors(int device, int vm)
{
	test_begin("32-bit-errors");
	expect_errno(compat_vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), ENOENT,
		     "DETACH");
	expect_errno(compat_vm_call(device, KVM_INVPOLICY_DETACH, device, 0),
		     ENXIO, "DETACH of the device");
	expect_errno(compat_vm_call(device, KVM_INVPOLICY_DETACH, -1, 0), EBADF,
		     "DETACH of -1");
	expect_errno(compat_vm_call(device, KVM_INVPOLICY_ATTACH, vm,
				    __KVM_INVPOLICY_NUMA_END), EINVAL,
		     "ATTACH with a bad setting");
	expect_errno(compat_call(device, KVM_INVPOLICY_GET_INFO, NULL), EFAULT,
		     "NULL");
	expect_errno(compat_call(device, _IO(KVM_INVPOLICY_IOC, 8), low), ENOTTY,
		     "an unknown number");
	expect_errno(compat_call(device, _IO(0xae, 0), low), ENOTTY,
		     "a foreign number");
	test_end();
}

void errors_compat(bool hooks)
{
	int device = device_open();
	int vm = vm_create();

	low = mmap(NULL, sizeof(*low), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (low == MAP_FAILED)
		die("cannot map memory below 4 GiB: %s", strerror(errno));
	get_info(device);
	if (hooks)
		cycle(device, vm);
	observe(device, vm);
	errors(device, vm);
	munmap(low, sizeof(*low));
	close(vm);
	close(device);
}
