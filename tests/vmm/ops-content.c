// SPDX-License-Identifier: GPL-2.0-only
/* Operations on the contents of the guest's memory. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "oracle-host.h"

bool op_punch(struct vm *vm, const struct request *request,
	      struct reply *reply)
{
	int error;

	if (!memory_shared(&vm->memory))
		return reply_error(reply,
				   "%s memory has no file to punch: use --backing memfd or hugetlb",
				   backing_names[vm->memory.backing]);
	if (!oracle_begin(vm, request->range, reply))
		return false;
	error = memory_punch(&vm->memory, request->range);
	if (error) {
		oracle_cancel(vm, request->range);
		return reply_error(reply, "fallocate: %s", strerror(error));
	}
	oracle_changed(vm, request->range, 0);
	return true;
}

static bool discard(struct vm *vm, struct range range, struct reply *reply)
{
	if (madvise(memory_address(&vm->memory, range.first),
		    range_bytes(range), MADV_DONTNEED))
		return reply_error(reply, "madvise: %s", strerror(errno));
	return true;
}

bool op_dontneed(struct vm *vm, const struct request *request,
		 struct reply *reply)
{
	struct range range = request->range;

	/* The file keeps the contents: the guest goes on meanwhile. */
	if (memory_shared(&vm->memory))
		return discard(vm, range, reply) &&
			oracle_verify(vm, range, reply);

	if (!oracle_begin(vm, range, reply))
		return false;
	if (!discard(vm, range, reply)) {
		oracle_cancel(vm, range);
		return false;
	}
	oracle_changed(vm, range, 0);
	return true;
}

bool op_stamp(struct vm *vm, const struct request *request,
	      struct reply *reply)
{
	if (!oracle_begin(vm, request->range, reply))
		return false;
	oracle_changed_to_stamps(vm, request->range);
	return true;
}

bool op_verify(struct vm *vm, const struct request *request,
	       struct reply *reply)
{
	struct range all = { 0, vm->memory.pages };
	uint64_t page;

	(void)request;
	if (memory_find_protected(&vm->memory, all, &page))
		return reply_error(reply, "page %" PRIu64 " is protected: mprotect it rw first",
				   page);
	return oracle_verify(vm, all, reply);
}

bool op_settle(struct vm *vm, const struct request *request,
	       struct reply *reply)
{
	struct range all = { 0, vm->memory.pages };

	(void)request;
	return oracle_settle(vm, all, reply);
}
