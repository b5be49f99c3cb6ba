// SPDX-License-Identifier: GPL-2.0-only
/* The bounded set: what is added is in it until it is taken. */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/prandom.h>

#include "ranges.h"

#define MAX_RANGES	5
#define SPACE		4096
#define ROUNDS		20
#define STEPS		1000

static struct invp_range_set *new_set(struct kunit *test)
{
	struct invp_range_set *set = kunit_kzalloc(test, sizeof(*set), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, set);
	return set;
}

static size_t length_of(const struct invp_range *list)
{
	size_t nr = 0;

	while (nr < MAX_RANGES && list[nr].end)
		nr++;
	return nr;
}

static void add_list(struct invp_range_set *set, const struct invp_range *list)
{
	size_t i;

	for (i = 0; i < length_of(list); i++)
		invp_range_set_add(set, list[i].start, list[i].end);
}

static void expect_list(struct kunit *test, const struct invp_range_set *set,
			const struct invp_range *list)
{
	size_t i;

	KUNIT_ASSERT_EQ(test, set->nr, length_of(list));
	for (i = 0; i < set->nr; i++) {
		KUNIT_EXPECT_EQ(test, set->range[i].start, list[i].start);
		KUNIT_EXPECT_EQ(test, set->range[i].end, list[i].end);
	}
}

struct add_case {
	const char *name;
	struct invp_range in[MAX_RANGES];
	struct invp_range out[MAX_RANGES];
};

/* A range that ends at 0 ends the list. */
static const struct add_case add_cases[] = {
	{ "nothing" },
	{ "one", { { 10, 20 } }, { { 10, 20 } } },
	{ "after", { { 10, 20 }, { 21, 30 } }, { { 10, 20 }, { 21, 30 } } },
	{ "before", { { 21, 30 }, { 10, 20 } }, { { 10, 20 }, { 21, 30 } } },
	{ "between", { { 10, 20 }, { 50, 60 }, { 30, 40 } },
	  { { 10, 20 }, { 30, 40 }, { 50, 60 } } },
	{ "again", { { 10, 20 }, { 10, 20 } }, { { 10, 20 } } },
	{ "inside", { { 10, 40 }, { 20, 30 } }, { { 10, 40 } } },
	{ "around", { { 20, 30 }, { 10, 40 } }, { { 10, 40 } } },
	{ "touching the end", { { 10, 20 }, { 20, 30 } }, { { 10, 30 } } },
	{ "touching the start", { { 20, 30 }, { 10, 20 } }, { { 10, 30 } } },
	{ "over the end", { { 10, 20 }, { 15, 30 } }, { { 10, 30 } } },
	{ "over the start", { { 15, 30 }, { 10, 20 } }, { { 10, 30 } } },
	{ "touching both", { { 10, 20 }, { 30, 40 }, { 20, 30 } }, { { 10, 40 } } },
	{ "touching one of two", { { 10, 20 }, { 30, 40 }, { 20, 29 } },
	  { { 10, 29 }, { 30, 40 } } },
	{ "over all", { { 10, 20 }, { 30, 40 }, { 50, 60 }, { 5, 70 } }, { { 5, 70 } } },
	{ "over the middle", { { 10, 20 }, { 30, 40 }, { 50, 60 }, { 70, 80 }, { 35, 55 } },
	  { { 10, 20 }, { 30, 60 }, { 70, 80 } } },
	{ "from 0", { { 5, 10 }, { 0, 5 } }, { { 0, 10 } } },
	{ "to the last address", { { 10, 20 }, { ULONG_MAX - 10, ULONG_MAX } },
	  { { 10, 20 }, { ULONG_MAX - 10, ULONG_MAX } } },
};

static void describe_add(const struct add_case *param, char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(add, add_cases, describe_add);

static void adds(struct kunit *test)
{
	const struct add_case *param = test->param_value;
	struct invp_range_set *set = new_set(test);
	u64 bytes = 0;
	size_t i;

	add_list(set, param->in);
	expect_list(test, set, param->out);
	for (i = 0; i < length_of(param->out); i++)
		bytes += param->out[i].end - param->out[i].start;
	KUNIT_EXPECT_EQ(test, invp_range_set_bytes(set), bytes);
}

struct take_case {
	const char *name;
	unsigned long from;
	unsigned long max_bytes;
	struct invp_range taken;
	struct invp_range left[MAX_RANGES];
};

static const struct invp_range take_set[MAX_RANGES] = { { 10, 40 }, { 60, 90 } };

static const struct take_case take_cases[] = {
	{ "whole", 0, 100, { 10, 40 }, { { 60, 90 } } },
	{ "exactly", 0, 30, { 10, 40 }, { { 60, 90 } } },
	{ "piece", 0, 29, { 10, 39 }, { { 39, 40 }, { 60, 90 } } },
	{ "from its start", 10, 5, { 10, 15 }, { { 15, 40 }, { 60, 90 } } },
	{ "from inside to its end", 20, 100, { 20, 40 }, { { 10, 20 }, { 60, 90 } } },
	{ "out of the middle", 20, 5, { 20, 25 }, { { 10, 20 }, { 25, 40 }, { 60, 90 } } },
	{ "last byte", 39, 5, { 39, 40 }, { { 10, 39 }, { 60, 90 } } },
	{ "from its end", 40, 5, { 60, 65 }, { { 10, 40 }, { 65, 90 } } },
	{ "from a gap", 50, 100, { 60, 90 }, { { 10, 40 } } },
	{ "from the end of all", 90, 5, { 10, 15 }, { { 15, 40 }, { 60, 90 } } },
	{ "from beyond all", ULONG_MAX, 100, { 10, 40 }, { { 60, 90 } } },
};

static void describe_take(const struct take_case *param, char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(take, take_cases, describe_take);

static void takes(struct kunit *test)
{
	const struct take_case *param = test->param_value;
	struct invp_range_set *set = new_set(test);
	struct invp_range taken;

	add_list(set, take_set);
	KUNIT_ASSERT_TRUE(test, invp_range_set_take(set, param->from, param->max_bytes, &taken));
	KUNIT_EXPECT_EQ(test, taken.start, param->taken.start);
	KUNIT_EXPECT_EQ(test, taken.end, param->taken.end);
	expect_list(test, set, param->left);
}

static void empty_set_gives_nothing(struct kunit *test)
{
	struct invp_range_set *set = new_set(test);
	struct invp_range taken;

	KUNIT_EXPECT_FALSE(test, invp_range_set_take(set, 0, ULONG_MAX, &taken));
	KUNIT_EXPECT_EQ(test, invp_range_set_bytes(set), 0);

	invp_range_set_add(set, 10, 20);
	KUNIT_EXPECT_TRUE(test, invp_range_set_take(set, 0, ULONG_MAX, &taken));
	KUNIT_EXPECT_FALSE(test, invp_range_set_take(set, 0, ULONG_MAX, &taken));
}

/* Ranges of 10 bytes; the gap behind the one with this number is 5, all others are 20. */
static struct invp_range_set *full_set(struct kunit *test, int small_gap)
{
	struct invp_range_set *set = new_set(test);
	unsigned long start = 1000;
	int i;

	for (i = 0; i < INVP_RANGE_SET_MAX; i++) {
		invp_range_set_add(set, start, start + 10);
		start += 10 + (i == small_gap ? 5 : 20);
	}
	KUNIT_ASSERT_EQ(test, set->nr, INVP_RANGE_SET_MAX);
	return set;
}

static void full_set_closes_its_smallest_gap(struct kunit *test)
{
	struct invp_range_set *set;
	int gap;

	for (gap = 0; gap < INVP_RANGE_SET_MAX - 1; gap++) {
		set = full_set(test, gap);
		invp_range_set_add(set, 5000, 5010);
		KUNIT_EXPECT_EQ(test, set->nr, INVP_RANGE_SET_MAX);
		KUNIT_EXPECT_EQ(test, set->range[gap].start, 1000 + 30 * gap);
		KUNIT_EXPECT_EQ(test, set->range[gap].end, 1000 + 30 * gap + 25);
		KUNIT_EXPECT_EQ(test, set->range[INVP_RANGE_SET_MAX - 1].start, 5000);
		kunit_kfree(test, set);
	}
}

static void full_set_widens_a_neighbour(struct kunit *test)
{
	struct invp_range_set *set = full_set(test, -1);

	invp_range_set_add(set, 1013, 1015);
	KUNIT_EXPECT_EQ(test, set->nr, INVP_RANGE_SET_MAX);
	KUNIT_EXPECT_EQ(test, set->range[0].start, 1000);
	KUNIT_EXPECT_EQ(test, set->range[0].end, 1015);
	KUNIT_EXPECT_EQ(test, set->range[1].start, 1030);
}

static void full_set_widens_its_last_range(struct kunit *test)
{
	struct invp_range_set *set = full_set(test, -1);
	const struct invp_range *last = &set->range[INVP_RANGE_SET_MAX - 1];
	unsigned long start = last->start;

	invp_range_set_add(set, start + 13, start + 15);
	KUNIT_EXPECT_EQ(test, set->nr, INVP_RANGE_SET_MAX);
	KUNIT_EXPECT_EQ(test, last->start, start);
	KUNIT_EXPECT_EQ(test, last->end, start + 15);
}

/* To take a piece out of a middle wants one more range than there is room for. */
static void full_set_gives_from_the_start(struct kunit *test)
{
	struct invp_range_set *set = full_set(test, -1);
	u64 bytes = invp_range_set_bytes(set);
	struct invp_range taken;

	KUNIT_ASSERT_TRUE(test, invp_range_set_take(set, 1035, 2, &taken));
	KUNIT_EXPECT_EQ(test, taken.start, 1030);
	KUNIT_EXPECT_EQ(test, taken.end, 1032);
	KUNIT_EXPECT_EQ(test, set->nr, INVP_RANGE_SET_MAX);
	KUNIT_EXPECT_EQ(test, invp_range_set_bytes(set), bytes - 2);
}

static unsigned long random_below(struct rnd_state *random, unsigned long limit)
{
	return prandom_u32_state(random) % limit;
}

/* What a set holds, with a check of its form. */
static void set_to_bitmap(struct kunit *test, const struct invp_range_set *set,
			  unsigned long *bitmap)
{
	size_t i;

	bitmap_zero(bitmap, SPACE);
	KUNIT_ASSERT_LE(test, set->nr, INVP_RANGE_SET_MAX);
	for (i = 0; i < set->nr; i++) {
		const struct invp_range *range = &set->range[i];

		KUNIT_ASSERT_LT(test, range->start, range->end);
		KUNIT_ASSERT_LE(test, range->end, SPACE);
		KUNIT_ASSERT_TRUE(test, !i || range[-1].end < range->start);
		bitmap_set(bitmap, range->start, range->end - range->start);
	}
}

/* @model becomes what the set holds: gaps that an addition closed come with it. */
static void add_both(struct kunit *test, struct rnd_state *random,
		     struct invp_range_set *set, unsigned long *model)
{
	unsigned long start = random_below(random, SPACE - 40);
	unsigned long length = 1 + random_below(random, 40);
	DECLARE_BITMAP(held, SPACE);

	invp_range_set_add(set, start, start + length);
	bitmap_set(model, start, length);
	set_to_bitmap(test, set, held);
	if (set->nr < INVP_RANGE_SET_MAX)
		KUNIT_ASSERT_TRUE(test, bitmap_equal(held, model, SPACE));
	KUNIT_ASSERT_TRUE(test, bitmap_subset(model, held, SPACE));
	bitmap_copy(model, held, SPACE);
}

static void take_both(struct kunit *test, struct rnd_state *random,
		      struct invp_range_set *set, unsigned long *model)
{
	unsigned long from = random_below(random, SPACE), first;
	unsigned long max_bytes = 1 + random_below(random, 40);
	bool full = set->nr == INVP_RANGE_SET_MAX;
	DECLARE_BITMAP(held, SPACE);
	struct invp_range taken;

	if (!invp_range_set_take(set, from, max_bytes, &taken)) {
		KUNIT_ASSERT_TRUE(test, bitmap_empty(model, SPACE));
		return;
	}
	first = find_next_bit(model, SPACE, from);
	if (first == SPACE)
		first = find_first_bit(model, SPACE);
	if (!full)
		KUNIT_ASSERT_EQ(test, taken.start, first);
	KUNIT_ASSERT_LE(test, taken.start, first);
	KUNIT_ASSERT_EQ(test, taken.end, min(taken.start + max_bytes,
					     find_next_zero_bit(model, SPACE, taken.start)));
	KUNIT_ASSERT_LT(test, taken.start, taken.end);

	bitmap_clear(model, taken.start, taken.end - taken.start);
	set_to_bitmap(test, set, held);
	KUNIT_ASSERT_TRUE(test, bitmap_equal(held, model, SPACE));
}

/* More is added than taken in odd rounds, so that the set fills up, less in even ones. */
static void agrees_with_a_bitmap(struct kunit *test)
{
	DECLARE_BITMAP(model, SPACE) = {};
	struct invp_range_set *set = new_set(test);
	struct rnd_state random;
	bool was_full = false, was_empty = false;
	int round, step;

	prandom_seed_state(&random, 0x5eed0003);
	for (round = 0; round < ROUNDS; round++) {
		for (step = 0; step < STEPS; step++) {
			if (random_below(&random, 4) < 1 + (round & 1) * 2)
				add_both(test, &random, set, model);
			else
				take_both(test, &random, set, model);
			KUNIT_ASSERT_EQ(test, invp_range_set_bytes(set),
					bitmap_weight(model, SPACE));
			was_full |= set->nr == INVP_RANGE_SET_MAX;
			was_empty |= !set->nr;
		}
	}
	KUNIT_EXPECT_TRUE(test, was_full);
	KUNIT_EXPECT_TRUE(test, was_empty);
}

static struct kunit_case range_set_cases[] = {
	KUNIT_CASE_PARAM(adds, add_gen_params),
	KUNIT_CASE_PARAM(takes, take_gen_params),
	KUNIT_CASE(empty_set_gives_nothing),
	KUNIT_CASE(full_set_closes_its_smallest_gap),
	KUNIT_CASE(full_set_widens_a_neighbour),
	KUNIT_CASE(full_set_widens_its_last_range),
	KUNIT_CASE(full_set_gives_from_the_start),
	KUNIT_CASE(agrees_with_a_bitmap),
	{}
};

static struct kunit_suite range_set_suite = {
	.name = "kvm_invpolicy_range_set",
	.test_cases = range_set_cases,
};

kunit_test_suite(range_set_suite);
