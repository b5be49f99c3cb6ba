// SPDX-License-Identifier: GPL-2.0-only
/* Sets of address ranges. */
#include <linux/minmax.h>
#include <linux/sort.h>

#include "ranges.h"

static int cmp_start(const void *a, const void *b)
{
	const struct invp_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/**
 * invp_ranges_normalize() - sort ranges and merge those that overlap or touch
 * @ranges: in any order; its @nr shrinks as ranges merge
 *
 * Context: process context.
 */
void invp_ranges_normalize(struct invp_ranges *ranges)
{
	struct invp_range *last = ranges->range;
	size_t i;

	if (!ranges->nr)
		return;

	sort(ranges->range, ranges->nr, sizeof(*last), cmp_start, NULL);
	for (i = 1; i < ranges->nr; i++) {
		struct invp_range *next = &ranges->range[i];

		if (next->start <= last->end)
			last->end = max(last->end, next->end);
		else
			*++last = *next;
	}
	ranges->nr = last - ranges->range + 1;
}

/* The first range that ends after @addr, or one past the last. */
static size_t first_ending_after(const struct invp_ranges *ranges, unsigned long addr)
{
	size_t low = 0, high = ranges->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ranges->range[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/**
 * invp_ranges_overlap() - how much of a range is in a set
 * @ranges: normalized
 * @start: first byte
 * @end: first byte after it
 *
 * Context: any.
 * Return: number of bytes.
 */
unsigned long invp_ranges_overlap(const struct invp_ranges *ranges,
				  unsigned long start, unsigned long end)
{
	unsigned long bytes = 0;
	size_t i;

	for (i = first_ending_after(ranges, start); i < ranges->nr; i++) {
		const struct invp_range *range = &ranges->range[i];

		if (range->start >= end)
			break;
		bytes += min(range->end, end) - max(range->start, start);
	}
	return bytes;
}
