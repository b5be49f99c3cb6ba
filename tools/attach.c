// SPDX-License-Identifier: GPL-2.0-only
/* The commands that change the policy of a VM: attach, detach, set, teardown. */
#include <errno.h>
#include <stdio.h>

#include "command.h"
#include "device.h"
#include "error.h"
#include "settings.h"
#include "vmfd.h"

static int open_both(struct vm_set *vms, struct device *device, pid_t pid)
{
	int code = vm_set_open(vms, pid);

	if (code)
		return code;
	code = device_open(device);
	if (code)
		vm_set_close(vms);
	return code;
}

static void close_both(struct vm_set *vms, struct device *device)
{
	device_close(device);
	vm_set_close(vms);
}

static void say_done(const char *done, unsigned int count, pid_t pid)
{
	printf("%s %u VM%s of process %d", done, count, count == 1 ? "" : "s", pid);
}

/* @asked: what the user has given. */
static void say_settings(const struct device *device, int vm_fd,
			 const struct kvm_invpolicy_settings *asked)
{
	static const char no_effect[] = "is kept, and has no effect before";
	struct kvm_invpolicy_stats stats;
	char text[SETTINGS_TEXT_MAX];

	if (device_stats(device, vm_fd, &stats)) {
		putchar('\n');
		return;
	}
	printf(": %s\n", settings_text(text, &stats.settings));
	if (stats.settings.numa == KVM_INVPOLICY_NUMA_SKIP)
		puts("note: with numa=skip " SETTINGS_CONSEQUENCE_OF_SKIP);
	if (stats.settings.numa != KVM_INVPOLICY_NUMA_PACED && asked->numa_pace_mbps)
		printf("note: numa_pace_mbps %s numa=paced\n", no_effect);
	if (!settings_coalesce(&stats.settings) && asked->coalesce_min_pages)
		printf("note: coalesce_min_pages %s unmap=coalesce or other=coalesce\n", no_effect);
}

static int attach_all(const struct device *device, const struct vm_set *vms,
		      const struct kvm_invpolicy_settings *settings)
{
	for (unsigned int i = 0; i < vms->count; i++) {
		int error = device_vm_call(device, KVM_INVPOLICY_ATTACH, vms->fds[i], settings);

		if (!error)
			continue;
		while (i--)
			device_vm_call(device, KVM_INVPOLICY_DETACH, vms->fds[i], NULL);
		return error;
	}
	return 0;
}

int command_attach(const struct arguments *arguments)
{
	struct device device;
	struct vm_set vms;
	int code, error;

	code = open_both(&vms, &device, arguments->pid);
	if (code)
		return code;

	error = attach_all(&device, &vms, &arguments->settings);
	if (error) {
		code = device_fail(&device, vms.pid, error);
	} else {
		say_done("attached", vms.count, vms.pid);
		say_settings(&device, vms.fds[0], &arguments->settings);
	}
	close_both(&vms, &device);
	return code;
}

/* Leaves out the VMs that have no policy; @last_fd is one that had. */
static int call_attached(const struct device *device, const struct vm_set *vms,
			 unsigned long request, const struct kvm_invpolicy_settings *settings,
			 unsigned int *count, int *last_fd)
{
	*count = 0;
	for (unsigned int i = 0; i < vms->count; i++) {
		int error = device_vm_call(device, request, vms->fds[i], settings);

		if (error == -ENOENT)
			continue;
		if (error)
			return error;
		*last_fd = vms->fds[i];
		(*count)++;
	}
	return *count ? 0 : -ENOENT;
}

static int call_and_say(pid_t pid, unsigned long request, const char *done)
{
	struct device device;
	struct vm_set vms;
	unsigned int count;
	int code, error, last_fd;

	code = open_both(&vms, &device, pid);
	if (code)
		return code;

	error = call_attached(&device, &vms, request, NULL, &count, &last_fd);
	if (error) {
		code = device_fail(&device, vms.pid, error);
	} else {
		say_done(done, count, vms.pid);
		putchar('\n');
	}
	close_both(&vms, &device);
	return code;
}

int command_detach(const struct arguments *arguments)
{
	return call_and_say(arguments->pid, KVM_INVPOLICY_DETACH, "detached");
}

int command_teardown(const struct arguments *arguments)
{
	return call_and_say(arguments->pid, KVM_INVPOLICY_TEARDOWN, "ended");
}

int command_set(const struct arguments *arguments)
{
	struct device device;
	struct vm_set vms;
	unsigned int count;
	int code, error, last_fd;

	code = open_both(&vms, &device, arguments->pid);
	if (code)
		return code;

	error = call_attached(&device, &vms, KVM_INVPOLICY_UPDATE, &arguments->settings,
			      &count, &last_fd);
	if (error) {
		code = device_fail(&device, vms.pid, error);
	} else {
		say_done("changed", count, vms.pid);
		say_settings(&device, last_fd, &arguments->settings);
	}
	close_both(&vms, &device);
	return code;
}
