// SPDX-License-Identifier: GPL-2.0-only
/* Replaces pages to which every vCPU writes all the time: who misses a flush goes on with it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oracle-host.h"
#include "util.h"

/* Of the words of a page, the first and the last are the oracle's. */
#define FIRST_WORD	1

static void hammer_start(struct vm *vm, struct range range)
{
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++) {
		struct mailbox *mailbox = vm->vcpus[i].mailbox;

		mailbox->hammer_word = FIRST_WORD + i;
		mailbox->hammer_first = range.first;
		store_word(&mailbox->hammer_end, range.first + range.count);
	}
}

static void hammer_stop(struct vm *vm)
{
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++)
		store_word(&vm->vcpus[i].mailbox->hammer_end, 0);
}

/* Every vCPU has been at every page since the call. */
static bool wait_for_blows(struct vm *vm, struct range range, struct reply *reply)
{
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++) {
		struct mailbox *mailbox = vm->vcpus[i].mailbox;
		uint64_t target = load_word(&mailbox->hammered) + 2 * range.count;
		struct progress progress = { 0 };
		uint64_t hammered;

		while ((hammered = load_word(&mailbox->hammered)) < target) {
			if (vm_failed(vm))
				return reply_error(reply, "%s", vm->failure);
			if (progress_stalled(&progress, hammered))
				return reply_error(reply, "vCPU %u does not hammer on", i);
			sleep_us(100);
		}
	}
	return true;
}

static void copy_blows(struct vm *vm, struct range range, uint64_t *words)
{
	uint64_t bytes = vm->vcpu_count * sizeof(*words);
	uint64_t i;

	for (i = 0; i < range.count; i++)
		memcpy(words + i * vm->vcpu_count,
		       memory_alias_page(&vm->memory, range.first + i, true) + FIRST_WORD, bytes);
}

static uint64_t count_hit(struct vm *vm, struct range range, const uint64_t *before,
			  const uint64_t *after)
{
	uint64_t count = 0;
	uint64_t i;

	for (i = 0; i < range.count * vm->vcpu_count; i++)
		count += before[i] != after[i];
	return count;
}

static bool check_unhit(struct vm *vm, struct range range, struct reply *reply)
{
	uint64_t words = range.count * vm->vcpu_count;
	uint64_t *before = xcalloc(words, sizeof(*before));
	uint64_t *after = xcalloc(words, sizeof(*after));
	uint64_t hit;
	bool done;

	copy_blows(vm, range, before);
	done = wait_for_blows(vm, range, reply);
	copy_blows(vm, range, after);
	hit = count_hit(vm, range, before, after);
	if (hit)
		done = reply_violation(reply, "vCPUs wrote to pages that mmap had replaced: %"
				       PRIu64 " of %" PRIu64 " words", hit, words);
	memory_unmap_alias(&vm->memory);
	free(before);
	free(after);
	return done;
}

bool op_hammer(struct vm *vm, const struct request *request, struct reply *reply)
{
	struct range range = request->range;
	bool done;
	int error;

	if (!memory_shared(&vm->memory))
		return reply_error(reply,
				   "%s memory is gone once replaced: use --backing memfd or hugetlb",
				   backing_names[vm->memory.backing]);
	if (vm->paused)
		return reply_error(reply, "no vCPU runs: resume first");
	if (!oracle_begin(vm, range, reply))
		return false;
	hammer_start(vm, range);
	done = wait_for_blows(vm, range, reply);
	error = memory_map_fresh(&vm->memory, range);
	if (!error)
		done = done && check_unhit(vm, range, reply);
	hammer_stop(vm);
	if (error) {
		oracle_cancel(vm, range);
		return reply_error(reply, "mmap: %s", strerror(error));
	}
	oracle_changed(vm, range, 0);
	memory_free_stale(&vm->memory, range);
	return done;
}
