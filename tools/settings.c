// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "number.h"
#include "settings.h"

#define NUMA_KEY "numa="
#define PACE_KEY "numa_pace_mbps="

static const char * const numa_names[__KVM_INVPOLICY_NUMA_END] = {
	[KVM_INVPOLICY_NUMA_UNSPEC] = "default",
	[KVM_INVPOLICY_NUMA_KVM] = "kvm",
	[KVM_INVPOLICY_NUMA_SKIP] = "skip",
	[KVM_INVPOLICY_NUMA_PRECISE] = "precise",
	[KVM_INVPOLICY_NUMA_PACED] = "paced",
};

const char *settings_numa_name(__u32 numa)
{
	return numa < __KVM_INVPOLICY_NUMA_END ? numa_names[numa] : "unknown";
}

const char *settings_text(char text[SETTINGS_TEXT_MAX],
			  const struct kvm_invpolicy_settings *settings)
{
	int length = snprintf(text, SETTINGS_TEXT_MAX, NUMA_KEY "%s",
			      settings_numa_name(settings->numa));

	if (settings->numa == KVM_INVPOLICY_NUMA_PACED && settings->numa_pace_mbps)
		snprintf(text + length, SETTINGS_TEXT_MAX - length, " " PACE_KEY "%u",
			 settings->numa_pace_mbps);
	return text;
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
	if (modes & 1U << KVM_INVPOLICY_NUMA_PACED)
		sprintf(choices + strlen(choices), " or " PACE_KEY "1..%d",
			KVM_INVPOLICY_NUMA_PACE_MBPS_MAX);
	return choices;
}

static bool parse_numa(const char *name, struct kvm_invpolicy_settings *settings)
{
	for (__u32 numa = KVM_INVPOLICY_NUMA_KVM; numa < __KVM_INVPOLICY_NUMA_END; numa++) {
		if (!strcmp(name, numa_names[numa])) {
			settings->numa = numa;
			return true;
		}
	}
	return false;
}

static bool parse_pace(const char *text, struct kvm_invpolicy_settings *settings)
{
	int mbps;

	if (!number_parse(text, KVM_INVPOLICY_NUMA_PACE_MBPS_MAX, &mbps))
		return false;
	settings->numa_pace_mbps = mbps;
	return true;
}

bool settings_parse(const char *text, struct kvm_invpolicy_settings *settings)
{
	if (!strncmp(text, NUMA_KEY, strlen(NUMA_KEY)))
		return parse_numa(text + strlen(NUMA_KEY), settings);
	if (!strncmp(text, PACE_KEY, strlen(PACE_KEY)))
		return parse_pace(text + strlen(PACE_KEY), settings);
	return false;
}

void settings_json_pace(const char *key, __u32 mbps)
{
	if (mbps)
		json_unsigned(key, mbps);
	else
		json_null(key);
}
