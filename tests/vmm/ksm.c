// SPDX-License-Identifier: GPL-2.0-only
/* KSM: the host makes the pages alike, ksmd merges them, the guest writes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "oracle-host.h"
#include "util.h"

#define KSM_DIR		"/sys/kernel/mm/ksm/"
#define TIMEOUT_MS	60000
#define POLL_US		20000

#define PAGEMAP_PRESENT	(1ULL << 63)
#define PAGEMAP_PFN	((1ULL << 55) - 1)
#define KPF_KSM		(1ULL << 21)

static bool write_setting(const char *name, const char *value,
			  struct reply *reply)
{
	char path[64];
	int fd, written;

	snprintf(path, sizeof(path), KSM_DIR "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	written = fd < 0 ? -1 : write(fd, value, strlen(value));
	if (written < 0)
		reply_error(reply, "cannot write %s: %s; KSM and root are needed",
			    path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return written >= 0;
}

static bool start_ksmd(struct reply *reply)
{
	/* Off: it would leave out pages that have long been different. */
	if (!access(KSM_DIR "smart_scan", F_OK) &&
	    !write_setting("smart_scan", "0", reply))
		return false;
	return write_setting("pages_to_scan", "4096", reply) &&
		write_setting("sleep_millisecs", "10", reply) &&
		write_setting("run", "1", reply);
}

static bool read_word(const char *path, uint64_t index, uint64_t *word,
		      struct reply *reply)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : pread(fd, word, sizeof(*word),
					    index * sizeof(*word));

	if (bytes != sizeof(*word))
		reply_error(reply, "cannot read %s: %s; run as root", path,
			    strerror(errno));
	if (fd >= 0)
		close(fd);
	return bytes == sizeof(*word);
}

/* Says of the pages themselves; KSM's own counters are brought down late. */
static bool page_merged(struct vm *vm, uint64_t page, bool *merged,
			struct reply *reply)
{
	uintptr_t address = (uintptr_t)memory_address(&vm->memory, page);
	uint64_t entry, flags;

	*merged = false;
	if (!read_word("/proc/self/pagemap", address >> GUEST_PAGE_SHIFT,
		       &entry, reply))
		return false;
	if (!(entry & PAGEMAP_PRESENT))
		return true;
	if (!read_word("/proc/kpageflags", entry & PAGEMAP_PFN, &flags, reply))
		return false;
	*merged = flags & KPF_KSM;
	return true;
}

static bool wait_until_merged(struct vm *vm, struct range range,
			      struct reply *reply)
{
	uint64_t end = now_ms() + TIMEOUT_MS;
	uint64_t page = range.first;
	bool merged;

	while (page < range.first + range.count) {
		if (!page_merged(vm, page, &merged, reply))
			return false;
		if (merged) {
			page++;
			continue;
		}
		if (now_ms() > end)
			return reply_error(reply,
					   "ksmd merged only %" PRIu64 " of %" PRIu64
					   " pages in %d s",
					   page - range.first, range.count,
					   TIMEOUT_MS / 1000);
		sleep_us(POLL_US);
	}
	return true;
}

static bool merge(struct vm *vm, struct range range, struct reply *reply)
{
	bool done;

	if (madvise(memory_address(&vm->memory, range.first),
		    range_bytes(range), MADV_MERGEABLE))
		return reply_error(reply, "MADV_MERGEABLE: %s; a kernel with CONFIG_KSM is needed",
				   strerror(errno));
	done = start_ksmd(reply) && wait_until_merged(vm, range, reply);
	return write_setting("run", "0", reply) && done;
}

bool op_ksm(struct vm *vm, const struct request *request, struct reply *reply)
{
	struct range range = request->range;
	uint64_t value = host_stamp(0, oracle_next_epoch(vm));
	uint64_t page;
	bool done;

	if (memory_shared(&vm->memory))
		return reply_error(reply,
				   "KSM does not merge %s memory: use --backing anon or anon-thp",
				   backing_names[vm->memory.backing]);
	if (range.count < 2)
		return reply_error(reply, "one page cannot be merged: give a count of 2 or more");
	if (!oracle_begin(vm, range, reply))
		return false;
	for (page = range.first; page < range.first + range.count; page++) {
		store_word((uint64_t *)memory_address(&vm->memory, page), value);
		store_word(memory_last_word(&vm->memory, page), value);
	}
	done = merge(vm, range, reply);
	oracle_changed(vm, range, value);
	return done;
}
