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

struct summary {
	struct kvm_invpolicy_stats stats;
	unsigned int attached;
	bool mixed_settings;
};

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
		if (!summary->attached++)
			summary->stats.settings = stats.settings;
		else if (stats.settings.numa != summary->stats.settings.numa)
			summary->mixed_settings = true;
		counters_add(&summary->stats, &stats);
	}
	return summary->attached ? 0 : -ENOENT;
}

static const char *numa_setting(const struct summary *summary)
{
	return summary->mixed_settings ? "mixed" : settings_numa_name(summary->stats.settings.numa);
}

static void print_json(const struct vm_set *vms, const struct summary *summary)
{
	json_object_begin(NULL);
	json_unsigned("pid", vms->pid);
	json_unsigned("vms", vms->count);
	json_unsigned("attached", summary->attached);
	json_string("numa", numa_setting(summary));
	counters_json(&summary->stats);
	json_unsigned("numa_elided", summary->stats.numa_elided);
	json_unsigned("numa_untracked", summary->stats.numa_untracked);
	json_object_end();
	json_finish();
}

static void print_text(const struct vm_set *vms, const struct summary *summary)
{
	char count[COUNTERS_TEXT_MAX];

	printf("process %d: %u of %u VM%s attached, numa=%s\n\n", vms->pid, summary->attached,
	       vms->count, vms->count == 1 ? "" : "s", numa_setting(summary));
	counters_print(&summary->stats, 0);
	printf("\nNUMA events that KVM was told to ignore: %s\n",
	       counters_count(count, summary->stats.numa_elided));
	if (summary->stats.numa_untracked)
		printf("NUMA events left to KVM, as too many were under way at once: %s\n",
		       counters_count(count, summary->stats.numa_untracked));
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
		print_json(&vms, &summary);
	else
		print_text(&vms, &summary);
	device_close(&device);
close_vms:
	vm_set_close(&vms);
	return code;
}
