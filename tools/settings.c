// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "number.h"
#include "settings.h"

/* What several VMs have different values of; no module knows it. */
#define MIXED	(~0U)

#define KEY_MAX	64

static const char * const numa_names[] = {
	[KVM_INVPOLICY_NUMA_KVM - 1] = "kvm",
	[KVM_INVPOLICY_NUMA_SKIP - 1] = "skip",
	[KVM_INVPOLICY_NUMA_PRECISE - 1] = "precise",
	[KVM_INVPOLICY_NUMA_PACED - 1] = "paced",
	NULL
};

static const char * const flush_names[] = {
	[KVM_INVPOLICY_FLUSH_KVM - 1] = "kvm",
	[KVM_INVPOLICY_FLUSH_COALESCE - 1] = "coalesce",
	NULL
};

static const char * const exit_names[] = {
	[KVM_INVPOLICY_EXIT_KVM - 1] = "kvm",
	[KVM_INVPOLICY_EXIT_FAST - 1] = "fast",
	NULL
};

static bool is_paced(const struct kvm_invpolicy_settings *settings)
{
	return settings->numa == KVM_INVPOLICY_NUMA_PACED;
}

static bool unmap_has_effect(const struct kvm_invpolicy_settings *settings)
{
	return settings->unmap != KVM_INVPOLICY_FLUSH_KVM;
}

static bool other_has_effect(const struct kvm_invpolicy_settings *settings)
{
	return settings->other != KVM_INVPOLICY_FLUSH_KVM;
}

static bool exit_has_effect(const struct kvm_invpolicy_settings *settings)
{
	return settings->exit != KVM_INVPOLICY_EXIT_KVM;
}

bool settings_coalesce(const struct kvm_invpolicy_settings *settings)
{
	return settings->unmap == KVM_INVPOLICY_FLUSH_COALESCE ||
	       settings->other == KVM_INVPOLICY_FLUSH_COALESCE;
}

#define FIELD(name)	.key = #name, .offset = offsetof(struct kvm_invpolicy_settings, name)
#define MODES(name)	.modes = offsetof(struct kvm_invpolicy_info, name)

const struct setting settings_known[] = {
	{ FIELD(numa), MODES(numa_modes), .names = numa_names },
	{ FIELD(numa_pace_mbps), MODES(numa_modes), .mode = KVM_INVPOLICY_NUMA_PACED,
	  .max = KVM_INVPOLICY_NUMA_PACE_MBPS_MAX, .unit = "MiB per second",
	  .has_effect = is_paced },
	{ FIELD(unmap), MODES(unmap_modes), .names = flush_names,
	  .has_effect = unmap_has_effect },
	{ FIELD(other), MODES(other_modes), .names = flush_names,
	  .has_effect = other_has_effect },
	{ FIELD(coalesce_min_pages), MODES(unmap_modes), .mode = KVM_INVPOLICY_FLUSH_COALESCE,
	  .max = KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX, .unit = "pages",
	  .has_effect = settings_coalesce },
	{ FIELD(exit), MODES(exit_modes), .names = exit_names, .has_effect = exit_has_effect },
	{ }
};

static __u32 *field(struct kvm_invpolicy_settings *settings, const struct setting *setting)
{
	return (__u32 *)((char *)settings + setting->offset);
}

__u32 settings_value(const struct kvm_invpolicy_settings *settings, const struct setting *setting)
{
	return *(const __u32 *)((const char *)settings + setting->offset);
}

bool settings_has_mode(const struct kvm_invpolicy_info *info, const struct setting *setting,
		       __u32 mode)
{
	return *(const __u32 *)((const char *)info + setting->modes) & 1U << mode;
}

static const char *name_of(const char * const *names, __u32 value)
{
	if (value == MIXED)
		return "mixed";
	while (--value && *names)
		names++;
	return *names ? *names : "unknown";
}

const char *settings_numa_name(__u32 numa)
{
	return name_of(numa_names, numa);
}

static void append_value(char text[SETTINGS_TEXT_MAX], const struct setting *setting, __u32 value)
{
	size_t length = strlen(text);

	length += snprintf(text + length, SETTINGS_TEXT_MAX - length, "%s%s=",
			   length ? " " : "", setting->key);
	if (setting->names)
		snprintf(text + length, SETTINGS_TEXT_MAX - length, "%s",
			 name_of(setting->names, value));
	else
		snprintf(text + length, SETTINGS_TEXT_MAX - length, "%u", value);
}

static const char *make_text(char text[SETTINGS_TEXT_MAX],
			     const struct kvm_invpolicy_settings *settings, bool all)
{
	text[0] = '\0';
	for (const struct setting *setting = settings_known; setting->key; setting++) {
		__u32 value = settings_value(settings, setting);

		if (value && (all || !setting->has_effect || setting->has_effect(settings)))
			append_value(text, setting, value);
	}
	return text;
}

const char *settings_text(char text[SETTINGS_TEXT_MAX],
			  const struct kvm_invpolicy_settings *settings)
{
	return make_text(text, settings, false);
}

const char *settings_text_all(char text[SETTINGS_TEXT_MAX],
			      const struct kvm_invpolicy_settings *settings)
{
	return make_text(text, settings, true);
}

void settings_json(const char *prefix, const struct kvm_invpolicy_settings *settings)
{
	for (const struct setting *setting = settings_known; setting->key; setting++) {
		__u32 value = settings_value(settings, setting);
		char key[KEY_MAX];

		snprintf(key, sizeof(key), "%s%s", prefix, setting->key);
		if (!value)
			json_null(key);
		else if (setting->names)
			json_string(key, name_of(setting->names, value));
		else
			json_unsigned(key, value);
	}
}

void settings_merge(struct kvm_invpolicy_settings *sum,
		    const struct kvm_invpolicy_settings *settings)
{
	for (const struct setting *setting = settings_known; setting->key; setting++) {
		__u32 *value = field(sum, setting);

		if (*value != settings_value(settings, setting))
			*value = setting->names ? MIXED : 0;
	}
}

/* Empty if @info tells that there is no choice. */
static void describe(char text[SETTINGS_TEXT_MAX], const struct setting *setting,
		     const struct kvm_invpolicy_info *info)
{
	const char *separator = "=";

	text[0] = '\0';
	if (!setting->names && (!info || settings_has_mode(info, setting, setting->mode)))
		snprintf(text, SETTINGS_TEXT_MAX, "%s=1..%u", setting->key, setting->max);
	for (__u32 i = 0; setting->names && setting->names[i]; i++) {
		size_t length = strlen(text);

		if (info && !settings_has_mode(info, setting, i + 1))
			continue;
		snprintf(text + length, SETTINGS_TEXT_MAX - length, "%s%s%s",
			 length ? "" : setting->key, separator, setting->names[i]);
		separator = "|";
	}
}

const char *settings_choices(const struct kvm_invpolicy_info *info)
{
	static char choices[2 * SETTINGS_TEXT_MAX];
	char next[SETTINGS_TEXT_MAX], last[SETTINGS_TEXT_MAX] = "";

	choices[0] = '\0';
	for (const struct setting *setting = settings_known; setting->key; setting++) {
		describe(next, setting, info);
		if (!next[0])
			continue;
		if (last[0])
			sprintf(choices + strlen(choices), "%s%s", choices[0] ? ", " : "", last);
		memcpy(last, next, sizeof(last));
	}
	sprintf(choices + strlen(choices), "%s%s", choices[0] ? " or " : "", last);
	return choices;
}

static bool parse_name(const char *text, const char * const *names, __u32 *value)
{
	for (__u32 i = 0; names[i]; i++) {
		if (!strcmp(text, names[i])) {
			*value = i + 1;
			return true;
		}
	}
	return false;
}

static bool parse_number(const char *text, __u32 max, __u32 *value)
{
	int number;

	if (!number_parse(text, max, &number))
		return false;
	*value = number;
	return true;
}

bool settings_parse(const char *text, struct kvm_invpolicy_settings *settings)
{
	size_t length = strcspn(text, "=");

	for (const struct setting *setting = settings_known; text[length] && setting->key;
	     setting++) {
		const char *value = text + length + 1;

		if (strlen(setting->key) != length || strncmp(text, setting->key, length))
			continue;
		return setting->names ? parse_name(value, setting->names, field(settings, setting))
				      : parse_number(value, setting->max, field(settings, setting));
	}
	return false;
}

bool settings_empty(const struct kvm_invpolicy_settings *settings)
{
	static const struct kvm_invpolicy_settings empty;

	return !memcmp(settings, &empty, sizeof(empty));
}
