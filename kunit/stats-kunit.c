// SPDX-License-Identifier: GPL-2.0-only
/* Counters of all CPUs add up. */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/smp.h>

#include "stats.h"

static int stats_init(struct kunit *test)
{
	struct invp_stats *stats = kunit_kzalloc(test, sizeof(*stats), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_ASSERT_EQ(test, invp_stats_init(stats), 0);
	test->priv = stats;
	return 0;
}

static void stats_exit(struct kunit *test)
{
	if (test->priv)
		invp_stats_destroy(test->priv);
}

static void begins_at_zero(struct kunit *test)
{
	struct kvm_invpolicy_stats sum = {}, zero = {};

	invp_stats_sum(test->priv, &sum);
	KUNIT_EXPECT_MEMEQ(test, &sum, &zero, sizeof(sum));
}

/* Figures that tell CPU, reason and field apart in any sum. */
static u64 bytes_of(int cpu, int reason)
{
	return (u64)(cpu + 1) << (32 + 4 * reason);
}

static void count_on_this_cpu(void *info)
{
	struct invp_stats *stats = info;
	int cpu = smp_processor_id();
	int reason, i;

	for (reason = 0; reason < INVP_NR_REASONS; reason++) {
		for (i = 0; i <= cpu + reason; i++)
			invp_stats_event(stats, reason, bytes_of(cpu, reason));
	}
	this_cpu_add(stats->percpu->numa_elided, 1000 + cpu);
	this_cpu_add(stats->percpu->numa_guest_pages, 100000 + cpu);
	this_cpu_add(stats->percpu->coalesced_events, 10000000 + cpu);
}

static void adds_all_cpus(struct kunit *test)
{
	u64 events[INVP_NR_REASONS] = {}, bytes[INVP_NR_REASONS] = {};
	u64 elided = 0, guest_pages = 0, coalesced = 0;
	struct kvm_invpolicy_stats sum = {};
	int cpu, reason;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");

	on_each_cpu(count_on_this_cpu, test->priv, 1);
	for_each_online_cpu(cpu) {
		for (reason = 0; reason < INVP_NR_REASONS; reason++) {
			events[reason] += cpu + reason + 1;
			bytes[reason] += (cpu + reason + 1) * bytes_of(cpu, reason);
		}
		elided += 1000 + cpu;
		guest_pages += 100000 + cpu;
		coalesced += 10000000 + cpu;
	}

	invp_stats_sum(test->priv, &sum);
	for (reason = 0; reason < INVP_NR_REASONS; reason++) {
		KUNIT_EXPECT_EQ(test, sum.reason[reason].events, events[reason]);
		KUNIT_EXPECT_EQ(test, sum.reason[reason].bytes, bytes[reason]);
	}
	KUNIT_EXPECT_EQ(test, sum.numa_elided, elided);
	KUNIT_EXPECT_EQ(test, sum.numa_guest_pages, guest_pages);
	KUNIT_EXPECT_EQ(test, sum.coalesced_events, coalesced);
}

static void raises_what_is_there(struct kunit *test)
{
	struct kvm_invpolicy_stats sum = { .numa_elided = 7, .numa_guest_pages = 8 };
	struct invp_stats *stats = test->priv;

	sum.reason[KVM_INVPOLICY_REASON_UNMAP].events = 5;
	sum.reason[KVM_INVPOLICY_REASON_UNMAP].bytes = 6;
	invp_stats_event(stats, KVM_INVPOLICY_REASON_UNMAP, 100);
	this_cpu_inc(stats->percpu->numa_elided);
	this_cpu_inc(stats->percpu->numa_guest_pages);

	invp_stats_sum(stats, &sum);
	KUNIT_EXPECT_EQ(test, sum.reason[KVM_INVPOLICY_REASON_UNMAP].events, 6);
	KUNIT_EXPECT_EQ(test, sum.reason[KVM_INVPOLICY_REASON_UNMAP].bytes, 106);
	KUNIT_EXPECT_EQ(test, sum.numa_elided, 8);
	KUNIT_EXPECT_EQ(test, sum.numa_guest_pages, 9);
}

/* The counters that invp_stats_sum() raises, all others as they were. */
static void copy_counters(struct kvm_invpolicy_stats *to, const struct kvm_invpolicy_stats *from)
{
	memcpy(to->reason, from->reason, INVP_NR_REASONS * sizeof(to->reason[0]));
	to->numa_elided = from->numa_elided;
	to->numa_guest_pages = from->numa_guest_pages;
	to->coalesced_events = from->coalesced_events;
}

static void leaves_the_rest_alone(struct kunit *test)
{
	struct kvm_invpolicy_stats sum, expected;

	memset(&sum, 0x5a, sizeof(sum));
	memset(&expected, 0x5a, sizeof(expected));
	on_each_cpu(count_on_this_cpu, test->priv, 1);
	invp_stats_sum(test->priv, &sum);
	KUNIT_EXPECT_NE(test, sum.reason[0].events, expected.reason[0].events);
	copy_counters(&expected, &sum);
	KUNIT_EXPECT_MEMEQ(test, &sum, &expected, sizeof(sum));
}

static void keeps_instances_apart(struct kunit *test)
{
	struct kvm_invpolicy_stats sum = {};
	struct invp_stats other;

	KUNIT_ASSERT_EQ(test, invp_stats_init(&other), 0);
	invp_stats_event(&other, KVM_INVPOLICY_REASON_OTHER, 4096);
	invp_stats_sum(test->priv, &sum);
	invp_stats_destroy(&other);
	KUNIT_EXPECT_EQ(test, sum.reason[KVM_INVPOLICY_REASON_OTHER].events, 0);
}

static struct kunit_case stats_cases[] = {
	KUNIT_CASE(begins_at_zero),
	KUNIT_CASE(adds_all_cpus),
	KUNIT_CASE(raises_what_is_there),
	KUNIT_CASE(leaves_the_rest_alone),
	KUNIT_CASE(keeps_instances_apart),
	{}
};

static struct kunit_suite stats_suite = {
	.name = "kvm_invpolicy_stats",
	.init = stats_init,
	.exit = stats_exit,
	.test_cases = stats_cases,
};

kunit_test_suite(stats_suite);
