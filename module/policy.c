// SPDX-License-Identifier: GPL-2.0-only
/* From a reason and a VM's settings to an action. */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/string_helpers.h>

#include "policy.h"

/* Zero, unspecified in every setting, has no name. */
#define FIRST_NAME	1

static const char *const numa_names[] = {
	[KVM_INVPOLICY_NUMA_KVM - FIRST_NAME] = "kvm",
	[KVM_INVPOLICY_NUMA_SKIP - FIRST_NAME] = "skip",
	[KVM_INVPOLICY_NUMA_PRECISE - FIRST_NAME] = "precise",
	[KVM_INVPOLICY_NUMA_PACED - FIRST_NAME] = "paced",
};

static const char *const flush_names[] = {
	[KVM_INVPOLICY_FLUSH_KVM - FIRST_NAME] = "kvm",
	[KVM_INVPOLICY_FLUSH_COALESCE - FIRST_NAME] = "coalesce",
};

static const char *const exit_names[] = {
	[KVM_INVPOLICY_EXIT_KVM - FIRST_NAME] = "kvm",
	[KVM_INVPOLICY_EXIT_FAST - FIRST_NAME] = "fast",
};

static u32 modes_of(size_t nr_names)
{
	return GENMASK(FIRST_NAME + nr_names - 1, FIRST_NAME);
}

static int parse(const char *const *names, size_t nr_names, const char *name, u32 *value)
{
	int i = __sysfs_match_string(names, nr_names, name);

	if (i < 0)
		return -EINVAL;
	*value = FIRST_NAME + i;
	return 0;
}

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
	       settings->unmap < __KVM_INVPOLICY_FLUSH_END &&
	       settings->other < __KVM_INVPOLICY_FLUSH_END &&
	       settings->coalesce_min_pages <= KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX &&
	       settings->exit < __KVM_INVPOLICY_EXIT_END &&
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
	if (change->unmap != KVM_INVPOLICY_FLUSH_UNSPEC)
		WRITE_ONCE(settings->unmap, change->unmap);
	if (change->other != KVM_INVPOLICY_FLUSH_UNSPEC)
		WRITE_ONCE(settings->other, change->other);
	if (change->coalesce_min_pages)
		WRITE_ONCE(settings->coalesce_min_pages, change->coalesce_min_pages);
	if (change->exit != KVM_INVPOLICY_EXIT_UNSPEC)
		WRITE_ONCE(settings->exit, change->exit);
}

/**
 * invp_numa_modes() - the NUMA settings that exist
 *
 * Context: any.
 * Return: a mask with bit n set for value n of &enum kvm_invpolicy_numa.
 */
u32 invp_numa_modes(void)
{
	return modes_of(ARRAY_SIZE(numa_names));
}

/**
 * invp_flush_modes() - the settings of unmap and other that exist
 *
 * Context: any.
 * Return: a mask with bit n set for value n of &enum kvm_invpolicy_flush.
 */
u32 invp_flush_modes(void)
{
	return modes_of(ARRAY_SIZE(flush_names));
}

/**
 * invp_exit_modes() - the settings of exit that exist
 *
 * Context: any.
 * Return: a mask with bit n set for value n of &enum kvm_invpolicy_exit.
 */
u32 invp_exit_modes(void)
{
	return modes_of(ARRAY_SIZE(exit_names));
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
	return parse(numa_names, ARRAY_SIZE(numa_names), name, numa);
}

/**
 * invp_flush_parse() - setting of unmap or other of a name
 * @name: may end in a newline
 * @flush: out, untouched on error
 *
 * Context: any.
 * Return: 0, or -EINVAL if there is no such setting.
 */
int invp_flush_parse(const char *name, u32 *flush)
{
	return parse(flush_names, ARRAY_SIZE(flush_names), name, flush);
}

/**
 * invp_exit_parse() - setting of exit of a name
 * @name: may end in a newline
 * @exit: out, untouched on error
 *
 * Context: any.
 * Return: 0, or -EINVAL if there is no such setting.
 */
int invp_exit_parse(const char *name, u32 *exit)
{
	return parse(exit_names, ARRAY_SIZE(exit_names), name, exit);
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
	return numa_names[numa - FIRST_NAME];
}

/**
 * invp_flush_name() - name of a setting of unmap or other
 * @flush: a valid one, not KVM_INVPOLICY_FLUSH_UNSPEC
 *
 * Context: any.
 * Return: the name.
 */
const char *invp_flush_name(u32 flush)
{
	return flush_names[flush - FIRST_NAME];
}

/**
 * invp_exit_name() - name of a setting of exit
 * @exit: a valid one, not KVM_INVPOLICY_EXIT_UNSPEC
 *
 * Context: any.
 * Return: the name.
 */
const char *invp_exit_name(u32 exit)
{
	return exit_names[exit - FIRST_NAME];
}
