// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs in a guest: stamps memory again and again, and finds its own stamps, or says what it
 * found.
 *
 *	memcheck MIB
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE_BYTES	4096
#define WORDS		(PAGE_BYTES / sizeof(uint64_t))

static uint64_t stamp(size_t page, uint64_t sweep)
{
	return (uint64_t)page << 32 | sweep;
}

/* The first and the last word of each page. */
static int sweep_once(uint64_t *memory, size_t pages, uint64_t sweep)
{
	size_t page;

	for (page = 0; page < pages; page++) {
		uint64_t *first = memory + page * WORDS, *last = first + WORDS - 1;
		uint64_t expected = sweep ? stamp(page, sweep - 1) : 0;

		if (*first != expected || *last != expected) {
			printf("error: page %zu holds %" PRIx64 " and %" PRIx64
			       ", not %" PRIx64 "\n", page, *first, *last, expected);
			return 1;
		}
		*first = stamp(page, sweep);
		*last = *first;
	}
	return 0;
}

int main(int argc, char **argv)
{
	size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 0) : 1) << 20;
	uint64_t sweep;
	uint64_t *memory;

	setvbuf(stdout, NULL, _IOLBF, 0);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	for (sweep = 0; ; sweep++) {
		if (sweep_once(memory, bytes / PAGE_BYTES, sweep))
			return 1;
		if (!(sweep % 64))
			printf("sweep %" PRIu64 "\n", sweep);
	}
}
