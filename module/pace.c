// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast guest memory may be unmapped for NUMA hints: fast while hints still move
 * pages, slow once they do not.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>

#include "pace.h"

/* A full bucket: what the rate gives in half a second. Each has a flush of its own. */
#define BURSTS_PER_SEC	2

/* Long enough to fill any bucket at any rate, short enough for the arithmetic. */
#define MAX_IDLE	(1000 * NSEC_PER_SEC)

/* What a verdict needs at least. */
#define WINDOW_TIME	NSEC_PER_SEC
#define WINDOW_BYTES	(64 * PAGE_SIZE)

/* A window is fruitful when one page migrates for so many unmapped. */
#define FRUITFUL_RATIO	16

/*
 * The kernel moves a page on the second hint from the same node, so nothing is proved
 * before all memory was unmapped twice.
 */
#define PASSES		2

/* Boosts in vain halve the next one so often: to a 32nd of the ceiling. */
#define MAX_WANDERED	5

/*
 * At the floor a pass over all memory takes so long; over that of a large guest longer, for
 * its vCPUs should not pay more than those of a small one.
 */
#define FLOOR_PASS_SECS	256
#define FLOOR_RATIO	64
#define FLOOR_MIN	((u64)SZ_1M)

static s64 burst_of(const struct invp_pace *pace)
{
	return max(div_u64(pace->rate, BURSTS_PER_SEC), INVP_PACE_MIN_BURST);
}

static u64 ns_for(const struct invp_pace *pace, u64 bytes)
{
	return mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, pace->rate);
}

/* Time that gave no whole byte is left for the next refill. */
static void refill(struct invp_pace *pace, u64 now)
{
	s64 burst = burst_of(pace);
	u64 gained = 0;

	if (now > pace->refilled)
		gained = mul_u64_u64_div_u64(min(now - pace->refilled, MAX_IDLE), pace->rate,
					     NSEC_PER_SEC);
	pace->tokens += gained;
	pace->refilled += ns_for(pace, gained);
	if (pace->tokens >= burst) {
		pace->tokens = burst;
		pace->refilled = max(pace->refilled, now);
	}
}

/**
 * invp_pace_init() - begin at the ceiling, with a full bucket
 * @pace: to be set up
 * @ceiling: bytes/s, 1 to 65536 MiB/s
 * @guest_bytes: size of guest memory, up to 64 TiB; 0 while there is none
 * @now: ns
 */
void invp_pace_init(struct invp_pace *pace, u64 ceiling, u64 guest_bytes, u64 now)
{
	*pace = (struct invp_pace){ .refilled = now, .window_start = now };
	invp_pace_configure(pace, ceiling, guest_bytes);
	pace->tokens = burst_of(pace);
}

/**
 * invp_pace_configure() - the setting or the memory slots have changed
 * @pace: the pace
 * @ceiling: bytes/s, 1 to 65536 MiB/s; a rate that is at the old ceiling follows it
 * @guest_bytes: size of guest memory, up to 64 TiB; 0 while there is none
 */
void invp_pace_configure(struct invp_pace *pace, u64 ceiling, u64 guest_bytes)
{
	bool at_ceiling = pace->rate == pace->ceiling;

	pace->ceiling = ceiling;
	pace->guest_bytes = guest_bytes;
	pace->floor = clamp(div_u64(guest_bytes, FLOOR_PASS_SECS), FLOOR_MIN,
			    max(div_u64(ceiling, FLOOR_RATIO), FLOOR_MIN));
	pace->rate = at_ceiling ? ceiling : clamp(pace->rate, pace->floor, ceiling);
}

/**
 * invp_pace_tokens() - how much may be unmapped now
 * @pace: the pace
 * @now: ns
 *
 * Return: bytes, what the rate gives in half a second or INVP_PACE_MIN_BURST at most.
 */
u64 invp_pace_tokens(struct invp_pace *pace, u64 now)
{
	refill(pace, now);
	return max(pace->tokens, 0);
}

/**
 * invp_pace_delay() - how long until the bucket is full
 * @pace: the pace
 * @now: ns
 *
 * Return: ns, INVP_PACE_MAX_DELAY at most; 0 if it is full.
 */
u64 invp_pace_delay(struct invp_pace *pace, u64 now)
{
	s64 missing;

	refill(pace, now);
	missing = burst_of(pace) - pace->tokens;
	if (missing <= 0)
		return 0;
	return min(ns_for(pace, missing) + 1, INVP_PACE_MAX_DELAY);
}

static u64 patience_of(const struct invp_pace *pace)
{
	return (PASSES * pace->guest_bytes) >> pace->wandered;
}

static bool given_up(const struct invp_pace *pace)
{
	return pace->fruitless >= patience_of(pace);
}

static void boost(struct invp_pace *pace)
{
	pace->rate = max(pace->ceiling >> pace->wandered, pace->floor);
	pace->fruitless = 0;
}

static void judge_window(struct invp_pace *pace)
{
	if (pace->migrated >= div_u64(pace->unmapped, FRUITFUL_RATIO)) {
		pace->boosted = false;
		pace->wandered = 0;
		boost(pace);
	} else if (given_up(pace)) {
		pace->rate = max(div_u64(pace->rate, 2), pace->floor);
	} else {
		pace->fruitless += pace->unmapped;
	}
}

/**
 * invp_pace_unmapped() - spend tokens
 * @pace: the pace
 * @bytes: how much was unmapped; beyond the tokens at most INVP_PACE_MIN_BURST become
 *	debt, which is paid before anything may be unmapped again
 * @now: ns
 *
 * The verdict is on what was unmapped before: these pages have had no time to migrate.
 */
void invp_pace_unmapped(struct invp_pace *pace, u64 bytes, u64 now)
{
	refill(pace, now);
	if (now > pace->window_start && now - pace->window_start >= WINDOW_TIME &&
	    pace->unmapped >= WINDOW_BYTES) {
		judge_window(pace);
		pace->window_start = now;
		pace->unmapped = 0;
		pace->migrated = 0;
	}
	pace->unmapped += bytes;
	pace->tokens = max(pace->tokens - (s64)bytes, -(s64)INVP_PACE_MIN_BURST);
}

/**
 * invp_pace_migrated() - pages of the guest have migrated
 * @pace: the pace
 * @bytes: how much
 */
void invp_pace_migrated(struct invp_pace *pace, u64 bytes)
{
	pace->migrated += bytes;
}

/**
 * invp_pace_vcpus_moved() - vCPUs run on another node than before
 * @pace: the pace
 *
 * The rate rises to the ceiling, for two passes over memory. vCPUs that wander about
 * must not keep it there: a boost that is still under way is not prolonged, and one that
 * was given up without a fruitful window halves both rate and patience of the next, down
 * to a 32nd of the ceiling and a sixteenth of a pass. A fruitful window restores both.
 *
 * Return: whether a boost has begun.
 */
bool invp_pace_vcpus_moved(struct invp_pace *pace)
{
	if (pace->boosted && !given_up(pace))
		return false;
	if (pace->boosted)
		pace->wandered = min(pace->wandered + 1, MAX_WANDERED);
	boost(pace);
	pace->boosted = true;
	return true;
}
