// SPDX-License-Identifier: GPL-2.0-only
/* Pages whose next hint would tell nothing new are spared, but for samples. */
#include "walked-mm.h"

#define USER	7

/* What a walk of pages used by USER alone is told. */
static struct invp_user_nodes *user_runs_on(struct kunit *test, int node)
{
	struct walked_mm *walked = test->priv;
	struct invp_user_nodes *users = kunit_kzalloc(test, sizeof(*users), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, users);
	for (i = 0; i < INVP_USER_IDS; i++)
		users->node[i] = NUMA_NO_NODE;
	users->node[USER] = node;
	walked->walk.users = users;
	return users;
}

/* Protected, after a hint that the thread of this number took. */
static void hint_used_by(struct kunit *test, unsigned long start, unsigned long end, int pid)
{
	struct walked_mm *walked = test->priv;

	touch(test, start, end);
	hint(walked, start, end);
	for (; start < end; start++)
		folio_xchg_last_cpupid(page_folio(pfn_to_page(pfn_at(walked, start))),
				       cpu_pid_to_cpupid(0, pid));
}

/* The node of all pages of the test machine. */
static int page_node(struct kunit *test)
{
	return page_to_nid(pfn_to_page(pfn_at(test->priv, 0)));
}

static void settled_pages_are_spared(struct kunit *test)
{
	hint_used_by(test, 0, 4, USER);
	user_runs_on(test, page_node(test));
	walk(test, 0, NR_PAGES);
	expect_list(test, NULL, 0);
	expect_counts(test, 4, 0, 4);
}

static void only_low_bits_of_a_thread_are_known(struct kunit *test)
{
	hint_used_by(test, 0, 4, USER + INVP_USER_IDS);
	user_runs_on(test, page_node(test));
	walk(test, 0, NR_PAGES);
	expect_counts(test, 4, 0, 4);
}

static void pages_of_a_user_elsewhere_are_found(struct kunit *test)
{
	hint_used_by(test, 0, 4, USER);
	user_runs_on(test, page_node(test) + 1);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 4 });
	expect_counts(test, 4, 0, 0);
}

static void pages_of_users_on_several_nodes_are_found(struct kunit *test)
{
	hint_used_by(test, 0, 4, USER);
	user_runs_on(test, INVP_SEVERAL_NODES);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 4 });
}

static void pages_of_others_are_found(struct kunit *test)
{
	hint_used_by(test, 0, 4, USER + 1);
	user_runs_on(test, page_node(test));
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 4 });
}

static void pages_that_nobody_took_a_hint_on_are_found(struct kunit *test)
{
	struct invp_user_nodes *users;
	unsigned int i;

	touch(test, 0, 4);
	hint(test->priv, 0, 4);
	users = user_runs_on(test, page_node(test));
	for (i = 0; i < INVP_USER_IDS; i++)
		users->node[i] = page_node(test);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 4 });
}

static void without_users_nothing_is_settled(struct kunit *test)
{
	hint_used_by(test, 0, 4, USER);
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 4 });
}

static void samples_are_taken_and_used_up(struct kunit *test)
{
	struct walked_mm *walked = test->priv;

	hint_used_by(test, 0, 4, USER);
	hint_used_by(test, 4, 6, USER + 1);
	user_runs_on(test, page_node(test));
	walked->walk.samples = 3;
	walk(test, 0, NR_PAGES);
	expect_runs(test, { 0, 3 }, { 4, 6 });
	expect_counts(test, 6, 0, 1);
	KUNIT_EXPECT_EQ(test, walked->walk.samples, 0);
}

static void sample_without_room_is_not_used_up(struct kunit *test)
{
	struct walked_mm *walked = test->priv;

	hint_used_by(test, 0, 1, USER);
	hint_used_by(test, 2, 3, USER);
	user_runs_on(test, page_node(test));
	walked->walk.samples = 2;
	walked->walk.capacity = 1;
	KUNIT_EXPECT_EQ(test, addr_of(walked, 2),
			invp_protnone_walk(&walked->walk, walked->addr, addr_of(walked, 3)));
	expect_runs(test, { 0, 1 });
	expect_counts(test, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, walked->walk.samples, 1);
}

static struct kunit_case settled_cases[] = {
	KUNIT_CASE(settled_pages_are_spared),
	KUNIT_CASE(only_low_bits_of_a_thread_are_known),
	KUNIT_CASE(pages_of_a_user_elsewhere_are_found),
	KUNIT_CASE(pages_of_users_on_several_nodes_are_found),
	KUNIT_CASE(pages_of_others_are_found),
	KUNIT_CASE(pages_that_nobody_took_a_hint_on_are_found),
	KUNIT_CASE(without_users_nothing_is_settled),
	KUNIT_CASE(samples_are_taken_and_used_up),
	KUNIT_CASE(sample_without_room_is_not_used_up),
	{}
};

static struct kunit_suite settled_suite = {
	.name = "kvm_invpolicy_settled",
	.init = walked_mm_init,
	.exit = walked_mm_exit,
	.test_cases = settled_cases,
};

kunit_test_suite(settled_suite);
