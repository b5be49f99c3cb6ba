/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_VM_H
#define _INVP_VM_H

#include <uapi/linux/kvm_invpolicy.h>

struct kvm;

int invp_vm_attach(struct kvm *kvm, const struct kvm_invpolicy_settings *settings);
int invp_vm_update(struct kvm *kvm, const struct kvm_invpolicy_settings *change);
int invp_vm_detach(struct kvm *kvm);
int invp_vm_teardown(struct kvm *kvm);
int invp_vm_stats(struct kvm *kvm, struct kvm_invpolicy_stats *stats);
u32 invp_vm_list(struct kvm_invpolicy_list_entry *entries, u32 capacity);

#endif
