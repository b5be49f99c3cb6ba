// SPDX-License-Identifier: GPL-2.0-only
/* /dev/kvm-invpolicy: from ioctl arguments to calls. */
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "hooks.h"
#include "main.h"
#include "observe.h"
#include "policy.h"
#include "vm.h"

/* User space compiled these in. */
static_assert(sizeof(struct kvm_invpolicy_info) == 112);
static_assert(sizeof(struct kvm_invpolicy_vm) == 48);
static_assert(sizeof(struct kvm_invpolicy_stats) == 344);
static_assert(sizeof(struct kvm_invpolicy_list) == 24);
static_assert(sizeof(struct kvm_invpolicy_settings) == 32);
static_assert(sizeof(struct kvm_invpolicy_list_entry) == 48);
static_assert(offsetof(struct kvm_invpolicy_info, unmap_modes) == 60);
static_assert(offsetof(struct kvm_invpolicy_info, version) == 80);
static_assert(offsetof(struct kvm_invpolicy_vm, settings) == 16);
static_assert(offsetof(struct kvm_invpolicy_stats, reason) == 48);
static_assert(offsetof(struct kvm_invpolicy_stats, numa_elided) == 176);
static_assert(offsetof(struct kvm_invpolicy_stats, numa_pages_protected) == 208);
static_assert(offsetof(struct kvm_invpolicy_stats, numa_pace_waiting) == 288);
static_assert(offsetof(struct kvm_invpolicy_stats, coalesced_events) == 296);
static_assert(offsetof(struct kvm_invpolicy_settings, numa_pace_mbps) == 4);
static_assert(offsetof(struct kvm_invpolicy_settings, unmap) == 8);
static_assert(offsetof(struct kvm_invpolicy_settings, coalesce_min_pages) == 16);
static_assert(offsetof(struct kvm_invpolicy_list, entries) == 16);
static_assert(__KVM_INVPOLICY_REASON_END <= KVM_INVPOLICY_NR_REASONS);

/* @first_size is that of the first version: a shorter structure is none of ours. */
static int copy_in(void *arg, size_t size, size_t first_size, const void __user *user)
{
	u32 user_size;

	if (get_user(user_size, (const u32 __user *)user))
		return -EFAULT;
	if (user_size < first_size)
		return -EINVAL;
	if (user_size > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(arg, size, user, user_size);
}

/* Gives a program that was compiled with a shorter structure no more than that. */
static int copy_out(void __user *user, u32 user_size, const void *arg, size_t size)
{
	return copy_to_user(user, arg, min_t(size_t, user_size, size)) ? -EFAULT : 0;
}

/* The VM of an fdget(), valid until its fdput(). */
static struct kvm *vm_of(struct fd fd)
{
	struct kvm *kvm;

	if (!fd_file(fd))
		return ERR_PTR(-EBADF);
	kvm = invp_kvm_from_file(fd_file(fd));
	return kvm ?: ERR_PTR(-ENXIO);
}

static bool unspecified(const struct kvm_invpolicy_settings *settings)
{
	return !memchr_inv(settings, 0, sizeof(*settings));
}

static int get_info(void __user *user)
{
	struct kvm_invpolicy_info arg;
	bool hooked = invp_hooks_version();
	int err;

	err = copy_in(&arg, sizeof(arg), offsetofend(typeof(arg), version), user);
	if (err)
		return err;
	if (arg.flags || memchr_inv(arg.reserved, 0, sizeof(arg.reserved)))
		return -EINVAL;

	arg.abi = KVM_INVPOLICY_ABI;
	arg.hook_version = invp_hooks_version();
	arg.numa_modes = hooked ? invp_numa_modes() : 0;
	arg.unmap_modes = hooked ? invp_flush_modes() : 0;
	arg.other_modes = hooked ? invp_flush_modes() : 0;
	arg.exit_modes = hooked ? invp_exit_modes() : 0;
	arg.attached = invp_vm_list(NULL, 0);
	arg.defaults = invp_default_settings();
	arg.auto_attach = invp_auto_attach();
	strscpy_pad(arg.version, INVP_VERSION);
	return copy_out(user, arg.size, &arg, sizeof(arg));
}

/* What all calls for a VM share. */
static int copy_in_vm(struct kvm_invpolicy_vm *arg, const void __user *user)
{
	int err = copy_in(arg, sizeof(*arg), offsetofend(typeof(*arg), settings), user);

	if (err)
		return err;
	if (arg->flags || arg->reserved || !invp_settings_valid(&arg->settings))
		return -EINVAL;
	return 0;
}

static int attach(struct kvm *kvm, const struct kvm_invpolicy_vm *arg)
{
	struct kvm_invpolicy_settings settings = invp_default_settings();

	invp_settings_update(&settings, &arg->settings);
	return invp_vm_attach(kvm, &settings);
}

static int vm_call(struct invp_observation *observation, unsigned int cmd, void __user *user)
{
	struct kvm_invpolicy_vm arg;
	struct kvm *kvm;
	int err;

	err = copy_in_vm(&arg, user);
	if (err)
		return err;

	CLASS(fd, fd)(arg.vm_fd);
	kvm = vm_of(fd);
	if (IS_ERR(kvm))
		return PTR_ERR(kvm);

	switch (cmd) {
	case KVM_INVPOLICY_ATTACH:
		return attach(kvm, &arg);
	case KVM_INVPOLICY_UPDATE:
		return invp_vm_update(kvm, &arg.settings);
	case KVM_INVPOLICY_DETACH:
		return unspecified(&arg.settings) ? invp_vm_detach(kvm) : -EINVAL;
	case KVM_INVPOLICY_TEARDOWN:
		return unspecified(&arg.settings) ? invp_vm_teardown(kvm) : -EINVAL;
	default:
		return unspecified(&arg.settings) ? invp_observe(observation, kvm) : -EINVAL;
	}
}

static int policy_stats(s32 vm_fd, struct kvm_invpolicy_stats *stats)
{
	CLASS(fd, fd)(vm_fd);
	struct kvm *kvm = vm_of(fd);

	return IS_ERR(kvm) ? PTR_ERR(kvm) : invp_vm_stats(kvm, stats);
}

static int get_stats(struct invp_observation *observation, void __user *user)
{
	struct kvm_invpolicy_stats arg, stats = {};
	int err;

	err = copy_in(&arg, sizeof(arg), offsetofend(typeof(arg), reserved2), user);
	if (err)
		return err;
	if ((arg.flags & ~KVM_INVPOLICY_STATS_OBSERVED) ||
	    arg.reserved || arg.reserved2 || arg.reserved3 ||
	    ((arg.flags & KVM_INVPOLICY_STATS_OBSERVED) && arg.vm_fd != -1))
		return -EINVAL;

	stats.size = arg.size;
	stats.flags = arg.flags;
	stats.vm_fd = arg.vm_fd;
	if (arg.flags & KVM_INVPOLICY_STATS_OBSERVED)
		err = invp_observe_stats(observation, &stats);
	else
		err = policy_stats(arg.vm_fd, &stats);
	return err ?: copy_out(user, stats.size, &stats, sizeof(stats));
}

/* Copies as many entries as there are, or as fit; -EAGAIN if VMs came meanwhile. */
static int copy_list(struct kvm_invpolicy_list *arg)
{
	u32 capacity = min(arg->capacity, invp_vm_list(NULL, 0));
	struct kvm_invpolicy_list_entry *entries __free(kvfree) =
		kvcalloc(capacity, sizeof(*entries), GFP_KERNEL_ACCOUNT);

	if (!entries)
		return -ENOMEM;

	arg->count = invp_vm_list(entries, capacity);
	if (min(arg->count, arg->capacity) > capacity)
		return -EAGAIN;
	if (copy_to_user(u64_to_user_ptr(arg->entries), entries,
			 min(arg->count, capacity) * sizeof(*entries)))
		return -EFAULT;
	return 0;
}

static int list(void __user *user)
{
	struct kvm_invpolicy_list arg;
	int err;

	err = copy_in(&arg, sizeof(arg), offsetofend(typeof(arg), entries), user);
	if (err)
		return err;
	if (arg.flags)
		return -EINVAL;

	do {
		err = copy_list(&arg);
	} while (err == -EAGAIN);
	return err ?: copy_out(user, arg.size, &arg, sizeof(arg));
}

static long invp_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct invp_observation *observation = file->private_data;
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case KVM_INVPOLICY_GET_INFO:
		return get_info(user);
	case KVM_INVPOLICY_ATTACH:
	case KVM_INVPOLICY_UPDATE:
	case KVM_INVPOLICY_DETACH:
	case KVM_INVPOLICY_OBSERVE:
	case KVM_INVPOLICY_TEARDOWN:
		return vm_call(observation, cmd, user);
	case KVM_INVPOLICY_GET_STATS:
		return get_stats(observation, user);
	case KVM_INVPOLICY_LIST:
		return list(user);
	default:
		return -ENOTTY;
	}
}

static int invp_open(struct inode *inode, struct file *file)
{
	struct invp_observation *observation = kzalloc(sizeof(*observation), GFP_KERNEL_ACCOUNT);

	if (!observation)
		return -ENOMEM;
	mutex_init(&observation->lock);
	file->private_data = observation;
	return nonseekable_open(inode, file);
}

static int invp_release(struct inode *inode, struct file *file)
{
	struct invp_observation *observation = file->private_data;

	invp_observe_end(observation);
	kfree(observation);
	return 0;
}

static const struct file_operations invp_fops = {
	.owner = THIS_MODULE,
	.open = invp_open,
	.release = invp_release,
	.unlocked_ioctl = invp_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice invp_miscdevice = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kvm-invpolicy",
	.fops = &invp_fops,
	.mode = 0600,
};

/**
 * invp_device_register() - make the device appear
 *
 * Context: may sleep; the module must be ready for calls.
 * Return: 0 or a negative error.
 */
int invp_device_register(void)
{
	return misc_register(&invp_miscdevice);
}

/**
 * invp_device_unregister() - make the device disappear
 *
 * Context: may sleep; nobody has it open.
 */
void invp_device_unregister(void)
{
	misc_deregister(&invp_miscdevice);
}
