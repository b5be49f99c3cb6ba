// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "command.h"
#include "device.h"
#include "error.h"
#include "host.h"
#include "json.h"
#include "settings.h"

static const char *why_no_device(void)
{
	return host_module_loaded() ? KVM_INVPOLICY_DEVICE " cannot be used"
				    : "kvm_invpolicy is not loaded";
}

static const char *why_no_policy(void)
{
	unsigned int version;

	if (host_module_loaded() || !host_kvm_loaded() || host_kvm_hook_version(&version))
		return why_no_device();
	return "kvm_invpolicy is not loaded, and the kernel's kvm has no hooks";
}

/* NULL if VMs can be attached with @numa. */
static const char *why_not_numa(const struct kvm_invpolicy_info *info, __u32 numa)
{
	if (!info)
		return why_no_policy();
	if (info->numa_modes & 1U << numa)
		return NULL;
	if (!info->hook_version)
		return device_why_no_hooks();
	return "the loaded module is older than this tool";
}

static void show(bool json, const char *name, const char *key, const char *why_not)
{
	if (!json) {
		if (why_not)
			printf("%-12s  %-9s  %s\n", name, "no", why_not);
		else
			printf("%-12s  yes\n", name);
		return;
	}
	json_bool(key, !why_not);
	if (why_not) {
		char reason_key[64];

		snprintf(reason_key, sizeof(reason_key), "%s_reason", key);
		json_string(reason_key, why_not);
	}
}

/* @info is NULL if the device cannot be used. */
static void show_all(bool json, const struct kvm_invpolicy_info *info)
{
	show(json, "observe", "observe", info ? NULL : why_no_device());
	for (__u32 numa = KVM_INVPOLICY_NUMA_KVM; numa < __KVM_INVPOLICY_NUMA_END; numa++) {
		char name[64], key[64];

		snprintf(name, sizeof(name), "numa=%s", settings_numa_name(numa));
		snprintf(key, sizeof(key), "numa_%s", settings_numa_name(numa));
		show(json, name, key, why_not_numa(info, numa));
	}
}

static bool can_pace(const struct kvm_invpolicy_info *info)
{
	return !why_not_numa(info, KVM_INVPOLICY_NUMA_PACED);
}

static void json_pace(const struct kvm_invpolicy_info *info)
{
	settings_json_pace("numa_pace_mbps_min", can_pace(info));
	settings_json_pace("numa_pace_mbps_max",
			   can_pace(info) ? KVM_INVPOLICY_NUMA_PACE_MBPS_MAX : 0);
	settings_json_pace("numa_pace_mbps_default",
			   can_pace(info) ? info->defaults.numa_pace_mbps : 0);
}

static void print_pace(const struct kvm_invpolicy_info *info)
{
	if (can_pace(info))
		printf("numa_pace_mbps is 1 to %d MiB per second, %u by default\n",
		       KVM_INVPOLICY_NUMA_PACE_MBPS_MAX, info->defaults.numa_pace_mbps);
}

int command_features(const struct arguments *arguments)
{
	struct device device;
	int error = device_try_open(&device);
	const struct kvm_invpolicy_info *info = error ? NULL : &device.info;

	if (arguments->json) {
		json_object_begin(NULL);
		show_all(true, info);
		json_pace(info);
		json_object_end();
		json_finish();
	} else {
		printf("%-12s  %-9s  %s\n", "FEATURE", "AVAILABLE", "WHY NOT");
		show_all(false, info);
		puts("\nwith numa=skip " SETTINGS_CONSEQUENCE_OF_SKIP);
		print_pace(info);
	}
	fflush(stdout);
	if (error)
		return device_open_fail(error);
	device_close(&device);
	return EXIT_OK;
}
