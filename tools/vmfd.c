// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"
#include "vmfd.h"

static int fail_no_process(pid_t pid)
{
	return fail(EXIT_NO_PROCESS, "no process %d: use the PID of a running VMM", pid);
}

static int fail_no_ptrace(pid_t pid, int error)
{
	return fail(EXIT_NO_PTRACE, "no right to take the VM descriptors of process %d (%s): %s",
		    pid, strerror(error),
		    geteuid() ? "run as root" :
		    "check CAP_SYS_PTRACE, kernel.yama.ptrace_scope and the profile of the security module");
}

static int fail_system(pid_t pid, const char *step, int error)
{
	return fail(EXIT_INTERNAL, "cannot look for VMs of process %d (%s, %s): try again",
		    pid, step, strerror(error));
}

static bool is_vm_link(int directory, const char *name)
{
	static const char vm_link[] = "anon_inode:kvm-vm";
	char target[sizeof(vm_link)];
	ssize_t length = readlinkat(directory, name, target, sizeof(target));

	return length == sizeof(vm_link) - 1 && !memcmp(target, vm_link, length);
}

/* The process may have put another file at the same number since we looked. */
static bool is_vm(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return is_vm_link(AT_FDCWD, path);
}

static bool is_known(const struct vm_set *vms, int fd)
{
	pid_t self = getpid();

	for (unsigned int i = 0; i < vms->count; i++)
		if (!syscall(SYS_kcmp, self, self, KCMP_FILE, vms->fds[i], fd))
			return true;
	return false;
}

static int add_vm(struct vm_set *vms, int fd)
{
	int *grown = realloc(vms->fds, (vms->count + 1) * sizeof(*grown));

	if (!grown)
		return fail_system(vms->pid, "realloc", errno);
	vms->fds = grown;
	vms->fds[vms->count++] = fd;
	return EXIT_OK;
}

static int take_fd(struct vm_set *vms, int number)
{
	int fd = syscall(SYS_pidfd_getfd, vms->pidfd, number, 0);

	if (fd < 0) {
		switch (errno) {
		case EBADF:
			return EXIT_OK;
		case ESRCH:
			return fail_no_process(vms->pid);
		case EPERM:
			return fail_no_ptrace(vms->pid, errno);
		default:
			return fail_system(vms->pid, "pidfd_getfd", errno);
		}
	}
	if (is_vm(fd) && !is_known(vms, fd))
		return add_vm(vms, fd);
	close(fd);
	return EXIT_OK;
}

static int take_all(struct vm_set *vms, DIR *directory)
{
	struct dirent *entry;

	while ((entry = readdir(directory))) {
		int code;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !is_vm_link(dirfd(directory), entry->d_name))
			continue;
		code = take_fd(vms, atoi(entry->d_name));
		if (code)
			return code;
	}
	return EXIT_OK;
}

static int open_pidfd(struct vm_set *vms)
{
	vms->pidfd = syscall(SYS_pidfd_open, vms->pid, 0);
	if (vms->pidfd >= 0)
		return EXIT_OK;
	switch (errno) {
	case ESRCH:
		return fail_no_process(vms->pid);
	case EINVAL:
	case ENOENT:
		return fail(EXIT_NO_PROCESS,
			    "%d is a thread, not a process: use the number after 'Tgid:' in /proc/%d/status",
			    vms->pid, vms->pid);
	default:
		return fail_system(vms->pid, "pidfd_open", errno);
	}
}

static DIR *open_fd_directory(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	return opendir(path);
}

bool vm_set_process_ended(const struct vm_set *vms)
{
	struct pollfd process = { .fd = vms->pidfd, .events = POLLIN };

	return poll(&process, 1, 0) > 0;
}

static int collect(struct vm_set *vms)
{
	DIR *directory;
	int code;

	code = open_pidfd(vms);
	if (code)
		return code;

	directory = open_fd_directory(vms->pid);
	if (!directory) {
		int error = errno;

		return vm_set_process_ended(vms) ? fail_no_process(vms->pid)
						 : fail_no_ptrace(vms->pid, error);
	}
	code = take_all(vms, directory);
	closedir(directory);
	if (code || vms->count)
		return code;

	if (vm_set_process_ended(vms))
		return fail_no_process(vms->pid);
	return fail(EXIT_NO_VM,
		    "process %d has no VM: use the PID of a VMM such as qemu, once its VM is created",
		    vms->pid);
}

int vm_set_open(struct vm_set *vms, pid_t pid)
{
	int code;

	*vms = (struct vm_set) { .pid = pid, .pidfd = -1 };
	code = collect(vms);
	if (code)
		vm_set_close(vms);
	return code;
}

void vm_set_close(struct vm_set *vms)
{
	for (unsigned int i = 0; i < vms->count; i++)
		close(vms->fds[i]);
	free(vms->fds);
	if (vms->pidfd >= 0)
		close(vms->pidfd);
}
