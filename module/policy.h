/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_POLICY_H
#define _INVP_POLICY_H

#include <linux/compiler.h>
#include <linux/stringify.h>
#include <linux/types.h>
#include <uapi/linux/kvm_invpolicy.h>

/**
 * enum invp_action - what KVM is told to do with an event
 * @INVP_ACTION_DEFAULT: what it does without a policy
 * @INVP_ACTION_ELIDE: nothing, at the start and at the end of the event; what numa=precise
 *	and numa=paced unmap, they unmap later, by a call of their own
 */
enum invp_action {
	INVP_ACTION_DEFAULT,
	INVP_ACTION_ELIDE,
};

/* The names of enum kvm_invpolicy_numa, for messages. */
#define INVP_NUMA_CHOICES "kvm, skip, precise or paced"

#define INVP_NUMA_PACE_CHOICES "1 to " __stringify(KVM_INVPOLICY_NUMA_PACE_MBPS_MAX)

/**
 * invp_action() - what to do with an event
 * @settings: of the VM; may change meanwhile, each field is read once
 * @reason: of the event
 *
 * Context: any.
 * Return: the action.
 */
static inline enum invp_action invp_action(const struct kvm_invpolicy_settings *settings,
					   enum kvm_invpolicy_reason reason)
{
	if (reason != KVM_INVPOLICY_REASON_NUMA)
		return INVP_ACTION_DEFAULT;

	switch (READ_ONCE(settings->numa)) {
	case KVM_INVPOLICY_NUMA_SKIP:
	case KVM_INVPOLICY_NUMA_PRECISE:
	case KVM_INVPOLICY_NUMA_PACED:
		return INVP_ACTION_ELIDE;
	default:
		return INVP_ACTION_DEFAULT;
	}
}

bool invp_settings_valid(const struct kvm_invpolicy_settings *settings);
void invp_settings_update(struct kvm_invpolicy_settings *settings,
			  const struct kvm_invpolicy_settings *change);
u32 invp_numa_modes(void);
int invp_numa_parse(const char *name, u32 *numa);
const char *invp_numa_name(u32 numa);

#endif
