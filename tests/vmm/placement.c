// SPDX-License-Identifier: GPL-2.0-only
/* Where the guest's pages are, and moving them. */
#include <errno.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "oracle-host.h"
#include "util.h"

#define NODES_MAX	64

struct census {
	uint64_t pages[NODES_MAX];
	uint64_t busy;
	uint64_t absent;
	uint64_t other;
	int nodes;
};

static void count_statuses(const int *status, uint64_t count,
			   struct census *census)
{
	uint64_t i;

	memset(census, 0, sizeof(*census));
	for (i = 0; i < count; i++) {
		if (status[i] >= 0 && status[i] < NODES_MAX) {
			census->pages[status[i]]++;
			if (status[i] >= census->nodes)
				census->nodes = status[i] + 1;
		} else if (status[i] == -EBUSY || status[i] == -EAGAIN) {
			census->busy++;
		} else if (status[i] == -ENOENT || status[i] == -EFAULT) {
			/* -EFAULT also stands for the zero page. */
			census->absent++;
		} else {
			census->other++;
		}
	}
}

/* Asks only if there is no node to move the pages to. */
static bool move_pages(struct vm *vm, struct range range, const int *node,
		       struct census *census, struct reply *reply)
{
	void **pages = xcalloc(range.count, sizeof(*pages));
	int *status = xcalloc(range.count, sizeof(*status));
	int *nodes = node ? xcalloc(range.count, sizeof(*nodes)) : NULL;
	bool done = true;
	uint64_t i;

	for (i = 0; i < range.count; i++) {
		pages[i] = memory_address(&vm->memory, range.first + i);
		/* The kernel leaves it alone if it never gets to the page. */
		status[i] = -EAGAIN;
		if (node)
			nodes[i] = *node;
	}
	if (syscall(SYS_move_pages, 0, range.count, pages, nodes, status,
		    node ? MPOL_MF_MOVE : 0) < 0)
		done = reply_error(reply, "move_pages: %s%s", strerror(errno),
				   errno == ENODEV ?
				   "; see /sys/devices/system/node/online" : "");
	count_statuses(status, range.count, census);
	free(pages);
	free(status);
	free(nodes);
	return done;
}

bool op_placement(struct vm *vm, const struct request *request,
		  struct reply *reply)
{
	struct range all = { 0, vm->memory.pages };
	struct census census;
	int node;

	(void)request;
	if (!move_pages(vm, all, NULL, &census, reply))
		return false;
	reply_add(reply, ",\"node\":[");
	for (node = 0; node < census.nodes; node++)
		reply_add(reply, "%s%" PRIu64, node ? "," : "",
			  census.pages[node]);
	reply_add(reply, "],\"absent\":%" PRIu64,
		  census.absent + census.busy + census.other);
	return true;
}

bool op_migrate(struct vm *vm, const struct request *request,
		struct reply *reply)
{
	struct census census;
	uint64_t node;
	int target;

	if (!parse_number(request->argv[3], 0, NODES_MAX - 1, &node))
		return reply_error(reply, "bad node %s: see /sys/devices/system/node/online",
				   request->argv[3]);
	target = node;
	if (!move_pages(vm, request->range, &target, &census, reply))
		return false;
	reply_add(reply, ",\"busy\":%" PRIu64 ",\"other\":%" PRIu64,
		  census.busy, census.other);
	if (!move_pages(vm, request->range, NULL, &census, reply))
		return false;
	reply_add(reply, ",\"on_node\":%" PRIu64 ",\"absent\":%" PRIu64,
		  census.pages[target], census.absent);
	return oracle_verify(vm, request->range, reply);
}
