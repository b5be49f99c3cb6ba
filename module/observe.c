// SPDX-License-Identifier: GPL-2.0-only
/* Counting the events of a VM without a policy, on any KVM. */
#include <linux/slab.h>

#include "compat/kvm.h"
#include "notifier.h"
#include "observe.h"
#include "ranges.h"

/**
 * struct invp_observer - an observed VM
 * @notifier: on the mm of the VM
 * @stats: what happened since the observation began
 * @guest: guest memory, to tell it from the rest of the process
 * @kvm: the VM, only to be compared: it may be gone
 */
struct invp_observer {
	struct invp_notifier notifier;
	struct invp_stats stats;
	struct invp_ranges __rcu *guest;
	const struct kvm *kvm;
};

static void count_guest_pages(struct invp_observer *observer,
			      const struct mmu_notifier_range *range)
{
	unsigned long bytes;

	guard(rcu)();
	bytes = invp_ranges_overlap(rcu_dereference(observer->guest), range->start, range->end);
	this_cpu_add(observer->stats.percpu->numa_guest_pages, bytes >> PAGE_SHIFT);
}

static int observer_range_start(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	struct invp_observer *observer = container_of(mn, struct invp_observer, notifier.mn);
	enum kvm_invpolicy_reason reason = invp_reason(range);

	invp_notifier_event(&observer->notifier, range, reason, INVP_ACTION_DEFAULT);
	if (reason == KVM_INVPOLICY_REASON_NUMA)
		count_guest_pages(observer, range);
	return 0;
}

static const struct mmu_notifier_ops observer_ops = {
	.invalidate_range_start = observer_range_start,
	.release = invp_notifier_release,
};

static size_t nr_memslots(struct kvm *kvm)
{
	struct kvm_memory_slot *slot;
	size_t nr = 0;
	int i, bkt;

	for (i = 0; i < kvm_arch_nr_memslot_as_ids(kvm); i++)
		kvm_for_each_memslot(slot, bkt, __kvm_memslots(kvm, i))
			nr++;
	return nr;
}

/* Address spaces share memory, and slots may alias each other: normalize. */
static struct invp_ranges *guest_ranges(struct kvm *kvm)
{
	struct kvm_memory_slot *slot;
	struct invp_ranges *guest;
	size_t nr, n = 0;
	int i, bkt;

	guard(mutex)(&kvm->slots_lock);
	nr = nr_memslots(kvm);
	guest = kvzalloc(struct_size(guest, range, nr), GFP_KERNEL_ACCOUNT);
	if (!guest)
		return NULL;

	guest->nr = nr;
	for (i = 0; i < kvm_arch_nr_memslot_as_ids(kvm); i++) {
		kvm_for_each_memslot(slot, bkt, __kvm_memslots(kvm, i)) {
			guest->range[n].start = slot->userspace_addr;
			guest->range[n].end = slot->userspace_addr + (slot->npages << PAGE_SHIFT);
			n++;
		}
	}
	invp_ranges_normalize(guest);
	return guest;
}

static int observer_refresh(struct invp_observer *observer, struct kvm *kvm)
{
	struct invp_ranges *guest = guest_ranges(kvm);

	if (!guest)
		return -ENOMEM;
	guest = rcu_replace_pointer(observer->guest, guest, true);
	if (guest)
		kvfree_rcu(guest, rcu);
	return 0;
}

static void observer_free(struct invp_observer *observer)
{
	kvfree(rcu_access_pointer(observer->guest));
	invp_stats_destroy(&observer->stats);
	kfree(observer);
}

static struct invp_observer *observer_create(struct kvm *kvm)
{
	struct invp_observer *observer = kzalloc(sizeof(*observer), GFP_KERNEL_ACCOUNT);
	int err;

	if (!observer)
		return ERR_PTR(-ENOMEM);

	observer->kvm = kvm;
	observer->notifier.stats = &observer->stats;
	err = invp_stats_init(&observer->stats);
	if (!err)
		err = observer_refresh(observer, kvm);
	if (!err)
		err = invp_notifier_register(&observer->notifier, kvm->mm, &observer_ops);
	if (err) {
		observer_free(observer);
		return ERR_PTR(err);
	}
	return observer;
}

/**
 * invp_observe() - begin to observe a VM, or take in what changed in its memslots
 * @observation: of the device descriptor
 * @kvm: the VM, referenced by the caller
 *
 * Context: may sleep, takes kvm->slots_lock and the mmap_lock.
 * Return: 0; -EBUSY if another VM is observed; -ESRCH if the VM's process is gone;
 * -EINTR on a signal; -ENOMEM.
 */
int invp_observe(struct invp_observation *observation, struct kvm *kvm)
{
	struct invp_observer *observer;

	guard(mutex)(&observation->lock);
	observer = observation->observer;
	if (observer) {
		/*
		 * A live notifier pins its mm, so only a new VM of the same process can
		 * be taken for an ended one: its events are the same process's.
		 */
		if (observer->kvm != kvm || observer->notifier.mn.mm != kvm->mm)
			return -EBUSY;
		return observer_refresh(observer, kvm);
	}

	observer = observer_create(kvm);
	if (IS_ERR(observer))
		return PTR_ERR(observer);
	observation->observer = observer;
	return 0;
}

/**
 * invp_observe_stats() - what was observed so far
 * @observation: of the device descriptor
 * @stats: zeroed; its counters are filled in
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT if nothing is observed.
 */
int invp_observe_stats(struct invp_observation *observation, struct kvm_invpolicy_stats *stats)
{
	guard(mutex)(&observation->lock);
	if (!observation->observer)
		return -ENOENT;
	invp_stats_sum(&observation->observer->stats, stats);
	stats->ended = READ_ONCE(observation->observer->notifier.ended);
	return 0;
}

/**
 * invp_observe_end() - stop observing
 * @observation: of a device descriptor that nobody uses any more
 *
 * Context: may sleep; not from an MMU notifier callback.
 */
void invp_observe_end(struct invp_observation *observation)
{
	if (!observation->observer)
		return;
	invp_notifier_unregister(&observation->observer->notifier);
	observer_free(observation->observer);
}
