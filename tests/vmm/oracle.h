/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory layout and protocol shared by the host and the guest payload. */
#ifndef VMM_ORACLE_H
#define VMM_ORACLE_H

#include <stdint.h>

#include "compiler.h"

#define GUEST_PAGE_SHIFT	12
#define GUEST_PAGE_SIZE		(1ULL << GUEST_PAGE_SHIFT)
#define WORDS_PER_PAGE		(GUEST_PAGE_SIZE / sizeof(uint64_t))

/* Slot 0, below SWEPT_GPA. */
#define TABLES_GPA		0x1000ULL
#define PAYLOAD_GPA		0x10000ULL
#define PAYLOAD_MAX		0x10000ULL
#define MAILBOX_GPA		0x20000ULL
#define STACKS_GPA		0x30000ULL
#define STACK_SIZE		0x1000ULL
#define TRAPS_GPA		0x70000ULL
#define RECORDS_GPA		0x200000ULL
#define VCPUS_MAX		64

/* In the guest's map, but above slot 0: where an arm64 guest tells that it has trapped. */
#define TRAPPED_GPA		0x3ffff000ULL

#define SCRATCH_GPA		0xc0000000ULL
#define SWEPT_GPA		0x100000000ULL
#define SWEPT_MAX_MIB		8192ULL

/*
 * control is the host's word for a page, the three states of the oracle are
 *   control == acked      STABLE    both words equal last; the guest stamps on
 *   control odd           CHANGING  the guest reads, accepts all, writes nothing
 *   control even, !acked  CHANGED   both words equal expect; the guest then
 *                                   stamps and acknowledges
 */
struct page_record {
	uint64_t control;
	uint64_t expect;
	uint64_t last;
	uint64_t acked;
} __aligned(32);

#define CONTROL_CHANGING	1ULL

enum error_kind {
	ERROR_NONE,
	ERROR_STABLE,
	ERROR_CHANGED,
};

struct error_report {
	uint64_t kind;
	uint64_t gpa;
	uint64_t expected;
	uint64_t first_word;
	uint64_t last_word;
};

struct mailbox {
	/* Written by the host before the vCPU starts. */
	uint64_t first_page;
	uint64_t end_page;
	uint64_t records_gpa;
	/* Written by the host at any time: hammer_end is not 0 while the guest is to hammer. */
	uint64_t hammer_first;
	uint64_t hammer_end;
	uint64_t hammer_word;
	uint64_t reserved[2];
	/* Written by the guest. */
	uint64_t hammered;
	uint64_t visits;
	uint64_t sweeps;
	uint64_t page;
	uint64_t errors;
	struct error_report first_error;
} __aligned(64);

/* A stamp holds the address and, above it, a generation or an epoch. */
#define STAMP_SHIFT		36
#define STAMP_MASK		0x7ffffffULL
#define STAMP_HOST		(1ULL << 63)

static inline uint64_t page_gpa(uint64_t page)
{
	return SWEPT_GPA + (page << GUEST_PAGE_SHIFT);
}

static inline uint64_t guest_stamp(uint64_t gpa, uint64_t generation)
{
	return (generation & STAMP_MASK) << STAMP_SHIFT | gpa;
}

static inline uint64_t host_stamp(uint64_t gpa, uint64_t epoch)
{
	return STAMP_HOST | guest_stamp(gpa, epoch);
}

static inline uint64_t load_word(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void store_word(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

_Static_assert(sizeof(struct page_record) == 32, "layout");
_Static_assert(sizeof(struct mailbox) * VCPUS_MAX <= STACKS_GPA - MAILBOX_GPA,
	       "mailboxes overlap the stacks");
_Static_assert(STACKS_GPA + STACK_SIZE * VCPUS_MAX <= TRAPS_GPA,
	       "stacks overlap what a trap needs");
_Static_assert(RECORDS_GPA + (SWEPT_MAX_MIB << (20 - GUEST_PAGE_SHIFT)) *
	       sizeof(struct page_record) <= TRAPPED_GPA,
	       "records where a trap is told");
_Static_assert(SWEPT_GPA + (SWEPT_MAX_MIB << 20) <= 1ULL << STAMP_SHIFT,
	       "an address does not fit a stamp");

#endif
