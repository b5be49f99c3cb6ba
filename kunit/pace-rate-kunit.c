// SPDX-License-Identifier: GPL-2.0-only
/* The rate, which follows what NUMA hints achieve. */
#include <linux/mm.h>

#include "paced.h"

/* A window ends with the first unmap after a second, which belongs to the next one. */
static void window(struct paced *paced, u64 unmapped, u64 migrated)
{
	unmap(paced, unmapped);
	invp_pace_migrated(&paced->pace, migrated);
	paced->now += SEC;
	unmap(paced, 0);
}

/* As many windows as use up the patience, and no more. */
static void windows_of(struct paced *paced, u64 patience)
{
	u64 bytes;

	for (bytes = 0; bytes < patience; bytes += CEILING)
		window(paced, CEILING, 0);
}

static void give_up(struct kunit *test, u64 rate, u64 patience)
{
	struct paced *paced = test->priv;

	windows_of(paced, patience);
	KUNIT_EXPECT_EQ(test, paced->pace.rate, rate);
	window(paced, CEILING, 0);
	KUNIT_EXPECT_EQ(test, paced->pace.rate, rate / 2);
}

static void backed_off_rate_is_clamped(struct kunit *test)
{
	struct paced *paced = test->priv;
	struct invp_pace *pace = &paced->pace;

	give_up(test, CEILING, 2 * GUEST);
	invp_pace_configure(pace, 128 * MIB, GUEST);
	KUNIT_EXPECT_EQ(test, pace->rate, 32 * MIB);
	invp_pace_configure(pace, 4 * GIB, 256 * 40 * MIB);
	KUNIT_EXPECT_EQ(test, pace->rate, 40 * MIB);
	invp_pace_configure(pace, 8 * MIB, GUEST);
	KUNIT_EXPECT_EQ(test, pace->rate, 8 * MIB);
}

static void backs_off_to_the_floor(struct kunit *test)
{
	struct paced *paced = test->priv;
	u64 expected = CEILING / 2;

	give_up(test, CEILING, 2 * GUEST);
	while (expected > MIB) {
		expected /= 2;
		window(paced, CEILING, 0);
		KUNIT_EXPECT_EQ(test, paced->pace.rate, expected);
	}
	window(paced, CEILING, 0);
	KUNIT_EXPECT_EQ(test, paced->pace.rate, MIB);
}

static void stays_while_enough_migrates(struct kunit *test)
{
	struct paced *paced = test->priv;
	int i;

	for (i = 0; i < 100; i++) {
		window(paced, CEILING, CEILING / 16);
		KUNIT_ASSERT_EQ(test, paced->pace.rate, CEILING);
	}
	give_up(test, CEILING, 2 * GUEST);
}

static void too_few_migrations_do_not_count(struct kunit *test)
{
	struct paced *paced = test->priv;
	int i;

	for (i = 0; i <= 2 * GUEST / CEILING; i++)
		window(paced, CEILING, CEILING / 16 - 1);
	KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING / 2);
}

static void one_fruitful_window_renews_the_patience(struct kunit *test)
{
	struct paced *paced = test->priv;

	windows_of(paced, 2 * GUEST);
	window(paced, CEILING, CEILING);
	give_up(test, CEILING, 2 * GUEST);
}

static void comes_back_with_migrations(struct kunit *test)
{
	struct paced *paced = test->priv;

	give_up(test, CEILING, 2 * GUEST);
	window(paced, CEILING, 0);
	KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING / 4);
	window(paced, MIB, MIB / 16);
	KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING);
	give_up(test, CEILING, 2 * GUEST);
}

static void verdicts_need_time_and_pages(struct kunit *test)
{
	struct paced *paced = test->priv;
	struct invp_pace *pace = &paced->pace;

	unmap(paced, GUEST);
	paced->now += SEC - 1;
	unmap(paced, 0);
	KUNIT_EXPECT_EQ(test, pace->fruitless, 0);
	paced->now += 1;
	unmap(paced, 63 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, pace->fruitless, GUEST);
	paced->now += 10 * SEC;
	unmap(paced, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, pace->fruitless, GUEST);
	unmap(paced, 0);
	KUNIT_EXPECT_EQ(test, pace->fruitless, GUEST + 64 * PAGE_SIZE);
	unmap(paced, 64 * PAGE_SIZE);
	paced->now += SEC - 1;
	unmap(paced, 0);
	KUNIT_EXPECT_EQ(test, pace->fruitless, GUEST + 64 * PAGE_SIZE);
}

static void clock_that_goes_back_ends_no_window(struct kunit *test)
{
	struct paced *paced = test->priv;

	unmap(paced, GUEST);
	paced->now -= SEC;
	unmap(paced, 0);
	KUNIT_EXPECT_EQ(test, paced->pace.fruitless, 0);
}

/* Of pages that were only just unmapped none can have migrated. */
static void verdict_is_on_earlier_pages(struct kunit *test)
{
	struct paced *paced = test->priv;

	unmap(paced, 64 * PAGE_SIZE);
	invp_pace_migrated(&paced->pace, 4 * PAGE_SIZE);
	paced->now += SEC;
	unmap(paced, GUEST);
	KUNIT_EXPECT_EQ(test, paced->pace.fruitless, 0);
	KUNIT_EXPECT_EQ(test, paced->pace.migrated, 0);
	KUNIT_EXPECT_EQ(test, paced->pace.unmapped, GUEST);
}

static void comes_back_with_moved_vcpus(struct kunit *test)
{
	struct paced *paced = test->priv;

	give_up(test, CEILING, 2 * GUEST);
	invp_pace_vcpus_moved(&paced->pace);
	KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING);
	give_up(test, CEILING, 2 * GUEST);
}

static void move_while_fast_begins_anew(struct kunit *test)
{
	struct paced *paced = test->priv;

	windows_of(paced, GUEST);
	invp_pace_vcpus_moved(&paced->pace);
	give_up(test, CEILING, 2 * GUEST);
}

/* They come one after the other. */
static void vcpus_that_move_together_are_one_move(struct kunit *test)
{
	struct paced *paced = test->priv;
	int i;

	give_up(test, CEILING, 2 * GUEST);
	for (i = 0; i < 64; i++)
		invp_pace_vcpus_moved(&paced->pace);
	give_up(test, CEILING, 2 * GUEST);
}

static void moves_do_not_prolong_a_boost(struct kunit *test)
{
	struct paced *paced = test->priv;

	invp_pace_vcpus_moved(&paced->pace);
	windows_of(paced, GUEST);
	invp_pace_vcpus_moved(&paced->pace);
	give_up(test, CEILING, GUEST);
}

static void boosts_in_vain_halve_the_next(struct kunit *test)
{
	struct paced *paced = test->priv;
	int i;

	begin(paced, CEILING, 16 * GUEST);
	for (i = 0; i <= 5; i++) {
		invp_pace_vcpus_moved(&paced->pace);
		KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING >> i);
		windows_of(paced, (32 * GUEST) >> i);
		KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING >> i);
		window(paced, CEILING, 0);
		KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING >> (i + 1));
	}
}

static void wandering_vcpus_do_not_keep_the_rate_up(struct kunit *test)
{
	struct paced *paced = test->priv;
	int i;

	for (i = 0; i < 100; i++) {
		invp_pace_vcpus_moved(&paced->pace);
		window(paced, CEILING, 0);
	}
	KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING / 32);
}

static void migrations_forgive_wandering(struct kunit *test)
{
	struct paced *paced = test->priv;

	invp_pace_vcpus_moved(&paced->pace);
	give_up(test, CEILING, 2 * GUEST);
	invp_pace_vcpus_moved(&paced->pace);
	KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING / 2);
	window(paced, CEILING, CEILING);
	KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING);
	give_up(test, CEILING, 2 * GUEST);
	invp_pace_vcpus_moved(&paced->pace);
	give_up(test, CEILING, 2 * GUEST);
}

struct floor_case {
	const char *name;
	u64 ceiling;
	u64 guest_bytes;
	u64 floor;
};

static const struct floor_case floor_cases[] = {
	{ "no memory yet", 64 * MIB, 0, MIB },
	{ "small guest", 64 * MIB, 16 * MIB, MIB },
	{ "a pass in 256 s", GIB, 2 * GIB, 8 * MIB },
	{ "huge guest", 256 * MIB, 64 * TIB, 4 * MIB },
	{ "huge guest, highest ceiling", 64 * GIB, 64 * TIB, GIB },
	{ "small guest, highest ceiling", 64 * GIB, 16 * MIB, MIB },
	{ "small guest, lowest ceiling", MIB, 2 * MIB, MIB },
	{ "huge guest, lowest ceiling", MIB, 64 * TIB, MIB },
};

static void describe_floor(const struct floor_case *param, char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(floor, floor_cases, describe_floor);

/* Nothing overflows on the way, however much is unmapped and however long it takes. */
static void sinks_to_its_floor(struct kunit *test)
{
	const struct floor_case *param = test->param_value;
	struct paced *paced = test->priv;
	u64 burst;
	int i;

	begin(paced, param->ceiling, param->guest_bytes);
	KUNIT_EXPECT_EQ(test, tokens(paced), max(param->ceiling / 2, INVP_PACE_MIN_BURST));
	for (i = 0; i < 18; i++)
		window(paced, 64 * TIB, 0);
	KUNIT_EXPECT_EQ(test, paced->pace.rate, param->floor);

	burst = max(param->floor / 2, INVP_PACE_MIN_BURST);
	unmap(paced, 64 * TIB);
	KUNIT_EXPECT_LE(test, invp_pace_delay(&paced->pace, paced->now), INVP_PACE_MAX_DELAY);
	paced->now += 1000 * SEC;
	KUNIT_EXPECT_EQ(test, tokens(paced), burst);
	unmap(paced, burst);
	paced->now = U64_MAX;
	KUNIT_EXPECT_EQ(test, tokens(paced), burst);
}

static struct kunit_case pace_rate_cases[] = {
	KUNIT_CASE(backed_off_rate_is_clamped),
	KUNIT_CASE(backs_off_to_the_floor),
	KUNIT_CASE(stays_while_enough_migrates),
	KUNIT_CASE(too_few_migrations_do_not_count),
	KUNIT_CASE(one_fruitful_window_renews_the_patience),
	KUNIT_CASE(comes_back_with_migrations),
	KUNIT_CASE(verdicts_need_time_and_pages),
	KUNIT_CASE(clock_that_goes_back_ends_no_window),
	KUNIT_CASE(verdict_is_on_earlier_pages),
	KUNIT_CASE(comes_back_with_moved_vcpus),
	KUNIT_CASE(move_while_fast_begins_anew),
	KUNIT_CASE(vcpus_that_move_together_are_one_move),
	KUNIT_CASE(moves_do_not_prolong_a_boost),
	KUNIT_CASE(boosts_in_vain_halve_the_next),
	KUNIT_CASE(wandering_vcpus_do_not_keep_the_rate_up),
	KUNIT_CASE(migrations_forgive_wandering),
	KUNIT_CASE_PARAM(sinks_to_its_floor, floor_gen_params),
	{}
};

static struct kunit_suite pace_rate_suite = {
	.name = "kvm_invpolicy_pace_rate",
	.init = pace_init,
	.test_cases = pace_rate_cases,
};

kunit_test_suite(pace_rate_suite);
