// SPDX-License-Identifier: GPL-2.0-only
/* Sets of ranges: made normal, then measured against. */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/overflow.h>
#include <linux/prandom.h>

#include "ranges.h"

#define MAX_RANGES	4

struct normalize_case {
	const char *name;
	struct invp_range in[MAX_RANGES];
	struct invp_range out[MAX_RANGES];
};

/* A range that ends at 0 ends the list. */
static const struct normalize_case normalize_cases[] = {
	{ "empty" },
	{ "one", { { 10, 20 } }, { { 10, 20 } } },
	{ "apart", { { 10, 20 }, { 21, 30 } }, { { 10, 20 }, { 21, 30 } } },
	{ "touching", { { 10, 20 }, { 20, 30 } }, { { 10, 30 } } },
	{ "overlapping", { { 10, 20 }, { 15, 30 } }, { { 10, 30 } } },
	{ "contained", { { 10, 40 }, { 20, 30 } }, { { 10, 40 } } },
	{ "contained, same start", { { 10, 40 }, { 10, 30 } }, { { 10, 40 } } },
	{ "contained, same end", { { 10, 40 }, { 30, 40 } }, { { 10, 40 } } },
	{ "duplicates", { { 10, 20 }, { 10, 20 }, { 10, 20 } }, { { 10, 20 } } },
	{ "duplicates apart", { { 10, 20 }, { 30, 40 }, { 10, 20 }, { 30, 40 } },
	  { { 10, 20 }, { 30, 40 } } },
	{ "unsorted", { { 50, 60 }, { 10, 20 }, { 30, 40 } },
	  { { 10, 20 }, { 30, 40 }, { 50, 60 } } },
	{ "unsorted, touching", { { 30, 40 }, { 10, 20 }, { 20, 30 } }, { { 10, 40 } } },
	{ "bridged", { { 10, 20 }, { 40, 50 }, { 60, 70 }, { 20, 40 } },
	  { { 10, 50 }, { 60, 70 } } },
	{ "one swallows all", { { 20, 30 }, { 40, 50 }, { 60, 70 }, { 5, 80 } }, { { 5, 80 } } },
	{ "contained, then touching the outer", { { 10, 40 }, { 20, 30 }, { 40, 50 } },
	  { { 10, 50 } } },
	{ "from 0", { { 5, 10 }, { 0, 5 } }, { { 0, 10 } } },
	{ "to the last address",
	  { { ULONG_MAX - 10, ULONG_MAX }, { 10, 20 }, { ULONG_MAX - 5, ULONG_MAX } },
	  { { 10, 20 }, { ULONG_MAX - 10, ULONG_MAX } } },
	{ "all addresses", { { 0, ULONG_MAX }, { 10, 20 } }, { { 0, ULONG_MAX } } },
	{ "above the sign bit", { { BIT(63), BIT(63) + 1 }, { 10, 20 } },
	  { { 10, 20 }, { BIT(63), BIT(63) + 1 } } },
	{ "beyond 32 bits apart", { { BIT(40), BIT(40) + 1 }, { BIT(33), BIT(33) + 1 } },
	  { { BIT(33), BIT(33) + 1 }, { BIT(40), BIT(40) + 1 } } },
};

static void describe_normalize(const struct normalize_case *param, char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(normalize, normalize_cases, describe_normalize);

static struct invp_ranges *new_ranges(struct kunit *test, size_t nr)
{
	struct invp_ranges *ranges;

	ranges = kunit_kzalloc(test, struct_size(ranges, range, nr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ranges);
	ranges->nr = nr;
	return ranges;
}

static size_t length_of(const struct invp_range *list)
{
	size_t nr = 0;

	while (nr < MAX_RANGES && list[nr].end)
		nr++;
	return nr;
}

static struct invp_ranges *ranges_of(struct kunit *test, const struct invp_range *list)
{
	struct invp_ranges *ranges = new_ranges(test, length_of(list));

	memcpy(ranges->range, list, ranges->nr * sizeof(*list));
	return ranges;
}

static void normalizes(struct kunit *test)
{
	const struct normalize_case *param = test->param_value;
	struct invp_ranges *ranges = ranges_of(test, param->in);
	size_t i;

	invp_ranges_normalize(ranges);
	KUNIT_ASSERT_EQ(test, ranges->nr, length_of(param->out));
	for (i = 0; i < ranges->nr; i++) {
		KUNIT_EXPECT_EQ(test, ranges->range[i].start, param->out[i].start);
		KUNIT_EXPECT_EQ(test, ranges->range[i].end, param->out[i].end);
	}
}

struct overlap_case {
	const char *name;
	struct invp_range asked;
	unsigned long bytes;
};

static const struct invp_range overlap_set[MAX_RANGES] = {
	{ 100, 200 }, { 300, 310 }, { 400, 500 }, { ULONG_MAX - 100, ULONG_MAX },
};

static const struct overlap_case overlap_cases[] = {
	{ "before all", { 0, 50 }, 0 },
	{ "before all, touching", { 0, 100 }, 0 },
	{ "after the last but one", { 500, 600 }, 0 },
	{ "gap only", { 220, 280 }, 0 },
	{ "whole gap", { 200, 300 }, 0 },
	{ "first byte", { 100, 101 }, 1 },
	{ "last byte", { 199, 200 }, 1 },
	{ "byte before", { 99, 100 }, 0 },
	{ "byte after", { 200, 201 }, 0 },
	{ "inside", { 120, 150 }, 30 },
	{ "exactly", { 300, 310 }, 10 },
	{ "around one", { 250, 350 }, 10 },
	{ "over the start", { 50, 150 }, 50 },
	{ "over the end", { 150, 250 }, 50 },
	{ "two", { 150, 305 }, 55 },
	{ "three", { 150, 450 }, 110 },
	{ "all", { 0, ULONG_MAX }, 310 },
	{ "to the last address", { ULONG_MAX - 10, ULONG_MAX }, 10 },
	{ "up to the last range", { 450, ULONG_MAX - 99 }, 51 },
	{ "nothing", { 150, 150 }, 0 },
};

static void describe_overlap(const struct overlap_case *param, char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(overlap, overlap_cases, describe_overlap);

static void measures_overlap(struct kunit *test)
{
	const struct overlap_case *param = test->param_value;
	struct invp_ranges *ranges = ranges_of(test, overlap_set);

	KUNIT_EXPECT_EQ(test, param->bytes,
			invp_ranges_overlap(ranges, param->asked.start, param->asked.end));
}

static void empty_set_overlaps_nothing(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, invp_ranges_overlap(new_ranges(test, 0), 0, ULONG_MAX), 0);
}

#define SPACE		512
#define RANDOM_RANGES	24
#define ROUNDS		300

static struct invp_ranges *random_ranges(struct kunit *test, struct rnd_state *random,
					 unsigned long *bitmap)
{
	struct invp_ranges *ranges = new_ranges(test, prandom_u32_state(random) % RANDOM_RANGES);
	size_t i;

	for (i = 0; i < ranges->nr; i++) {
		unsigned long start = prandom_u32_state(random) % (SPACE - 32);
		unsigned long length = 1 + prandom_u32_state(random) % 32;

		ranges->range[i] = (struct invp_range){ start, start + length };
		bitmap_set(bitmap, start, length);
	}
	return ranges;
}

static void expect_same_set(struct kunit *test, const struct invp_ranges *ranges,
			    const unsigned long *bitmap)
{
	unsigned long start, end;
	size_t i = 0;

	for_each_set_bitrange(start, end, bitmap, SPACE) {
		KUNIT_ASSERT_LT(test, i, ranges->nr);
		KUNIT_ASSERT_EQ(test, ranges->range[i].start, start);
		KUNIT_ASSERT_EQ(test, ranges->range[i].end, end);
		i++;
	}
	KUNIT_ASSERT_EQ(test, ranges->nr, i);
}

static void agrees_with_a_bitmap(struct kunit *test)
{
	DECLARE_BITMAP(bitmap, SPACE);
	struct rnd_state random;
	int round, i;

	prandom_seed_state(&random, 0x1234abcd);
	for (round = 0; round < ROUNDS; round++) {
		struct invp_ranges *ranges;

		bitmap_zero(bitmap, SPACE);
		ranges = random_ranges(test, &random, bitmap);
		invp_ranges_normalize(ranges);
		expect_same_set(test, ranges, bitmap);

		for (i = 0; i < RANDOM_RANGES; i++) {
			unsigned long start = prandom_u32_state(&random) % SPACE;
			unsigned long end = start + prandom_u32_state(&random) % (SPACE - start);
			unsigned long expected = bitmap_weight(bitmap, end) -
						 bitmap_weight(bitmap, start);

			KUNIT_ASSERT_EQ_MSG(test, expected,
					    invp_ranges_overlap(ranges, start, end),
					    "round %d: %lu to %lu", round, start, end);
		}
		kunit_kfree(test, ranges);
	}
}

static struct kunit_case ranges_cases[] = {
	KUNIT_CASE_PARAM(normalizes, normalize_gen_params),
	KUNIT_CASE_PARAM(measures_overlap, overlap_gen_params),
	KUNIT_CASE(empty_set_overlaps_nothing),
	KUNIT_CASE(agrees_with_a_bitmap),
	{}
};

static struct kunit_suite ranges_suite = {
	.name = "kvm_invpolicy_ranges",
	.test_cases = ranges_cases,
};

kunit_test_suite(ranges_suite);
