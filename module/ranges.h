/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_RANGES_H
#define _INVP_RANGES_H

#include <linux/rcupdate.h>
#include <linux/types.h>

/**
 * struct invp_range - addresses from @start up to, not including, @end
 * @start: first byte
 * @end: first byte after it, greater than @start
 */
struct invp_range {
	unsigned long start;
	unsigned long end;
};

/**
 * struct invp_ranges - a set of addresses
 * @rcu: to free it behind lockless readers
 * @nr: number of ranges
 * @range: sorted and apart from each other once invp_ranges_normalize() has run
 */
struct invp_ranges {
	struct rcu_head rcu;
	size_t nr;
	struct invp_range range[] __counted_by(nr);
};

/* So few that looking at every gap costs nothing. */
#define INVP_RANGE_SET_MAX	64

/**
 * struct invp_range_set - a set of addresses that takes any number of ranges
 * @nr: number of ranges, INVP_RANGE_SET_MAX at most
 * @range: sorted and apart from each other; one more than is kept, so that an addition
 *	finds room before a gap is closed
 *
 * All zeroes is the empty set.
 */
struct invp_range_set {
	unsigned int nr;
	struct invp_range range[INVP_RANGE_SET_MAX + 1];
};

void invp_ranges_normalize(struct invp_ranges *ranges);
unsigned long invp_ranges_overlap(const struct invp_ranges *ranges,
				  unsigned long start, unsigned long end);
void invp_range_set_add(struct invp_range_set *set, unsigned long start, unsigned long end);
bool invp_range_set_take(struct invp_range_set *set, unsigned long from,
			 unsigned long max_bytes, struct invp_range *taken);
u64 invp_range_set_bytes(const struct invp_range_set *set);

#endif
