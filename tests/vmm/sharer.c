// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sharer.h"
#include "util.h"

#define STACK_BYTES	(64 << 10)

/* It runs on the memory of the VMM, and that may go: no library call, no lock. */
static int share_memory(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return 0;
}

pid_t sharer_start(void)
{
	char *stack = xcalloc(1, STACK_BYTES);
	pid_t pid = clone(share_memory, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);

	if (pid < 0)
		die("clone: %s", strerror(errno));
	return pid;
}
