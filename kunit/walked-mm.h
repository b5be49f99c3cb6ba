/* SPDX-License-Identifier: GPL-2.0-only */
/* A real mm whose pages the function of the NUMA scanner makes PROT_NONE. */
#ifndef _INVP_WALKED_MM_H
#define _INVP_WALKED_MM_H

#include <kunit/test.h>
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/sched/sysctl.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

#include "protnone.h"
#include "user-call.h"

/* Pages are told by their number in an area of three page tables. */
#define TABLE		PTRS_PER_PTE
#define NR_PAGES	(3 * TABLE)
#define MAX_RUNS	16

/**
 * struct walked_mm - test->priv of a test of protnone.c
 * @mm: a real mm
 * @addr: first page of the area, at the start of a page table
 * @numa_balancing_mode: to be restored
 * @walk: looks for all pages of @mm
 * @runs: what it finds
 */
struct walked_mm {
	struct mm_struct *mm;
	unsigned long addr;
	int numa_balancing_mode;
	struct invp_protnone walk;
	struct invp_range runs[MAX_RUNS];
};

static inline unsigned long addr_of(const struct walked_mm *walked, unsigned long page)
{
	return walked->addr + page * PAGE_SIZE;
}

static inline void put_mm(void *mm)
{
	mmput(mm);
}

/* .init of a suite. */
static inline int walked_mm_init(struct kunit *test)
{
	struct walked_mm *walked = kunit_kzalloc(test, sizeof(*walked), GFP_KERNEL);
	unsigned long addr;

	KUNIT_ASSERT_NOT_NULL(test, walked);
	/* Without a second node, the kernel has switched balancing off. */
	walked->numa_balancing_mode = sysctl_numa_balancing_mode;
	sysctl_numa_balancing_mode = NUMA_BALANCING_NORMAL;
	test->priv = walked;

	addr = kunit_vm_mmap(test, NULL, 0, NR_PAGES * PAGE_SIZE + PMD_SIZE,
			     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_FALSE(test, !addr || IS_ERR_VALUE(addr));
	walked->addr = ALIGN(addr, PMD_SIZE);

	/* The memory of a process with one thread is not protected on that thread's node. */
	walked->mm = current->mm;
	mmget(walked->mm);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_mm, walked->mm), 0);

	walked->walk = (struct invp_protnone){
		.mm = current->mm,
		.home_node = NUMA_NO_NODE,
		.runs = walked->runs,
		.capacity = MAX_RUNS,
	};
	return 0;
}

/* .exit of a suite. */
static inline void walked_mm_exit(struct kunit *test)
{
	struct walked_mm *walked = test->priv;

	if (walked)
		sysctl_numa_balancing_mode = walked->numa_balancing_mode;
}

/* Writes to pages from @start up to, not including, @end. */
static inline void touch(struct kunit *test, unsigned long start, unsigned long end)
{
	struct walked_mm *walked = test->priv;

	for (; start < end; start++)
		KUNIT_ASSERT_EQ(test, 0, put_user(1, (u8 __user *)addr_of(walked, start)));
}

/* The middle page table's addresses become one huge page, in a VMA of its own. */
static inline void touch_huge(struct kunit *test)
{
	struct walked_mm *walked = test->priv;

	KUNIT_ASSERT_EQ(test, 0, syscall(__NR_madvise, addr_of(walked, TABLE), PMD_SIZE,
					 MADV_HUGEPAGE, 0, 0, 0));
	touch(test, TABLE, TABLE + 1);
	KUNIT_ASSERT_TRUE(test, pmd_trans_huge(*pmd_off(walked->mm, addr_of(walked, TABLE))));
}

/* Protects pages from @start up to, not including, @end, all of them in one VMA. */
static inline void hint(const struct walked_mm *walked, unsigned long start, unsigned long end)
{
	mmap_read_lock(walked->mm);
	change_prot_numa(find_vma(walked->mm, addr_of(walked, start)),
			 addr_of(walked, start), addr_of(walked, end));
	mmap_read_unlock(walked->mm);
}

/* Of a page that is mapped by a page table. */
static inline unsigned long pfn_at(const struct walked_mm *walked, unsigned long page)
{
	return pte_pfn(ptep_get(pte_offset_kernel(pmd_off(walked->mm, addr_of(walked, page)),
						  addr_of(walked, page))));
}

/* Walks from page @start up to, not including, @end; there is room for all runs. */
static inline void walk(struct kunit *test, unsigned long start, unsigned long end)
{
	struct walked_mm *walked = test->priv;

	KUNIT_EXPECT_EQ(test, addr_of(walked, end),
			invp_protnone_walk(&walked->walk, addr_of(walked, start),
					   addr_of(walked, end)));
}

/* These runs and no others; see expect_runs(). */
static inline void expect_list(struct kunit *test, const struct invp_range *pages, unsigned int nr)
{
	struct walked_mm *walked = test->priv;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, walked->walk.nr, nr);
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(test, walked->runs[i].start, addr_of(walked, pages[i].start));
		KUNIT_EXPECT_EQ(test, walked->runs[i].end, addr_of(walked, pages[i].end));
	}
}

/* In pages, of all walks together. */
static inline void expect_counts(struct kunit *test, u64 protected, u64 pinned, u64 placed)
{
	struct walked_mm *walked = test->priv;

	KUNIT_EXPECT_EQ(test, walked->walk.protected, protected);
	KUNIT_EXPECT_EQ(test, walked->walk.pinned, pinned);
	KUNIT_EXPECT_EQ(test, walked->walk.placed, placed);
}

/* Each run as { first page, page after it }. */
#define expect_runs(test, ...) do {					\
	const struct invp_range expected[] = { __VA_ARGS__ };		\
									\
	expect_list(test, expected, ARRAY_SIZE(expected));		\
} while (0)

#endif
