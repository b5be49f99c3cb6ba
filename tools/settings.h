/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <linux/kvm_invpolicy.h>

#define SETTINGS_CONSEQUENCE_OF_SKIP \
	"the placement of guest memory no longer follows guest accesses"

/* "kvm" or "skip"; "unknown" for what only a newer module knows. */
const char *settings_numa_name(__u32 numa);

/* "numa=kvm|skip", narrowed to the values whose bit is set in @modes. */
const char *settings_choices(__u32 modes);

/* False if @text is not a setting. */
bool settings_parse(const char *text, struct kvm_invpolicy_settings *settings);

#endif
