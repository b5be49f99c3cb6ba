// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory.h"
#include "oracle.h"
#include "util.h"

#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB	(21U << 26)
#endif

const char * const backing_names[BACKINGS] = {
	[BACKING_ANON]		= "anon",
	[BACKING_ANON_THP]	= "anon-thp",
	[BACKING_MEMFD]		= "memfd",
	[BACKING_HUGETLB]	= "hugetlb",
};

bool memory_shared(const struct memory *memory)
{
	return memory->fd >= 0;
}

char *memory_address(const struct memory *memory, uint64_t page)
{
	return memory->base + (page << GUEST_PAGE_SHIFT);
}

char *memory_spare_address(const struct memory *memory, uint64_t page)
{
	return memory->spare + (page << GUEST_PAGE_SHIFT);
}

uint64_t *memory_last_word(const struct memory *memory, uint64_t page)
{
	return (uint64_t *)memory_address(memory, page + 1) - 1;
}

uint64_t range_bytes(struct range range)
{
	return range.count << GUEST_PAGE_SHIFT;
}

static uint64_t current_file_page(const struct memory *memory, uint64_t page)
{
	return page + (memory->upper[page] ? memory->pages : 0);
}

static uint64_t stale_file_page(const struct memory *memory, uint64_t page)
{
	return page + (memory->upper[page] ? 0 : memory->pages);
}

static int map_anonymous(struct memory *memory, struct range range)
{
	char *address = memory_address(memory, range.first);
	uint64_t bytes = range_bytes(range);

	if (mmap(address, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return errno;
	if (memory->backing == BACKING_ANON_THP) {
		if (madvise(address, bytes, MADV_HUGEPAGE))
			return errno;
	} else if (madvise(address, bytes, MADV_NOHUGEPAGE) && errno != EINVAL) {
		return errno;
	}
	if (memory->mergeable && madvise(address, bytes, MADV_MERGEABLE))
		return errno;
	return 0;
}

/*
 * Reads of absent pages would map the zero page, and the guest's first write
 * to each would then be a COW with a round of IPIs, 20 ms under emulation.
 */
static int map_anonymous_populated(struct memory *memory, struct range range)
{
	int error = map_anonymous(memory, range);

	if (!error && madvise(memory_address(memory, range.first),
			      range_bytes(range), MADV_POPULATE_WRITE))
		error = errno;
	return error;
}

static struct range same_half(const struct memory *memory, struct range range)
{
	uint64_t page = range.first + 1;

	while (page < range.first + range.count &&
	       memory->upper[page] == memory->upper[range.first])
		page++;
	return (struct range){ range.first, page - range.first };
}

static int map_file(struct memory *memory, struct range range)
{
	struct range run;
	off_t offset;

	for (; range.count; range.first += run.count, range.count -= run.count) {
		run = same_half(memory, range);
		offset = current_file_page(memory, run.first) << GUEST_PAGE_SHIFT;
		if (mmap(memory_address(memory, run.first), range_bytes(run),
			 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 memory->fd, offset) == MAP_FAILED)
			return errno;
	}
	return 0;
}

int memory_map(struct memory *memory, struct range range)
{
	if (memory_shared(memory))
		return map_file(memory, range);
	return map_anonymous(memory, range);
}

static void flip_halves(struct memory *memory, struct range range)
{
	uint64_t page;

	for (page = range.first; page < range.first + range.count; page++)
		memory->upper[page] = !memory->upper[page];
}

int memory_map_fresh(struct memory *memory, struct range range)
{
	int error;

	if (!memory_shared(memory))
		return map_anonymous_populated(memory, range);

	flip_halves(memory, range);
	error = map_file(memory, range);
	if (error) {
		flip_halves(memory, range);
		if (map_file(memory, range))
			die("cannot map the guest's memory again: %s",
			    strerror(errno));
	}
	return error;
}

typedef uint64_t file_page(const struct memory *memory, uint64_t page);

static int punch(struct memory *memory, struct range range, file_page *which)
{
	struct range run;

	for (; range.count; range.first += run.count, range.count -= run.count) {
		run = same_half(memory, range);
		if (fallocate(memory->fd,
			      FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      which(memory, run.first) << GUEST_PAGE_SHIFT,
			      range_bytes(run)))
			return errno;
	}
	return 0;
}

int memory_punch(struct memory *memory, struct range range)
{
	return punch(memory, range, current_file_page);
}

void memory_free_stale(struct memory *memory, struct range range)
{
	int error = memory_shared(memory) ?
		punch(memory, range, stale_file_page) : 0;

	if (error)
		die("cannot free stale guest pages: %s", strerror(error));
}

int memory_protect(struct memory *memory, struct range range, int protection)
{
	if (mprotect(memory_address(memory, range.first), range_bytes(range),
		     protection))
		return errno;
	memset(memory->protected + range.first,
	       protection != (PROT_READ | PROT_WRITE), range.count);
	return 0;
}

bool memory_find_protected(const struct memory *memory, struct range range,
			   uint64_t *page)
{
	for (*page = range.first; *page < range.first + range.count; (*page)++)
		if (memory->protected[*page])
			return true;
	return false;
}

static void copy_words(uint64_t *words, const char *address)
{
	words[0] = load_word((const uint64_t *)address);
	words[1] = load_word((const uint64_t *)address + WORDS_PER_PAGE - 1);
}

void memory_snapshot(const struct memory *memory, struct range range,
		     uint64_t *words)
{
	uint64_t i;

	for (i = 0; i < range.count; i++)
		copy_words(words + 2 * i, memory_address(memory, range.first + i));
}

void memory_snapshot_stale(const struct memory *memory, struct range range,
			   uint64_t *words)
{
	uint64_t i;

	for (i = 0; i < range.count; i++)
		copy_words(words + 2 * i,
			   (const char *)memory_alias_page(memory, range.first + i, true));
	memory_unmap_alias(memory);
}

const uint64_t *memory_alias_page(const struct memory *memory, uint64_t page, bool stale)
{
	uint64_t file_page = stale ? stale_file_page(memory, page) :
		current_file_page(memory, page);

	return (const uint64_t *)(memory->alias + (file_page << GUEST_PAGE_SHIFT));
}

void memory_unmap_alias(const struct memory *memory)
{
	madvise(memory->alias, 2 * memory->pages << GUEST_PAGE_SHIFT, MADV_DONTNEED);
}

void memory_reserve_spare(struct memory *memory, struct range range)
{
	char *address = memory_spare_address(memory, range.first);

	if (mmap(address, range_bytes(range), PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		 -1, 0) == MAP_FAILED)
		die("cannot reserve address space again: %s", strerror(errno));
}

static char *reserve(uint64_t bytes)
{
	char *address = mmap(NULL, bytes + HUGE_BYTES, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (address == MAP_FAILED)
		die("cannot reserve %llu bytes of address space: %s",
		    (unsigned long long)bytes, strerror(errno));
	return (char *)(((uintptr_t)address + HUGE_BYTES - 1) & -HUGE_BYTES);
}

static void open_file(struct memory *memory)
{
	unsigned int flags = MFD_CLOEXEC;
	uint64_t bytes = 2 * memory->pages << GUEST_PAGE_SHIFT;

	if (memory->backing == BACKING_HUGETLB)
		flags |= MFD_HUGETLB | MFD_HUGE_2MB;
	memory->fd = memfd_create("guest", flags);
	if (memory->fd < 0 || ftruncate(memory->fd, bytes))
		die("cannot create a %s file: %s",
		    backing_names[memory->backing], strerror(errno));
	memory->alias = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE,
			     memory->fd, 0);
	if (memory->alias == MAP_FAILED)
		die("cannot map the alias of the guest's memory: %s",
		    strerror(errno));
}

/*
 * A policy that stayed set would keep NUMA balancing away from the memory, so
 * the node is only a preference of this thread while it touches the pages.
 */
static void set_allocation_node(unsigned int node)
{
	unsigned long mask = 1UL << node;

	if (syscall(SYS_set_mempolicy, MPOL_BIND, &mask, sizeof(mask) * 8))
		die_usage("cannot allocate on node %u: %s; see /sys/devices/system/node/online",
			  node, strerror(errno));
}

/* A guest that reads first would map the zero page and pay for each page twice. */
static void populate(struct memory *memory, uint64_t first, uint64_t end)
{
	if (madvise(memory_address(memory, first), (end - first) << GUEST_PAGE_SHIFT,
		    MADV_POPULATE_WRITE))
		die("cannot populate the guest's memory: %s; use a smaller --memory",
		    strerror(errno));
}

static void populate_on_nodes(struct memory *memory, const struct number_list *nodes)
{
	uint64_t first = 0;
	uint64_t end;
	unsigned int i;

	for (i = 0; i < nodes->count; i++, first = end) {
		end = memory->pages * (i + 1) / nodes->count;
		set_allocation_node(nodes->numbers[i]);
		populate(memory, first, end);
	}
	syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
}

int bind_to_all_nodes(char *address, uint64_t bytes)
{
	unsigned long nodes[16] = { 0 };
	unsigned long bits = sizeof(nodes) * 8;

	/* A kernel without NUMA: nothing to keep away. */
	if (syscall(SYS_get_mempolicy, NULL, nodes, bits, NULL, MPOL_F_MEMS_ALLOWED))
		return 0;
	return syscall(SYS_mbind, address, bytes, MPOL_BIND, nodes, bits, 0);
}

int bind_to_none(char *address, uint64_t bytes)
{
	return syscall(SYS_mbind, address, bytes, MPOL_DEFAULT, NULL, 0, 0);
}

void memory_init(struct memory *memory, const struct number_list *nodes)
{
	struct range all = { 0, memory->pages };
	uint64_t bytes = range_bytes(all);
	int error;

	memory->fd = -1;
	memory->protected = xcalloc(memory->pages, sizeof(*memory->protected));
	if (memory->backing == BACKING_MEMFD ||
	    memory->backing == BACKING_HUGETLB) {
		open_file(memory);
		memory->upper = xcalloc(memory->pages, sizeof(*memory->upper));
	}
	memory->base = reserve(bytes);
	memory->spare = reserve(bytes);
	error = memory_map(memory, all);
	if (error)
		die("cannot map %llu MiB of %s memory: %s%s",
		    (unsigned long long)bytes >> 20,
		    backing_names[memory->backing], strerror(error),
		    memory->backing == BACKING_HUGETLB ?
		    "; raise /proc/sys/vm/nr_hugepages" : "");
	if (nodes->count)
		populate_on_nodes(memory, nodes);
	else
		populate(memory, 0, memory->pages);
}
