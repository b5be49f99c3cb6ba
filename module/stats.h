/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_STATS_H
#define _INVP_STATS_H

#include <linux/percpu.h>

#include "reason.h"

/**
 * struct invp_counters - what is counted, one instance for each CPU
 * @reason: events and their bytes
 * @numa_elided: NUMA events elided, those included that KVM could not track
 * @numa_guest_pages: pages of guest memory in NUMA events
 * @numa_pages_protected: pages found to be PROT_NONE
 * @numa_pages_pinned: of these, spared as they may be pinned
 * @numa_pages_placed: of these, spared as they are where the vCPUs run, or settled
 * @numa_pages_unmapped: pages unmapped from the guest
 * @numa_pages_migrated: pages cleared soon after they were unmapped
 * @numa_runs: runs of pages to be unmapped
 * @numa_flushes: remote TLB flushes for them
 * @numa_rounds: rounds of the worker
 * @coalesced_events: events coalesced
 * @retired_pages: pages unmapped when the VM was retired
 * @retired_flushes: flushes of the VM's TLBs for them
 */
struct invp_counters {
	struct kvm_invpolicy_counter reason[INVP_NR_REASONS];
	u64 numa_elided;
	u64 numa_guest_pages;
	u64 numa_pages_protected;
	u64 numa_pages_pinned;
	u64 numa_pages_placed;
	u64 numa_pages_unmapped;
	u64 numa_pages_migrated;
	u64 numa_runs;
	u64 numa_flushes;
	u64 numa_rounds;
	u64 coalesced_events;
	u64 retired_pages;
	u64 retired_flushes;
};

/**
 * struct invp_stats - counters of one VM
 * @percpu: written by the CPU that sends the event
 */
struct invp_stats {
	struct invp_counters __percpu *percpu;
};

int invp_stats_init(struct invp_stats *stats);
void invp_stats_destroy(struct invp_stats *stats);
void invp_stats_sum(const struct invp_stats *stats, struct kvm_invpolicy_stats *sum);

static inline void invp_stats_event(struct invp_stats *stats,
				    enum kvm_invpolicy_reason reason, u64 bytes)
{
	this_cpu_inc(stats->percpu->reason[reason].events);
	this_cpu_add(stats->percpu->reason[reason].bytes, bytes);
}

#endif
