// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"
#include "error.h"
#include "host.h"
#include "settings.h"

static int device_call(const struct device *device, unsigned long request, void *argument)
{
	return ioctl(device->fd, request, argument) < 0 ? -errno : 0;
}

int device_try_open(struct device *device)
{
	int error;

	memset(device, 0, sizeof(*device));
	device->fd = open(KVM_INVPOLICY_DEVICE, O_RDWR | O_CLOEXEC);
	if (device->fd < 0)
		return -errno;

	device->info.size = sizeof(device->info);
	error = device_call(device, KVM_INVPOLICY_GET_INFO, &device->info);
	if (!error && device->info.abi != KVM_INVPOLICY_ABI)
		error = -EPROTO;
	if (error)
		device_close(device);
	return error;
}

static int fail_missing(void)
{
	unsigned int version;

	if (host_module_loaded())
		return fail(EXIT_NO_MODULE,
			    "module kvm_invpolicy is loaded but %s is missing: mount devtmpfs on /dev, or pass the device into this container",
			    KVM_INVPOLICY_DEVICE);
	if (host_kvm_hook_version(&version) && version != INVP_HOOK_VERSION)
		return fail(EXIT_HOOK_MISMATCH,
			    "kvm has hook version %u, kvm_invpolicy needs version %u: build kvm and kvm_invpolicy from the same tree",
			    version, INVP_HOOK_VERSION);
	return fail(EXIT_NO_MODULE,
		    "module kvm_invpolicy is not loaded: run 'modprobe kvm_invpolicy' as root");
}

static int fail_other_interface(int error)
{
	return fail(EXIT_INTERNAL,
		    "the loaded module and this tool (%s) do not have the same interface (%s): install and load both in the same version",
		    VERSION, strerror(error));
}

int device_open_fail(int error)
{
	switch (-error) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		return fail_missing();
	case EACCES:
	case EPERM:
		return fail(EXIT_NO_ACCESS,
			    "cannot open %s (%s): run as root, or grant access with a udev rule",
			    KVM_INVPOLICY_DEVICE, strerror(-error));
	case EPROTO:
	case E2BIG:
	case ENOTTY:
	case EINVAL:
		return fail_other_interface(-error);
	default:
		return fail(EXIT_INTERNAL,
			    "cannot use %s (%s): see the kernel log with 'dmesg'",
			    KVM_INVPOLICY_DEVICE, strerror(-error));
	}
}

int device_open(struct device *device)
{
	int error = device_try_open(device);

	return error ? device_open_fail(error) : EXIT_OK;
}

void device_close(struct device *device)
{
	close(device->fd);
	device->fd = -1;
}

bool device_knows_paced(const struct device *device)
{
	return device->info.defaults.numa_pace_mbps;
}

bool device_knows_coalesce(const struct device *device)
{
	return device->info.defaults.coalesce_min_pages;
}

bool device_knows_exit(const struct device *device)
{
	return device->info.defaults.exit;
}

int device_vm_call(const struct device *device, unsigned long request, int vm_fd,
		   const struct kvm_invpolicy_settings *settings)
{
	struct kvm_invpolicy_vm vm = {
		.size = sizeof(vm),
		.vm_fd = vm_fd,
	};

	if (settings)
		vm.settings = *settings;
	return device_call(device, request, &vm);
}

static int get_stats(const struct device *device, __u32 flags, int vm_fd,
		     struct kvm_invpolicy_stats *stats)
{
	*stats = (struct kvm_invpolicy_stats) {
		.size = sizeof(*stats),
		.flags = flags,
		.vm_fd = vm_fd,
	};
	return device_call(device, KVM_INVPOLICY_GET_STATS, stats);
}

int device_stats(const struct device *device, int vm_fd, struct kvm_invpolicy_stats *stats)
{
	return get_stats(device, 0, vm_fd, stats);
}

int device_observed(const struct device *device, struct kvm_invpolicy_stats *stats)
{
	return get_stats(device, KVM_INVPOLICY_STATS_OBSERVED, -1, stats);
}

const char *device_why_no_hooks(void)
{
	return host_module_observe_only() ? "the module was loaded with observe_only=1"
					  : "the kernel's kvm has no hooks";
}

static int fail_no_hooks(void)
{
	return fail(EXIT_NO_HOOKS, "VMs can only be observed, because %s: %s",
		    device_why_no_hooks(),
		    host_module_observe_only()
		    ? "run 'modprobe -r kvm_invpolicy' and 'modprobe kvm_invpolicy observe_only=0'"
		    : "load the patched kvm, then kvm_invpolicy again");
}

int device_fail(const struct device *device, pid_t pid, int error)
{
	switch (-error) {
	case ENXIO:
		return fail(EXIT_NO_VM,
			    "process %d has no VM any more: use the PID of a running VMM", pid);
	case EEXIST:
		return fail(EXIT_ATTACHED,
			    "a VM of process %d is already attached: use 'kvm-invpolicy set %d' with %s, or 'kvm-invpolicy detach %d' first",
			    pid, pid, settings_choices(&device->info), pid);
	case ENOENT:
		return fail(EXIT_NOT_ATTACHED,
			    "no VM of process %d is attached: run 'kvm-invpolicy attach %d' first",
			    pid, pid);
	case EOPNOTSUPP:
		return fail_no_hooks();
	case EPERM:
		return fail(EXIT_VM_REFUSED,
			    "a VM of process %d has private or encrypted memory: leave it to KVM, only other VM types can be attached",
			    pid);
	case ESRCH:
		return fail(EXIT_NO_PROCESS,
			    "the process that created the VM of process %d is gone: use the PID of a running VMM",
			    pid);
	case EINVAL:
		/* Without hooks no setting can be used, known or not. */
		if (!device->info.numa_modes)
			return fail_no_hooks();
		return fail(EXIT_USAGE,
			    "the loaded module is older than this tool and does not know the setting: use %s, or load the module that came with this tool",
			    settings_choices(&device->info));
	case E2BIG:
	case ENOTTY:
		return fail_other_interface(-error);
	default:
		return fail(EXIT_INTERNAL,
			    "the module could not serve process %d (%s): see the kernel log with 'dmesg'",
			    pid, strerror(-error));
	}
}
