// SPDX-License-Identifier: GPL-2.0-only
/* The settings unmap, other and coalesce_min_pages, and what they count. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "errors.h"
#include "guest.h"
#include "parameter.h"
#include "process.h"
#include "tap.h"

#define KVM		KVM_INVPOLICY_FLUSH_KVM
#define COALESCE	KVM_INVPOLICY_FLUSH_COALESCE
#define MIN_MAX		KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX

#define UNMAP_PARAMETER	MODULE_FOLDER "parameters/unmap"
#define OTHER_PARAMETER	MODULE_FOLDER "parameters/other"
#define MIN_PARAMETER	MODULE_FOLDER "parameters/coalesce_min_pages"

/* Pages that every guest_run() writes to. */
#define GUEST_PAGES	254

static __u32 flush_of_name(const char *name)
{
	if (!strcmp(name, "kvm"))
		return KVM;
	if (!strcmp(name, "coalesce"))
		return COALESCE;
	die("the setting %s is not known here", name);
}

static struct kvm_invpolicy_settings settings_of(__u32 unmap, __u32 other, __u32 min)
{
	return (struct kvm_invpolicy_settings){
		.unmap = unmap,
		.other = other,
		.coalesce_min_pages = min,
	};
}

static int call(int device, unsigned int cmd, int vm, __u32 unmap, __u32 other, __u32 min)
{
	const struct kvm_invpolicy_settings settings = settings_of(unmap, other, min);

	return vm_call_settings(device, cmd, vm, &settings);
}

static void expect_settings(int device, int vm, __u32 unmap, __u32 other, __u32 min,
			    const char *when)
{
	const struct kvm_invpolicy_settings settings = vm_settings(device, vm);

	expect_value(settings.unmap, unmap, "unmap, %s", when);
	expect_value(settings.other, other, "other, %s", when);
	expect_value(settings.coalesce_min_pages, min, "coalesce_min_pages, %s", when);
}

static void detach(int device, int vm)
{
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
}

static void get_info(bool hooks)
{
	const __u32 modes = hooks ? 1 << KVM | 1 << COALESCE : 0;
	struct kvm_invpolicy_info info = device_info();
	char word[64];

	test_begin("GET_INFO-coalesce");
	expect_value(info.unmap_modes, modes, "unmap_modes");
	expect_value(info.other_modes, modes, "other_modes");
	read_word(UNMAP_PARAMETER, word, sizeof(word));
	expect_value(info.defaults.unmap, flush_of_name(word), "defaults.unmap");
	read_word(OTHER_PARAMETER, word, sizeof(word));
	expect_value(info.defaults.other, flush_of_name(word), "defaults.other");
	read_word(MIN_PARAMETER, word, sizeof(word));
	expect_value(info.defaults.coalesce_min_pages, atoi(word),
		     "defaults.coalesce_min_pages");
	test_end();
}

/* One parameter at a time, so that none is taken for another. */
static void defaults(int device, int vm)
{
	char unmap[16], other[16], min[16];

	read_word(UNMAP_PARAMETER, unmap, sizeof(unmap));
	read_word(OTHER_PARAMETER, other, sizeof(other));
	read_word(MIN_PARAMETER, min, sizeof(min));
	test_begin("ATTACH-takes-coalesce-defaults");
	write_word(UNMAP_PARAMETER, "coalesce");
	write_word(OTHER_PARAMETER, "kvm");
	write_word(MIN_PARAMETER, "17");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0), 0, "ATTACH");
	expect_settings(device, vm, COALESCE, KVM, 17, "first defaults");
	write_word(UNMAP_PARAMETER, "kvm");
	write_word(OTHER_PARAMETER, "coalesce");
	write_word(MIN_PARAMETER, "18");
	expect_settings(device, vm, COALESCE, KVM, 17, "after the defaults changed");
	detach(device, vm);
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0), 0, "ATTACH");
	expect_settings(device, vm, KVM, COALESCE, 18, "second defaults");
	detach(device, vm);
	expect_errno(call(device, KVM_INVPOLICY_ATTACH, vm, COALESCE, KVM, 19), 0,
		     "ATTACH against the defaults");
	expect_settings(device, vm, COALESCE, KVM, 19, "against the defaults");
	detach(device, vm);
	test_end();
	write_word(UNMAP_PARAMETER, unmap);
	write_word(OTHER_PARAMETER, other);
	write_word(MIN_PARAMETER, min);
}

static void update(int device, int vm)
{
	static const struct {
		struct kvm_invpolicy_settings change, wanted;
	} updates[] = {
		{ { .unmap = COALESCE }, { .unmap = COALESCE, .other = KVM,
					   .coalesce_min_pages = 9 } },
		{ { .other = COALESCE }, { .unmap = COALESCE, .other = COALESCE,
					   .coalesce_min_pages = 9 } },
		{ { .coalesce_min_pages = 1 }, { .unmap = COALESCE, .other = COALESCE,
						 .coalesce_min_pages = 1 } },
		{ { .unmap = KVM }, { .unmap = KVM, .other = COALESCE,
				      .coalesce_min_pages = 1 } },
		{ { .coalesce_min_pages = MIN_MAX }, { .unmap = KVM, .other = COALESCE,
						       .coalesce_min_pages = MIN_MAX } },
		/* What a program says that was built before these settings. */
		{ { .numa = KVM_INVPOLICY_NUMA_KVM }, { .unmap = KVM, .other = COALESCE,
							.coalesce_min_pages = MIN_MAX } },
		{ { }, { .unmap = KVM, .other = COALESCE, .coalesce_min_pages = MIN_MAX } },
		{ { .other = KVM }, { .unmap = KVM, .other = KVM,
				      .coalesce_min_pages = MIN_MAX } },
	};
	size_t i;

	test_begin("UPDATE-changes-coalesce");
	expect_errno(call(device, KVM_INVPOLICY_ATTACH, vm, KVM, KVM, 9), 0, "ATTACH");
	expect_settings(device, vm, KVM, KVM, 9, "after attach");
	for (i = 0; i < ARRAY_SIZE(updates); i++) {
		const struct kvm_invpolicy_settings *wanted = &updates[i].wanted;
		char when[32];

		snprintf(when, sizeof(when), "update %zu", i);
		expect_errno(vm_call_settings(device, KVM_INVPOLICY_UPDATE, vm,
					      &updates[i].change), 0, "%s", when);
		expect_settings(device, vm, wanted->unmap, wanted->other,
				wanted->coalesce_min_pages, when);
	}
	expect_errno(call(device, KVM_INVPOLICY_UPDATE, vm, COALESCE, COALESCE, MIN_MAX + 1),
		     EINVAL, "UPDATE of two, and a bad third");
	expect_settings(device, vm, KVM, KVM, MIN_MAX, "after a refused update");
	expect_errno(call(device, KVM_INVPOLICY_DETACH, vm, COALESCE, 0, 0), EINVAL,
		     "DETACH unmap=coalesce");
	detach(device, vm);
	test_end();
}

static void discard_pages(size_t count)
{
	void *pages = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	madvise(pages, count * 4096, MADV_DONTNEED);
	munmap(pages, count * 4096);
}

/* Each call's events: those of @pages pages that are unmapped, then discarded and unmapped. */
static __u64 coalesced_events(int device, int vm, size_t pages)
{
	struct kvm_invpolicy_stats before, after;

	expect_errno(policy_stats(device, vm, &before), 0, "GET_STATS");
	unmap_pages(pages);
	discard_pages(pages);
	expect_errno(policy_stats(device, vm, &after), 0, "GET_STATS");
	return after.coalesced_events - before.coalesced_events;
}

static void events(int device, int vm)
{
	test_begin("coalesced-events");
	expect_errno(call(device, KVM_INVPOLICY_ATTACH, vm, KVM, KVM, 16), 0, "ATTACH");
	expect_value(coalesced_events(device, vm, 16), 0, "unmap=kvm other=kvm");
	expect_errno(call(device, KVM_INVPOLICY_UPDATE, vm, COALESCE, 0, 0), 0, "UPDATE");
	expect_value(coalesced_events(device, vm, 15), 0, "unmap=coalesce, too small");
	expect_value(coalesced_events(device, vm, 16), 2, "unmap=coalesce");
	expect_errno(call(device, KVM_INVPOLICY_UPDATE, vm, KVM, COALESCE, 0), 0, "UPDATE");
	expect_value(coalesced_events(device, vm, 15), 0, "other=coalesce, too small");
	expect_value(coalesced_events(device, vm, 16), 1, "other=coalesce");
	expect_errno(call(device, KVM_INVPOLICY_UPDATE, vm, COALESCE, 0, 1), 0, "UPDATE");
	expect_value(coalesced_events(device, vm, 1), 3, "both, from one page on");
	detach(device, vm);
	test_end();
}

static void pages_and_flushes(int device)
{
	struct kvm_invpolicy_stats stats;
	struct guest guest;

	guest_create(&guest);
	test_begin("coalesced-pages-and-flushes");
	expect_errno(call(device, KVM_INVPOLICY_ATTACH, guest.vm, COALESCE, KVM, 1), 0,
		     "ATTACH");
	unmap_pages(16);
	expect_errno(policy_stats(device, guest.vm, &stats), 0, "GET_STATS");
	expect_value(stats.coalesced_events, 1, "events of memory that is not the guest's");
	expect_value(stats.coalesced_pages, 0, "pages of memory that is not the guest's");
	expect_value(stats.coalesced_flushes, 0, "flushes of memory that is not the guest's");
	guest_run(&guest);
	guest_unmap(&guest);
	expect_errno(policy_stats(device, guest.vm, &stats), 0, "GET_STATS");
	expect(stats.coalesced_pages >= GUEST_PAGES, "%llu pages, the guest has written to %u",
	       stats.coalesced_pages, GUEST_PAGES);
	expect(stats.coalesced_flushes >= 1 && stats.coalesced_flushes < GUEST_PAGES,
	       "%llu flushes", stats.coalesced_flushes);
	test_end();
	guest_close(&guest);
}

void errors_coalesce(bool hooks)
{
	int device = device_open();
	int vm = vm_create();

	get_info(hooks);
	if (hooks) {
		defaults(device, vm);
		update(device, vm);
		events(device, vm);
		pages_and_flushes(device);
	}
	close(vm);
	close(device);
}
