// SPDX-License-Identifier: GPL-2.0-only
/* Everything that is no VM, in place of one. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device.h"
#include "errors.h"
#include "guest.h"
#include "tap.h"

#define FDS_MAX		32

static const struct {
	const char *name;
	unsigned int cmd;
} calls[] = {
	{ "ATTACH", KVM_INVPOLICY_ATTACH },
	{ "UPDATE", KVM_INVPOLICY_UPDATE },
	{ "DETACH", KVM_INVPOLICY_DETACH },
	{ "GET_STATS", KVM_INVPOLICY_GET_STATS },
	{ "OBSERVE", KVM_INVPOLICY_OBSERVE },
	{ "TEARDOWN", KVM_INVPOLICY_TEARDOWN },
};

static struct wrong_fd {
	const char *name;
	int fd;
	int error;
} wrong[FDS_MAX];
static size_t wrong_count;

static void add(const char *name, int fd, int error)
{
	if (error != EBADF && fd < 0)
		die("cannot make a descriptor of kind %s: %s", name, strerror(errno));
	wrong[wrong_count++] = (struct wrong_fd){ name, fd, error };
}

static int kvm_device_fd(int vm)
{
	struct kvm_create_device create = { .type = KVM_DEV_TYPE_VFIO };

	return ioctl(vm, KVM_CREATE_DEVICE, &create) ? -1 : (int)create.fd;
}

static void add_kvm_fds(int vm)
{
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);

	add("/dev/kvm", kvm_open(), ENXIO);
	add("vcpu", vcpu, ENXIO);
	add("kvm-device", kvm_device_fd(vm), ENXIO);
	add("vm-stats", ioctl(vm, KVM_GET_STATS_FD, NULL), ENXIO);
	add("vcpu-stats", ioctl(vcpu, KVM_GET_STATS_FD, NULL), ENXIO);
}

static void add_other_fds(int device)
{
	int pipes[2], sockets[2];

	if (pipe2(pipes, O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		die("cannot make a pipe or a socket: %s", strerror(errno));
	add("pipe-read", pipes[0], ENXIO);
	add("pipe-write", pipes[1], ENXIO);
	add("socket", sockets[0], ENXIO);
	add("socket-peer", sockets[1], ENXIO);
	add("eventfd", eventfd(0, EFD_CLOEXEC), ENXIO);
	add("memfd", memfd_create("invp-ioctl", MFD_CLOEXEC), ENXIO);
	add("regular-file", open("/proc/self/exe", O_RDONLY | O_CLOEXEC), ENXIO);
	add("folder", open("/", O_RDONLY | O_CLOEXEC), ENXIO);
	add("device-itself", dup(device), ENXIO);
	add("other-device", device_open(), ENXIO);
}

static void add_no_fds(void)
{
	int closed = eventfd(0, EFD_CLOEXEC);
	int path = open(KVM_INVPOLICY_DEVICE, O_PATH | O_CLOEXEC);

	add("minus-one", -1, EBADF);
	add("lowest", -0x7fffffff - 1, EBADF);
	add("highest", 0x7fffffff, EBADF);
	add("path", path, EBADF);
	close(closed);
	add("closed", closed, EBADF);
}

static int call_with(int device, unsigned int cmd, int vm_fd)
{
	struct kvm_invpolicy_stats stats;

	if (cmd == KVM_INVPOLICY_GET_STATS)
		return policy_stats(device, vm_fd, &stats);
	return vm_call(device, cmd, vm_fd, 0);
}

void errors_vmfd(bool hooks)
{
	__u32 before = attached_vms();
	int device = device_open();
	int vm = vm_create();
	size_t i, j;

	(void)hooks;
	add_kvm_fds(vm);
	add_other_fds(device);
	add_no_fds();
	for (j = 0; j < wrong_count; j++) {
		test_begin("vm_fd-%s", wrong[j].name);
		for (i = 0; i < ARRAY_SIZE(calls); i++)
			expect_errno(call_with(device, calls[i].cmd, wrong[j].fd),
				     wrong[j].error, "%s", calls[i].name);
		expect_value(attached_vms(), before, "attached VMs");
		test_end();
	}
	for (j = 0; j < wrong_count; j++)
		if (wrong[j].fd >= 0)
			close(wrong[j].fd);
	close(vm);
	close(device);
}
