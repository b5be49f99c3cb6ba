// SPDX-License-Identifier: GPL-2.0-only
/* From a reason and a VM's settings to an action. */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/string_helpers.h>

#include "policy.h"

/* KVM_INVPOLICY_NUMA_UNSPEC has no name. */
#define FIRST_NUMA_NAME	KVM_INVPOLICY_NUMA_KVM

static const char *const numa_names[] = {
	[KVM_INVPOLICY_NUMA_KVM - FIRST_NUMA_NAME] = "kvm",
	[KVM_INVPOLICY_NUMA_SKIP - FIRST_NUMA_NAME] = "skip",
	[KVM_INVPOLICY_NUMA_PRECISE - FIRST_NUMA_NAME] = "precise",
	[KVM_INVPOLICY_NUMA_PACED - FIRST_NUMA_NAME] = "paced",
};

/**
 * invp_settings_valid() - whether settings from user space can be used
 * @settings: any contents
 *
 * Context: any.
 * Return: true if every value is known or in its range, and every reserved field zero.
 */
bool invp_settings_valid(const struct kvm_invpolicy_settings *settings)
{
	return settings->numa < __KVM_INVPOLICY_NUMA_END &&
	       settings->numa_pace_mbps <= KVM_INVPOLICY_NUMA_PACE_MBPS_MAX &&
	       !memchr_inv(settings->reserved, 0, sizeof(settings->reserved));
}

/**
 * invp_settings_update() - change settings while events read them
 * @settings: what to change
 * @change: valid settings; unspecified ones stay as they are
 *
 * Context: any; the caller keeps other writers away.
 */
void invp_settings_update(struct kvm_invpolicy_settings *settings,
			  const struct kvm_invpolicy_settings *change)
{
	if (change->numa != KVM_INVPOLICY_NUMA_UNSPEC)
		WRITE_ONCE(settings->numa, change->numa);
	if (change->numa_pace_mbps)
		WRITE_ONCE(settings->numa_pace_mbps, change->numa_pace_mbps);
}

/**
 * invp_numa_modes() - the NUMA settings that exist
 *
 * Context: any.
 * Return: a mask with bit n set for value n of &enum kvm_invpolicy_numa.
 */
u32 invp_numa_modes(void)
{
	return GENMASK(FIRST_NUMA_NAME + ARRAY_SIZE(numa_names) - 1, FIRST_NUMA_NAME);
}

/**
 * invp_numa_parse() - NUMA setting of a name
 * @name: may end in a newline
 * @numa: out, untouched on error
 *
 * Context: any.
 * Return: 0, or -EINVAL if there is no such setting.
 */
int invp_numa_parse(const char *name, u32 *numa)
{
	int i = sysfs_match_string(numa_names, name);

	if (i < 0)
		return -EINVAL;
	*numa = FIRST_NUMA_NAME + i;
	return 0;
}

/**
 * invp_numa_name() - name of a NUMA setting
 * @numa: a valid one, not KVM_INVPOLICY_NUMA_UNSPEC
 *
 * Context: any.
 * Return: the name.
 */
const char *invp_numa_name(u32 numa)
{
	return numa_names[numa - FIRST_NUMA_NAME];
}
