// SPDX-License-Identifier: GPL-2.0-only
/* Counters without a shared cache line. */
#include "stats.h"

/**
 * invp_stats_init() - all counters zero
 * @stats: to be undone by invp_stats_destroy()
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int invp_stats_init(struct invp_stats *stats)
{
	stats->percpu = alloc_percpu_gfp(struct invp_counters, GFP_KERNEL_ACCOUNT);
	return stats->percpu ? 0 : -ENOMEM;
}

/**
 * invp_stats_destroy() - free the counters
 * @stats: nobody counts any more
 *
 * Context: may sleep.
 */
void invp_stats_destroy(struct invp_stats *stats)
{
	free_percpu(stats->percpu);
}

/**
 * invp_stats_sum() - add the counters of all CPUs
 * @stats: may be counting meanwhile
 * @sum: its counters are raised, all else in it is left alone
 *
 * Context: any.
 */
void invp_stats_sum(const struct invp_stats *stats, struct kvm_invpolicy_stats *sum)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		const struct invp_counters *counters = per_cpu_ptr(stats->percpu, cpu);

		for (i = 0; i < INVP_NR_REASONS; i++) {
			sum->reason[i].events += READ_ONCE(counters->reason[i].events);
			sum->reason[i].bytes += READ_ONCE(counters->reason[i].bytes);
		}
		sum->numa_elided += READ_ONCE(counters->numa_elided);
		sum->numa_guest_pages += READ_ONCE(counters->numa_guest_pages);
		sum->numa_pages_protected += READ_ONCE(counters->numa_pages_protected);
		sum->numa_pages_pinned += READ_ONCE(counters->numa_pages_pinned);
		sum->numa_pages_placed += READ_ONCE(counters->numa_pages_placed);
		sum->numa_pages_unmapped += READ_ONCE(counters->numa_pages_unmapped);
		sum->numa_pages_migrated += READ_ONCE(counters->numa_pages_migrated);
		sum->numa_runs += READ_ONCE(counters->numa_runs);
		sum->numa_flushes += READ_ONCE(counters->numa_flushes);
		sum->numa_rounds += READ_ONCE(counters->numa_rounds);
		sum->coalesced_events += READ_ONCE(counters->coalesced_events);
		sum->retired_pages += READ_ONCE(counters->retired_pages);
		sum->retired_flushes += READ_ONCE(counters->retired_flushes);
	}
}
