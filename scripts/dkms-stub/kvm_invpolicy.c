// SPDX-License-Identifier: GPL-2.0-only
/*
 * What DKMS installs for a kernel on which the policy module does not build. Were the
 * build to fail instead, the package manager could not finish installing that kernel.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/printk.h>

static int __init invp_init(void)
{
	pr_err("version " INVP_VERSION " does not support this kernel: boot a supported one\n");
	return -EOPNOTSUPP;
}
module_init(invp_init);

MODULE_DESCRIPTION("Alternate invalidation policy for KVM (stub for unsupported kernels)");
MODULE_AUTHOR("kvm_invpolicy maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(INVP_VERSION);
