/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_NUMA_H
#define _INVP_NUMA_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <uapi/linux/kvm_invpolicy.h>

#include "pace.h"
#include "ranges.h"
#include "settled.h"

struct invp_stats;
struct kvm;
struct mmu_notifier_range;

/**
 * struct invp_numa - what is left to do for the elided NUMA events of a VM
 * @kvm: the VM, alive until invp_numa_destroy()
 * @settings: of the VM; may change at any time
 * @stats: counters of the VM
 * @walk_mutex: guards @runs and keeps walks from doing the same pages twice
 * @runs: found by a walk and to be unmapped
 * @settled: paced: pages that hints do not move; changed by the work alone
 * @samples: paced: settled pages that the next round may hint again; less than zero if the
 *	last one did too many
 * @sampled: paced: ns; @samples have come in up to this time
 * @lock: guards all below but @work
 * @waiting: paced: announced and not looked at yet
 * @next: paced: address from which the next round takes of @waiting
 * @vcpu_nodes: paced: digest of where the vCPUs ran in the last round
 * @pace: paced: how much may be unmapped
 * @work: paced: a round; pending or running only while something waits
 */
struct invp_numa {
	struct kvm *kvm;
	const struct kvm_invpolicy_settings *settings;
	struct invp_stats *stats;
	struct mutex walk_mutex;
	struct invp_range *runs;
	struct invp_settled settled;
	s64 samples;
	u64 sampled;
	spinlock_t lock;
	struct invp_range_set waiting;
	unsigned long next;
	u32 vcpu_nodes;
	struct invp_pace pace;
	struct delayed_work work;
};

int invp_numa_module_init(void);
void invp_numa_module_exit(void);
int invp_numa_init(struct invp_numa *numa, struct kvm *kvm,
		   const struct kvm_invpolicy_settings *settings, struct invp_stats *stats);
void invp_numa_destroy(struct invp_numa *numa);
void invp_numa_event_start(struct invp_numa *numa, const struct mmu_notifier_range *range);
void invp_numa_event_end(struct invp_numa *numa, const struct mmu_notifier_range *range);
void invp_numa_cleared(struct invp_numa *numa, const struct mmu_notifier_range *range);
void invp_numa_stats(struct invp_numa *numa, struct kvm_invpolicy_stats *stats);

/* Read by events while the setting may change. */
static inline bool invp_numa_is_paced(const struct kvm_invpolicy_settings *settings)
{
	return READ_ONCE(settings->numa) == KVM_INVPOLICY_NUMA_PACED;
}

#endif
