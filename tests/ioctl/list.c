// SPDX-License-Identifier: GPL-2.0-only
/* KVM_INVPOLICY_LIST. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "errors.h"
#include "guest.h"
#include "tap.h"

#define PAGE		4096
#define VMS		3
#define ENTRY		sizeof(struct kvm_invpolicy_list_entry)

/* A page of memory with a hole behind it. */
static char *page;
static int device;
static int vms[VMS];

static int list(__u32 capacity, const void *entries, __u32 *count)
{
	struct kvm_invpolicy_list arg = {
		.size = sizeof(arg),
		.capacity = capacity,
		.count = 0xdeadbeef,
		.entries = (uintptr_t)entries,
	};
	int error = device_call(device, KVM_INVPOLICY_LIST, &arg);

	*count = arg.count;
	return error;
}

static void expect_listed(__u32 capacity, void *entries, __u32 wanted,
			  const char *when)
{
	__u32 count;

	expect_errno(list(capacity, entries, &count), 0, "%s", when);
	expect_value(count, wanted, "count, %s", when);
}

static void attach(int vm, __u32 numa)
{
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, numa), 0, "ATTACH");
}

static void detach(int vm)
{
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
}

static void nothing(void)
{
	test_begin("LIST-of-nothing");
	expect_listed(0, NULL, 0, "no room");
	expect_listed(8, page, 0, "room");
	expect_listed(0xffffffff, page, 0, "boundless room");
	expect_listed(8, page + PAGE, 0, "bad pointer, not needed");
	test_end();
}

static void capacity(void)
{
	struct kvm_invpolicy_list_entry *entries = (void *)page;
	static const char untouched[PAGE];

	test_begin("LIST-capacity");
	memset(page, 0, PAGE);
	expect_listed(0, NULL, VMS, "no room");
	expect_listed(0, page + PAGE, VMS, "no room, bad pointer");
	expect_listed(1, page, VMS, "room for one");
	expect(entries[0].id, "the first entry is empty");
	expect(!memcmp(entries + 1, untouched, PAGE - ENTRY),
	       "more than one entry was written");
	expect_listed(0xffffffff, page, VMS, "boundless room");
	expect(entries[VMS - 1].id, "the last entry is empty");
	expect(!memcmp(entries + VMS, untouched, PAGE - VMS * ENTRY),
	       "more entries were written than there are");
	expect_listed(0xffffffff, page + PAGE - VMS * ENTRY, VMS,
		      "boundless room where only the VMs fit");
	test_end();
}

static void pointers(void)
{
	__u32 count;

	test_begin("LIST-entries-pointer");
	expect_errno(list(VMS, NULL, &count), EFAULT, "NULL");
	expect_errno(list(VMS, page + PAGE, &count), EFAULT, "unmapped");
	expect_errno(list(VMS, page + PAGE - ENTRY, &count), EFAULT,
		     "the second entry is unmapped");
	expect_errno(list(VMS, page + PAGE - VMS * ENTRY + 1, &count), EFAULT,
		     "the last byte is unmapped");
	expect_errno(list(VMS, (void *)0xffff888000001000, &count), EFAULT,
		     "a kernel address");
	mprotect(page, PAGE, PROT_READ);
	expect_errno(list(VMS, page, &count), EFAULT, "read-only");
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	test_end();
}

static void expect_order(const char *when, const __u32 numa[VMS])
{
	struct kvm_invpolicy_list_entry *entries = (void *)page;
	struct kvm_invpolicy_settings settings = device_info().defaults;
	int i;

	expect_listed(VMS, entries, VMS, when);
	for (i = 0; i < VMS; i++) {
		settings.numa = numa[i];
		expect_value(entries[i].pid, getpid(), "pid %d, %s", i, when);
		expect_value(entries[i].reserved, 0, "reserved %d, %s", i, when);
		expect(!memcmp(&entries[i].settings, &settings, sizeof(settings)),
		       "settings %d, %s: numa is %u", i, when,
		       entries[i].settings.numa);
		expect(!i || entries[i - 1].id < entries[i].id,
		       "entry %d is younger than the next, %s", i - 1, when);
	}
}

/* Two settings tell three VMs apart if the youngest changes them. */
static void order(void)
{
	static const __u32 first[VMS] = { KVM_INVPOLICY_NUMA_KVM,
		KVM_INVPOLICY_NUMA_SKIP, KVM_INVPOLICY_NUMA_SKIP };
	static const __u32 second[VMS] = { KVM_INVPOLICY_NUMA_SKIP,
		KVM_INVPOLICY_NUMA_SKIP, KVM_INVPOLICY_NUMA_KVM };
	static const __u32 third[VMS] = { KVM_INVPOLICY_NUMA_KVM,
		KVM_INVPOLICY_NUMA_SKIP, KVM_INVPOLICY_NUMA_KVM };
	__u64 last;

	test_begin("LIST-order");
	expect_order("as attached", first);
	last = ((struct kvm_invpolicy_list_entry *)page)[VMS - 1].id;
	detach(vms[0]);
	expect_listed(VMS, page, VMS - 1, "after a detach");
	attach(vms[0], KVM_INVPOLICY_NUMA_KVM);
	expect_order("the oldest attached again", second);
	expect(((struct kvm_invpolicy_list_entry *)page)[VMS - 1].id > last,
	       "an id came back");
	expect_errno(vm_call(device, KVM_INVPOLICY_UPDATE, vms[1],
			     KVM_INVPOLICY_NUMA_KVM), 0, "UPDATE");
	expect_order("the oldest updated", third);
	test_end();
}

static void closed(void)
{
	int i;

	test_begin("LIST-after-VMs-closed");
	for (i = 0; i < VMS; i++) {
		expect_listed(0, NULL, VMS - i, "before a close");
		close(vms[i]);
	}
	expect_listed(0, NULL, 0, "after the last");
	test_end();
}

void errors_list(bool hooks)
{
	int i;

	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || munmap(page + PAGE, PAGE))
		die("cannot map a page: %s", strerror(errno));
	device = device_open();
	nothing();
	if (hooks) {
		for (i = 0; i < VMS; i++) {
			vms[i] = vm_create();
			vm_call(device, KVM_INVPOLICY_ATTACH, vms[i],
				i ? KVM_INVPOLICY_NUMA_SKIP : KVM_INVPOLICY_NUMA_KVM);
		}
		capacity();
		pointers();
		order();
		closed();
	}
	munmap(page, PAGE);
	close(device);
}
