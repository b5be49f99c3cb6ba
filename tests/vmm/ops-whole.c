// SPDX-License-Identifier: GPL-2.0-only
/* Operations that take the whole memory from the guest: what a VMM does before it ends. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "control.h"

#define SPLIT_PAGES	256

/* Leaves mappings of so few pages that no neighbours are alike and can merge. */
bool op_split(struct vm *vm, const struct request *request, struct reply *reply)
{
	struct memory *memory = &vm->memory;
	uint64_t page;

	(void)request;
	for (page = 0; page + SPLIT_PAGES <= memory->pages; page += 2 * SPLIT_PAGES)
		if (madvise(memory_address(memory, page), SPLIT_PAGES << GUEST_PAGE_SHIFT,
			    MADV_DONTFORK))
			return reply_error(reply, "madvise: %s", strerror(errno));
	return true;
}

static uint64_t all_bytes(const struct vm *vm)
{
	return vm->memory.pages << GUEST_PAGE_SHIFT;
}

bool op_discard_all(struct vm *vm, const struct request *request, struct reply *reply)
{
	(void)request;
	if (madvise(vm->memory.base, all_bytes(vm), MADV_DONTNEED))
		return reply_error(reply, "madvise: %s", strerror(errno));
	return true;
}

bool op_unmap_all(struct vm *vm, const struct request *request, struct reply *reply)
{
	(void)request;
	if (munmap(vm->memory.base, all_bytes(vm)))
		return reply_error(reply, "munmap: %s", strerror(errno));
	return true;
}
