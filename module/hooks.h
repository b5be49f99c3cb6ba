/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_HOOKS_H
#define _INVP_HOOKS_H

#include <linux/types.h>

struct file;
struct invp_range;
struct kvm;
struct kvm_invalidate_policy;
struct kvm_invalidate_unmapped;

int invp_hooks_get(void);
void invp_hooks_put(void);
u32 invp_hooks_version(void);
struct kvm *invp_kvm_from_file(struct file *file);
int invp_hooks_listen(int (*vm_created)(struct kvm *kvm));
void invp_hooks_unlisten(int (*vm_created)(struct kvm *kvm));
int invp_hooks_attach(struct kvm *kvm, struct kvm_invalidate_policy *policy);
void invp_hooks_detach(struct kvm *kvm, struct kvm_invalidate_policy *policy);
void invp_hooks_unmap(struct kvm *kvm, const struct invp_range *ranges, unsigned int nr,
		      struct kvm_invalidate_unmapped *unmapped);
void invp_hooks_retire(struct kvm *kvm, bool dying,
		       struct kvm_invalidate_unmapped *unmapped);

#endif
