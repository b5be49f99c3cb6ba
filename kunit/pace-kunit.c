// SPDX-License-Identifier: GPL-2.0-only
/* The token bucket. */
#include "paced.h"

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

static void spends_what_has_come_in_since(struct kunit *test)
{
	struct paced *paced = test->priv;

	unmap(paced, BURST);
	paced->now += SEC;
	unmap(paced, BURST - MIB);
	KUNIT_EXPECT_EQ(test, paced->pace.tokens, MIB);
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
	paced->now = BEGIN + 3 * SEC / 64;
	KUNIT_EXPECT_EQ(test, tokens(paced), 4 * MIB);
}

static void time_that_comes_again_gives_nothing(struct kunit *test)
{
	struct paced *paced = test->priv;

	paced->now = BEGIN - SEC;
	KUNIT_EXPECT_EQ(test, tokens(paced), BURST);
	unmap(paced, BURST);
	paced->now = BEGIN;
	KUNIT_EXPECT_EQ(test, tokens(paced), 0);
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
		KUNIT_EXPECT_EQ(test, invp_pace_delay(&paced->pace, paced->now), 0);
		KUNIT_EXPECT_EQ(test, tokens(paced), full);
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

static struct kunit_case pace_cases[] = {
	KUNIT_CASE(begins_full_and_fast),
	KUNIT_CASE(refills_at_the_rate),
	KUNIT_CASE(small_steps_add_up),
	KUNIT_CASE(idle_time_gives_one_burst),
	KUNIT_CASE(slow_rate_still_bursts_a_huge_page),
	KUNIT_CASE(debt_is_paid_first),
	KUNIT_CASE(spends_what_has_come_in_since),
	KUNIT_CASE(debt_is_bounded),
	KUNIT_CASE(clock_that_does_not_advance),
	KUNIT_CASE(time_that_comes_again_gives_nothing),
	KUNIT_CASE(delay_is_just_enough),
	KUNIT_CASE(delay_is_bounded),
	KUNIT_CASE(ceiling_changes),
	{}
};

static struct kunit_suite pace_suite = {
	.name = "kvm_invpolicy_pace",
	.init = pace_init,
	.test_cases = pace_cases,
};

kunit_test_suite(pace_suite);
