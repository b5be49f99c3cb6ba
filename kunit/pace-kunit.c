// SPDX-License-Identifier: GPL-2.0-only
/* The bucket and its rate, in a time that the tests make. */
#include <kunit/test.h>
#include <linux/mm.h>

#include "pace.h"

#define MIB		((u64)SZ_1M)
#define GIB		((u64)SZ_1G)
#define TIB		(1024 * GIB)
#define SEC		((u64)NSEC_PER_SEC)
#define MSEC		((u64)NSEC_PER_MSEC)

#define BEGIN		(5 * SEC)
#define CEILING		(64 * MIB)
#define GUEST		(256 * MIB)
/* At the ceiling: half of it. */
#define BURST		(CEILING / 2)

/* A pace and the time. */
struct paced {
	struct invp_pace pace;
	u64 now;
};

static void begin(struct paced *paced, u64 ceiling, u64 guest_bytes)
{
	paced->now = BEGIN;
	invp_pace_init(&paced->pace, ceiling, guest_bytes, BEGIN);
}

static int pace_init(struct kunit *test)
{
	struct paced *paced = kunit_kzalloc(test, sizeof(*paced), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, paced);
	begin(paced, CEILING, GUEST);
	test->priv = paced;
	return 0;
}

static u64 tokens(struct paced *paced)
{
	return invp_pace_tokens(&paced->pace, paced->now);
}

static void unmap(struct paced *paced, u64 bytes)
{
	invp_pace_unmapped(&paced->pace, bytes, paced->now);
}

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

static void begins_full_and_fast(struct kunit *test)
{
	struct paced *paced = test->priv;

	KUNIT_EXPECT_EQ(test, paced->pace.rate, CEILING);
	KUNIT_EXPECT_EQ(test, tokens(paced), BURST);
	KUNIT_EXPECT_EQ(test, invp_pace_delay(&paced->pace, paced->now), 0);
}

static void refills_at_the_rate(struct kunit *test)
{
	struct paced *paced = test->priv;

	unmap(paced, BURST);
	KUNIT_EXPECT_EQ(test, tokens(paced), 0);
	paced->now += 125 * MSEC;
	KUNIT_EXPECT_EQ(test, tokens(paced), CEILING / 8);
	KUNIT_EXPECT_EQ(test, tokens(paced), CEILING / 8);
}

/* Each step gives less than one byte at this rate, all of them together one second's. */
static void small_steps_add_up(struct kunit *test)
{
	struct paced *paced = test->priv;
	int i;

	begin(paced, MIB, 0);
	unmap(paced, 2 * MIB);
	for (i = 0; i < 1000000; i++) {
		paced->now += 500;
		tokens(paced);
	}
	KUNIT_EXPECT_GE(test, tokens(paced), MIB / 2 - 1);
	KUNIT_EXPECT_LE(test, tokens(paced), MIB / 2 + MIB / 500);
}

static void idle_time_gives_one_burst(struct kunit *test)
{
	struct paced *paced = test->priv;

	unmap(paced, BURST);
	paced->now += 24 * 3600 * SEC;
	KUNIT_EXPECT_EQ(test, tokens(paced), BURST);
	unmap(paced, BURST);
	KUNIT_EXPECT_EQ(test, tokens(paced), 0);
	paced->now += 125 * MSEC;
	KUNIT_EXPECT_EQ(test, tokens(paced), CEILING / 8);
}

static void slow_rate_still_bursts_a_huge_page(struct kunit *test)
{
	struct paced *paced = test->priv;

	begin(paced, MIB, GUEST);
	KUNIT_EXPECT_EQ(test, tokens(paced), INVP_PACE_MIN_BURST);
	unmap(paced, INVP_PACE_MIN_BURST);
	paced->now += 60 * SEC;
	KUNIT_EXPECT_EQ(test, tokens(paced), INVP_PACE_MIN_BURST);
}

static void debt_is_paid_first(struct kunit *test)
{
	struct paced *paced = test->priv;

	unmap(paced, BURST + MIB);
	KUNIT_EXPECT_EQ(test, tokens(paced), 0);
	paced->now += SEC / 64;
	KUNIT_EXPECT_EQ(test, tokens(paced), 0);
	paced->now += SEC / 64;
	KUNIT_EXPECT_EQ(test, tokens(paced), MIB);
}

static void debt_is_bounded(struct kunit *test)
{
	struct paced *paced = test->priv;

	unmap(paced, 64 * GIB);
	KUNIT_EXPECT_EQ(test, paced->pace.tokens, -(s64)INVP_PACE_MIN_BURST);
	paced->now += 2 * SEC / 64;
	KUNIT_EXPECT_EQ(test, tokens(paced), 0);
	paced->now += SEC / 64;
	KUNIT_EXPECT_EQ(test, tokens(paced), MIB);
}

static void clock_that_does_not_advance(struct kunit *test)
{
	struct paced *paced = test->priv;

	unmap(paced, BURST - MIB);
	KUNIT_EXPECT_EQ(test, tokens(paced), MIB);
	paced->now = BEGIN - SEC;
	KUNIT_EXPECT_EQ(test, tokens(paced), MIB);
	KUNIT_EXPECT_EQ(test, invp_pace_delay(&paced->pace, paced->now), 31 * SEC / 64 + 1);
	window(paced, GUEST, 0);
	KUNIT_EXPECT_EQ(test, paced->pace.fruitless, 0);
	paced->now = BEGIN + 3 * SEC / 64;
	KUNIT_EXPECT_EQ(test, tokens(paced), MIB);
}

static void delay_is_just_enough(struct kunit *test)
{
	static const u64 ceilings[] = { 3 * MIB, 7 * MIB, 100 * MIB, 1023 * MIB, 64 * GIB };
	struct paced *paced = test->priv;
	u64 delay, full;
	int i;

	for (i = 0; i < ARRAY_SIZE(ceilings); i++) {
		full = max(ceilings[i] / 2, INVP_PACE_MIN_BURST);
		begin(paced, ceilings[i], GUEST);
		unmap(paced, tokens(paced));
		delay = invp_pace_delay(&paced->pace, paced->now);
		KUNIT_EXPECT_GT(test, delay, 1);
		paced->now += delay - 2;
		KUNIT_EXPECT_LT(test, tokens(paced), full);
		paced->now += 2;
		KUNIT_EXPECT_EQ(test, tokens(paced), full);
		KUNIT_EXPECT_EQ(test, invp_pace_delay(&paced->pace, paced->now), 0);
	}
}

static void delay_is_bounded(struct kunit *test)
{
	struct paced *paced = test->priv;

	begin(paced, MIB, GUEST);
	unmap(paced, 4 * MIB);
	KUNIT_EXPECT_EQ(test, invp_pace_delay(&paced->pace, paced->now), INVP_PACE_MAX_DELAY);
}

static void ceiling_changes(struct kunit *test)
{
	struct paced *paced = test->priv;
	struct invp_pace *pace = &paced->pace;

	invp_pace_configure(pace, 16 * MIB, GUEST);
	KUNIT_EXPECT_EQ(test, pace->rate, 16 * MIB);
	KUNIT_EXPECT_EQ(test, tokens(paced), 16 * MIB / 2);
	invp_pace_configure(pace, 128 * MIB, GUEST);
	KUNIT_EXPECT_EQ(test, pace->rate, 128 * MIB);
	KUNIT_EXPECT_EQ(test, tokens(paced), 16 * MIB / 2);
}

static void backed_off_rate_is_clamped(struct kunit *test)
{
	struct paced *paced = test->priv;
	struct invp_pace *pace = &paced->pace;

	give_up(test, CEILING, 2 * GUEST);
	invp_pace_configure(pace, 128 * MIB, GUEST);
	KUNIT_EXPECT_EQ(test, pace->rate, 32 * MIB);
	invp_pace_configure(pace, 128 * MIB, 256 * 40 * MIB);
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
		/* The floor of this guest is a quarter of the ceiling. */
		KUNIT_EXPECT_EQ(test, paced->pace.rate, max(CEILING >> i, CEILING / 4));
		windows_of(paced, (32 * GUEST) >> i);
		KUNIT_EXPECT_EQ(test, paced->pace.rate, max(CEILING >> i, CEILING / 4));
		window(paced, CEILING, 0);
		KUNIT_EXPECT_EQ(test, paced->pace.rate, max(CEILING >> (i + 1), CEILING / 4));
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
	{ "a pass in 256 s", 64 * MIB, 2 * GIB, 8 * MIB },
	{ "huge guest", 64 * MIB, 64 * TIB, 64 * MIB },
	{ "huge guest, highest ceiling", 64 * GIB, 64 * TIB, 64 * GIB },
	{ "small guest, highest ceiling", 64 * GIB, 16 * MIB, GIB },
	{ "small guest, lowest ceiling", MIB, 2 * MIB, MIB / 64 },
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
	for (i = 0; i < 16; i++)
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

static struct kunit_case pace_cases[] = {
	KUNIT_CASE(begins_full_and_fast),
	KUNIT_CASE(refills_at_the_rate),
	KUNIT_CASE(small_steps_add_up),
	KUNIT_CASE(idle_time_gives_one_burst),
	KUNIT_CASE(slow_rate_still_bursts_a_huge_page),
	KUNIT_CASE(debt_is_paid_first),
	KUNIT_CASE(debt_is_bounded),
	KUNIT_CASE(clock_that_does_not_advance),
	KUNIT_CASE(delay_is_just_enough),
	KUNIT_CASE(delay_is_bounded),
	KUNIT_CASE(ceiling_changes),
	KUNIT_CASE(backed_off_rate_is_clamped),
	KUNIT_CASE(backs_off_to_the_floor),
	KUNIT_CASE(stays_while_enough_migrates),
	KUNIT_CASE(too_few_migrations_do_not_count),
	KUNIT_CASE(one_fruitful_window_renews_the_patience),
	KUNIT_CASE(comes_back_with_migrations),
	KUNIT_CASE(verdicts_need_time_and_pages),
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

static struct kunit_suite pace_suite = {
	.name = "kvm_invpolicy_pace",
	.init = pace_init,
	.test_cases = pace_cases,
};

kunit_test_suite(pace_suite);
