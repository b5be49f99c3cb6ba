// SPDX-License-Identifier: GPL-2.0-only
/* Parameters, init and exit. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kvm_host.h>
#include <linux/module.h>
#include <linux/stringify.h>

#include "hooks.h"
#include "main.h"
#include "numa.h"
#include "policy.h"
#include "vm.h"

/* As fast as the kernel scans a process unless told otherwise: 256 MB in a second. */
#define DEFAULT_NUMA_PACE_MBPS		256
#define DEFAULT_COALESCE_MIN_PAGES	16

/* Each is read and written by itself. */
static struct kvm_invpolicy_settings defaults = {
	.numa = KVM_INVPOLICY_NUMA_PACED,
	.numa_pace_mbps = DEFAULT_NUMA_PACE_MBPS,
	.unmap = KVM_INVPOLICY_FLUSH_KVM,
	.other = KVM_INVPOLICY_FLUSH_KVM,
	.coalesce_min_pages = DEFAULT_COALESCE_MIN_PAGES,
	.exit = KVM_INVPOLICY_EXIT_KVM,
};

static bool auto_attach;
static bool observe_only;

/* @value comes from the command line of modprobe, or from sysfs with a newline. */
static int bad_value(const char *value, const struct kernel_param *param, const char *good)
{
	pr_err("%s=%.*s is no setting: use %s\n", param->name,
	       (int)strcspn(value, "\n"), value, good);
	return -EINVAL;
}

static int set_numa(const char *value, const struct kernel_param *param)
{
	u32 numa;

	if (invp_numa_parse(value, &numa))
		return bad_value(value, param, INVP_NUMA_CHOICES);
	WRITE_ONCE(defaults.numa, numa);
	return 0;
}

static int get_numa(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", invp_numa_name(READ_ONCE(defaults.numa)));
}

static const struct kernel_param_ops numa_ops = {
	.set = set_numa,
	.get = get_numa,
};
module_param_cb(numa, &numa_ops, NULL, 0644);
MODULE_PARM_DESC(numa, "on NUMA balancing in new policies: " INVP_NUMA_CHOICES " (default paced)");

static int set_flush(const char *value, const struct kernel_param *param)
{
	u32 flush;

	if (invp_flush_parse(value, &flush))
		return bad_value(value, param, INVP_FLUSH_CHOICES);
	WRITE_ONCE(*(u32 *)param->arg, flush);
	return 0;
}

static int get_flush(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", invp_flush_name(READ_ONCE(*(u32 *)param->arg)));
}

static const struct kernel_param_ops flush_ops = {
	.set = set_flush,
	.get = get_flush,
};
module_param_cb(unmap, &flush_ops, &defaults.unmap, 0644);
MODULE_PARM_DESC(unmap, "on munmap and its like in new policies: " INVP_FLUSH_CHOICES
		 " (default kvm)");
module_param_cb(other, &flush_ops, &defaults.other, 0644);
MODULE_PARM_DESC(other, "on all other changes in new policies: " INVP_FLUSH_CHOICES
		 " (default kvm)");

static int set_exit(const char *value, const struct kernel_param *param)
{
	u32 exit;

	if (invp_exit_parse(value, &exit))
		return bad_value(value, param, INVP_EXIT_CHOICES);
	WRITE_ONCE(defaults.exit, exit);
	return 0;
}

static int get_exit(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", invp_exit_name(READ_ONCE(defaults.exit)));
}

static const struct kernel_param_ops exit_ops = {
	.set = set_exit,
	.get = get_exit,
};
module_param_cb(exit, &exit_ops, NULL, 0644);
MODULE_PARM_DESC(exit, "when the process dies in new policies: " INVP_EXIT_CHOICES
		 " (default kvm)");

static int set_number(const char *value, const struct kernel_param *param, unsigned int max,
		      const char *good)
{
	if (param_set_uint_minmax(value, param, 1, max))
		return bad_value(value, param, good);
	return 0;
}

static int set_numa_pace(const char *value, const struct kernel_param *param)
{
	return set_number(value, param, KVM_INVPOLICY_NUMA_PACE_MBPS_MAX, INVP_NUMA_PACE_CHOICES);
}

static const struct kernel_param_ops numa_pace_ops = {
	.set = set_numa_pace,
	.get = param_get_uint,
};
module_param_cb(numa_pace_mbps, &numa_pace_ops, &defaults.numa_pace_mbps, 0644);
MODULE_PARM_DESC(numa_pace_mbps, "MiB per second that numa=paced may unmap in new policies: "
		 INVP_NUMA_PACE_CHOICES " (default " __stringify(DEFAULT_NUMA_PACE_MBPS) ")");

static int set_coalesce_min(const char *value, const struct kernel_param *param)
{
	return set_number(value, param, KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX,
			  INVP_COALESCE_MIN_CHOICES);
}

static const struct kernel_param_ops coalesce_min_ops = {
	.set = set_coalesce_min,
	.get = param_get_uint,
};
module_param_cb(coalesce_min_pages, &coalesce_min_ops, &defaults.coalesce_min_pages, 0644);
MODULE_PARM_DESC(coalesce_min_pages,
		 "least pages of an event to be coalesced in new policies: "
		 INVP_COALESCE_MIN_CHOICES
		 " (default " __stringify(DEFAULT_COALESCE_MIN_PAGES) ")");

static int set_switch(const char *value, const struct kernel_param *param)
{
	bool on;

	if (kstrtobool(value, &on))
		return bad_value(value, param, "0 or 1");
	if (on && param->arg == &auto_attach && THIS_MODULE->state == MODULE_STATE_LIVE &&
	    !invp_hooks_version()) {
		pr_err("auto_attach=1 has no use without hooks in kvm or with observe_only\n");
		return -EOPNOTSUPP;
	}
	WRITE_ONCE(*(bool *)param->arg, on);
	return 0;
}

static const struct kernel_param_ops switch_ops = {
	.set = set_switch,
	.get = param_get_bool,
};
module_param_cb(auto_attach, &switch_ops, &auto_attach, 0644);
MODULE_PARM_DESC(auto_attach, "1: attach every VM when it is created (default 0)");
module_param_cb(observe_only, &switch_ops, &observe_only, 0444);
MODULE_PARM_DESC(observe_only, "1: leave KVM alone even if it has hooks (default 0)");

/**
 * invp_default_settings() - settings of a VM that asks for none
 *
 * Context: any.
 * Return: valid settings, all specified.
 */
struct kvm_invpolicy_settings invp_default_settings(void)
{
	return (struct kvm_invpolicy_settings){
		.numa = READ_ONCE(defaults.numa),
		.numa_pace_mbps = READ_ONCE(defaults.numa_pace_mbps),
		.unmap = READ_ONCE(defaults.unmap),
		.other = READ_ONCE(defaults.other),
		.coalesce_min_pages = READ_ONCE(defaults.coalesce_min_pages),
		.exit = READ_ONCE(defaults.exit),
	};
}

/**
 * invp_auto_attach() - whether new VMs are attached
 *
 * Context: any.
 * Return: true if they are.
 */
bool invp_auto_attach(void)
{
	return READ_ONCE(auto_attach) && invp_hooks_version();
}

/*
 * The creation of a VM can be interrupted by a signal anyway; for nothing else does it
 * fail. While the module is still loading it may yet fail to: attach nothing then.
 */
static int vm_created(struct kvm *kvm)
{
	struct kvm_invpolicy_settings settings = invp_default_settings();
	int err;

	if (!invp_auto_attach() || THIS_MODULE->state != MODULE_STATE_LIVE)
		return 0;

	err = invp_vm_attach(kvm, &settings);
	if (err && err != -EINTR)
		pr_warn_ratelimited("a new VM of process %d keeps KVM's own behaviour: %s (error %d)\n",
				    task_tgid_nr(current),
				    err == -EPERM ? "its memory is private or encrypted" :
						    "it could not be attached", err);
	return err == -EINTR ? err : 0;
}

static void __init log_mode(void)
{
	if (invp_hooks_version())
		pr_info("version %s, numa=%s, unmap=%s, other=%s, exit=%s, auto_attach=%d\n",
			INVP_VERSION, invp_numa_name(defaults.numa),
			invp_flush_name(defaults.unmap), invp_flush_name(defaults.other),
			invp_exit_name(defaults.exit), auto_attach);
	else
		pr_info("version %s, observe mode: %s; VMs can be observed, not attached\n",
			INVP_VERSION, observe_only ? "observe_only=1" :
						     "this kvm has no invalidation policy hooks");
}

static int __init invp_init(void)
{
	int err = -ENOENT;

	if (!observe_only)
		err = invp_hooks_get();
	if (err && err != -ENOENT)
		return err;

	err = invp_numa_module_init();
	if (err)
		goto out_hooks;

	err = invp_hooks_listen(vm_created);
	if (err) {
		pr_err("another module has taken KVM's hooks (error %d)\n", err);
		goto out_numa;
	}

	err = invp_device_register();
	if (err)
		goto out_listen;

	log_mode();
	return 0;

out_listen:
	invp_hooks_unlisten(vm_created);
out_numa:
	invp_numa_module_exit();
out_hooks:
	invp_hooks_put();
	return err;
}

/* No VM is attached and no device is open: each of them pins the module. */
static void __exit invp_exit(void)
{
	invp_device_unregister();
	invp_hooks_unlisten(vm_created);
	invp_numa_module_exit();
	invp_hooks_put();
}

module_init(invp_init);
module_exit(invp_exit);

MODULE_DESCRIPTION("Alternate invalidation policy for KVM");
MODULE_AUTHOR("kvm_invpolicy maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(INVP_VERSION);
