// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "keepfd.h"
#include "util.h"

union fd_message {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static struct msghdr fd_message(struct iovec *data, union fd_message *control)
{
	return (struct msghdr){
		.msg_iov = data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(*control),
	};
}

static void keep_fds(int socket)
{
	union fd_message control;
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = fd_message(&data, &control);

	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	/* A reader of the parent's output must see its end. */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (recvmsg(socket, &message, 0) == 1) {
		if (!CMSG_FIRSTHDR(&message) || write(socket, &byte, 1) != 1)
			_exit(EXIT_ERRORS);
		message = fd_message(&data, &control);
	}
	/* The VMM is dead: that is what the fds are kept for. */
	for (;;)
		pause();
}

struct keeper keeper_start(void)
{
	struct keeper keeper;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		die("socketpair: %s", strerror(errno));
	keeper.pid = fork();
	if (keeper.pid < 0)
		die("fork: %s", strerror(errno));
	if (!keeper.pid) {
		close(sockets[0]);
		keep_fds(sockets[1]);
	}
	close(sockets[1]);
	keeper.socket = sockets[0];
	return keeper;
}

void keeper_give(const struct keeper *keeper, int fd)
{
	union fd_message control;
	char byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = fd_message(&data, &control);
	struct cmsghdr *header;

	header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	if (sendmsg(keeper->socket, &message, 0) != 1 ||
	    read(keeper->socket, &byte, 1) != 1)
		die("the child did not take the VM fd: %s", strerror(errno));
}
