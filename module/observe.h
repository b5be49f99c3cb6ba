/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_OBSERVE_H
#define _INVP_OBSERVE_H

#include <linux/mutex.h>
#include <uapi/linux/kvm_invpolicy.h>

struct invp_observer;
struct kvm;

/**
 * struct invp_observation - what one device descriptor observes
 * @lock: serializes calls on the descriptor
 * @observer: the observer, NULL before the first KVM_INVPOLICY_OBSERVE
 */
struct invp_observation {
	struct mutex lock;
	struct invp_observer *observer;
};

int invp_observe(struct invp_observation *observation, struct kvm *kvm);
int invp_observe_stats(struct invp_observation *observation, struct kvm_invpolicy_stats *stats);
void invp_observe_end(struct invp_observation *observation);

#endif
