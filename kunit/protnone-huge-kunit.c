// SPDX-License-Identifier: GPL-2.0-only
/* Huge pages, pages that cannot migrate, and memory that is unmapped under the walk. */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/mmu_context.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>

#include "walked-mm.h"

#define OTHER_NODE	(MAX_NUMNODES - 1)

static void finds_huge_page(struct kunit *test)
{
	touch_huge(test);
	walk(test, 0, NR_PAGES);
	expect_list(test, NULL, 0);

	hint(test->priv, TABLE, 2 * TABLE);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { TABLE, 2 * TABLE });
	expect_counts(test, TABLE, 0, 0);
}

static void finds_parts_of_huge_page(struct kunit *test)
{
	touch_huge(test);
	hint(test->priv, TABLE, 2 * TABLE);
	walk(test, 0, TABLE + 3);
	walk(test, TABLE + 10, TABLE + 20);
	walk(test, 2 * TABLE - 5, NR_PAGES);
	expect_runs(test, { TABLE, TABLE + 3 }, { TABLE + 10, TABLE + 20 },
		    { 2 * TABLE - 5, 2 * TABLE });
	expect_counts(test, 18, 0, 0);
}

static void merges_huge_and_small_pages(struct kunit *test)
{
	struct walked_mm *walked = test->priv;

	touch(test, TABLE - 1, TABLE);
	touch_huge(test);
	touch(test, 2 * TABLE, 2 * TABLE + 1);
	hint(walked, TABLE - 1, TABLE);
	hint(walked, TABLE, 2 * TABLE);
	hint(walked, 2 * TABLE, 2 * TABLE + 1);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { TABLE - 1, 2 * TABLE + 1 });
	expect_counts(test, TABLE + 2, 0, 0);
}

/* The host maps it by page table then. */
static void finds_protected_part_of_huge_page(struct kunit *test)
{
	touch_huge(test);
	hint(test->priv, TABLE + 10, TABLE + 20);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { TABLE + 10, TABLE + 20 });
}

static struct page *pin(struct kunit *test, unsigned long page)
{
	struct walked_mm *walked = test->priv;
	struct page *pinned;

	/* For reading: to write it would have to take the protection away. */
	KUNIT_ASSERT_EQ(test, 1, pin_user_pages_fast(addr_of(walked, page), 1, 0, &pinned));
	return pinned;
}

static void spares_pinned_page(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	struct page *page;

	touch(test, 0, 8);
	hint(walked, 0, 8);
	page = pin(test, 3);
	walk(test, 0, NR_PAGES);
	unpin_user_page(page);
	expect_runs(test, { 0, 3 }, { 4, 8 });
	expect_counts(test, 8, 1, 0);

	walked->walk.nr = 0;
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 8 });
	expect_counts(test, 16, 1, 0);
}

/* The host protects it even while it is pinned, unlike private memory. */
static void spares_pinned_shared_page(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	struct page *page;

	KUNIT_ASSERT_EQ(test, walked->addr,
			vm_mmap(NULL, walked->addr, 8 * PAGE_SIZE, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, 0));
	touch(test, 0, 8);
	page = pin(test, 3);
	hint(walked, 0, 8);
	walk(test, 0, NR_PAGES);
	unpin_user_page(page);
	expect_runs(test, { 0, 3 }, { 4, 8 });
	expect_counts(test, 8, 1, 0);
}

static void spares_pinned_huge_page(struct kunit *test)
{
	struct page *page;

	touch_huge(test);
	hint(test->priv, TABLE, 2 * TABLE);
	page = pin(test, TABLE + 7);
	walk(test, 0, TABLE + 100);
	unpin_user_page(page);
	expect_list(test, NULL, 0);
	expect_counts(test, 100, 100, 0);
}

/* None of its pages can migrate then. */
static void spares_folio_with_a_pinned_page(struct kunit *test)
{
	struct page *page;

	touch_huge(test);
	hint(test->priv, TABLE + 10, TABLE + 20);
	page = pin(test, TABLE + 100);
	walk(test, 0, NR_PAGES);
	unpin_user_page(page);
	expect_list(test, NULL, 0);
	expect_counts(test, 10, 10, 0);
}

static void spares_what_is_at_home(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	struct page *page;

	touch(test, 0, 8);
	touch_huge(test);
	walked->walk.home_node = pfn_to_nid(pfn_at(walked, 0));
	hint(walked, 0, 8);
	hint(walked, TABLE, 2 * TABLE);
	page = pin(test, 3);
	walk(test, 0, NR_PAGES);
	unpin_user_page(page);
	expect_list(test, NULL, 0);
	expect_counts(test, TABLE + 8, 1, TABLE + 7);

	walked->walk.home_node = OTHER_NODE;
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 8 }, { TABLE, 2 * TABLE });
	expect_counts(test, 2 * (TABLE + 8), 1, TABLE + 7);
}

/* Maps, protects and unmaps for ever what another thread looks at: page tables come and go. */
struct mapper {
	const struct walked_mm *walked;
	unsigned long rounds;
	long err;
};

static long map_and_unmap(const struct walked_mm *walked, int advice)
{
	unsigned long page;
	long addr;

	addr = vm_mmap(NULL, walked->addr, 3 * PMD_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0);
	if (addr != walked->addr)
		return addr;
	syscall(__NR_madvise, walked->addr, 3 * PMD_SIZE, advice, 0, 0, 0);
	for (page = 0; page < NR_PAGES; page += 5) {
		if (put_user(1, (u8 __user *)addr_of(walked, page)))
			return -EFAULT;
	}
	hint(walked, 0, NR_PAGES);
	return syscall(__NR_munmap, walked->addr, 3 * PMD_SIZE, 0, 0, 0, 0);
}

static int mapper_thread(void *data)
{
	struct mapper *mapper = data;

	kthread_use_mm(mapper->walked->mm);
	while (!kthread_should_stop()) {
		if (!mapper->err)
			mapper->err = map_and_unmap(mapper->walked, mapper->rounds & 1 ?
						    MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		WRITE_ONCE(mapper->rounds, mapper->rounds + 1);
		cond_resched();
	}
	kthread_unuse_mm(mapper->walked->mm);
	return 0;
}

/* Runs that are in order and in the range, whatever happens to the pages. */
static bool runs_are_sound(const struct walked_mm *walked)
{
	unsigned long last = walked->addr;
	unsigned int i;

	for (i = 0; i < walked->walk.nr; i++) {
		const struct invp_range *run = &walked->runs[i];

		if (run->start < last || run->end <= run->start ||
		    run->end > addr_of(walked, NR_PAGES) || (i && run->start == last))
			return false;
		last = run->end;
	}
	return true;
}

static void walks_while_memory_is_unmapped(struct kunit *test)
{
	struct walked_mm *walked = test->priv;
	struct mapper mapper = { .walked = walked };
	unsigned long second = jiffies + HZ, limit = jiffies + 60 * HZ;
	struct task_struct *thread;
	bool sound = true;

	thread = kthread_run(mapper_thread, &mapper, "mapper");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread);
	while (time_before(jiffies, second) ||
	       ((!walked->walk.protected || READ_ONCE(mapper.rounds) < 10) &&
		time_before(jiffies, limit))) {
		walked->walk.nr = 0;
		invp_protnone_walk(&walked->walk, walked->addr, addr_of(walked, NR_PAGES));
		sound &= runs_are_sound(walked);
	}
	kthread_stop(thread);

	KUNIT_EXPECT_TRUE(test, sound);
	KUNIT_EXPECT_EQ(test, mapper.err, 0);
	KUNIT_EXPECT_GE(test, mapper.rounds, 10);
	KUNIT_EXPECT_GT(test, walked->walk.protected, 0);
	kunit_info(test, "%lu rounds, %llu pages found\n", mapper.rounds, walked->walk.protected);
}

static struct kunit_case protnone_huge_cases[] = {
	KUNIT_CASE(finds_huge_page),
	KUNIT_CASE(finds_parts_of_huge_page),
	KUNIT_CASE(merges_huge_and_small_pages),
	KUNIT_CASE(finds_protected_part_of_huge_page),
	KUNIT_CASE(spares_pinned_page),
	KUNIT_CASE(spares_pinned_shared_page),
	KUNIT_CASE(spares_pinned_huge_page),
	KUNIT_CASE(spares_folio_with_a_pinned_page),
	KUNIT_CASE(spares_what_is_at_home),
	KUNIT_CASE(walks_while_memory_is_unmapped),
	{}
};

static struct kunit_suite protnone_huge_suite = {
	.name = "kvm_invpolicy_protnone_huge",
	.init = walked_mm_init,
	.exit = walked_mm_exit,
	.test_cases = protnone_huge_cases,
};

kunit_test_suite(protnone_huge_suite);
