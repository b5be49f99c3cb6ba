/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/kvm_invpolicy.h>

#define SETTINGS_TEXT_MAX 160

#define SETTINGS_CONSEQUENCE_OF_SKIP \
	"the placement of guest memory no longer follows guest accesses"

/**
 * struct setting - one field of struct kvm_invpolicy_settings
 * @key: its name
 * @names: of its values, from value 1 on, up to NULL; NULL for a number
 * @max: a number is 1 to this
 * @unit: of a number
 * @mode: for a number, the value with which its @modes tell that the module knows it
 * @offset: in struct kvm_invpolicy_settings
 * @modes: in struct kvm_invpolicy_info: the values that can be attached
 * @has_effect: whether it has, NULL if always
 */
struct setting {
	const char *key;
	const char * const *names;
	__u32 max;
	const char *unit;
	__u32 mode;
	size_t offset;
	size_t modes;
	bool (*has_effect)(const struct kvm_invpolicy_settings *settings);
};

/* Up to one without a key. */
extern const struct setting settings_known[];

__u32 settings_value(const struct kvm_invpolicy_settings *settings, const struct setting *setting);
/* Whether the module can attach value @mode of a setting. */
bool settings_has_mode(const struct kvm_invpolicy_info *info, const struct setting *setting,
		       __u32 mode);

/* True with unmap=coalesce or other=coalesce. */
bool settings_coalesce(const struct kvm_invpolicy_settings *settings);

/* "kvm", "skip", ...; "unknown" for what only a newer module knows. */
const char *settings_numa_name(__u32 numa);

/* "numa=skip" or "numa=paced numa_pace_mbps=64": what has an effect; returns @text. */
const char *settings_text(char text[SETTINGS_TEXT_MAX],
			  const struct kvm_invpolicy_settings *settings);
/* The same of all that is specified. */
const char *settings_text_all(char text[SETTINGS_TEXT_MAX],
			      const struct kvm_invpolicy_settings *settings);
/* Each by its key after @prefix, in the object that is open; null if not specified. */
void settings_json(const char *prefix, const struct kvm_invpolicy_settings *settings);

/* Makes what differs "mixed", or a number unspecified. */
void settings_merge(struct kvm_invpolicy_settings *sum,
		    const struct kvm_invpolicy_settings *settings);

/* "numa=kvm|skip|paced or numa_pace_mbps=1..65536": what a module, NULL: this tool, knows. */
const char *settings_choices(const struct kvm_invpolicy_info *info);

/* False if @text is not a setting. */
bool settings_parse(const char *text, struct kvm_invpolicy_settings *settings);
bool settings_empty(const struct kvm_invpolicy_settings *settings);

#endif
