// SPDX-License-Identifier: GPL-2.0-only
/* The extra MMU notifier on a VM's mm, and what all of its kinds share. */
#include <linux/sched/mm.h>

#include "notifier.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/**
 * invp_notifier_release() - the release callback of every kind: the mm is torn down
 * @mn: in a struct invp_notifier
 * @mm: of the VM
 *
 * Context: may sleep.
 */
void invp_notifier_release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct invp_notifier *notifier = container_of(mn, struct invp_notifier, mn);

	invp_stats_event(notifier->stats, KVM_INVPOLICY_REASON_EXIT, 0);
	WRITE_ONCE(notifier->ended, true);
}

/**
 * invp_notifier_register() - hear of the events of an mm
 * @notifier: zeroed, but for @stats
 * @mm: of the VM; no reference is kept that would hold its memory
 * @ops: callbacks; release is invp_notifier_release()
 *
 * Context: may sleep, takes the mmap_lock.
 * Return: 0; -ESRCH if the process is gone; -EINTR on a signal; -ENOMEM.
 */
int invp_notifier_register(struct invp_notifier *notifier, struct mm_struct *mm,
			   const struct mmu_notifier_ops *ops)
{
	int err;

	if (!mmget_not_zero(mm))
		return -ESRCH;
	notifier->mn.ops = ops;
	err = mmu_notifier_register(&notifier->mn, mm);
	mmput(mm);
	return err;
}

/**
 * invp_notifier_unregister() - undo invp_notifier_register()
 * @notifier: no callback runs or follows on return
 *
 * Context: may sleep; never from an MMU notifier callback, for which it waits.
 */
void invp_notifier_unregister(struct invp_notifier *notifier)
{
	mmu_notifier_unregister(&notifier->mn, notifier->mn.mm);
}
