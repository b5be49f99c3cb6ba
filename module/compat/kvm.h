/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_COMPAT_KVM_H
#define _INVP_COMPAT_KVM_H

#include <linux/fs.h>
#include <linux/jhash.h>
#include <linux/kvm_host.h>
#include <linux/pid.h>
#include <linux/topology.h>

/* A KVM without hooks exports what it takes to do the same. */
static inline struct kvm *invp_unpatched_kvm_from_file(struct file *file)
{
	return file_is_kvm(file) ? file->private_data : NULL;
}

/*
 * Private or encrypted memory: what an unmap must do there is not proved. A VM of the
 * default type becomes a SEV guest by a later call, of which this inhibition tells.
 */
static inline bool invp_vm_type_refused(struct kvm *kvm)
{
#ifdef CONFIG_X86
	return kvm->arch.vm_type != KVM_X86_DEFAULT_VM ||
	       test_bit(APICV_INHIBIT_REASON_SEV, &kvm->arch.apicv_inhibit_reasons);
#else
	return is_protected_kvm_enabled() || kvm->arch.nested_mmus_size;
#endif
}

/* The only node on which a vCPU may run, NUMA_NO_NODE if there are several. */
static inline int invp_vcpu_only_node(struct kvm_vcpu *vcpu)
{
	struct task_struct *task;
	unsigned int cpu;
	int node;

	guard(rcu)();
	task = pid_task(rcu_dereference(vcpu->pid), PIDTYPE_PID);
	if (!task)
		return NUMA_NO_NODE;
	/* Empty for a moment, if it changes just now. */
	cpu = cpumask_first(&task->cpus_mask);
	if (cpu >= nr_cpu_ids)
		return NUMA_NO_NODE;
	node = cpu_to_node(cpu);
	return cpumask_subset(&task->cpus_mask, cpumask_of_node(node)) ? node : NUMA_NO_NODE;
}

/*
 * The only node on which the vCPUs of a VM may run, NUMA_NO_NODE if there are several. It
 * does not do that they all run there now: the scheduler chooses a task's node by the hints
 * it gets, and without those of one node it would move the vCPUs away from there.
 */
static inline int invp_vcpus_home_node(struct kvm *kvm)
{
	int nr = atomic_read(&kvm->online_vcpus), home = NUMA_NO_NODE, i;

	for (i = 0; i < nr; i++) {
		int node = invp_vcpu_only_node(kvm_get_vcpu(kvm, i));

		if (node == NUMA_NO_NODE || (i && node != home))
			return NUMA_NO_NODE;
		home = node;
	}
	return home;
}

/* Changes when a vCPU moves to another node. */
static inline u32 invp_vcpu_nodes(struct kvm *kvm)
{
	int nr = atomic_read(&kvm->online_vcpus), i;
	u32 digest = 0;

	for (i = 0; i < nr; i++) {
		int cpu = READ_ONCE(kvm_get_vcpu(kvm, i)->cpu);

		digest = jhash_1word(cpu < 0 ? NUMA_NO_NODE : cpu_to_node(cpu), digest);
	}
	return digest;
}

static inline u64 invp_guest_bytes(struct kvm *kvm)
{
	struct kvm_memory_slot *slot;
	u64 pages = 0;
	int bkt, idx;

	idx = srcu_read_lock(&kvm->srcu);
	kvm_for_each_memslot(slot, bkt, kvm_memslots(kvm))
		pages += slot->npages;
	srcu_read_unlock(&kvm->srcu, idx);
	return pages << PAGE_SHIFT;
}

#endif
