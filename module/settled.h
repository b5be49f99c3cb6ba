/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_SETTLED_H
#define _INVP_SETTLED_H

#include <linux/types.h>
#include <linux/xarray.h>

/* So many hints in a row have not moved a page: it is settled. */
#define INVP_SETTLED_HINTS	2

/* When it was spared in so many scans, it may be hinted as often again: a sample is due. */
#define INVP_SETTLED_SCANS	13

/**
 * struct invp_settled - what the hints of each page have come to
 * @records: of each page, in tables for PMD_SIZE of address space, by its number. Changed by
 *	one task at a time, read under RCU
 * @nr_tables: how many there are
 */
struct invp_settled {
	struct xarray records;
	unsigned long nr_tables;
};

void invp_settled_init(struct invp_settled *settled);
void invp_settled_forget(struct invp_settled *settled);
u16 *invp_settled_records(struct invp_settled *settled, unsigned long addr);
u16 *invp_settled_known(struct invp_settled *settled, unsigned long addr);
u16 invp_settled_next(u16 record, unsigned long pfn, bool may_sample, bool *spared,
		      bool *sampled);
void invp_settled_touched(u16 *record);
bool invp_settled_migrating(struct invp_settled *settled, unsigned long start,
			    unsigned long end);

#endif
