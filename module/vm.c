// SPDX-License-Identifier: GPL-2.0-only
/* VMs that have a policy: from attach to detach or to the end of the VM. */
#include <linux/kvm_invalidate_policy.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat/kvm.h"
#include "dying.h"
#include "hooks.h"
#include "notifier.h"
#include "numa.h"
#include "policy.h"
#include "vm.h"

/**
 * struct invp_vm - a VM with a policy
 * @policy: what KVM asks
 * @notifier: on the mm of the VM
 * @stats: what happened since attach
 * @numa: what elided NUMA events leave to be done
 * @settings: written under @vms_mutex, read by events at any time
 * @kvm: no reference is held; whoever finds the VM by its file holds one, and the VM
 *	leaves @vms before it is freed
 * @pid: process that created the VM
 * @id: counted up from one
 * @retire_work: to be done where an event's sender cannot
 * @node: in @vms, from the end of attach to the beginning of detach
 */
struct invp_vm {
	struct kvm_invalidate_policy policy;
	struct invp_notifier notifier;
	struct invp_stats stats;
	struct invp_numa numa;
	struct kvm_invpolicy_settings settings;
	struct kvm *kvm;
	pid_t pid;
	u64 id;
	struct work_struct retire_work;
	struct list_head node;
};

/*
 * Guards @vms only. It is not held across anything that waits for a process or a grace
 * period, or one stuck VMM would keep all others from being attached or destroyed.
 */
static DEFINE_MUTEX(vms_mutex);
static LIST_HEAD(vms);
static u64 last_id;

static enum invp_action event_action(struct invp_vm *vm, const struct mmu_notifier_range *range,
				     enum kvm_invpolicy_reason reason)
{
	enum invp_action action = invp_action(&vm->settings, reason, range->end - range->start);

	/* It can become one that attach would have refused. */
	if (action != INVP_ACTION_DEFAULT && invp_vm_type_refused(vm->kvm))
		return INVP_ACTION_DEFAULT;
	return action;
}

static enum kvm_invpolicy_reason event_reason(struct invp_vm *vm,
					      const struct mmu_notifier_range *range)
{
	/* To look at all processes is too much for who makes no use of it. */
	if (READ_ONCE(vm->settings.exit) == KVM_INVPOLICY_EXIT_FAST && invp_mm_dying(range->mm))
		return KVM_INVPOLICY_REASON_EXIT;
	return invp_reason(range);
}

static void count_retired(struct invp_vm *vm, const struct kvm_invalidate_unmapped *unmapped)
{
	this_cpu_add(vm->stats.percpu->retired_pages, unmapped->pages);
	this_cpu_add(vm->stats.percpu->retired_flushes, unmapped->flushes);
	trace_invp_retire(vm->pid, unmapped->pages, unmapped->flushes);
}

static void retire(struct invp_vm *vm)
{
	struct kvm_invalidate_unmapped unmapped = {};

	invp_hooks_retire(vm->kvm, true, &unmapped);
	count_retired(vm, &unmapped);
}

static void retire_work(struct work_struct *work)
{
	retire(container_of(work, struct invp_vm, retire_work));
}

/*
 * A dying task does it by itself. Others, such as the OOM reaper, have more to do, and their
 * event may be one of little memory, or one that cannot block: they leave the rest to a
 * worker, and meanwhile each event flushes once.
 */
static enum kvm_invalidate_verdict retire_or_coalesce(struct invp_vm *vm,
						      const struct mmu_notifier_range *range)
{
	if (mmu_notifier_range_blockable(range) && current->mm == range->mm) {
		retire(vm);
		return KVM_INVALIDATE_ELIDE;
	}
	queue_work(system_unbound_wq, &vm->retire_work);
	if (range->start == range->end)
		return KVM_INVALIDATE_DEFAULT;
	this_cpu_inc(vm->stats.percpu->coalesced_events);
	return KVM_INVALIDATE_COALESCE_DYING;
}

static enum kvm_invalidate_verdict policy_range_start(struct kvm_invalidate_policy *policy,
						      const struct mmu_notifier_range *range)
{
	struct invp_vm *vm = container_of(policy, struct invp_vm, policy);
	enum kvm_invpolicy_reason reason = event_reason(vm, range);
	enum invp_action action = event_action(vm, range, reason);

	invp_notifier_event(&vm->notifier, range, reason, action);
	if (range->event == MMU_NOTIFY_CLEAR && invp_numa_is_paced(&vm->settings))
		invp_numa_cleared(&vm->numa, range);

	switch (action) {
	case INVP_ACTION_ELIDE:
		this_cpu_inc(vm->stats.percpu->numa_elided);
		if (invp_numa_is_paced(&vm->settings))
			invp_numa_event_start(&vm->numa, range);
		return KVM_INVALIDATE_ELIDE;
	case INVP_ACTION_COALESCE:
		this_cpu_inc(vm->stats.percpu->coalesced_events);
		return KVM_INVALIDATE_COALESCE;
	case INVP_ACTION_COALESCE_DYING:
		this_cpu_inc(vm->stats.percpu->coalesced_events);
		return KVM_INVALIDATE_COALESCE_DYING;
	case INVP_ACTION_RETIRE:
		return retire_or_coalesce(vm, range);
	default:
		return KVM_INVALIDATE_DEFAULT;
	}
}

/* Events are counted where they are judged: a second look would cost as much again. */
static const struct mmu_notifier_ops notifier_ops = {
	.release = invp_notifier_release,
};

/* No event reaches the VM's NUMA part once the notifier is gone. */
static void vm_free(struct invp_vm *vm)
{
	invp_notifier_unregister(&vm->notifier);
	cancel_work_sync(&vm->retire_work);
	invp_numa_destroy(&vm->numa);
	invp_stats_destroy(&vm->stats);
	kfree(vm);
}

/* Only NUMA hints are elided, by this policy or one that the VM had before. */
static void policy_range_end(struct kvm_invalidate_policy *policy,
			     const struct mmu_notifier_range *range)
{
	struct invp_vm *vm = container_of(policy, struct invp_vm, policy);

	invp_numa_event_end(&vm->numa, range);
}

static void policy_vm_destroyed(struct kvm_invalidate_policy *policy)
{
	struct invp_vm *vm = container_of(policy, struct invp_vm, policy);

	scoped_guard(mutex, &vms_mutex)
		list_del(&vm->node);
	vm_free(vm);
}

static const struct kvm_invalidate_policy_ops policy_ops = {
	.owner = THIS_MODULE,
	.range_start = policy_range_start,
	.range_end = policy_range_end,
	.vm_destroyed = policy_vm_destroyed,
};

static struct invp_vm *find_vm(const struct kvm *kvm)
{
	struct invp_vm *vm;

	lockdep_assert_held(&vms_mutex);
	list_for_each_entry(vm, &vms, node) {
		if (vm->kvm == kvm)
			return vm;
	}
	return NULL;
}

/**
 * invp_vm_attach() - give a VM a policy
 * @kvm: the VM, referenced by the caller
 * @settings: valid, all specified
 *
 * Context: may sleep, takes the mmap_lock of the VM's mm; not from an MMU notifier.
 * Return: 0; -EOPNOTSUPP without hooks; -EPERM if the VM's type is refused; -EEXIST if
 * it has a policy; -ESRCH if its process is gone; -EINTR on a signal; -ENOMEM.
 */
int invp_vm_attach(struct kvm *kvm, const struct kvm_invpolicy_settings *settings)
{
	struct invp_vm *vm;
	int err;

	if (!invp_hooks_version())
		return -EOPNOTSUPP;
	if (invp_vm_type_refused(kvm))
		return -EPERM;

	vm = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	if (!vm)
		return -ENOMEM;

	err = invp_stats_init(&vm->stats);
	if (err)
		goto out_vm;

	vm->policy.ops = &policy_ops;
	vm->settings = *settings;
	vm->notifier.stats = &vm->stats;
	vm->kvm = kvm;
	INIT_WORK(&vm->retire_work, retire_work);
	/* KVM notes its creator a little after the VM is created. */
	vm->pid = kvm->userspace_pid ?: task_pid_nr(current);

	err = invp_numa_init(&vm->numa, kvm, &vm->settings, &vm->stats);
	if (err)
		goto out_stats;

	err = invp_notifier_register(&vm->notifier, kvm->mm, &notifier_ops);
	if (err)
		goto out_numa;

	err = invp_hooks_attach(kvm, &vm->policy);
	if (err)
		goto out_notifier;

	scoped_guard(mutex, &vms_mutex) {
		vm->id = ++last_id;
		list_add_tail(&vm->node, &vms);
	}
	return 0;

out_notifier:
	invp_notifier_unregister(&vm->notifier);
out_numa:
	invp_numa_destroy(&vm->numa);
out_stats:
	invp_stats_destroy(&vm->stats);
out_vm:
	kfree(vm);
	return err;
}

/**
 * invp_vm_update() - change the settings of a VM
 * @kvm: the VM, referenced by the caller
 * @change: valid; what it leaves unspecified stays
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT if the VM has no policy.
 */
int invp_vm_update(struct kvm *kvm, const struct kvm_invpolicy_settings *change)
{
	struct invp_vm *vm;

	guard(mutex)(&vms_mutex);
	vm = find_vm(kvm);
	if (!vm)
		return -ENOENT;
	invp_settings_update(&vm->settings, change);
	return 0;
}

/**
 * invp_vm_detach() - give a VM KVM's own behaviour back
 * @kvm: the VM, referenced by the caller
 *
 * Context: may sleep; not from an MMU notifier callback, for which it waits.
 * Return: 0, or -ENOENT if the VM has no policy.
 */
int invp_vm_detach(struct kvm *kvm)
{
	struct invp_vm *vm;

	/* Off the list, it is ours: another detach does not find it. */
	scoped_guard(mutex, &vms_mutex) {
		vm = find_vm(kvm);
		if (!vm)
			return -ENOENT;
		list_del(&vm->node);
	}
	invp_hooks_detach(kvm, &vm->policy);
	vm_free(vm);
	return 0;
}

/**
 * invp_vm_teardown() - end a VM for good
 * @kvm: the VM, referenced by the caller
 *
 * Its process goes on, and may read what the guest has written.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if the VM has no policy; -EPERM if the VM's type is refused.
 */
int invp_vm_teardown(struct kvm *kvm)
{
	struct kvm_invalidate_unmapped unmapped = {};
	struct invp_vm *vm;

	scoped_guard(mutex, &vms_mutex) {
		if (!find_vm(kvm))
			return -ENOENT;
	}
	if (invp_vm_type_refused(kvm))
		return -EPERM;
	invp_hooks_retire(kvm, false, &unmapped);

	guard(mutex)(&vms_mutex);
	vm = find_vm(kvm);
	if (vm)
		count_retired(vm, &unmapped);
	return 0;
}

/**
 * invp_vm_stats() - counters and settings of a VM
 * @kvm: the VM, referenced by the caller
 * @stats: zeroed; filled in
 *
 * Context: may sleep.
 * Return: 0, or -ENOENT if the VM has no policy.
 */
int invp_vm_stats(struct kvm *kvm, struct kvm_invpolicy_stats *stats)
{
	struct invp_vm *vm;

	guard(mutex)(&vms_mutex);
	vm = find_vm(kvm);
	if (!vm)
		return -ENOENT;

	invp_stats_sum(&vm->stats, stats);
	invp_numa_stats(&vm->numa, stats);
	stats->settings = vm->settings;
	stats->numa_untracked = atomic_long_read(&vm->policy.nr_untracked);
	stats->numa_elided -= min(stats->numa_elided, stats->numa_untracked);
	stats->coalesced_pages = atomic_long_read(&vm->policy.coalesced_pages);
	stats->coalesced_flushes = atomic_long_read(&vm->policy.coalesced_flushes);
	stats->ended = READ_ONCE(vm->notifier.ended);
	/* Maybe under a policy that the VM had before. */
	stats->retired = READ_ONCE(kvm->invalidate_policy.retired);
	return 0;
}

/**
 * invp_vm_list() - the VMs that have a policy, oldest first
 * @entries: zeroed, to be filled in
 * @capacity: number of @entries
 *
 * Context: may sleep.
 * Return: number of VMs, which may be more than @capacity.
 */
u32 invp_vm_list(struct kvm_invpolicy_list_entry *entries, u32 capacity)
{
	struct invp_vm *vm;
	u32 nr = 0;

	guard(mutex)(&vms_mutex);
	list_for_each_entry(vm, &vms, node) {
		if (nr < capacity) {
			entries[nr].id = vm->id;
			entries[nr].pid = vm->pid;
			entries[nr].settings = vm->settings;
		}
		nr++;
	}
	return nr;
}
