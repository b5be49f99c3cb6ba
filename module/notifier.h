/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_NOTIFIER_H
#define _INVP_NOTIFIER_H

#include <linux/mmu_notifier.h>

#include "policy.h"
#include "stats.h"
#include "trace.h"

/**
 * struct invp_notifier - the extra MMU notifier on the mm of a VM
 * @mn: registered after KVM's, so its callbacks run before KVM's
 * @stats: where its events are counted; outlives it
 * @ended: the mm was torn down
 */
struct invp_notifier {
	struct mmu_notifier mn;
	struct invp_stats *stats;
	bool ended;
};

void invp_notifier_release(struct mmu_notifier *mn, struct mm_struct *mm);
int invp_notifier_register(struct invp_notifier *notifier, struct mm_struct *mm,
			   const struct mmu_notifier_ops *ops);
void invp_notifier_unregister(struct invp_notifier *notifier);

/**
 * invp_notifier_event() - count an event, and tell of it
 * @notifier: on the mm of the event
 * @range: as passed to range_start
 * @reason: of the event
 * @action: what KVM is told to do with it
 *
 * Context: range_start of an MMU notifier.
 */
static inline void
invp_notifier_event(struct invp_notifier *notifier, const struct mmu_notifier_range *range,
		    enum kvm_invpolicy_reason reason, enum invp_action action)
{
	invp_stats_event(notifier->stats, reason, range->end - range->start);
	trace_invp_event(range, reason, action);
}

#endif
