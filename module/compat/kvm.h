/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_COMPAT_KVM_H
#define _INVP_COMPAT_KVM_H

#include <linux/fs.h>
#include <linux/kvm_host.h>

/* A KVM without hooks exports what it takes to do the same. */
static inline struct kvm *invp_unpatched_kvm_from_file(struct file *file)
{
	return file_is_kvm(file) ? file->private_data : NULL;
}

/*
 * Private or encrypted memory: what an unmap must do there is not proved. A VM of the
 * default type becomes a SEV guest by a later call, of which this inhibition tells.
 */
static inline bool invp_vm_type_refused(struct kvm *kvm)
{
#ifdef CONFIG_X86
	return kvm->arch.vm_type != KVM_X86_DEFAULT_VM ||
	       test_bit(APICV_INHIBIT_REASON_SEV, &kvm->arch.apicv_inhibit_reasons);
#else
	return kvm_vm_is_protected(kvm) || kvm->arch.nested_mmus_size;
#endif
}

#endif
