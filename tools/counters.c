// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <stdio.h>

#include "counters.h"
#include "device.h"
#include "json.h"

static const char * const reason_names[__KVM_INVPOLICY_REASON_END] = {
	[KVM_INVPOLICY_REASON_NUMA] = "numa",
	[KVM_INVPOLICY_REASON_UNMAP] = "unmap",
	[KVM_INVPOLICY_REASON_EXIT] = "exit",
	[KVM_INVPOLICY_REASON_OTHER] = "other",
};

/* What an older module does not know; JSON has the names of the fields for keys. */
#define COUNTER(field, known_by) { #field, offsetof(struct kvm_invpolicy_stats, field), known_by }

static const struct {
	const char *name;
	size_t offset;
	bool (*known_by)(const struct device *device);
} mode_counters[] = {
	COUNTER(numa_pages_protected, device_knows_paced),
	COUNTER(numa_pages_pinned, device_knows_paced),
	COUNTER(numa_pages_placed, device_knows_paced),
	COUNTER(numa_pages_unmapped, device_knows_paced),
	COUNTER(numa_pages_migrated, device_knows_paced),
	COUNTER(numa_runs, device_knows_paced),
	COUNTER(numa_flushes, device_knows_paced),
	COUNTER(numa_rounds, device_knows_paced),
	COUNTER(numa_pace_rate, device_knows_paced),
	COUNTER(numa_pace_tokens, device_knows_paced),
	COUNTER(numa_pace_waiting, device_knows_paced),
	COUNTER(coalesced_events, device_knows_coalesce),
	COUNTER(coalesced_pages, device_knows_coalesce),
	COUNTER(coalesced_flushes, device_knows_coalesce),
	COUNTER(retired_pages, device_knows_exit),
	COUNTER(retired_flushes, device_knows_exit),
	{ }
};

static __u64 *mode_counter(struct kvm_invpolicy_stats *stats, unsigned int i)
{
	return (__u64 *)((char *)stats + mode_counters[i].offset);
}

void counters_add(struct kvm_invpolicy_stats *sum, struct kvm_invpolicy_stats *stats)
{
	for (int i = 0; i < KVM_INVPOLICY_NR_REASONS; i++) {
		sum->reason[i].events += stats->reason[i].events;
		sum->reason[i].bytes += stats->reason[i].bytes;
	}
	sum->numa_elided += stats->numa_elided;
	sum->numa_untracked += stats->numa_untracked;
	sum->numa_guest_pages += stats->numa_guest_pages;
	for (unsigned int i = 0; mode_counters[i].name; i++)
		*mode_counter(sum, i) += *mode_counter(stats, i);
}

static const char *with_thousands(char text[COUNTERS_TEXT_MAX], unsigned long long count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", count);
	char *out = text;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return text;
}

const char *counters_count(char text[COUNTERS_TEXT_MAX], double count)
{
	if (count < 10 && count != (int)count)
		snprintf(text, COUNTERS_TEXT_MAX, "%.1f", count);
	else
		with_thousands(text, count + 0.5);
	return text;
}

const char *counters_bytes(char text[COUNTERS_TEXT_MAX], double bytes)
{
	static const char * const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL };
	const char * const *unit = units;

	for (; bytes >= 1024 && unit[1]; unit++)
		bytes /= 1024;
	snprintf(text, COUNTERS_TEXT_MAX, "%.*f %s", unit == units ? 0 : 1, bytes, *unit);
	return text;
}

void counters_print(const struct kvm_invpolicy_stats *stats, double seconds)
{
	char events[COUNTERS_TEXT_MAX], bytes[COUNTERS_TEXT_MAX];

	printf("%-8s%15s%12s", "REASON", "EVENTS", "MEMORY");
	if (seconds)
		printf("%12s%14s", "EVENTS/s", "MEMORY/s");
	putchar('\n');
	for (int i = 0; i < __KVM_INVPOLICY_REASON_END; i++) {
		const struct kvm_invpolicy_counter *counter = &stats->reason[i];

		printf("%-8s%15s%12s", reason_names[i], counters_count(events, counter->events),
		       counters_bytes(bytes, counter->bytes));
		if (seconds)
			printf("%12s%14s", counters_count(events, counter->events / seconds),
			       counters_bytes(bytes, counter->bytes / seconds));
		putchar('\n');
	}
}

void counters_json(const struct kvm_invpolicy_stats *stats)
{
	for (int i = 0; i < __KVM_INVPOLICY_REASON_END; i++) {
		char key[COUNTERS_TEXT_MAX];

		snprintf(key, sizeof(key), "%s_events", reason_names[i]);
		json_unsigned(key, stats->reason[i].events);
		snprintf(key, sizeof(key), "%s_bytes", reason_names[i]);
		json_unsigned(key, stats->reason[i].bytes);
	}
}

void counters_json_modes(struct kvm_invpolicy_stats *stats, const struct device *device)
{
	for (unsigned int i = 0; mode_counters[i].name; i++) {
		if (mode_counters[i].known_by(device))
			json_unsigned(mode_counters[i].name, *mode_counter(stats, i));
		else
			json_null(mode_counters[i].name);
	}
}
