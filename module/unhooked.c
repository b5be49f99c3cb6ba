// SPDX-License-Identifier: GPL-2.0-only
/*
 * In place of hooks.c, vm.c and numa.c in a module that was built without the hooks'
 * header: VMs can be observed and nothing else. What each function promises is said there.
 */
#include <linux/errno.h>

#include "compat/kvm.h"
#include "hooks.h"
#include "numa.h"
#include "vm.h"

int invp_hooks_get(void)
{
	return -ENOENT;
}

void invp_hooks_put(void)
{
}

u32 invp_hooks_version(void)
{
	return 0;
}

struct kvm *invp_kvm_from_file(struct file *file)
{
	return invp_unpatched_kvm_from_file(file);
}

int invp_hooks_listen(int (*vm_created)(struct kvm *kvm))
{
	return 0;
}

void invp_hooks_unlisten(int (*vm_created)(struct kvm *kvm))
{
}

int __init invp_numa_module_init(void)
{
	return 0;
}

void invp_numa_module_exit(void)
{
}

int invp_vm_attach(struct kvm *kvm, const struct kvm_invpolicy_settings *settings)
{
	return -EOPNOTSUPP;
}

int invp_vm_update(struct kvm *kvm, const struct kvm_invpolicy_settings *change)
{
	return -ENOENT;
}

int invp_vm_detach(struct kvm *kvm)
{
	return -ENOENT;
}

int invp_vm_teardown(struct kvm *kvm)
{
	return -ENOENT;
}

int invp_vm_stats(struct kvm *kvm, struct kvm_invpolicy_stats *stats)
{
	return -ENOENT;
}

u32 invp_vm_list(struct kvm_invpolicy_list_entry *entries, u32 capacity)
{
	return 0;
}
