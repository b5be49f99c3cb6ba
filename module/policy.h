/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_POLICY_H
#define _INVP_POLICY_H

#include <linux/compiler.h>
#include <linux/stringify.h>
#include <linux/types.h>
#include <uapi/linux/kvm_invpolicy.h>

#include <asm/page.h>

/**
 * enum invp_action - what KVM is told to do with an event
 * @INVP_ACTION_DEFAULT: what it does without a policy
 * @INVP_ACTION_ELIDE: nothing, at the start and at the end of the event; what numa=precise
 *	and numa=paced unmap, they unmap later, by a call of their own
 * @INVP_ACTION_COALESCE: the same as without a policy, but with all TLBs flushed at once
 * @INVP_ACTION_COALESCE_DYING: besides, the host drops the mapping for good: nobody will
 *	read a page that has no other user
 * @INVP_ACTION_RETIRE: to take all of the VM's memory from it for good, and then nothing
 */
enum invp_action {
	INVP_ACTION_DEFAULT,
	INVP_ACTION_ELIDE,
	INVP_ACTION_COALESCE,
	INVP_ACTION_COALESCE_DYING,
	INVP_ACTION_RETIRE,
};

/* The names of enum kvm_invpolicy_numa, for messages. */
#define INVP_NUMA_CHOICES "kvm, skip, precise or paced"

/* The names of enum kvm_invpolicy_flush, for messages. */
#define INVP_FLUSH_CHOICES "kvm or coalesce"

/* The names of enum kvm_invpolicy_exit, for messages. */
#define INVP_EXIT_CHOICES "kvm or fast"

#define INVP_NUMA_PACE_CHOICES "1 to " __stringify(KVM_INVPOLICY_NUMA_PACE_MBPS_MAX)
#define INVP_COALESCE_MIN_CHOICES "1 to " __stringify(KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX)

static inline bool invp_elides(u32 numa)
{
	switch (numa) {
	case KVM_INVPOLICY_NUMA_SKIP:
	case KVM_INVPOLICY_NUMA_PRECISE:
	case KVM_INVPOLICY_NUMA_PACED:
		return true;
	default:
		return false;
	}
}

/* The least is one page at least: an empty event is never coalesced. */
static inline bool invp_coalesces(u32 flush, u32 min_pages, unsigned long bytes)
{
	return flush == KVM_INVPOLICY_FLUSH_COALESCE && bytes >> PAGE_SHIFT >= min_pages;
}

/**
 * invp_action() - what to do with an event
 * @settings: of the VM, all specified; may change meanwhile, each field is read once
 * @reason: of the event
 * @bytes: that the event announces
 *
 * Context: any.
 * Return: the action.
 */
static inline enum invp_action invp_action(const struct kvm_invpolicy_settings *settings,
					   enum kvm_invpolicy_reason reason, unsigned long bytes)
{
	u32 min_pages = READ_ONCE(settings->coalesce_min_pages);

	if (reason == KVM_INVPOLICY_REASON_EXIT &&
	    READ_ONCE(settings->exit) == KVM_INVPOLICY_EXIT_FAST)
		return INVP_ACTION_RETIRE;
	if (reason == KVM_INVPOLICY_REASON_NUMA && invp_elides(READ_ONCE(settings->numa)))
		return INVP_ACTION_ELIDE;
	if (reason == KVM_INVPOLICY_REASON_UNMAP &&
	    invp_coalesces(READ_ONCE(settings->unmap), min_pages, bytes))
		return INVP_ACTION_COALESCE_DYING;
	if (reason == KVM_INVPOLICY_REASON_OTHER &&
	    invp_coalesces(READ_ONCE(settings->other), min_pages, bytes))
		return INVP_ACTION_COALESCE;
	return INVP_ACTION_DEFAULT;
}

bool invp_settings_valid(const struct kvm_invpolicy_settings *settings);
void invp_settings_update(struct kvm_invpolicy_settings *settings,
			  const struct kvm_invpolicy_settings *change);
u32 invp_numa_modes(void);
u32 invp_flush_modes(void);
int invp_numa_parse(const char *name, u32 *numa);
int invp_flush_parse(const char *name, u32 *flush);
const char *invp_numa_name(u32 numa);
const char *invp_flush_name(u32 flush);
u32 invp_exit_modes(void);
int invp_exit_parse(const char *name, u32 *exit);
const char *invp_exit_name(u32 exit);

#endif
