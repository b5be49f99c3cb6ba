/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <linux/kvm_invpolicy.h>

#define SETTINGS_TEXT_MAX 64

#define SETTINGS_CONSEQUENCE_OF_SKIP \
	"the placement of guest memory no longer follows guest accesses"

/* "kvm", "skip", ...; "unknown" for what only a newer module knows. */
const char *settings_numa_name(__u32 numa);

/* "numa=skip" or "numa=paced numa_pace_mbps=64": what has an effect; returns @text. */
const char *settings_text(char text[SETTINGS_TEXT_MAX],
			  const struct kvm_invpolicy_settings *settings);

/* "numa=kvm|skip|paced or numa_pace_mbps=...", narrowed to the modes whose bit is set. */
const char *settings_choices(__u32 modes);

/* False if @text is not a setting. */
bool settings_parse(const char *text, struct kvm_invpolicy_settings *settings);

/* JSON null for zero: an older module knows no rate. */
void settings_json_pace(const char *key, __u32 mbps);

#endif
