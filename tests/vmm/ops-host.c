// SPDX-License-Identifier: GPL-2.0-only
/* What the host does with memory whose contents stay. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle-host.h"
#include "util.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define CHILD_LIVES_US	50000

static int advise(struct vm *vm, struct range range, int advice)
{
	return madvise(memory_address(&vm->memory, range.first), range_bytes(range), advice);
}

bool op_pageout(struct vm *vm, const struct request *request, struct reply *reply)
{
	if (advise(vm, request->range, MADV_PAGEOUT))
		return reply_error(reply, "MADV_PAGEOUT: %s", strerror(errno));
	return oracle_verify(vm, request->range, reply);
}

/* Pages that are in use elsewhere, or no free huge page, make it fail: no error of a test. */
bool op_collapse(struct vm *vm, const struct request *request, struct reply *reply)
{
	bool collapsed = !advise(vm, request->range, MADV_COLLAPSE);

	reply_add(reply, ",\"collapsed\":%s", collapsed ? "true" : "false");
	return oracle_verify(vm, request->range, reply);
}

/* Private pages are shared with a child, for a while: whoever writes makes a copy. */
bool op_fork(struct vm *vm, const struct request *request, struct reply *reply)
{
	struct range all = { 0, vm->memory.pages };
	pid_t child = fork();
	bool done;

	(void)request;
	if (child < 0)
		return reply_error(reply, "fork: %s", strerror(errno));
	if (!child) {
		sleep_us(CHILD_LIVES_US);
		_exit(0);
	}
	done = oracle_verify(vm, all, reply);
	waitpid(child, NULL, 0);
	return done;
}
