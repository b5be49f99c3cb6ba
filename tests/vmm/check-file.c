// SPDX-License-Identifier: GPL-2.0-only
/* What a guest has left in a file, after its VM. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "check-file.h"
#include "oracle.h"
#include "util.h"

/* Of the last visit of each vCPU only the first word may be there. */
#define UNFINISHED_MAX	VCPUS_MAX

static bool holds_stamp(const uint64_t *words, uint64_t page, uint64_t generation)
{
	uint64_t stamp = words[0];

	return stamp == words[WORDS_PER_PAGE - 1] &&
	       (stamp & ((1ULL << STAMP_SHIFT) - 1)) == page_gpa(page) &&
	       (stamp >> STAMP_SHIFT & STAMP_MASK) >= generation;
}

int check_file(const char *path, uint64_t pages, uint64_t generation)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned int bad = 0;
	const uint64_t *words;
	uint64_t page;

	if (fd < 0)
		die("cannot open %s: %s", path, strerror(errno));
	words = mmap(NULL, pages << GUEST_PAGE_SHIFT, PROT_READ, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		die("cannot map %s: %s", path, strerror(errno));
	for (page = 0; page < pages; page++, words += WORDS_PER_PAGE) {
		if (holds_stamp(words, page, generation))
			continue;
		if (bad++ < 3)
			printf("page %" PRIu64 " holds 0x%" PRIx64 " and 0x%" PRIx64 "\n",
			       page, words[0], words[WORDS_PER_PAGE - 1]);
	}
	printf("%u of %" PRIu64 " pages lack a stamp of sweep %" PRIu64 " or later\n",
	       bad, pages, generation);
	return bad > UNFINISHED_MAX;
}
