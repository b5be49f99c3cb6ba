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

/* NULL if VMs can be attached with value @mode of a setting. */
static const char *why_not(const struct kvm_invpolicy_info *info, const struct setting *setting,
			   __u32 mode)
{
	if (!info)
		return why_no_policy();
	if (settings_has_mode(info, setting, mode))
		return NULL;
	if (!info->hook_version)
		return device_why_no_hooks();
	return "the loaded module is older than this tool";
}

static void show(bool json, const char *name, const char *key, const char *reason)
{
	if (!json) {
		if (reason)
			printf("%-14s  %-9s  %s\n", name, "no", reason);
		else
			printf("%-14s  yes\n", name);
		return;
	}
	json_bool(key, !reason);
	if (reason) {
		char reason_key[64];

		snprintf(reason_key, sizeof(reason_key), "%s_reason", key);
		json_string(reason_key, reason);
	}
}

static void show_modes(bool json, const struct kvm_invpolicy_info *info,
		       const struct setting *setting)
{
	for (__u32 i = 0; setting->names && setting->names[i]; i++) {
		char name[32], key[32];

		snprintf(name, sizeof(name), "%s=%s", setting->key, setting->names[i]);
		snprintf(key, sizeof(key), "%s_%s", setting->key, setting->names[i]);
		show(json, name, key, why_not(info, setting, i + 1));
	}
}

/* @info is NULL if the device cannot be used. */
static void show_all(bool json, const struct kvm_invpolicy_info *info)
{
	show(json, "observe", "observe", info ? NULL : why_no_device());
	for (const struct setting *setting = settings_known; setting->key; setting++)
		show_modes(json, info, setting);
}

static void json_bound(const struct setting *setting, const char *which, bool known, __u32 bound)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_%s", setting->key, which);
	if (known)
		json_unsigned(key, bound);
	else
		json_null(key);
}

static void show_number(bool json, const struct kvm_invpolicy_info *info,
			const struct setting *setting)
{
	bool known = !why_not(info, setting, setting->mode);
	__u32 by_default = known ? settings_value(&info->defaults, setting) : 0;

	if (json) {
		json_bound(setting, "min", known, 1);
		json_bound(setting, "max", known, setting->max);
		json_bound(setting, "default", known, by_default);
	} else if (known) {
		printf("%s is 1 to %u %s, %u by default\n",
		       setting->key, setting->max, setting->unit, by_default);
	}
}

static void show_numbers(bool json, const struct kvm_invpolicy_info *info)
{
	for (const struct setting *setting = settings_known; setting->key; setting++)
		if (!setting->names)
			show_number(json, info, setting);
}

int command_features(const struct arguments *arguments)
{
	struct device device;
	int error = device_try_open(&device);
	const struct kvm_invpolicy_info *info = error ? NULL : &device.info;

	if (arguments->json) {
		json_object_begin(NULL);
		show_all(true, info);
		show_numbers(true, info);
		json_object_end();
		json_finish();
	} else {
		printf("%-14s  %-9s  %s\n", "FEATURE", "AVAILABLE", "WHY NOT");
		show_all(false, info);
		puts("\nwith numa=skip " SETTINGS_CONSEQUENCE_OF_SKIP);
		show_numbers(false, info);
	}
	fflush(stdout);
	if (error)
		return device_open_fail(error);
	device_close(&device);
	return EXIT_OK;
}
