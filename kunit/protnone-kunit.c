// SPDX-License-Identifier: GPL-2.0-only
/* Protected pages are found in a real mm: all of them, and nothing else. */
#include <kunit/test.h>
#include <linux/mman.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

#include "user-call.h"
#include "walked-mm.h"

static void expect_nothing(struct kunit *test)
{
	expect_list(test, NULL, 0);
	expect_counts(test, 0, 0, 0);
}

static void finds_protected_pages(struct kunit *test)
{
	touch(test, 0, 16);
	walk(test, 0, NR_PAGES);
	expect_nothing(test);

	hint(test->priv, 4, 8);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 4, 8 });
	expect_counts(test, 4, 0, 0);
}

static void keeps_to_its_range(struct kunit *test)
{
	touch(test, 0, 16);
	hint(test->priv, 4, 8);
	walk(test, 5, 7);
	expect_runs(test, { 5, 7 });
	expect_counts(test, 2, 0, 0);
	walk(test, 8, 8);
	walk(test, 0, 4);
	walk(test, 8, 16);
	expect_counts(test, 2, 0, 0);
}

static void leaves_out_what_an_access_restored(struct kunit *test)
{
	touch(test, 0, 8);
	hint(test->priv, 0, 8);
	touch(test, 3, 4);
	walk(test, 0, 8);
	expect_runs(test, { 0, 3 }, { 4, 8 });
	expect_counts(test, 7, 0, 0);
}

static void passes_over_holes(struct kunit *test)
{
	touch(test, 0, 2);
	touch(test, 3, 4);
	touch(test, NR_PAGES - 2, NR_PAGES - 1);
	hint(test->priv, 0, NR_PAGES);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 2 }, { 3, 4 }, { NR_PAGES - 2, NR_PAGES - 1 });
}

static void passes_over_holes_of_all_levels(struct kunit *test)
{
	struct walked_mm *walked = test->priv;

	touch(test, 0, 1);
	hint(walked, 0, 1);
	KUNIT_EXPECT_EQ(test, TASK_SIZE_MAX,
			invp_protnone_walk(&walked->walk, 0, TASK_SIZE_MAX));
	expect_runs(test, { 0, 1 });
}

static void merges_across_page_tables(struct kunit *test)
{
	touch(test, TABLE - 2, TABLE + 2);
	hint(test->priv, TABLE - 2, TABLE + 2);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { TABLE - 2, TABLE + 2 });
	expect_counts(test, 4, 0, 0);
}

static void appends_to_what_was_found(struct kunit *test)
{
	touch(test, 0, 12);
	hint(test->priv, 0, 8);
	hint(test->priv, 10, 12);
	walk(test, 0, 4);
	walk(test, 4, 9);
	walk(test, 9, 12);
	expect_runs(test, { 0, 8 }, { 10, 12 });
	expect_counts(test, 10, 0, 0);
}

static void goes_on_where_runs_were_full(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	struct invp_protnone *walk = &walked->walk;
	unsigned long addr = walked->addr;
	unsigned int page;

	touch(test, 0, 16);
	for (page = 1; page < 16; page += 2)
		hint(walked, page, page + 1);

	walk->capacity = 3;
	addr = invp_protnone_walk(walk, addr, addr_of(walked, 16));
	KUNIT_EXPECT_EQ(test, addr, addr_of(walked, 7));
	expect_runs(test, { 1, 2 }, { 3, 4 }, { 5, 6 });
	KUNIT_EXPECT_EQ(test, addr, invp_protnone_walk(walk, addr, addr_of(walked, 16)));
	expect_counts(test, 3, 0, 0);

	walk->nr = 0;
	addr = invp_protnone_walk(walk, addr, addr_of(walked, 16));
	KUNIT_EXPECT_EQ(test, addr, addr_of(walked, 13));
	expect_runs(test, { 7, 8 }, { 9, 10 }, { 11, 12 });

	walk->nr = 0;
	addr = invp_protnone_walk(walk, addr, addr_of(walked, 16));
	KUNIT_EXPECT_EQ(test, addr, addr_of(walked, 16));
	expect_runs(test, { 13, 14 }, { 15, 16 });
	expect_counts(test, 8, 0, 0);
}

static void full_runs_still_grow(struct kunit *test)
{
	struct walked_mm *walked = test->priv;

	touch(test, 0, 8);
	hint(walked, 2, 8);
	walked->walk.capacity = 1;
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 2, 8 });
}

static void zero_page_is_no_page(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	u8 value;

	touch(test, 0, 1);
	KUNIT_ASSERT_EQ(test, 0, get_user(value, (u8 __user *)addr_of(walked, 1)));
	KUNIT_EXPECT_EQ(test, value, 0);
	KUNIT_ASSERT_EQ(test, 0, syscall(__NR_mprotect, walked->addr, 2 * PAGE_SIZE, PROT_NONE,
					 0, 0, 0));
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 1 });
	expect_counts(test, 1, 0, 0);
}

static void entry_is_passed_over(struct kunit *test, swp_entry_t entry)
{
	struct walked_mm *walked = test->priv;
	pte_t *ptep;
	spinlock_t *ptl;	/* the page table's */

	ptep = get_locked_pte(walked->mm, addr_of(walked, 1), &ptl);
	KUNIT_ASSERT_NOT_NULL(test, ptep);
	set_pte_at(walked->mm, addr_of(walked, 1), ptep, swp_entry_to_pte(entry));
	pte_unmap_unlock(ptep, ptl);

	walked->walk.nr = 0;
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 1 }, { 2, 3 });

	ptep = get_locked_pte(walked->mm, addr_of(walked, 1), &ptl);
	pte_clear(walked->mm, addr_of(walked, 1), ptep);
	pte_unmap_unlock(ptep, ptl);
}

static void passes_over_entries_that_are_not_present(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	unsigned long pfn;

	touch(test, 0, 1);
	touch(test, 2, 3);
	pfn = pfn_at(walked, 0);
	hint(walked, 0, 3);

	entry_is_passed_over(test, swp_entry(0, 0));
	entry_is_passed_over(test, swp_entry(0, 0x123456));
	entry_is_passed_over(test, swp_entry(MAX_SWAPFILES - 1, ULONG_MAX));
	entry_is_passed_over(test, make_readable_migration_entry(pfn));
	entry_is_passed_over(test, make_readable_exclusive_migration_entry(pfn));
	entry_is_passed_over(test, make_writable_migration_entry(pfn));
	entry_is_passed_over(test, make_pte_marker_entry(PTE_MARKER_POISONED));
	expect_counts(test, 14, 0, 0);
}

static void passes_over_huge_migration_entry(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	pmd_t *pmdp;

	touch(test, 0, 1);
	hint(walked, 0, 1);
	pmdp = pmd_off(walked->mm, addr_of(walked, TABLE));
	set_pmd_at(walked->mm, addr_of(walked, TABLE), pmdp,
		   swp_entry_to_pmd(make_readable_migration_entry(pfn_at(walked, 0))));
	walk(test, 0, NR_PAGES);
	pmd_clear(pmdp);
	expect_runs(test, { 0, 1 });
}

static struct kunit_case protnone_cases[] = {
	KUNIT_CASE(finds_protected_pages),
	KUNIT_CASE(keeps_to_its_range),
	KUNIT_CASE(leaves_out_what_an_access_restored),
	KUNIT_CASE(passes_over_holes),
	KUNIT_CASE(passes_over_holes_of_all_levels),
	KUNIT_CASE(merges_across_page_tables),
	KUNIT_CASE(appends_to_what_was_found),
	KUNIT_CASE(goes_on_where_runs_were_full),
	KUNIT_CASE(full_runs_still_grow),
	KUNIT_CASE(zero_page_is_no_page),
	KUNIT_CASE(passes_over_entries_that_are_not_present),
	KUNIT_CASE(passes_over_huge_migration_entry),
	{}
};

static struct kunit_suite protnone_suite = {
	.name = "kvm_invpolicy_protnone",
	.init = walked_mm_init,
	.exit = walked_mm_exit,
	.test_cases = protnone_cases,
};

kunit_test_suite(protnone_suite);
