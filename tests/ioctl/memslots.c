// SPDX-License-Identifier: GPL-2.0-only
/* What one coalesced event unmaps, by how the memory lies in memslots. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "errors.h"
#include "guest.h"
#include "tap.h"

#define PAGE_BYTES	4096UL
/* Of the second memslot. */
#define FIRST_PAGE	(SECOND_SLOT_GPA / PAGE_BYTES)
/* The guest writes to all pages from 2 to 255. */
#define NEVER_WRITTEN	300

struct unmap {
	const char *name;
	unsigned long first;
	unsigned long count;
	unsigned int pages;
	unsigned int flushes;
};

static struct kvm_invpolicy_stats stats_of(int device, const struct guest *guest)
{
	struct kvm_invpolicy_stats stats;

	if (policy_stats(device, guest->vm, &stats))
		die("GET_STATS: %s", strerror(errno));
	return stats;
}

static char *address_of(const struct guest *guest, const struct unmap *unmap)
{
	return guest->memory + unmap->first * PAGE_BYTES;
}

/*
 * To unmap part of a mapping splits it, and about a split there is an event of its own that
 * takes in all 2 MiB (split_huge_pmd_address() in mm/huge_memory.c).
 */
static void split_mapping(const struct guest *guest, const struct unmap *unmap)
{
	if (madvise(address_of(guest, unmap), unmap->count * PAGE_BYTES, MADV_DONTFORK))
		die("madvise: %s", strerror(errno));
}

static void expect_unmap(int device, struct guest *guest, const struct unmap *unmap)
{
	struct kvm_invpolicy_stats before = stats_of(device, guest), after;

	munmap(address_of(guest, unmap), unmap->count * PAGE_BYTES);
	after = stats_of(device, guest);
	expect_value(after.coalesced_events - before.coalesced_events, 1, "events");
	expect_value(after.coalesced_pages - before.coalesced_pages, unmap->pages, "pages");
	expect_value(after.coalesced_flushes - before.coalesced_flushes, unmap->flushes,
		     "flushes");
}

static void attach(int device, const struct guest *guest)
{
	const struct kvm_invpolicy_settings settings = {
		.numa = KVM_INVPOLICY_NUMA_KVM,
		.unmap = KVM_INVPOLICY_FLUSH_COALESCE,
		.coalesce_min_pages = 1,
	};

	if (vm_call_settings(device, KVM_INVPOLICY_ATTACH, guest->vm, &settings))
		die("ATTACH: %s", strerror(errno));
}

/* Nobody waits for mmu_lock once the guest has stopped: each flush is due to the unmap. */
static void write_and_stop(struct guest *guest)
{
	guest_run(guest);
	guest_stop(guest);
}

static void places(int device)
{
	static const struct unmap unmaps[] = {
		{ "last-page-of-a-slot", FIRST_PAGE - 1, 1, 1, 1 },
		{ "first-page-of-a-slot", FIRST_PAGE, 1, 1, 1 },
		{ "two-slots", FIRST_PAGE - 8, 16, 16, 1 },
		{ "not-mapped-by-kvm", NEVER_WRITTEN, 8, 0, 0 },
		{ "up-to-the-end-of-the-last-slot", MEMORY_BYTES / PAGE_BYTES - 1, 1, 0, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unmaps); i++) {
		struct guest guest;

		guest_create(&guest);
		attach(device, &guest);
		split_mapping(&guest, &unmaps[i]);
		write_and_stop(&guest);
		test_begin("coalesce-%s", unmaps[i].name);
		expect_unmap(device, &guest, &unmaps[i]);
		test_end();
		guest_close(&guest);
	}
}

/* The guest's writes are in the log, whenever their pages went. */
static void dirty_log(int device)
{
	static const struct unmap unmap = { .first = FIRST_PAGE + 8, .count = 8,
					    .pages = 8, .flushes = 1 };
	unsigned long bitmap[MEMORY_BYTES / PAGE_BYTES / 8 / sizeof(long)] = { 0 };
	struct kvm_dirty_log log = { .slot = 1, .dirty_bitmap = bitmap };
	struct guest guest;

	guest_create(&guest);
	attach(device, &guest);
	test_begin("coalesce-dirty-log");
	expect(!guest_set_slot(&guest, 1, SECOND_SLOT_GPA, MEMORY_BYTES,
			       KVM_MEM_LOG_DIRTY_PAGES), "cannot log dirty pages");
	split_mapping(&guest, &unmap);
	write_and_stop(&guest);
	expect_unmap(device, &guest, &unmap);
	expect(!ioctl(guest.vm, KVM_GET_DIRTY_LOG, &log), "KVM_GET_DIRTY_LOG");
	expect_value(bitmap[0] >> 8 & 0xff, 0xff, "the log of what was unmapped");
	test_end();
	guest_close(&guest);
}

void errors_memslots(void)
{
	int device = device_open();

	places(device);
	dirty_log(device);
	close(device);
}
