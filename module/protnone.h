/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_PROTNONE_H
#define _INVP_PROTNONE_H

#include <linux/mm_types.h>

#include "ranges.h"

struct invp_settled;

/**
 * struct invp_protnone - a search for pages that the host has made PROT_NONE
 * @mm: whose pages; in use on this CPU (current->mm, or kthread_use_mm())
 * @home_node: the only node on which the vCPUs may run: a page there cannot migrate and is
 *	spared. NUMA_NO_NODE if there is no such node
 * @settled: what hints of each page have come to: a page that they do not move is spared.
 *	NULL if none is to be
 * @nr: number of runs found; the caller sets it to 0 to begin, and again when it has
 *	made use of them
 * @runs: the runs of pages that a hint may move, sorted and apart
 * @capacity: number of entries of @runs, 1 at least
 * @protected: pages (of PAGE_SIZE) that are PROT_NONE; adds up, as those below do
 * @pinned: of these, spared as they may be pinned for DMA and then cannot migrate
 * @placed: of these, spared as they are on @home_node, settled, or unmapped for a hint that
 *	nobody has taken yet
 * @samples: settled pages that may be hinted again; less than zero if there were more
 * @records: of the pages in the page table that is being walked
 */
struct invp_protnone {
	struct mm_struct *mm;
	int home_node;
	struct invp_settled *settled;
	unsigned int nr;
	struct invp_range *runs;
	unsigned int capacity;
	u64 protected;
	u64 pinned;
	u64 placed;
	s64 samples;
	u16 *records;
};

unsigned long invp_protnone_walk(struct invp_protnone *walk,
				 unsigned long start, unsigned long end);
void invp_protnone_note_touched(struct mm_struct *mm, struct invp_settled *settled,
				unsigned long start, unsigned long end);

#endif
