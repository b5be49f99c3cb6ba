// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that hints do not move any more. The host protects all memory again and again; who
 * unmaps a page each time makes the guest fault for nothing once the page is where it is used.
 *
 * The record of a page: some bits of its PFN, by which it is known again, whether it was
 * about to migrate, a count of the hints that it was given and, from then on, of the scans
 * for which it was spared, and how often it was unmapped for its last hint while it was not
 * seen to take it. A record that is wrong makes a hint come late or in vain, no more.
 */
#include <linux/bitfield.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/slab.h>

#include "compat/mm.h"
#include "settled.h"

#define RECORD_COUNT		GENMASK(3, 0)
#define RECORD_MIGRATING	BIT(4)
#define RECORD_UNTOUCHED	GENMASK(6, 5)
#define RECORD_PFN		GENMASK(15, 7)

#define PFN_BITS		9

/* A page that was touched and protected again between two looks is not seen to be. */
#define UNTOUCHED_MAX		2

static u16 record_of(unsigned long pfn, unsigned int count)
{
	return FIELD_PREP(RECORD_PFN, hash_long(pfn, PFN_BITS)) | FIELD_PREP(RECORD_COUNT, count);
}

static unsigned int count_before(u16 record, unsigned long pfn)
{
	bool same_page = FIELD_GET(RECORD_PFN, record) == hash_long(pfn, PFN_BITS);

	/* The host has moved it to its user, or has not. */
	if (record & RECORD_MIGRATING)
		return same_page ? 0 : INVP_SETTLED_HINTS;
	return same_page ? FIELD_GET(RECORD_COUNT, record) : 0;
}

/**
 * invp_settled_next() - whether a protected page is settled, and its next record
 * @record: of the page, 0 if there is none
 * @pfn: the page
 * @may_sample: a settled page may be hinted again if it was not for long
 * @spared: receives whether no hint is due
 * @sampled: receives whether one is due that @may_sample has allowed
 *
 * Context: any.
 * Return: the record to keep once the page was spared or unmapped.
 */
u16 invp_settled_next(u16 record, unsigned long pfn, bool may_sample, bool *spared,
		      bool *sampled)
{
	unsigned int untouched = FIELD_GET(RECORD_UNTOUCHED, record);
	unsigned int count = count_before(record, pfn);
	bool due = count == INVP_SETTLED_HINTS + INVP_SETTLED_SCANS;
	u16 next;

	/* The hint before is still to come, and the page unmapped for it. */
	if (count && count < INVP_SETTLED_HINTS && untouched) {
		*sampled = false;
		*spared = untouched == UNTOUCHED_MAX;
		return *spared ? record : record + FIELD_PREP(RECORD_UNTOUCHED, 1);
	}

	BUILD_BUG_ON(INVP_SETTLED_HINTS + INVP_SETTLED_SCANS > FIELD_MAX(RECORD_COUNT));
	*sampled = due && may_sample;
	if (*sampled)
		count = 0;
	*spared = count >= INVP_SETTLED_HINTS;
	next = record_of(pfn, due && !*sampled ? count : count + 1);
	return *spared ? next : next | FIELD_PREP(RECORD_UNTOUCHED, 1);
}

/**
 * invp_settled_records() - the records of the pages in PMD_SIZE of address space
 * @settled: of the VM
 * @addr: an address in it
 *
 * Context: does not sleep, as who reclaims memory may be waiting for the caller; who sees to
 *	it that there is one at a time.
 * Return: PTRS_PER_PTE records, one for each page, or NULL if there is no memory for them.
 */
u16 *invp_settled_records(struct invp_settled *settled, unsigned long addr)
{
	u16 *records = xa_load(&settled->records, addr >> PMD_SHIFT);

	if (records)
		return records;
	records = kcalloc(PTRS_PER_PTE, sizeof(*records), GFP_NOWAIT | __GFP_NOWARN);
	if (!records)
		return NULL;
	if (xa_err(xa_store(&settled->records, addr >> PMD_SHIFT, records,
			    GFP_NOWAIT | __GFP_NOWARN))) {
		kfree(records);
		return NULL;
	}
	settled->nr_tables++;
	return records;
}

/**
 * invp_settled_known() - the records of the pages in PMD_SIZE of address space
 * @settled: of the VM
 * @addr: an address in it
 *
 * Context: does not sleep; in an RCU read-side critical section, in which they stay.
 * Return: PTRS_PER_PTE records, or NULL if there are none.
 */
u16 *invp_settled_known(struct invp_settled *settled, unsigned long addr)
{
	return xa_load(&settled->records, addr >> PMD_SHIFT);
}

/**
 * invp_settled_touched() - the page is accessible: it has taken its last hint
 * @record: of the page
 *
 * Context: any.
 */
void invp_settled_touched(u16 *record)
{
	u16 old = READ_ONCE(*record);

	if (old & RECORD_UNTOUCHED)
		WRITE_ONCE(*record, old & ~RECORD_UNTOUCHED);
}

/* The last hints of the page may be what moves it. */
static bool is_hinted(u16 record)
{
	unsigned int count = FIELD_GET(RECORD_COUNT, record);

	return count && count <= INVP_SETTLED_HINTS;
}

static bool note_migrating(u16 *records, unsigned long start, unsigned long end)
{
	bool hinted = false;
	u16 *record;

	for (record = records + pte_index(start); start < end; start += PAGE_SIZE, record++) {
		hinted |= is_hinted(READ_ONCE(*record));
		WRITE_ONCE(*record, READ_ONCE(*record) | RECORD_MIGRATING);
	}
	return hinted;
}

/**
 * invp_settled_migrating() - pages of the guest may be about to migrate to their user
 * @settled: of the VM
 * @start: first byte
 * @end: first byte after them
 *
 * Context: any; does not sleep.
 * Return: whether that may be because of a hint.
 */
bool invp_settled_migrating(struct invp_settled *settled, unsigned long start, unsigned long end)
{
	bool hinted = false;
	unsigned long next;
	u16 *records;

	guard(rcu)();
	for (; start < end; start = next) {
		next = invp_table_end(start, end);
		records = invp_settled_known(settled, start);
		if (records)
			hinted |= note_migrating(records, start, next);
	}
	return hinted;
}

/**
 * invp_settled_init() - nothing is known of any page
 * @settled: to be set up
 *
 * Context: any.
 */
void invp_settled_init(struct invp_settled *settled)
{
	xa_init(&settled->records);
	settled->nr_tables = 0;
}

/**
 * invp_settled_forget() - nothing is known any more
 * @settled: of the VM
 *
 * Context: may sleep; as invp_settled_records(), none of whose records is in use any more.
 */
void invp_settled_forget(struct invp_settled *settled)
{
	unsigned long index;
	u16 *records;

	xa_for_each(&settled->records, index, records) {
		xa_erase(&settled->records, index);
		kvfree_rcu_mightsleep(records);
	}
	settled->nr_tables = 0;
}
