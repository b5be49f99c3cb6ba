// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include "command.h"
#include "counters.h"
#include "device.h"
#include "error.h"
#include "json.h"
#include "settings.h"
#include "vmfd.h"

#define MODE(name)	(1U << KVM_INVPOLICY_NUMA_##name)

/**
 * struct summary - the attached VMs of a process
 * @stats: sums; the settings are those of the VMs, merged
 * @attached: number of VMs
 * @modes: bit n is set if a VM has value n of enum kvm_invpolicy_numa
 * @coalesce: a VM has unmap=coalesce or other=coalesce
 * @retired: number of VMs that were ended for good
 */
struct summary {
	struct kvm_invpolicy_stats stats;
	unsigned int attached;
	unsigned int modes;
	bool coalesce;
	unsigned int retired;
};

static void add_settings(struct summary *summary, const struct kvm_invpolicy_settings *settings)
{
	if (!summary->attached++)
		summary->stats.settings = *settings;
	else
		settings_merge(&summary->stats.settings, settings);
	summary->modes |= 1U << settings->numa;
	summary->coalesce |= settings_coalesce(settings);
}

static int summarize(const struct device *device, const struct vm_set *vms,
		     struct summary *summary)
{
	*summary = (struct summary) { };
	for (unsigned int i = 0; i < vms->count; i++) {
		struct kvm_invpolicy_stats stats;
		int error = device_stats(device, vms->fds[i], &stats);

		if (error == -ENOENT)
			continue;
		if (error)
			return error;
		add_settings(summary, &stats.settings);
		summary->retired += stats.retired;
		counters_add(&summary->stats, &stats);
	}
	return summary->attached ? 0 : -ENOENT;
}

static void print_json(const struct device *device, const struct vm_set *vms,
		       struct summary *summary)
{
	struct kvm_invpolicy_stats *stats = &summary->stats;

	json_object_begin(NULL);
	json_unsigned("pid", vms->pid);
	json_unsigned("vms", vms->count);
	json_unsigned("attached", summary->attached);
	settings_json("", &stats->settings);
	counters_json(stats);
	json_unsigned("numa_elided", stats->numa_elided);
	json_unsigned("numa_untracked", stats->numa_untracked);
	counters_json_modes(stats, device);
	if (device_knows_exit(device))
		json_unsigned("retired", summary->retired);
	else
		json_null("retired");
	json_object_end();
	json_finish();
}

static void print_count(const char *what, __u64 count)
{
	char text[COUNTERS_TEXT_MAX];

	printf("%-46s%15s\n", what, counters_count(text, count));
}

static void print_bytes(const char *what, __u64 bytes, const char *unit)
{
	char text[COUNTERS_TEXT_MAX], with_unit[COUNTERS_TEXT_MAX + 2];

	snprintf(with_unit, sizeof(with_unit), "%s%s", counters_bytes(text, bytes), unit);
	printf("%-46s%15s\n", what, with_unit);
}

static void print_flushes(__u64 pages, __u64 flushes)
{
	print_count("flushes, had each page been unmapped by itself", pages);
	print_count("flushes made", flushes);
}

static void print_unmapped(const struct kvm_invpolicy_stats *stats)
{
	putchar('\n');
	print_count("pages that the host protected", stats->numa_pages_protected);
	print_count("  spared, as they may be pinned", stats->numa_pages_pinned);
	print_count("  spared, as they are where they are used", stats->numa_pages_placed);
	print_count("pages unmapped", stats->numa_pages_unmapped);
	print_count("  moved soon after", stats->numa_pages_migrated);
	print_count("runs of pages unmapped", stats->numa_runs);
	print_flushes(stats->numa_pages_unmapped, stats->numa_flushes);
}

static void print_worker(const struct kvm_invpolicy_stats *stats)
{
	putchar('\n');
	print_count("rounds of the worker", stats->numa_rounds);
	print_bytes("  rate now", stats->numa_pace_rate, "/s");
	print_bytes("  may be unmapped at once", stats->numa_pace_tokens, "");
	print_bytes("  waiting", stats->numa_pace_waiting, "");
}

static void print_coalesced(const struct kvm_invpolicy_stats *stats)
{
	putchar('\n');
	print_count("events coalesced", stats->coalesced_events);
	print_count("pages unmapped for them", stats->coalesced_pages);
	print_flushes(stats->coalesced_pages, stats->coalesced_flushes);
}

static void print_retired(const struct summary *summary)
{
	printf("\nVMs that were ended for good: %u\n", summary->retired);
	print_count("pages unmapped for them", summary->stats.retired_pages);
	print_count("flushes made", summary->stats.retired_flushes);
}

static void print_text(const struct vm_set *vms, const struct summary *summary)
{
	const struct kvm_invpolicy_stats *stats = &summary->stats;
	char text[SETTINGS_TEXT_MAX], count[COUNTERS_TEXT_MAX];

	printf("process %d: %u of %u VM%s attached, %s\n\n", vms->pid, summary->attached,
	       vms->count, vms->count == 1 ? "" : "s", settings_text(text, &stats->settings));
	counters_print(stats, 0);
	printf("\nNUMA events that KVM was told to ignore: %s\n",
	       counters_count(count, stats->numa_elided));
	if (stats->numa_untracked)
		printf("NUMA events left to KVM, as too many were under way at once: %s\n",
		       counters_count(count, stats->numa_untracked));
	/* Also after a VM was set to another mode: what it counted before is still true. */
	if (summary->modes & (MODE(PRECISE) | MODE(PACED)) || stats->numa_pages_protected)
		print_unmapped(stats);
	if (summary->modes & MODE(PACED) || stats->numa_rounds)
		print_worker(stats);
	if (summary->coalesce || stats->coalesced_events)
		print_coalesced(stats);
	if (summary->retired)
		print_retired(summary);
}

int command_stat(const struct arguments *arguments)
{
	struct summary summary;
	struct device device;
	struct vm_set vms;
	int code, error;

	code = vm_set_open(&vms, arguments->pid);
	if (code)
		return code;
	code = device_open(&device);
	if (code)
		goto close_vms;

	error = summarize(&device, &vms, &summary);
	if (error)
		code = device_fail(&device, vms.pid, error);
	else if (arguments->json)
		print_json(&device, &vms, &summary);
	else
		print_text(&vms, &summary);
	device_close(&device);
close_vms:
	vm_set_close(&vms);
	return code;
}
