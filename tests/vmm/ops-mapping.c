// SPDX-License-Identifier: GPL-2.0-only
/* Operations on the mappings of the guest's memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "oracle-host.h"
#include "util.h"

static const struct protection {
	const char *name;
	int value;
} protections[] = {
	{ "none",	PROT_NONE },
	{ "ro",		PROT_READ },
	{ "rw",		PROT_READ | PROT_WRITE },
};

static bool protect(struct vm *vm, struct range range, int protection,
		    struct reply *reply)
{
	int error = memory_protect(&vm->memory, range, protection);

	if (error)
		return reply_error(reply, "mprotect: %s", strerror(error));
	return true;
}

bool op_mprotect(struct vm *vm, const struct request *request,
		 struct reply *reply)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(protections); i++)
		if (!strcmp(request->argv[3], protections[i].name))
			return protect(vm, request->range, protections[i].value,
				       reply);
	return reply_error(reply, "unknown protection %s: use none, ro or rw",
			   request->argv[3]);
}

/* The guest stamps on, so its writes are there to be seen. */
static bool check_unwritten(struct vm *vm, struct range range,
			    struct reply *reply)
{
	uint64_t bytes = range.count * 2 * sizeof(uint64_t);
	uint64_t *before = xcalloc(1, bytes);
	uint64_t *after = xcalloc(1, bytes);
	struct watch watch;
	bool done;

	memory_snapshot(&vm->memory, range, before);
	watch_begin(vm, range, &watch);
	done = watch_blocked(vm, &watch, reply);
	memory_snapshot(&vm->memory, range, after);
	if (memcmp(before, after, bytes))
		done = reply_violation(reply, "guest wrote after mprotect returned");
	reply_add(reply, ",\"efaults\":%" PRIu64, watch_efaults(vm, &watch));
	free(before);
	free(after);
	return done;
}

bool op_check_ro(struct vm *vm, const struct request *request,
		 struct reply *reply)
{
	bool done = protect(vm, request->range, PROT_READ, reply) &&
		check_unwritten(vm, request->range, reply);

	return protect(vm, request->range, PROT_READ | PROT_WRITE, reply) &&
		done && oracle_verify(vm, request->range, reply);
}

static bool map_fresh(struct vm *vm, struct range range, struct reply *reply)
{
	int error = memory_map_fresh(&vm->memory, range);

	if (error)
		return reply_error(reply, "mmap: %s%s", strerror(error),
				   vm->memory.backing == BACKING_HUGETLB ?
				   "; raise /proc/sys/vm/nr_hugepages" : "");
	return true;
}

bool op_munmap(struct vm *vm, const struct request *request,
	       struct reply *reply)
{
	struct range range = request->range;
	struct watch watch;
	bool done;

	if (!oracle_begin(vm, range, reply))
		return false;
	if (munmap(memory_address(&vm->memory, range.first), range_bytes(range))) {
		oracle_cancel(vm, range);
		return reply_error(reply, "munmap: %s", strerror(errno));
	}
	watch_begin(vm, range, &watch);
	done = watch_blocked(vm, &watch, reply);
	reply_add(reply, ",\"efaults\":%" PRIu64, watch_efaults(vm, &watch));

	if (!map_fresh(vm, range, reply)) {
		oracle_cancel(vm, range);
		return false;
	}
	oracle_changed(vm, range, 0);
	memory_free_stale(&vm->memory, range);
	return done;
}

/* Nothing may write to the old pages once mmap() has replaced them. */
static bool check_stale_unwritten(struct vm *vm, struct range range,
				  const uint64_t *before, struct reply *reply)
{
	uint64_t bytes = range.count * 2 * sizeof(uint64_t);
	uint64_t *after = xcalloc(1, bytes);
	bool done = vm->paused || oracle_settle(vm, range, reply);

	memory_snapshot_stale(&vm->memory, range, after);
	if (memcmp(before, after, bytes))
		done = reply_violation(reply, "guest wrote to pages that mmap had replaced");
	free(after);
	return done;
}

bool op_mapfixed(struct vm *vm, const struct request *request,
		 struct reply *reply)
{
	struct range range = request->range;
	uint64_t *stale;
	bool done;

	if (!oracle_begin(vm, range, reply))
		return false;
	if (!map_fresh(vm, range, reply)) {
		oracle_cancel(vm, range);
		return false;
	}
	if (!memory_shared(&vm->memory)) {
		oracle_changed(vm, range, 0);
		return true;
	}

	stale = xcalloc(2 * range.count, sizeof(*stale));
	memory_snapshot_stale(&vm->memory, range, stale);
	oracle_changed(vm, range, 0);
	done = check_stale_unwritten(vm, range, stale, reply);
	memory_free_stale(&vm->memory, range);
	free(stale);
	return done;
}

/* mremap() takes one mapping at a time, and earlier operations split them. */
static size_t list_mappings(struct vm *vm, struct range range,
			    struct range *mappings)
{
	uintptr_t begin = (uintptr_t)memory_address(&vm->memory, range.first);
	uintptr_t end = begin + range_bytes(range);
	uintptr_t low, high;
	char *line = NULL;
	size_t size = 0;
	size_t count = 0;
	FILE *maps = fopen("/proc/self/maps", "re");

	if (!maps)
		die("cannot open /proc/self/maps: %s; mount proc", strerror(errno));
	while (getline(&line, &size, maps) > 0) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &low, &high) != 2 ||
		    high <= begin || low >= end)
			continue;
		if (low < begin)
			low = begin;
		if (high > end)
			high = end;
		mappings[count++] = (struct range){
			(low - (uintptr_t)vm->memory.base) >> GUEST_PAGE_SHIFT,
			(high - low) >> GUEST_PAGE_SHIFT };
	}
	free(line);
	fclose(maps);
	return count;
}

static bool move_mappings(struct vm *vm, const struct range *mappings,
			  size_t count, bool away, struct reply *reply)
{
	size_t i;

	for (i = 0; i < count; i++) {
		char *home = memory_address(&vm->memory, mappings[i].first);
		char *spare = memory_spare_address(&vm->memory, mappings[i].first);
		uint64_t bytes = range_bytes(mappings[i]);

		if (mremap(away ? home : spare, bytes, bytes,
			   MREMAP_MAYMOVE | MREMAP_FIXED,
			   away ? spare : home) == MAP_FAILED)
			return reply_error(reply, "mremap %s: %s",
					   away ? "away" : "back",
					   strerror(errno));
		if (!away)
			memory_reserve_spare(&vm->memory, mappings[i]);
	}
	return true;
}

bool op_mremap(struct vm *vm, const struct request *request,
	       struct reply *reply)
{
	struct range range = request->range;
	struct range *mappings = xcalloc(range.count, sizeof(*mappings));
	size_t count = list_mappings(vm, range, mappings);
	struct watch watch;
	bool done;

	done = move_mappings(vm, mappings, count, true, reply);
	if (done) {
		watch_begin(vm, range, &watch);
		done = watch_blocked(vm, &watch, reply);
		reply_add(reply, ",\"efaults\":%" PRIu64,
			  watch_efaults(vm, &watch));
		done = move_mappings(vm, mappings, count, false, reply) && done;
	}
	free(mappings);
	return done && oracle_verify(vm, range, reply);
}
