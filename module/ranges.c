// SPDX-License-Identifier: GPL-2.0-only
/* Sets of address ranges. */
#include <linux/minmax.h>
#include <linux/sort.h>
#include <linux/string.h>

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

/* Among sorted ranges, the first that ends after @addr, or one past the last. */
static size_t first_ending_after(const struct invp_range *range, size_t nr, unsigned long addr)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (range[mid].end > addr)
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

	for (i = first_ending_after(ranges->range, ranges->nr, start); i < ranges->nr; i++) {
		const struct invp_range *range = &ranges->range[i];

		if (range->start >= end)
			break;
		bytes += min(range->end, end) - max(range->start, start);
	}
	return bytes;
}

/* Puts @nr ranges in the place of those from @first up to, not including, @last. */
static void replace(struct invp_range_set *set, size_t first, size_t last,
		    const struct invp_range *with, size_t nr)
{
	memmove(&set->range[first + nr], &set->range[last], (set->nr - last) * sizeof(*with));
	memcpy(&set->range[first], with, nr * sizeof(*with));
	set->nr += nr - (last - first);
}

static unsigned long gap_before(const struct invp_range_set *set, size_t i)
{
	return set->range[i].start - set->range[i - 1].end;
}

static void close_smallest_gap(struct invp_range_set *set)
{
	struct invp_range merged;
	size_t i, smallest = 1;

	for (i = 2; i < set->nr; i++) {
		if (gap_before(set, i) < gap_before(set, smallest))
			smallest = i;
	}
	merged.start = set->range[smallest - 1].start;
	merged.end = set->range[smallest].end;
	replace(set, smallest - 1, smallest + 1, &merged, 1);
}

/**
 * invp_range_set_add() - add a range, merged with those that it overlaps or touches
 * @set: the set
 * @start: first byte
 * @end: first byte after it, greater than @start
 *
 * A full set closes its smallest gap: it may come to hold more than was added, never less.
 *
 * Context: any; the caller keeps others off the set.
 */
void invp_range_set_add(struct invp_range_set *set, unsigned long start, unsigned long end)
{
	struct invp_range added = { start, end };
	size_t first = first_ending_after(set->range, set->nr, start), last;

	if (first && set->range[first - 1].end == start)
		first--;
	for (last = first; last < set->nr && set->range[last].start <= end; last++) {
		added.start = min(added.start, set->range[last].start);
		added.end = max(added.end, set->range[last].end);
	}
	replace(set, first, last, &added, 1);
	if (set->nr > INVP_RANGE_SET_MAX)
		close_smallest_gap(set);
}

/**
 * invp_range_set_take() - take a piece out of a set
 * @set: the set
 * @from: where the last piece ended, so that pieces go round and no address starves
 * @max_bytes: upper limit of the piece, PAGE_SIZE at least
 * @taken: the piece: the first at or after @from, else that of the lowest address
 *
 * A full set has no room for the two halves of a range: one that began before @from is
 * then taken from its start.
 *
 * Context: any; the caller keeps others off the set.
 * Return: false if the set is empty.
 */
bool invp_range_set_take(struct invp_range_set *set, unsigned long from,
			 unsigned long max_bytes, struct invp_range *taken)
{
	size_t i = first_ending_after(set->range, set->nr, from), nr_left = 0;
	struct invp_range range, left[2];

	if (!set->nr)
		return false;

	if (i == set->nr)
		i = 0;
	range = set->range[i];
	*taken = range;
	if (range.start < from && from < range.end && set->nr < INVP_RANGE_SET_MAX)
		taken->start = from;
	taken->end = taken->start + min(range.end - taken->start, max_bytes);

	if (range.start < taken->start)
		left[nr_left++] = (struct invp_range){ range.start, taken->start };
	if (taken->end < range.end)
		left[nr_left++] = (struct invp_range){ taken->end, range.end };
	replace(set, i, i + 1, left, nr_left);
	return true;
}

/**
 * invp_range_set_bytes() - size of a set
 * @set: the set
 *
 * Context: any; the caller keeps others off the set.
 * Return: number of bytes.
 */
u64 invp_range_set_bytes(const struct invp_range_set *set)
{
	u64 bytes = 0;
	size_t i;

	for (i = 0; i < set->nr; i++)
		bytes += set->range[i].end - set->range[i].start;
	return bytes;
}
