// SPDX-License-Identifier: GPL-2.0-only
/* Where the guest's pages are, and moving them. */
#include <errno.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "oracle-host.h"
#include "util.h"

/* As many show the placement to a percent, and cost a guest little that is watched. */
#define SAMPLE_PAGES	4096

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

/*
 * Asks only if there is no node to move the pages to: that is no access to them, a page
 * that is PROT_NONE for NUMA balancing remains so. Returns the nodes, or negative errnos,
 * of count pages that are stride apart.
 */
static int *move_pages(struct vm *vm, uint64_t first, uint64_t count, uint64_t stride,
		       const int *node, struct reply *reply)
{
	void **pages = xcalloc(count, sizeof(*pages));
	int *status = xcalloc(count, sizeof(*status));
	int *nodes = node ? xcalloc(count, sizeof(*nodes)) : NULL;
	uint64_t i;

	for (i = 0; i < count; i++) {
		pages[i] = memory_address(&vm->memory, first + i * stride);
		/* The kernel leaves it alone if it never gets to the page. */
		status[i] = -EAGAIN;
		if (node)
			nodes[i] = *node;
	}
	if (syscall(SYS_move_pages, 0, count, pages, nodes, status,
		    node ? MPOL_MF_MOVE : 0) < 0) {
		reply_error(reply, "move_pages: %s%s", strerror(errno),
			    errno == ENODEV ?
			    "; see /sys/devices/system/node/online" : "");
		free(status);
		status = NULL;
	}
	free(pages);
	free(nodes);
	return status;
}

static bool take_census(struct vm *vm, struct range range, const int *node,
			struct census *census, struct reply *reply)
{
	int *status = move_pages(vm, range.first, range.count, 1, node, reply);

	if (!status)
		return false;
	count_statuses(status, range.count, census);
	free(status);
	return true;
}

/* The CPU that the thread has run on last is the 39th field, the 37th after its name. */
static int cpu_of_thread(pid_t tid)
{
	char path[64], line[1024];
	char *field = NULL;
	FILE *file;
	int i;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file))
		field = strrchr(line, ')');
	for (i = 0; field && i < 37; i++)
		field = strchr(field + 1, ' ');
	if (file)
		fclose(file);
	return field ? atoi(field) : -1;
}

static int node_of_cpu(int cpu)
{
	char path[80];
	int node;

	for (node = 0; node < NODES_MAX; node++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%d", cpu, node);
		if (!access(path, F_OK))
			return node;
	}
	return 0;
}

/* Pages on the node where the vCPU runs that sweeps them. */
static uint64_t count_local(struct vm *vm, const int *status, uint64_t stride)
{
	uint64_t page = 0;
	uint64_t local = 0;
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++) {
		int node = node_of_cpu(cpu_of_thread(vm->vcpus[i].tid));

		for (; page < vm->vcpus[i].mailbox->end_page; page += stride)
			local += status[page / stride] == node;
	}
	return local;
}

bool op_placement(struct vm *vm, const struct request *request,
		  struct reply *reply)
{
	uint64_t stride = (vm->memory.pages + SAMPLE_PAGES - 1) / SAMPLE_PAGES;
	uint64_t count = (vm->memory.pages + stride - 1) / stride;
	int *status = move_pages(vm, 0, count, stride, NULL, reply);
	struct census census;
	int node;

	(void)request;
	if (!status)
		return false;
	count_statuses(status, count, &census);
	reply_add(reply, ",\"pages\":%" PRIu64 ",\"local\":%" PRIu64 ",\"node\":[",
		  count, count_local(vm, status, stride));
	for (node = 0; node < census.nodes; node++)
		reply_add(reply, "%s%" PRIu64, node ? "," : "",
			  census.pages[node]);
	reply_add(reply, "],\"absent\":%" PRIu64,
		  census.absent + census.busy + census.other);
	free(status);
	return true;
}

bool op_mbind(struct vm *vm, const struct request *request, struct reply *reply)
{
	uint64_t bytes = vm->memory.pages << GUEST_PAGE_SHIFT;
	const char *action = request->argv[1];
	int status;

	if (!strcmp(action, "on"))
		status = bind_to_all_nodes(vm->memory.base, bytes);
	else if (!strcmp(action, "off"))
		status = bind_to_none(vm->memory.base, bytes);
	else
		return reply_error(reply, "unknown mbind action %s: use on or off", action);
	if (status)
		return reply_error(reply, "mbind: %s", strerror(errno));
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
	if (!take_census(vm, request->range, &target, &census, reply))
		return false;
	reply_add(reply, ",\"busy\":%" PRIu64 ",\"other\":%" PRIu64,
		  census.busy, census.other);
	if (!take_census(vm, request->range, NULL, &census, reply))
		return false;
	reply_add(reply, ",\"on_node\":%" PRIu64 ",\"absent\":%" PRIu64,
		  census.pages[target], census.absent);
	return oracle_verify(vm, request->range, reply);
}
