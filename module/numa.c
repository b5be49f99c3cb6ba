// SPDX-License-Identifier: GPL-2.0-only
/* Making elided NUMA events good: only what can migrate is unmapped, at once or paced. */
#include <linux/kthread.h>
#include <linux/kvm_invalidate_policy.h>
#include <linux/math64.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/kvm.h"
#include "compat/mm.h"
#include "hooks.h"
#include "numa.h"
#include "protnone.h"
#include "stats.h"
#include "trace.h"

/* Runs unmapped with one flush; more of them, from one event, take another. */
#define NUMA_RUNS	4096

/* A round looks at no more, that a rate which nothing uses up does not keep a CPU busy. */
#define ROUND_WALK_MAX	((u64)SZ_64M)

static struct workqueue_struct *workqueue;

static void count_walk(struct invp_numa *numa, const struct invp_protnone *walk)
{
	struct invp_counters __percpu *percpu = numa->stats->percpu;

	this_cpu_add(percpu->numa_pages_protected, walk->protected);
	this_cpu_add(percpu->numa_pages_pinned, walk->pinned);
	this_cpu_add(percpu->numa_pages_placed, walk->placed);
}

/* Unmaps the runs of a walk, makes room for the next ones, and returns the pages. */
static unsigned long unmap_runs(struct invp_numa *numa, struct invp_protnone *walk)
{
	struct invp_counters __percpu *percpu = numa->stats->percpu;
	struct kvm_invalidate_unmapped unmapped = {};

	if (!walk->nr)
		return 0;
	invp_hooks_unmap(numa->kvm, walk->runs, walk->nr, &unmapped);
	trace_invp_unmap(walk->runs, walk->nr, unmapped.pages, unmapped.flushes);
	this_cpu_add(percpu->numa_runs, walk->nr);
	this_cpu_add(percpu->numa_pages_unmapped, unmapped.pages);
	this_cpu_add(percpu->numa_flushes, unmapped.flushes);
	walk->nr = 0;
	return unmapped.pages;
}

static struct invp_protnone new_walk(struct invp_numa *numa, struct mm_struct *mm)
{
	lockdep_assert_held(&numa->walk_mutex);
	return (struct invp_protnone){
		.mm = mm,
		.home_node = invp_vcpus_home_node(numa->kvm),
		.runs = numa->runs,
		.capacity = NUMA_RUNS,
	};
}

static void unmap_precisely(struct invp_numa *numa, const struct mmu_notifier_range *range)
{
	unsigned long next = range->start;
	struct invp_protnone walk;

	guard(mutex)(&numa->walk_mutex);
	walk = new_walk(numa, range->mm);
	while (next < range->end) {
		next = invp_protnone_walk(&walk, next, range->end);
		unmap_runs(numa, &walk);
	}
	count_walk(numa, &walk);
}

static void add_waiting(struct invp_numa *numa, unsigned long start, unsigned long end)
{
	spin_lock(&numa->lock);
	invp_range_set_add(&numa->waiting, start, end);
	spin_unlock(&numa->lock);
}

/* Whole page tables: to unmap part of a huge page is to unmap all of it. */
static bool take_waiting(struct invp_numa *numa, u64 bytes, struct invp_range *taken)
{
	bool found;

	bytes = round_up(min(bytes, ROUND_WALK_MAX), PMD_SIZE);
	spin_lock(&numa->lock);
	found = invp_range_set_take(&numa->waiting, numa->next, bytes, taken);
	if (found)
		numa->next = taken->end;
	spin_unlock(&numa->lock);
	return found;
}

static u64 bytes_found(const struct invp_protnone *walk)
{
	return (walk->protected - walk->pinned - walk->placed) << PAGE_SHIFT;
}

static void walk_waiting(struct invp_numa *numa, struct invp_protnone *walk, u64 now)
{
	unsigned long walked = 0, end;
	struct invp_range piece;
	u64 tokens;

	spin_lock(&numa->lock);
	tokens = invp_pace_tokens(&numa->pace, now);
	spin_unlock(&numa->lock);
	while (bytes_found(walk) < tokens && walked < ROUND_WALK_MAX &&
	       take_waiting(numa, tokens - bytes_found(walk), &piece)) {
		/* The set is taken from in a circle, the hook wants its runs sorted. */
		if (walk->nr && piece.start < walk->runs[walk->nr - 1].end) {
			add_waiting(numa, piece.start, piece.end);
			break;
		}
		end = invp_protnone_walk(walk, piece.start, piece.end);
		walked += end - piece.start;
		if (end < piece.end) {
			add_waiting(numa, end, piece.end);
			break;
		}
	}
}

/* Settled pages stay PROT_NONE: they need not wait until the host announces them again. */
static void add_guest_memory(struct invp_numa *numa)
{
	struct kvm *kvm = numa->kvm;
	struct kvm_memory_slot *slot;
	int bkt, idx;

	idx = srcu_read_lock(&kvm->srcu);
	kvm_for_each_memslot(slot, bkt, kvm_memslots(kvm))
		add_waiting(numa, slot->userspace_addr,
			    slot->userspace_addr + (slot->npages << PAGE_SHIFT));
	srcu_read_unlock(&kvm->srcu, idx);
}

/* Mappings that come and go leave records behind. */
static bool too_many_records(struct invp_numa *numa)
{
	unsigned long tables = READ_ONCE(numa->kvm->mm->total_vm) >> (PMD_SHIFT - PAGE_SHIFT);

	return numa->settled.nr_tables > 2 * tables + INVP_RANGE_SET_MAX;
}

/*
 * What the rate goes by: the setting, the guest's size, and whether its vCPUs have moved: then
 * no page is settled any more, and all are due. A round is due when the bucket is full: the
 * fuller, the fewer flushes.
 */
static bool round_is_due(struct invp_numa *numa)
{
	u64 ceiling = (u64)READ_ONCE(numa->settings->numa_pace_mbps) << 20;
	u64 guest_bytes = invp_guest_bytes(numa->kvm);
	u32 vcpu_nodes = invp_vcpu_nodes(numa->kvm);
	bool due, boosted = false;

	spin_lock(&numa->lock);
	invp_pace_configure(&numa->pace, ceiling, guest_bytes);
	if (numa->vcpu_nodes != vcpu_nodes)
		boosted = invp_pace_vcpus_moved(&numa->pace);
	numa->vcpu_nodes = vcpu_nodes;
	due = !invp_pace_delay(&numa->pace, ktime_get_ns());
	spin_unlock(&numa->lock);
	if (boosted || too_many_records(numa))
		invp_settled_forget(&numa->settled);
	if (boosted)
		add_guest_memory(numa);
	return due;
}

/*
 * Settled pages are sampled at the lowest rate, one huge page at once at most. A sample that
 * is given all its hints is unmapped so often.
 */
static s64 refill_samples(struct invp_numa *numa, u64 now)
{
	u64 rate = READ_ONCE(numa->pace.floor) / (INVP_SETTLED_HINTS * PAGE_SIZE);
	u64 elapsed = min(now - numa->sampled, NSEC_PER_SEC);
	u64 pages = div_u64(elapsed * rate, NSEC_PER_SEC);

	/* Time that gave no whole page is left for the next round. */
	if (pages)
		numa->sampled = now;
	return min_t(s64, numa->samples + pages, PTRS_PER_PTE);
}

static void pace_round(struct invp_numa *numa, struct mm_struct *mm)
{
	u64 now = ktime_get_ns(), bytes;
	struct invp_protnone walk;

	guard(mutex)(&numa->walk_mutex);
	walk = new_walk(numa, mm);
	walk.settled = &numa->settled;
	walk.samples = refill_samples(numa, now);
	walk_waiting(numa, &walk, now);
	bytes = (u64)unmap_runs(numa, &walk) << PAGE_SHIFT;
	spin_lock(&numa->lock);
	invp_pace_unmapped(&numa->pace, bytes, now);
	spin_unlock(&numa->lock);
	numa->samples = walk.samples;
	count_walk(numa, &walk);
	this_cpu_inc(numa->stats->percpu->numa_rounds);
}

/* Queues the next round for when the rate allows it; a round that is queued stays so. */
static void queue_round(struct invp_numa *numa)
{
	u64 delay;
	bool wanted;

	spin_lock(&numa->lock);
	wanted = numa->waiting.nr;
	delay = invp_pace_delay(&numa->pace, ktime_get_ns());
	spin_unlock(&numa->lock);
	if (wanted)
		queue_delayed_work(workqueue, &numa->work, nsecs_to_jiffies(delay + TICK_NSEC - 1));
}

static void drop_waiting(struct invp_numa *numa)
{
	spin_lock(&numa->lock);
	numa->waiting.nr = 0;
	spin_unlock(&numa->lock);
}

/*
 * The mm is in use on this CPU during the walk, and alive only for the round. Its last user
 * may be gone by then: another worker tears it down, this one has other VMs to look after.
 */
static void numa_work(struct work_struct *work)
{
	struct invp_numa *numa = container_of(to_delayed_work(work), struct invp_numa, work);
	struct mm_struct *mm = numa->kvm->mm;

	if (!invp_numa_is_paced(numa->settings) || !mmget_not_zero(mm)) {
		drop_waiting(numa);
		return;
	}
	if (round_is_due(numa)) {
		kthread_use_mm(mm);
		pace_round(numa, mm);
		kthread_unuse_mm(mm);
	}
	mmput_async(mm);
	queue_round(numa);
}

/**
 * invp_numa_event_start() - the host is about to take the access rights from some pages
 * @numa: of the VM
 * @range: of an event that is elided, by a VM with numa=paced
 *
 * Context: range_start of an MMU notifier, in the task that scans the mm. Does not sleep.
 */
void invp_numa_event_start(struct invp_numa *numa, const struct mmu_notifier_range *range)
{
	/* Page tables are read safely by who uses them. */
	if (current->mm == range->mm)
		invp_protnone_note_touched(range->mm, &numa->settled, range->start, range->end);
}

/**
 * invp_numa_event_end() - the host has done what an elided NUMA event announced
 * @numa: of the VM
 * @range: of the event
 *
 * Context: range_end of an MMU notifier, in the task that scans the mm, which holds the
 *	mmap_lock for read. May sleep.
 */
void invp_numa_event_end(struct invp_numa *numa, const struct mmu_notifier_range *range)
{
	switch (READ_ONCE(numa->settings->numa)) {
	case KVM_INVPOLICY_NUMA_PRECISE:
		unmap_precisely(numa, range);
		break;
	case KVM_INVPOLICY_NUMA_PACED:
		add_waiting(numa, range->start, range->end);
		queue_round(numa);
		break;
	}
}

/**
 * invp_numa_cleared() - learn of pages that may migrate
 * @numa: of the VM
 * @range: of an MMU_NOTIFY_CLEAR to a VM with numa=paced
 *
 * Context: range_start of an MMU notifier. Does not sleep.
 */
void invp_numa_cleared(struct invp_numa *numa, const struct mmu_notifier_range *range)
{
	unsigned long bytes = range->end - range->start;

	/* A hint migrates one folio, in the task that faults: a vCPU's. */
	if (bytes > PMD_SIZE || current->mm != range->mm)
		return;

	if (!invp_settled_migrating(&numa->settled, range->start, range->end))
		return;
	this_cpu_add(numa->stats->percpu->numa_pages_migrated, bytes >> PAGE_SHIFT);
	spin_lock(&numa->lock);
	invp_pace_migrated(&numa->pace, bytes);
	spin_unlock(&numa->lock);
}

/**
 * invp_numa_stats() - the state of the pace
 * @numa: of the VM
 * @stats: receives it
 *
 * Context: any.
 */
void invp_numa_stats(struct invp_numa *numa, struct kvm_invpolicy_stats *stats)
{
	if (!invp_numa_is_paced(numa->settings))
		return;

	spin_lock(&numa->lock);
	stats->numa_pace_rate = numa->pace.rate;
	stats->numa_pace_tokens = invp_pace_tokens(&numa->pace, ktime_get_ns());
	stats->numa_pace_waiting = invp_range_set_bytes(&numa->waiting);
	spin_unlock(&numa->lock);
}

/**
 * invp_numa_init() - be ready for the NUMA events of a VM
 * @numa: zeroed
 * @kvm: the VM
 * @settings: of the VM
 * @stats: of the VM
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int invp_numa_init(struct invp_numa *numa, struct kvm *kvm,
		   const struct kvm_invpolicy_settings *settings, struct invp_stats *stats)
{
	numa->runs = kvmalloc_array(NUMA_RUNS, sizeof(*numa->runs), GFP_KERNEL_ACCOUNT);
	if (!numa->runs)
		return -ENOMEM;

	numa->kvm = kvm;
	numa->settings = settings;
	numa->stats = stats;
	mutex_init(&numa->walk_mutex);
	spin_lock_init(&numa->lock);
	INIT_DELAYED_WORK(&numa->work, numa_work);
	numa->vcpu_nodes = invp_vcpu_nodes(kvm);
	invp_settled_init(&numa->settled);
	invp_pace_init(&numa->pace, (u64)settings->numa_pace_mbps << 20, invp_guest_bytes(kvm),
		       ktime_get_ns());
	return 0;
}

/**
 * invp_numa_destroy() - drop what waits
 * @numa: of a VM whose events do not get here any more
 *
 * Pages that stay mapped are in nobody's way.
 *
 * Context: may sleep; not from an MMU notifier callback.
 */
void invp_numa_destroy(struct invp_numa *numa)
{
	cancel_delayed_work_sync(&numa->work);
	invp_settled_forget(&numa->settled);
	kvfree(numa->runs);
}

/**
 * invp_numa_module_init() - start the workers, one queue for all VMs
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int __init invp_numa_module_init(void)
{
	/* Unbound: a round of one VM delays none of another. Frozen with user space. */
	workqueue = alloc_workqueue("kvm_invpolicy", WQ_UNBOUND | WQ_FREEZABLE | WQ_SYSFS, 0);
	return workqueue ? 0 : -ENOMEM;
}

/**
 * invp_numa_module_exit() - undo invp_numa_module_init()
 *
 * Context: may sleep; no VM has a policy.
 */
void invp_numa_module_exit(void)
{
	destroy_workqueue(workqueue);
}
