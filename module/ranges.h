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

void invp_ranges_normalize(struct invp_ranges *ranges);
unsigned long invp_ranges_overlap(const struct invp_ranges *ranges,
				  unsigned long start, unsigned long end);

#endif
