/* SPDX-License-Identifier: GPL-2.0-only */
/* The swept memory as the host sees it. */
#ifndef VMM_MEMORY_H
#define VMM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

#define NODES_MAX	64
#define HUGE_BYTES	(2ULL << 20)

enum backing {
	BACKING_ANON,
	BACKING_ANON_THP,
	BACKING_MEMFD,
	BACKING_HUGETLB,
	BACKINGS,
};

extern const char * const backing_names[BACKINGS];

struct range {
	uint64_t first;
	uint64_t count;
};

/*
 * The file of a shared backing is twice as long as the memory: a page is
 * backed by the lower or the upper half, fresh pages come from the other one.
 */
struct memory {
	enum backing backing;
	bool mergeable;
	uint64_t pages;
	char *base;
	char *spare;
	char *alias;
	int fd;
	bool *upper;
	bool *protected;
};

/* Each of the nodes gets an equal part, in this order. */
void memory_init(struct memory *memory, const struct number_list *nodes);

/*
 * An explicit policy keeps NUMA balancing away from memory, also one that
 * allows all nodes; -1 with errno.
 */
int bind_to_all_nodes(char *address, uint64_t bytes);
int bind_to_none(char *address, uint64_t bytes);

bool memory_shared(const struct memory *memory);
char *memory_address(const struct memory *memory, uint64_t page);
char *memory_spare_address(const struct memory *memory, uint64_t page);
uint64_t *memory_last_word(const struct memory *memory, uint64_t page);
uint64_t range_bytes(struct range range);

/* Map what backs the range now; fresh pages; 0 or an errno. */
int memory_map(struct memory *memory, struct range range);
int memory_map_fresh(struct memory *memory, struct range range);

/* 0 or an errno; neither guest nor host may touch what is not read-write. */
int memory_protect(struct memory *memory, struct range range, int protection);
bool memory_find_protected(const struct memory *memory, struct range range,
			   uint64_t *page);

/* mremap() away and back leaves a hole where others could map. */
void memory_reserve_spare(struct memory *memory, struct range range);

/* Makes a hole in the file where the range is; 0 or an errno. */
int memory_punch(struct memory *memory, struct range range);

/* Frees what backed the range before memory_map_fresh(). */
void memory_free_stale(struct memory *memory, struct range range);

/* First and last word of each page, through the base or the alias mapping. */
void memory_snapshot(const struct memory *memory, struct range range,
		     uint64_t *words);
void memory_snapshot_stale(const struct memory *memory, struct range range,
			   uint64_t *words);

/* The page that backs this one, or did before memory_map_fresh(), through the alias. */
const uint64_t *memory_alias_page(const struct memory *memory, uint64_t page, bool stale);
/* A page mapped twice would not be migrated: to be called after a look at the alias. */
void memory_unmap_alias(const struct memory *memory);

#endif
