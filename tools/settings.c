// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "settings.h"

#define NUMA_KEY "numa="

static const char * const numa_names[__KVM_INVPOLICY_NUMA_END] = {
	[KVM_INVPOLICY_NUMA_UNSPEC] = "default",
	[KVM_INVPOLICY_NUMA_KVM] = "kvm",
	[KVM_INVPOLICY_NUMA_SKIP] = "skip",
};

const char *settings_numa_name(__u32 numa)
{
	return numa < __KVM_INVPOLICY_NUMA_END ? numa_names[numa] : "unknown";
}

const char *settings_choices(__u32 modes)
{
	static char choices[128];
	const char *separator = NUMA_KEY;

	choices[0] = '\0';
	for (__u32 numa = KVM_INVPOLICY_NUMA_KVM; numa < __KVM_INVPOLICY_NUMA_END; numa++) {
		if (!(modes & 1U << numa))
			continue;
		strcat(choices, separator);
		strcat(choices, numa_names[numa]);
		separator = "|";
	}
	return choices;
}

bool settings_parse(const char *text, struct kvm_invpolicy_settings *settings)
{
	size_t key_length = strlen(NUMA_KEY);

	if (strncmp(text, NUMA_KEY, key_length))
		return false;
	for (__u32 numa = KVM_INVPOLICY_NUMA_KVM; numa < __KVM_INVPOLICY_NUMA_END; numa++) {
		if (!strcmp(text + key_length, numa_names[numa])) {
			settings->numa = numa;
			return true;
		}
	}
	return false;
}
