/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_PROTNONE_H
#define _INVP_PROTNONE_H

#include <linux/bits.h>
#include <linux/mm_types.h>
#include <linux/numa.h>

#include "ranges.h"

/*
 * A page remembers the last user that took a hint on it by the low bits of the thread's
 * number (include/linux/page-flags-layout.h).
 */
#ifdef CONFIG_NUMA_BALANCING
#define INVP_USER_IDS	BIT(LAST__PID_SHIFT)
#else
#define INVP_USER_IDS	1
#endif

/* No page is there: for an id that users on several nodes share. */
#define INVP_SEVERAL_NODES	(NUMA_NO_NODE - 1)

/**
 * struct invp_user_nodes - where those run that may use a page
 * @node: by the low bits of the thread's number; NUMA_NO_NODE if there is none
 */
struct invp_user_nodes {
	s16 node[INVP_USER_IDS];
};

/**
 * struct invp_protnone - a search for pages that the host has made PROT_NONE
 * @mm: whose pages; in use on this CPU (current->mm, or kthread_use_mm())
 * @home_node: the only node on which the vCPUs may run: a page there cannot migrate and is
 *	spared. NUMA_NO_NODE if there is no such node
 * @users: a page on the node where its last user now runs is settled, and spared but for
 *	@samples; NULL: none is
 * @samples: settled pages that may be taken still, to learn of users that are not known yet
 * @nr: number of runs found; the caller sets it to 0 to begin, and again when it has
 *	made use of them
 * @runs: the runs of pages that a hint may move, sorted and apart
 * @capacity: number of entries of @runs, 1 at least
 * @protected: pages (of PAGE_SIZE) that are PROT_NONE; adds up, as those below do
 * @pinned: of these, spared as they may be pinned for DMA and then cannot migrate
 * @placed: of these, spared as they are on @home_node, or settled
 */
struct invp_protnone {
	struct mm_struct *mm;
	int home_node;
	const struct invp_user_nodes *users;
	u64 samples;
	unsigned int nr;
	struct invp_range *runs;
	unsigned int capacity;
	u64 protected;
	u64 pinned;
	u64 placed;
};

unsigned long invp_protnone_walk(struct invp_protnone *walk,
				 unsigned long start, unsigned long end);

#endif
