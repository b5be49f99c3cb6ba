/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_NOTIFIER_H
#define _INVP_NOTIFIER_H

#include <linux/mmu_notifier.h>

#include "ranges.h"
#include "stats.h"

/**
 * struct invp_notifier - the extra MMU notifier on the mm of a VM
 * @mn: registered after KVM's, so its callbacks run before KVM's
 * @stats: what happened since it was registered
 * @guest: guest memory, to tell it from the rest of the process; may be NULL
 * @ended: the mm was torn down
 */
struct invp_notifier {
	struct mmu_notifier mn;
	struct invp_stats stats;
	struct invp_ranges __rcu *guest;
	bool ended;
};

int invp_notifier_register(struct invp_notifier *notifier, struct mm_struct *mm);
void invp_notifier_unregister(struct invp_notifier *notifier);

#endif
