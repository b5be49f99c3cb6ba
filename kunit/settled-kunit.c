// SPDX-License-Identifier: GPL-2.0-only
/* Pages that hints do not move are spared, but for a hint now and then. */
#include "settled.h"
#include "walked-mm.h"

#define PFN	0x12345

/* How often out of @scans of one page that stays in place, and is touched, it was spared. */
static unsigned int spared_in(u16 *record, unsigned long pfn, unsigned int scans)
{
	unsigned int spared_times = 0;
	bool spared, sampled;

	while (scans--) {
		*record = invp_settled_next(*record, pfn, true, &spared, &sampled);
		invp_settled_touched(record);
		spared_times += spared;
	}
	return spared_times;
}

static void settles_after_hints_in_vain(struct kunit *test)
{
	u16 record = 0;

	KUNIT_EXPECT_EQ(test, 0, spared_in(&record, PFN, INVP_SETTLED_HINTS));
	KUNIT_EXPECT_EQ(test, INVP_SETTLED_SCANS, spared_in(&record, PFN, INVP_SETTLED_SCANS));
}

static void hint_that_nobody_took_does_not_count(struct kunit *test)
{
	bool spared, sampled;
	unsigned int i;
	u16 record;

	record = invp_settled_next(0, PFN, true, &spared, &sampled);
	record = invp_settled_next(record, PFN, true, &spared, &sampled);
	KUNIT_EXPECT_FALSE(test, spared);
	for (i = 0; i < 100; i++) {
		record = invp_settled_next(record, PFN, true, &spared, &sampled);
		KUNIT_ASSERT_TRUE(test, spared);
		KUNIT_ASSERT_FALSE(test, sampled);
	}
	invp_settled_touched(&record);
	KUNIT_EXPECT_EQ(test, 0, spared_in(&record, PFN, INVP_SETTLED_HINTS - 1));
	KUNIT_EXPECT_EQ(test, 1, spared_in(&record, PFN, 1));
}

static void touched_page_that_got_no_hint_stays_as_it_is(struct kunit *test)
{
	u16 record = 0, before;

	invp_settled_touched(&record);
	KUNIT_EXPECT_EQ(test, record, 0);
	spared_in(&record, PFN, INVP_SETTLED_HINTS + 1);
	before = record;
	invp_settled_touched(&record);
	KUNIT_EXPECT_EQ(test, record, before);
}

static void is_hinted_again_and_settles_again(struct kunit *test)
{
	const unsigned int cycle = INVP_SETTLED_HINTS + INVP_SETTLED_SCANS;
	u16 record = 0;

	spared_in(&record, PFN, cycle);
	KUNIT_EXPECT_EQ(test, 0, spared_in(&record, PFN, INVP_SETTLED_HINTS));
	KUNIT_EXPECT_EQ(test, 3 * INVP_SETTLED_SCANS,
			spared_in(&record, PFN, 3 * cycle));
}

static void is_spared_while_no_sample_is_allowed(struct kunit *test)
{
	bool spared, sampled;
	unsigned int i;
	u16 record = 0;

	spared_in(&record, PFN, INVP_SETTLED_HINTS + INVP_SETTLED_SCANS);
	for (i = 0; i < 100; i++) {
		record = invp_settled_next(record, PFN, false, &spared, &sampled);
		KUNIT_ASSERT_TRUE(test, spared);
		KUNIT_ASSERT_FALSE(test, sampled);
	}
	invp_settled_next(record, PFN, true, &spared, &sampled);
	KUNIT_EXPECT_FALSE(test, spared);
	KUNIT_EXPECT_TRUE(test, sampled);
}

static void another_page_is_not_settled(struct kunit *test)
{
	u16 record = 0;

	spared_in(&record, PFN, INVP_SETTLED_HINTS);
	KUNIT_EXPECT_EQ(test, 0, spared_in(&record, PFN + 1, INVP_SETTLED_HINTS));
	KUNIT_EXPECT_EQ(test, 1, spared_in(&record, PFN + 1, 1));
}

static void forget(void *settled)
{
	invp_settled_forget(settled);
}

/* Walks of the test's mm go by what it knows. */
static struct invp_settled *know_pages(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	struct invp_settled *settled = kunit_kzalloc(test, sizeof(*settled), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, settled);
	invp_settled_init(settled);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, forget, settled), 0);
	walked->walk.settled = settled;
	return settled;
}

/* As the host protects pages, the policy being told before. */
static void announce_and_hint(struct walked_mm *walked, unsigned long start, unsigned long end)
{
	invp_protnone_note_touched(walked->mm, walked->walk.settled, addr_of(walked, start),
				   addr_of(walked, end));
	hint(walked, start, end);
	walked->walk.nr = 0;
}

/* As often as it takes until the pages are settled. */
static void hint_in_vain(struct kunit *test, unsigned long start, unsigned long end)
{
	struct walked_mm *walked = test->priv;
	unsigned int i;

	for (i = 0; i < INVP_SETTLED_HINTS; i++) {
		touch(test, start, end);
		announce_and_hint(walked, start, end);
		walk(test, start, end);
		expect_runs(test, { start, end });
	}
	walked->walk.nr = 0;
}

static void walk_spares_settled_pages(struct kunit *test)
{
	touch(test, 0, 8);
	know_pages(test);
	hint_in_vain(test, 2, 5);
	hint(test->priv, 0, 8);
	walk(test, 0, 8);
	expect_runs(test, { 0, 2 }, { 5, 8 });
	expect_counts(test, 3 * INVP_SETTLED_HINTS + 8, 0, 3);
}

static void walk_spares_pages_that_wait_to_be_touched(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	unsigned int i;

	/* Three tables, as in each of them is looked by itself. */
	touch(test, 0, NR_PAGES);
	know_pages(test);
	for (i = 0; i < 3; i++) {
		announce_and_hint(walked, 0, NR_PAGES);
		walk(test, 0, NR_PAGES);
	}
	KUNIT_EXPECT_EQ(test, walked->walk.placed, NR_PAGES);
	touch(test, TABLE - 1, TABLE + 1);
	announce_and_hint(walked, 0, NR_PAGES);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { TABLE - 1, TABLE + 1 });
}

static void walk_spares_huge_page_that_waits_to_be_touched(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	unsigned int i;

	touch_huge(test);
	know_pages(test);
	for (i = 0; i < 3; i++) {
		announce_and_hint(walked, TABLE, 2 * TABLE);
		walk(test, 0, NR_PAGES);
	}
	expect_counts(test, 3 * TABLE, 0, TABLE);
	touch(test, TABLE + 5, TABLE + 6);
	announce_and_hint(walked, TABLE, 2 * TABLE);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { TABLE, 2 * TABLE });
}

static void touched_pages_without_records_are_passed_over(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	struct invp_settled *settled;

	touch(test, 0, 2);
	settled = know_pages(test);
	announce_and_hint(walked, 0, NR_PAGES);
	KUNIT_EXPECT_EQ(test, settled->nr_tables, 0);
}

static void walk_takes_no_more_samples_than_it_may(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	struct invp_settled *settled;
	unsigned int i;
	u16 *records;

	touch(test, 0, 8);
	settled = know_pages(test);
	records = invp_settled_records(settled, addr_of(walked, 0));
	for (i = 0; i < 8; i++)
		spared_in(&records[pte_index(addr_of(walked, i))], pfn_at(walked, i),
			  INVP_SETTLED_HINTS + INVP_SETTLED_SCANS);
	hint(walked, 0, 8);
	walked->walk.samples = 3;
	walk(test, 0, 8);
	expect_runs(test, { 0, 3 });
	expect_counts(test, 8, 0, 5);
	KUNIT_EXPECT_EQ(test, walked->walk.samples, 0);
}

static void walk_without_records_spares_none(struct kunit *test)
{
	struct walked_mm *walked = test->priv;

	touch(test, 0, 4);
	know_pages(test);
	hint_in_vain(test, 0, 4);
	walked->walk.settled = NULL;
	walked->walk.records = NULL;
	walk(test, 0, 4);
	expect_runs(test, { 0, 4 });
}

static void page_without_room_was_not_hinted(struct kunit *test)
{
	struct walked_mm *walked = test->priv;

	touch(test, 0, 3);
	hint(walked, 0, 1);
	hint(walked, 2, 3);
	know_pages(test);
	walked->walk.capacity = 1;
	KUNIT_EXPECT_EQ(test, addr_of(walked, 2),
			invp_protnone_walk(&walked->walk, walked->addr, addr_of(walked, 3)));
	touch(test, 2, 3);
	announce_and_hint(walked, 2, 3);
	walk(test, 2, 3);
	touch(test, 2, 3);
	announce_and_hint(walked, 2, 3);
	walk(test, 2, 3);
	expect_runs(test, { 2, 3 });
}

static void forgotten_pages_are_hinted(struct kunit *test)
{
	struct invp_settled *settled;

	touch(test, 0, 4);
	settled = know_pages(test);
	hint_in_vain(test, 0, 4);
	invp_settled_forget(settled);
	KUNIT_EXPECT_EQ(test, settled->nr_tables, 0);
	hint_in_vain(test, 0, 4);
}

static void migrated_page_is_settled(struct kunit *test)
{
	struct invp_settled *settled;
	u16 *record;

	settled = know_pages(test);
	record = invp_settled_records(settled, 0) + 7;
	spared_in(record, PFN, 1);
	KUNIT_EXPECT_TRUE(test, invp_settled_migrating(settled, 7 * PAGE_SIZE, 8 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 1, spared_in(record, PFN + 1, 1));
	KUNIT_EXPECT_EQ(test, 0, record[-1]);
	KUNIT_EXPECT_EQ(test, 0, record[1]);
}

static void only_a_hinted_page_migrates_by_a_hint(struct kunit *test)
{
	struct invp_settled *settled;
	u16 *record;

	settled = know_pages(test);
	KUNIT_EXPECT_FALSE(test, invp_settled_migrating(settled, 0, PMD_SIZE));
	record = invp_settled_records(settled, 0);
	KUNIT_EXPECT_FALSE(test, invp_settled_migrating(settled, PAGE_SIZE, PMD_SIZE));
	spared_in(record, PFN, INVP_SETTLED_HINTS);
	KUNIT_EXPECT_TRUE(test, invp_settled_migrating(settled, 0, PMD_SIZE));
	spared_in(record, PFN + 1, 1);
	KUNIT_EXPECT_FALSE(test, invp_settled_migrating(settled, 0, PAGE_SIZE));
}

static void page_that_failed_to_migrate_is_not(struct kunit *test)
{
	struct invp_settled *settled;
	u16 *record;

	settled = know_pages(test);
	record = invp_settled_records(settled, 0);
	spared_in(record, PFN, INVP_SETTLED_HINTS);
	invp_settled_migrating(settled, 0, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 0, spared_in(record, PFN, INVP_SETTLED_HINTS));
}

static void migrating_goes_across_tables(struct kunit *test)
{
	struct invp_settled *settled;
	u16 *low, *high;

	settled = know_pages(test);
	low = invp_settled_records(settled, 0) + PTRS_PER_PTE - 1;
	high = invp_settled_records(settled, PMD_SIZE);
	/* Of PMD_SIZE * 2 and above nothing is known. */
	invp_settled_migrating(settled, PMD_SIZE - PAGE_SIZE, 3 * PMD_SIZE);
	KUNIT_EXPECT_EQ(test, 1, spared_in(low, PFN, 1));
	KUNIT_EXPECT_EQ(test, 1, spared_in(high, PFN, 1));
	KUNIT_EXPECT_EQ(test, settled->nr_tables, 2);
}

static struct kunit_case settled_cases[] = {
	KUNIT_CASE(settles_after_hints_in_vain),
	KUNIT_CASE(hint_that_nobody_took_does_not_count),
	KUNIT_CASE(touched_page_that_got_no_hint_stays_as_it_is),
	KUNIT_CASE(is_hinted_again_and_settles_again),
	KUNIT_CASE(is_spared_while_no_sample_is_allowed),
	KUNIT_CASE(another_page_is_not_settled),
	KUNIT_CASE(walk_spares_settled_pages),
	KUNIT_CASE(walk_spares_pages_that_wait_to_be_touched),
	KUNIT_CASE(walk_spares_huge_page_that_waits_to_be_touched),
	KUNIT_CASE(touched_pages_without_records_are_passed_over),
	KUNIT_CASE(walk_takes_no_more_samples_than_it_may),
	KUNIT_CASE(walk_without_records_spares_none),
	KUNIT_CASE(page_without_room_was_not_hinted),
	KUNIT_CASE(forgotten_pages_are_hinted),
	KUNIT_CASE(migrated_page_is_settled),
	KUNIT_CASE(only_a_hinted_page_migrates_by_a_hint),
	KUNIT_CASE(page_that_failed_to_migrate_is_not),
	KUNIT_CASE(migrating_goes_across_tables),
	{}
};

static struct kunit_suite settled_suite = {
	.name = "kvm_invpolicy_settled",
	.init = walked_mm_init,
	.exit = walked_mm_exit,
	.test_cases = settled_cases,
};

kunit_test_suite(settled_suite);
