/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_REASON_H
#define _INVP_REASON_H

#include <uapi/linux/kvm_invpolicy.h>

struct mmu_notifier_range;

#define INVP_NR_REASONS	__KVM_INVPOLICY_REASON_END

enum kvm_invpolicy_reason invp_reason(const struct mmu_notifier_range *range);

#endif
