// SPDX-License-Identifier: GPL-2.0-only
/* Child processes, and descriptors that change hands. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"
#include "tap.h"

union fd_message {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

struct process process_start(void (*run)(int socket, const void *arg),
			     const void *arg)
{
	struct process process;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		die("socketpair: %s", strerror(errno));
	process.pid = fork();
	if (process.pid < 0)
		die("fork: %s", strerror(errno));
	if (!process.pid) {
		close(sockets[0]);
		run(sockets[1], arg);
		_exit(0);
	}
	close(sockets[1]);
	process.socket = sockets[0];
	return process;
}

void kill_and_wait(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void unmap_pages(size_t count)
{
	void *pages = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	munmap(pages, count * 4096);
}

void process_kill(struct process *process)
{
	kill_and_wait(process->pid);
	close(process->socket);
}

void send_fd(int socket, int fd)
{
	union fd_message control = {
		.header = {
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(int)),
		},
	};
	struct iovec data = { "", 1 };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (sendmsg(socket, &message, 0) != 1)
		die("cannot send a descriptor: %s", strerror(errno));
}

int receive_fd(int socket)
{
	union fd_message control;
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 ||
	    !CMSG_FIRSTHDR(&message))
		die("the child died before it sent a descriptor");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

void send_number(int socket, int number)
{
	if (write(socket, &number, sizeof(number)) != sizeof(number))
		die("cannot send a number: %s", strerror(errno));
}

int receive_number(int socket)
{
	int number;

	if (read(socket, &number, sizeof(number)) != sizeof(number))
		die("the other process died before it sent a number");
	return number;
}

int fd_of_process(pid_t pid, int fd)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0);
	int copy;

	if (pidfd < 0)
		die("no process %d: %s", pid, strerror(errno));
	copy = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (copy < 0)
		die("cannot get descriptor %d of process %d: %s; run as root", fd,
		    pid, strerror(errno));
	close(pidfd);
	return copy;
}

size_t vm_fds_of_process(pid_t pid, int *fds, size_t max)
{
	char path[64], target[64];
	struct dirent *entry;
	size_t count = 0;
	ssize_t length;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	if (!folder)
		die("cannot read %s: %s; give the PID of a running VMM", path,
		    strerror(errno));
	while (count < max && (entry = readdir(folder))) {
		length = readlinkat(dirfd(folder), entry->d_name, target,
				    sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = '\0';
		if (!strcmp(target, "anon_inode:kvm-vm"))
			fds[count++] = fd_of_process(pid, atoi(entry->d_name));
	}
	closedir(folder);
	return count;
}
