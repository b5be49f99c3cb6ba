// SPDX-License-Identifier: GPL-2.0-only
/* Sizes, flags, reserved fields and pointers of every call. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "errors.h"
#include "guest.h"
#include "tap.h"

#define PAGE		4096
#define KERNEL_ADDRESS	0xffff888000001000

/**
 * struct call - a call with an argument that is right in all respects
 * @name: after KVM_INVPOLICY_
 * @cmd: the ioctl's number
 * @size: of its structure
 * @first_size: of its structure in the first version, which programs still use; zero: @size
 * @accepted: what the right argument gives
 * @known_flags: of all flags
 * @reserved: fields that must be zero
 * @written: the structure is written to
 */
struct call {
	const char *name;
	unsigned int cmd;
	__u32 size;
	__u32 first_size;
	int accepted;
	__u32 known_flags;
	struct {
		size_t offset;
		size_t size;
	} reserved[3];
	bool written;
};

#define VM_SETTINGS \
	{ offsetof(struct kvm_invpolicy_vm, settings), 32 }
#define VM_SETTINGS_RESERVED \
	{ offsetof(struct kvm_invpolicy_vm, settings.reserved), 8 }
#define VM_RESERVED { offsetof(struct kvm_invpolicy_vm, reserved), 4 }

static struct call calls[] = {
	{ "GET_INFO", KVM_INVPOLICY_GET_INFO, sizeof(struct kvm_invpolicy_info),
	  .reserved = { { offsetof(struct kvm_invpolicy_info, reserved), 8 } },
	  .written = true },
	{ "ATTACH", KVM_INVPOLICY_ATTACH, sizeof(struct kvm_invpolicy_vm),
	  .accepted = EEXIST, .reserved = { VM_RESERVED, VM_SETTINGS_RESERVED } },
	{ "UPDATE", KVM_INVPOLICY_UPDATE, sizeof(struct kvm_invpolicy_vm),
	  .reserved = { VM_RESERVED, VM_SETTINGS_RESERVED } },
	{ "DETACH", KVM_INVPOLICY_DETACH, sizeof(struct kvm_invpolicy_vm),
	  .accepted = ENOENT,
	  .reserved = { VM_RESERVED, VM_SETTINGS } },
	{ "GET_STATS", KVM_INVPOLICY_GET_STATS, sizeof(struct kvm_invpolicy_stats),
	  .first_size = offsetof(struct kvm_invpolicy_stats, numa_pages_protected),
	  .known_flags = KVM_INVPOLICY_STATS_OBSERVED,
	  .reserved = { { offsetof(struct kvm_invpolicy_stats, reserved), 4 },
			{ offsetof(struct kvm_invpolicy_stats, reserved2), 4 },
			{ offsetof(struct kvm_invpolicy_stats, reserved3), 4 } },
	  .written = true },
	{ "LIST", KVM_INVPOLICY_LIST, sizeof(struct kvm_invpolicy_list),
	  .written = true },
	{ "TEARDOWN", KVM_INVPOLICY_TEARDOWN, sizeof(struct kvm_invpolicy_vm),
	  .accepted = ENOENT,
	  .reserved = { VM_RESERVED, VM_SETTINGS } },
	{ "OBSERVE", KVM_INVPOLICY_OBSERVE, sizeof(struct kvm_invpolicy_vm),
	  .reserved = { VM_RESERVED, VM_SETTINGS } },
};

/* Two pages of memory with nothing behind them. */
static char *pages;
static int device;
static int attached_vm;
static int plain_vm;

static char *page_end(size_t bytes)
{
	return pages + 2 * PAGE - bytes;
}

static void fill(const struct call *call, void *arg)
{
	*(__u32 *)arg = call->size;
	if (call->cmd == KVM_INVPOLICY_GET_STATS)
		((struct kvm_invpolicy_stats *)arg)->vm_fd = attached_vm;
	else if (call->cmd == KVM_INVPOLICY_DETACH || call->cmd == KVM_INVPOLICY_TEARDOWN)
		((struct kvm_invpolicy_vm *)arg)->vm_fd = plain_vm;
	else if (call->size == sizeof(struct kvm_invpolicy_vm))
		((struct kvm_invpolicy_vm *)arg)->vm_fd = attached_vm;
}

/* The first byte of @memory that is not @byte, or NULL. */
static const char *memchr_not(const char *memory, char byte, size_t size)
{
	for (; size; memory++, size--)
		if (*memory != byte)
			return memory;
	return NULL;
}

/* A right argument of @call at the beginning of zeroed memory. */
static void *argument(const struct call *call)
{
	memset(pages, 0, 2 * PAGE);
	fill(call, pages);
	return pages;
}

static __u32 first_size(const struct call *call)
{
	return call->first_size ?: call->size;
}

static void sizes(const struct call *call)
{
	const __u32 first = first_size(call);
	const __u32 small[] = { 0, 1, 4, 8, first - 8, first - 1 };
	const __u32 larger[] = { call->size, call->size + 1, call->size + 8,
				 call->size + 64, PAGE };
	const __u32 huge[] = { PAGE + 1, 2 * PAGE, 1 << 20, 0xffffffff };
	size_t i;

	test_begin("%s-size", call->name);
	for (i = 0; i < ARRAY_SIZE(small); i++) {
		*(__u32 *)argument(call) = small[i];
		expect_errno(device_call(device, call->cmd, pages), EINVAL,
			     "size %u", small[i]);
	}
	for (i = 0; i < ARRAY_SIZE(larger); i++) {
		*(__u32 *)argument(call) = larger[i];
		expect_errno(device_call(device, call->cmd, pages),
			     call->accepted, "size %u, zero tail", larger[i]);
		expect_value(*(__u32 *)pages, larger[i], "size afterwards");
	}
	for (i = 1; i < ARRAY_SIZE(larger); i++) {
		*(__u32 *)argument(call) = larger[i];
		pages[larger[i] - 1] = 1;
		expect_errno(device_call(device, call->cmd, pages), E2BIG,
			     "size %u, last byte set", larger[i]);
		*(__u32 *)argument(call) = larger[i];
		pages[call->size] = 1;
		expect_errno(device_call(device, call->cmd, pages), E2BIG,
			     "size %u, first unknown byte set", larger[i]);
	}
	for (i = 0; i < ARRAY_SIZE(huge); i++) {
		*(__u32 *)argument(call) = huge[i];
		expect_errno(device_call(device, call->cmd, pages), E2BIG,
			     "size %u", huge[i]);
	}
	test_end();
}

/* Structures of every version from the first to this one, with a hole behind them. */
static void older_sizes(const struct call *call)
{
	__u32 size;
	char *arg;

	if (!call->first_size)
		return;
	test_begin("%s-older-size", call->name);
	for (size = call->first_size; size < call->size; size += 4) {
		argument(call);
		arg = page_end(size);
		memmove(arg, pages, size);
		*(__u32 *)arg = size;
		expect_errno(device_call(device, call->cmd, arg), call->accepted,
			     "size %u", size);
		expect_value(*(__u32 *)arg, size, "size afterwards");

		*(__u32 *)argument(call) = size;
		memset(pages + size, 0x5a, PAGE);
		expect_errno(device_call(device, call->cmd, pages), call->accepted,
			     "size %u, more behind it", size);
		expect(!memchr_not(pages + size, 0x5a, PAGE),
		       "size %u: written behind it", size);
	}
	test_end();
}

static void flags(const struct call *call)
{
	__u32 flag;

	test_begin("%s-flags", call->name);
	for (flag = 1; flag; flag <<= 1) {
		if (flag & call->known_flags)
			continue;
		((__u32 *)argument(call))[1] = flag;
		expect_errno(device_call(device, call->cmd, pages), EINVAL,
			     "flag 0x%x", flag);
	}
	test_end();
}

static void reserved(const struct call *call)
{
	size_t i, byte;

	if (!call->reserved[0].size)
		return;
	test_begin("%s-reserved", call->name);
	for (i = 0; i < ARRAY_SIZE(call->reserved); i++) {
		for (byte = 0; byte < call->reserved[i].size; byte++) {
			size_t offset = call->reserved[i].offset + byte;

			((char *)argument(call))[offset] = 0x80;
			expect_errno(device_call(device, call->cmd, pages),
				     EINVAL, "offset %zu", offset);
		}
	}
	test_end();
}

/* DETACH, OBSERVE and TEARDOWN refuse any setting: their settings count as reserved. */
static void settings(const struct call *call)
{
	const __u32 bad[] = { __KVM_INVPOLICY_NUMA_END, 0x100, 0x80000000,
			      0xffffffff };
	const __u32 bad_pace[] = { KVM_INVPOLICY_NUMA_PACE_MBPS_MAX + 1, 0x80000000,
				   0xffffffff };
	const __u32 bad_flush[] = { __KVM_INVPOLICY_FLUSH_END, 0x100, 0x80000000,
				    0xffffffff };
	const __u32 bad_min[] = { KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX + 1,
				  0x80000000, 0xffffffff };
	const __u32 bad_exit[] = { __KVM_INVPOLICY_EXIT_END, 0x100, 0x80000000, 0xffffffff };
	struct kvm_invpolicy_vm *arg;
	size_t i;

	if (call->cmd != KVM_INVPOLICY_ATTACH && call->cmd != KVM_INVPOLICY_UPDATE)
		return;
	test_begin("%s-settings", call->name);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		arg = argument(call);
		arg->settings.numa = bad[i];
		expect_errno(device_call(device, call->cmd, arg), EINVAL,
			     "numa %u", bad[i]);
	}
	for (i = 0; i < ARRAY_SIZE(bad_pace); i++) {
		arg = argument(call);
		arg->settings.numa_pace_mbps = bad_pace[i];
		expect_errno(device_call(device, call->cmd, arg), EINVAL,
			     "numa_pace_mbps %u", bad_pace[i]);
	}
	for (i = 0; i < ARRAY_SIZE(bad_flush); i++) {
		arg = argument(call);
		arg->settings.unmap = bad_flush[i];
		expect_errno(device_call(device, call->cmd, arg), EINVAL,
			     "unmap %u", bad_flush[i]);
		arg = argument(call);
		arg->settings.other = bad_flush[i];
		expect_errno(device_call(device, call->cmd, arg), EINVAL,
			     "other %u", bad_flush[i]);
	}
	for (i = 0; i < ARRAY_SIZE(bad_exit); i++) {
		arg = argument(call);
		arg->settings.exit = bad_exit[i];
		expect_errno(device_call(device, call->cmd, arg), EINVAL,
			     "exit %u", bad_exit[i]);
	}
	for (i = 0; i < ARRAY_SIZE(bad_min); i++) {
		arg = argument(call);
		arg->settings.coalesce_min_pages = bad_min[i];
		expect_errno(device_call(device, call->cmd, arg), EINVAL,
			     "coalesce_min_pages %u", bad_min[i]);
	}
	test_end();
}

static void protect(int protection)
{
	if (mprotect(pages, 2 * PAGE, protection))
		die("mprotect: %s", strerror(errno));
}

static void pointers(const struct call *call)
{
	char *arg;

	test_begin("%s-pointer", call->name);
	expect_errno(device_call(device, call->cmd, NULL), EFAULT, "NULL");
	expect_errno(device_call(device, call->cmd, pages + 2 * PAGE), EFAULT,
		     "unmapped");
	expect_errno(device_call(device, call->cmd, (void *)KERNEL_ADDRESS),
		     EFAULT, "a kernel address");
	expect_errno(device_call(device, call->cmd, (void *)-1UL), EFAULT,
		     "the last address");

	memset(pages, 0, 2 * PAGE);
	arg = page_end(call->size);
	fill(call, arg);
	expect_errno(device_call(device, call->cmd, arg), call->accepted,
		     "up to the last mapped byte");
	*(__u32 *)arg += 8;
	expect_errno(device_call(device, call->cmd, arg), EFAULT,
		     "the tail is unmapped");
	arg = page_end(call->size - 4);
	memmove(arg, page_end(call->size), call->size - 4);
	*(__u32 *)arg = call->size;
	expect_errno(device_call(device, call->cmd, arg), EFAULT,
		     "the last field is unmapped");
	arg = page_end(2);
	expect_errno(device_call(device, call->cmd, arg), EFAULT,
		     "half of the size is unmapped");

	argument(call);
	protect(PROT_READ);
	expect_errno(device_call(device, call->cmd, pages),
		     call->written && !call->accepted ? EFAULT : call->accepted,
		     "read-only");
	protect(PROT_NONE);
	expect_errno(device_call(device, call->cmd, pages), EFAULT, "PROT_NONE");
	protect(PROT_READ | PROT_WRITE);
	test_end();
}

/* GET_STATS has a second way to answer, open to a KVM without hooks. */
static void observed_stats_pointer(void)
{
	struct kvm_invpolicy_stats *stats = (void *)pages;

	test_begin("GET_STATS-OBSERVED-pointer");
	memset(pages, 0, 2 * PAGE);
	stats->size = sizeof(*stats);
	stats->flags = KVM_INVPOLICY_STATS_OBSERVED;
	stats->vm_fd = -1;
	expect_errno(device_call(device, KVM_INVPOLICY_GET_STATS, stats), 0,
		     "writable");
	protect(PROT_READ);
	expect_errno(device_call(device, KVM_INVPOLICY_GET_STATS, stats), EFAULT,
		     "read-only");
	protect(PROT_READ | PROT_WRITE);
	test_end();
}

static void numbers(void)
{
	static const unsigned int types[] = { 0x01, 0xae, 0xbd, 0xbf, 0xff };
	unsigned int number;
	size_t i;

	test_begin("unknown-numbers");
	memset(pages, 0, 2 * PAGE);
	for (number = 8; number <= 0xff; number++)
		expect_errno(device_call(device, _IO(KVM_INVPOLICY_IOC, number),
					 pages), ENOTTY, "number 0x%x", number);
	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (number = 0; number <= 7; number++)
			expect_errno(device_call(device, _IO(types[i], number),
						 pages), ENOTTY,
				     "type 0x%x number 0x%x", types[i], number);
	for (number = 0; number <= 7; number++) {
		unsigned int cmd = _IOC(_IOC_READ | _IOC_WRITE,
					KVM_INVPOLICY_IOC, number, 48);

		expect_errno(device_call(device, cmd, pages), ENOTTY,
			     "number 0x%x with a size", number);
		expect_errno(device_call(device, _IOC(_IOC_READ, KVM_INVPOLICY_IOC,
						      number, 0), pages), ENOTTY,
			     "number 0x%x with a direction", number);
	}
	test_end();
}

static void set_up(bool hooks)
{
	size_t i;

	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || munmap(pages + 2 * PAGE, PAGE))
		die("cannot map two pages: %s", strerror(errno));
	device = device_open();
	attached_vm = vm_create();
	plain_vm = vm_create();
	vm_call(device, KVM_INVPOLICY_OBSERVE, attached_vm, 0);
	if (hooks) {
		vm_call(device, KVM_INVPOLICY_ATTACH, attached_vm, 0);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i].cmd == KVM_INVPOLICY_ATTACH)
			calls[i].accepted = EOPNOTSUPP;
		else if (calls[i].cmd == KVM_INVPOLICY_UPDATE ||
			 calls[i].cmd == KVM_INVPOLICY_GET_STATS)
			calls[i].accepted = ENOENT;
	}
}

void errors_layout(bool hooks)
{
	size_t i;

	set_up(hooks);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		sizes(&calls[i]);
		older_sizes(&calls[i]);
		flags(&calls[i]);
		reserved(&calls[i]);
		settings(&calls[i]);
		pointers(&calls[i]);
	}
	observed_stats_pointer();
	numbers();
	close(plain_vm);
	close(attached_vm);
	close(device);
	munmap(pages, 2 * PAGE);
}
