/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's side of the oracle. */
#ifndef VMM_ORACLE_HOST_H
#define VMM_ORACLE_HOST_H

#include "control.h"

/*
 * oracle_begin() returns when no vCPU writes to the range any more. It is
 * followed by one of oracle_changed*(), or by oracle_cancel() if the contents
 * are what they were.
 */
bool oracle_begin(struct vm *vm, struct range range, struct reply *reply);
void oracle_changed(struct vm *vm, struct range range, uint64_t value);
void oracle_changed_to_stamps(struct vm *vm, struct range range);
/* The host has written host_stamp() of this epoch to each page itself. */
void oracle_stamped(struct vm *vm, struct range range, uint64_t epoch);
void oracle_cancel(struct vm *vm, struct range range);
uint64_t oracle_next_epoch(struct vm *vm);

/*
 * Compares the host's view with what the guest wrote last: a guest that keeps
 * a stale mapping is at one with itself, only the host sees that it is lost.
 */
bool oracle_verify(struct vm *vm, struct range range, struct reply *reply);

/* The same, with another way to read the first and the last word of a page. */
typedef void page_reader(struct vm *vm, uint64_t page, uint64_t *words);
bool oracle_verify_through(struct vm *vm, struct range range, page_reader *read,
			   struct reply *reply);

/* Waits until the guest has acknowledged every change in the range. */
bool oracle_settle(struct vm *vm, struct range range, struct reply *reply);

/* Time says little on a loaded machine: who still visits pages is not stuck. */
struct progress {
	uint64_t visits;
	uint64_t end;
};

bool progress_stalled(struct progress *progress, uint64_t visits);

/*
 * Watches a range that the guest can no longer access (or write): every vCPU
 * that sweeps it must run into it, and then stand still.
 */
struct watch {
	struct range range;
	uint64_t efaults[VCPUS_MAX];
	uint64_t sweeps[VCPUS_MAX];
};

void watch_begin(struct vm *vm, struct range range, struct watch *watch);
bool watch_blocked(struct vm *vm, const struct watch *watch, struct reply *reply);
bool watch_overrun(struct vm *vm, const struct watch *watch,
		   struct reply *reply);
uint64_t watch_visits(struct vm *vm, const struct watch *watch);
uint64_t watch_efaults(struct vm *vm, const struct watch *watch);

#endif
