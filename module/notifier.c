// SPDX-License-Identifier: GPL-2.0-only
/* The extra MMU notifier: observes every event of a VM's mm, changes nothing. */
#include <linux/sched/mm.h>

#include "notifier.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static void count_guest_pages(struct invp_notifier *notifier,
			      const struct mmu_notifier_range *range)
{
	const struct invp_ranges *guest;

	guard(rcu)();
	guest = rcu_dereference(notifier->guest);
	if (guest)
		this_cpu_add(notifier->stats.percpu->numa_guest_pages,
			     invp_ranges_overlap(guest, range->start, range->end) >> PAGE_SHIFT);
}

static int range_start(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	struct invp_notifier *notifier = container_of(mn, struct invp_notifier, mn);
	enum kvm_invpolicy_reason reason = invp_reason(range);

	invp_stats_event(&notifier->stats, reason, range->end - range->start);
	if (reason == KVM_INVPOLICY_REASON_NUMA)
		count_guest_pages(notifier, range);
	trace_invp_event(range, reason);
	return 0;
}

static void release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct invp_notifier *notifier = container_of(mn, struct invp_notifier, mn);

	invp_stats_event(&notifier->stats, KVM_INVPOLICY_REASON_EXIT, 0);
	WRITE_ONCE(notifier->ended, true);
}

static const struct mmu_notifier_ops notifier_ops = {
	.invalidate_range_start = range_start,
	.release = release,
};

/**
 * invp_notifier_register() - begin to observe an mm
 * @notifier: zeroed, but for @guest
 * @mm: of the VM; no reference is kept that would hold its memory
 *
 * Context: may sleep, takes the mmap_lock.
 * Return: 0; -ESRCH if the process is gone; -EINTR on a signal; -ENOMEM.
 */
int invp_notifier_register(struct invp_notifier *notifier, struct mm_struct *mm)
{
	int err;

	err = invp_stats_init(&notifier->stats);
	if (err)
		return err;

	err = -ESRCH;
	if (!mmget_not_zero(mm))
		goto out_stats;

	notifier->mn.ops = &notifier_ops;
	err = mmu_notifier_register(&notifier->mn, mm);
	mmput(mm);
	if (err)
		goto out_stats;
	return 0;

out_stats:
	invp_stats_destroy(&notifier->stats);
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
	invp_stats_destroy(&notifier->stats);
}
