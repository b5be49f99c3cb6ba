// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hooks that the companion patch exports from KVM. They are looked up at run time:
 * beside a KVM without them the module still loads, and observes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/file.h>
#include <linux/kvm_invalidate_policy.h>
#include <linux/module.h>

#include "compat/kvm.h"
#include "hooks.h"
#include "ranges.h"

static struct {
	const unsigned int *version;
	typeof(kvm_from_file) *from_file;
	typeof(kvm_invalidate_policy_set_listener) *set_listener;
	typeof(kvm_invalidate_policy_attach) *attach;
	typeof(kvm_invalidate_policy_detach) *detach;
	typeof(kvm_invalidate_unmap) *unmap;
	typeof(kvm_invalidate_retire) *retire;
} hooks;

/**
 * invp_hooks_get() - look up KVM's hooks and pin KVM
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if KVM has no hooks; -EPROTO, logged, if they have another version.
 */
int invp_hooks_get(void)
{
	hooks.version = symbol_get(kvm_invalidate_policy_version);
	if (!hooks.version)
		return -ENOENT;

	if (*hooks.version != KVM_INVALIDATE_POLICY_VERSION) {
		pr_err("kvm has hook version %u, this module needs %u: build both from one source and reload kvm\n",
		       *hooks.version, KVM_INVALIDATE_POLICY_VERSION);
		invp_hooks_put();
		return -EPROTO;
	}

	/* One version, one set of symbols. */
	hooks.from_file = symbol_get(kvm_from_file);
	hooks.set_listener = symbol_get(kvm_invalidate_policy_set_listener);
	hooks.attach = symbol_get(kvm_invalidate_policy_attach);
	hooks.detach = symbol_get(kvm_invalidate_policy_detach);
	hooks.unmap = symbol_get(kvm_invalidate_unmap);
	hooks.retire = symbol_get(kvm_invalidate_retire);
	if (!hooks.from_file || !hooks.set_listener || !hooks.attach || !hooks.detach ||
	    !hooks.unmap || !hooks.retire) {
		pr_err("kvm has hook version %u but not all of its hooks\n", *hooks.version);
		invp_hooks_put();
		return -EPROTO;
	}
	return 0;
}

/**
 * invp_hooks_put() - undo invp_hooks_get(), whatever it returned
 *
 * Context: may sleep.
 */
void invp_hooks_put(void)
{
	if (hooks.retire)
		symbol_put(kvm_invalidate_retire);
	if (hooks.unmap)
		symbol_put(kvm_invalidate_unmap);
	if (hooks.detach)
		symbol_put(kvm_invalidate_policy_detach);
	if (hooks.attach)
		symbol_put(kvm_invalidate_policy_attach);
	if (hooks.set_listener)
		symbol_put(kvm_invalidate_policy_set_listener);
	if (hooks.from_file)
		symbol_put(kvm_from_file);
	if (hooks.version)
		symbol_put(kvm_invalidate_policy_version);
	memset(&hooks, 0, sizeof(hooks));
}

/**
 * invp_hooks_version() - version of the hooks in use
 *
 * Context: any.
 * Return: the version; 0 if VMs can only be observed.
 */
u32 invp_hooks_version(void)
{
	return hooks.version ? *hooks.version : 0;
}

/**
 * invp_hooks_listen() - have KVM report new VMs
 * @vm_created: called in the context of a VM's creator, may sleep; an error fails the
 *	creation
 *
 * Context: may sleep.
 * Return: 0, without hooks too; -EBUSY if another module listens.
 */
int invp_hooks_listen(int (*vm_created)(struct kvm *kvm))
{
	return hooks.set_listener ? hooks.set_listener(NULL, vm_created) : 0;
}

/**
 * invp_hooks_unlisten() - undo a successful invp_hooks_listen()
 * @vm_created: not running any more on return
 *
 * Context: may sleep.
 */
void invp_hooks_unlisten(int (*vm_created)(struct kvm *kvm))
{
	if (hooks.set_listener)
		WARN_ON_ONCE(hooks.set_listener(vm_created, NULL));
}

/**
 * invp_hooks_attach() - have KVM ask a policy about a VM's events
 * @kvm: the VM, referenced by the caller
 * @policy: with its ops set
 *
 * Context: may sleep; not from an MMU notifier callback.
 * Return: 0; -EOPNOTSUPP without hooks; else as kvm_invalidate_policy_attach().
 */
int invp_hooks_attach(struct kvm *kvm, struct kvm_invalidate_policy *policy)
{
	return hooks.attach ? hooks.attach(kvm, policy) : -EOPNOTSUPP;
}

/**
 * invp_hooks_detach() - undo invp_hooks_attach()
 * @kvm: the VM, referenced by the caller
 * @policy: what is attached
 *
 * Context: sleeps until MMU notifiers have finished; not from one of their callbacks.
 */
void invp_hooks_detach(struct kvm *kvm, struct kvm_invalidate_policy *policy)
{
	WARN_ON_ONCE(hooks.detach(kvm, policy));
}

/* Parts that know nothing of KVM have a type of their own. */
static_assert(sizeof(struct invp_range) == sizeof(struct kvm_hva_range));
static_assert(offsetof(struct invp_range, start) == offsetof(struct kvm_hva_range, start));
static_assert(offsetof(struct invp_range, end) == offsetof(struct kvm_hva_range, end));

/**
 * invp_hooks_unmap() - unmap parts of a VM's memory whose pfns and contents stay
 * @kvm: the VM, which has had a policy
 * @ranges: sorted, apart from each other
 * @nr: number of @ranges
 * @unmapped: raised by what was done
 *
 * Context: may sleep.
 */
void invp_hooks_unmap(struct kvm *kvm, const struct invp_range *ranges, unsigned int nr,
		      struct kvm_invalidate_unmapped *unmapped)
{
	hooks.unmap(kvm, (const struct kvm_hva_range *)ranges, nr, unmapped);
}

/**
 * invp_hooks_retire() - take a VM's memory away from it, for good
 * @kvm: a VM that has a policy, not yet freed
 * @dying: nobody will read what no other than the VM's mm maps
 * @unmapped: raised by what was done
 *
 * Context: may sleep; may be called from an MMU notifier that can block.
 */
void invp_hooks_retire(struct kvm *kvm, bool dying,
		       struct kvm_invalidate_unmapped *unmapped)
{
	hooks.retire(kvm, dying, unmapped);
}

/**
 * invp_kvm_from_file() - VM of a file
 * @file: any open file
 *
 * Context: any.
 * Return: the VM, valid while the caller holds @file; NULL for any other file.
 */
struct kvm *invp_kvm_from_file(struct file *file)
{
	return hooks.from_file ? hooks.from_file(file) : invp_unpatched_kvm_from_file(file);
}
