// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <string.h>

#include "oracle-host.h"
#include "util.h"

#define TIMEOUT_MS	20000
#define STANDSTILL_US	50000
#define POLL_US		1000

uint64_t oracle_next_epoch(struct vm *vm)
{
	return ++vm->epoch;
}

bool progress_stalled(struct progress *progress, uint64_t visits)
{
	if (!progress->end || progress->visits != visits) {
		progress->visits = visits;
		progress->end = now_ms() + TIMEOUT_MS;
	}
	return now_ms() > progress->end;
}

static bool reply_stalled(const struct vcpu *vcpu, struct reply *reply)
{
	return reply_error(reply,
			   "vCPU %u hangs at page %" PRIu64 ": mprotect rw what is protected",
			   vcpu->index, load_word(&vcpu->mailbox->page));
}

/*
 * Two visits on, no vCPU can still act upon the control word of before: the
 * visit that was begun when the counter was read may have, the next one too.
 */
static bool wait_two_visits(struct vcpu *vcpu, struct reply *reply)
{
	uint64_t target = load_word(&vcpu->mailbox->visits) + 2;
	struct progress progress = { 0 };
	uint64_t visits;

	while ((visits = load_word(&vcpu->mailbox->visits)) < target) {
		if (vm_failed(vcpu->vm))
			return reply_error(reply, "%s", vcpu->vm->failure);
		/* Torn down meanwhile. */
		if (vcpu_ended(vcpu))
			break;
		if (progress_stalled(&progress, visits))
			return reply_stalled(vcpu, reply);
		sleep_us(POLL_US);
	}
	return true;
}

static bool quiesce(struct vm *vm, struct range range, struct reply *reply)
{
	bool done = true;
	unsigned int i;

	for (i = 0; i < vm->vcpu_count && done; i++) {
		struct vcpu *vcpu = &vm->vcpus[i];

		if (!vcpu_owns(vcpu, range))
			continue;
		/* A paused vCPU may be in the middle of a visit. */
		if (vm->paused)
			vcpu_set_stop(vcpu, false);
		done = wait_two_visits(vcpu, reply);
		if (vm->paused)
			vcpu_set_stop(vcpu, true);
	}
	return done;
}

bool oracle_begin(struct vm *vm, struct range range, struct reply *reply)
{
	uint64_t control = oracle_next_epoch(vm) << 1 | CONTROL_CHANGING;
	uint64_t page;

	for (page = range.first; page < range.first + range.count; page++) {
		vm->control_before[page] = vm->records[page].control;
		store_word(&vm->records[page].control, control);
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);

	if (quiesce(vm, range, reply))
		return true;
	oracle_cancel(vm, range);
	return false;
}

void oracle_cancel(struct vm *vm, struct range range)
{
	uint64_t page;

	for (page = range.first; page < range.first + range.count; page++)
		store_word(&vm->records[page].control, vm->control_before[page]);
}

static uint64_t expected_value(const struct vm *vm, uint64_t page)
{
	const struct page_record *record = &vm->records[page];

	if (vm->control_before[page] == load_word(&record->acked))
		return record->last;
	return record->expect;
}

/* Of the visit at which a vCPU was ended, only a part may have been done. */
static bool ended_at(const struct vm *vm, uint64_t page)
{
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++)
		if (vcpu_ended(&vm->vcpus[i]) &&
		    load_word(&vm->vcpus[i].mailbox->page) == page)
			return true;
	return false;
}

bool oracle_verify_through(struct vm *vm, struct range range, page_reader *read,
			   struct reply *reply)
{
	uint64_t words[2];
	uint64_t page;
	bool done = true;

	if (!oracle_begin(vm, range, reply))
		return false;
	for (page = range.first; page < range.first + range.count; page++) {
		uint64_t expected = expected_value(vm, page);

		read(vm, page, words);
		if ((words[0] == expected && words[1] == expected) || ended_at(vm, page))
			continue;
		done = reply_violation(reply,
				       "page %" PRIu64 " holds 0x%" PRIx64
				       " and 0x%" PRIx64
				       " for the host, the guest has 0x%" PRIx64,
				       page, words[0], words[1], expected);
		break;
	}
	oracle_cancel(vm, range);
	return done;
}

static void read_page(struct vm *vm, uint64_t page, uint64_t *words)
{
	memory_snapshot(&vm->memory, (struct range){ page, 1 }, words);
}

bool oracle_verify(struct vm *vm, struct range range, struct reply *reply)
{
	return oracle_verify_through(vm, range, read_page, reply);
}

static void expect(struct page_record *record, uint64_t value, uint64_t control)
{
	store_word(&record->expect, value);
	store_word(&record->control, control);
}

void oracle_changed(struct vm *vm, struct range range, uint64_t value)
{
	uint64_t control = oracle_next_epoch(vm) << 1;
	uint64_t page;

	for (page = range.first; page < range.first + range.count; page++)
		expect(&vm->records[page], value, control);
}

void oracle_stamped(struct vm *vm, struct range range, uint64_t epoch)
{
	uint64_t page;

	for (page = range.first; page < range.first + range.count; page++)
		expect(&vm->records[page], host_stamp(page_gpa(page), epoch), epoch << 1);
}

void oracle_changed_to_stamps(struct vm *vm, struct range range)
{
	uint64_t epoch = oracle_next_epoch(vm);
	uint64_t page;

	for (page = range.first; page < range.first + range.count; page++) {
		uint64_t stamp = host_stamp(page_gpa(page), epoch);

		store_word((uint64_t *)memory_address(&vm->memory, page), stamp);
		store_word(memory_last_word(&vm->memory, page), stamp);
	}
	oracle_stamped(vm, range, epoch);
}

static bool find_unacknowledged(const struct vm *vm, struct range range,
				uint64_t *page)
{
	for (*page = range.first; *page < range.first + range.count; (*page)++)
		if (load_word(&vm->records[*page].acked) !=
		    vm->records[*page].control)
			return true;
	return false;
}

static struct vcpu *owner_of(struct vm *vm, uint64_t page)
{
	unsigned int i = 0;

	while (!vcpu_owns(&vm->vcpus[i], (struct range){ page, 1 }))
		i++;
	return &vm->vcpus[i];
}

bool oracle_settle(struct vm *vm, struct range range, struct reply *reply)
{
	struct progress progress = { 0 };
	struct vcpu *owner;
	uint64_t page;

	while (find_unacknowledged(vm, range, &page)) {
		if (vm_failed(vm))
			return reply_error(reply, "%s", vm->failure);
		if (vm->paused)
			return reply_error(reply,
					   "page %" PRIu64 " waits for a paused vCPU: resume first",
					   page);
		owner = owner_of(vm, page);
		if (progress_stalled(&progress, load_word(&owner->mailbox->visits)))
			return reply_stalled(owner, reply);
		sleep_us(POLL_US);
	}
	return true;
}

uint64_t watch_visits(struct vm *vm, const struct watch *watch)
{
	uint64_t visits = 0;
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++)
		if (vcpu_owns(&vm->vcpus[i], watch->range))
			visits += load_word(&vm->vcpus[i].mailbox->visits);
	return visits;
}

void watch_begin(struct vm *vm, struct range range, struct watch *watch)
{
	unsigned int i;

	watch->range = range;
	for (i = 0; i < vm->vcpu_count; i++) {
		watch->efaults[i] = __atomic_load_n(&vm->vcpus[i].efaults,
						    __ATOMIC_ACQUIRE);
		watch->sweeps[i] = load_word(&vm->vcpus[i].mailbox->sweeps);
	}
}

uint64_t watch_efaults(struct vm *vm, const struct watch *watch)
{
	uint64_t efaults = 0;
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++)
		if (vcpu_owns(&vm->vcpus[i], watch->range))
			efaults += __atomic_load_n(&vm->vcpus[i].efaults,
						   __ATOMIC_ACQUIRE) -
				watch->efaults[i];
	return efaults;
}

/* One sweep may have been all but over when the watch began, a second not. */
bool watch_overrun(struct vm *vm, const struct watch *watch,
		   struct reply *reply)
{
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++)
		if (vcpu_owns(&vm->vcpus[i], watch->range) &&
		    load_word(&vm->vcpus[i].mailbox->sweeps) >=
		    watch->sweeps[i] + 2) {
			reply_violation(reply,
					"vCPU %u went through pages it must not access any more",
					i);
			return true;
		}
	return false;
}

static bool wait_for_efault(struct vm *vm, const struct watch *watch,
			    unsigned int index, struct reply *reply)
{
	struct vcpu *vcpu = &vm->vcpus[index];
	struct progress progress = { 0 };

	while (__atomic_load_n(&vcpu->efaults, __ATOMIC_ACQUIRE) ==
	       watch->efaults[index]) {
		if (vm_failed(vm))
			return reply_error(reply, "%s", vm->failure);
		if (watch_overrun(vm, watch, reply))
			return false;
		if (progress_stalled(&progress, load_word(&vcpu->mailbox->visits)))
			return reply_stalled(vcpu, reply);
		sleep_us(POLL_US);
	}
	return true;
}

bool watch_blocked(struct vm *vm, const struct watch *watch, struct reply *reply)
{
	uint64_t visits[VCPUS_MAX];
	unsigned int i;

	if (vm->paused)
		return true;
	for (i = 0; i < vm->vcpu_count; i++)
		if (vcpu_owns(&vm->vcpus[i], watch->range) &&
		    !wait_for_efault(vm, watch, i, reply))
			return false;

	for (i = 0; i < vm->vcpu_count; i++)
		visits[i] = load_word(&vm->vcpus[i].mailbox->visits);
	sleep_us(STANDSTILL_US);
	for (i = 0; i < vm->vcpu_count; i++)
		if (vcpu_owns(&vm->vcpus[i], watch->range) &&
		    load_word(&vm->vcpus[i].mailbox->visits) != visits[i])
			return reply_violation(reply,
					       "vCPU %u goes on in pages it must not access any more",
					       i);
	return true;
}
