// SPDX-License-Identifier: GPL-2.0-only
/* Operations on the VM, its vCPUs and slots, and what there is to know. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "control.h"
#include "util.h"

static void add_list(struct vm *vm, struct reply *reply, const char *key,
		     uint64_t (*value)(const struct vcpu *vcpu))
{
	unsigned int i;

	reply_add(reply, ",\"%s\":[", key);
	for (i = 0; i < vm->vcpu_count; i++)
		reply_add(reply, "%s%" PRIu64, i ? "," : "",
			  value(&vm->vcpus[i]));
	reply_add(reply, "]");
}

static void add_sum(struct vm *vm, struct reply *reply, const char *key,
		    uint64_t (*value)(const struct vcpu *vcpu))
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++)
		sum += value(&vm->vcpus[i]);
	reply_add(reply, ",\"%s\":%" PRIu64, key, sum);
}

static uint64_t sweeps_of(const struct vcpu *vcpu)
{
	return load_word(&vcpu->mailbox->sweeps);
}

static uint64_t visits_of(const struct vcpu *vcpu)
{
	return load_word(&vcpu->mailbox->visits);
}

static uint64_t efaults_of(const struct vcpu *vcpu)
{
	return __atomic_load_n(&vcpu->efaults, __ATOMIC_ACQUIRE);
}

static uint64_t ended_of(const struct vcpu *vcpu)
{
	return vcpu_ended(vcpu);
}

static uint64_t tid_of(const struct vcpu *vcpu)
{
	return vcpu->tid;
}

static void add_counters(struct vm *vm, struct reply *reply)
{
	unsigned int i, counter;
	uint64_t sum;

	for (counter = 0; counter < ARCH_VCPU_COUNTERS && arch_vcpu_counters[counter]; counter++) {
		sum = 0;
		for (i = 0; i < vm->vcpu_count; i++)
			sum += stats_read(&vm->vcpus[i].counters[counter]);
		reply_add(reply, ",\"%s\":%" PRIu64, arch_vcpu_counters[counter], sum);
	}
}

/* The visits tell parts of a sweep, which whole sweeps of slow guests do not. */
static double whole_sweeps(struct vm *vm)
{
	uint64_t visits = 0;
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++)
		visits += visits_of(&vm->vcpus[i]);
	return (double)visits / vm->memory.pages;
}

static void add_first_error(struct vm *vm, struct reply *reply)
{
	unsigned int i;

	for (i = 0; i < vm->vcpu_count; i++) {
		const struct mailbox *mailbox = vm->vcpus[i].mailbox;
		const struct error_report *error = &mailbox->first_error;

		if (!load_word(&mailbox->errors))
			continue;
		reply_add(reply, ",\"first_error\":{\"vcpu\":%u,\"kind\":\"%s\",\"page\":%" PRIu64
			  ",\"gpa\":\"0x%" PRIx64 "\",\"expected\":\"0x%" PRIx64
			  "\",\"first_word\":\"0x%" PRIx64 "\",\"last_word\":\"0x%" PRIx64 "\"}",
			  i, error->kind == ERROR_STABLE ?
			  "lost write or stale read" : "change not seen",
			  (uint64_t)(error->gpa - SWEPT_GPA) >> GUEST_PAGE_SHIFT,
			  error->gpa, error->expected, error->first_word,
			  error->last_word);
		return;
	}
	reply_add(reply, ",\"first_error\":null");
}

bool op_stat(struct vm *vm, const struct request *request, struct reply *reply)
{
	(void)request;
	reply_add(reply, ",\"pid\":%d", getpid());
	if (vm->keeper)
		reply_add(reply, ",\"keeper_pid\":%d", vm->keeper);
	if (vm->sharer)
		reply_add(reply, ",\"sharer_pid\":%d", vm->sharer);
	reply_add(reply, ",\"sweeps\":%.3f", whole_sweeps(vm));
	add_list(vm, reply, "vcpu_sweeps", sweeps_of);
	add_sum(vm, reply, "visits", visits_of);
	reply_add(reply, ",\"errors\":%" PRIu64, vm_errors(vm));
	add_sum(vm, reply, "efaults", efaults_of);
	add_sum(vm, reply, "ended", ended_of);
	add_counters(vm, reply);
	reply_add(reply, ",\"remote_tlb_flush\":%" PRIu64,
		  stats_read(&vm->remote_tlb_flush));
	reply_add(reply, ",\"paused\":%s", vm->paused ? "true" : "false");
	add_list(vm, reply, "tids", tid_of);
	if (vm_failed(vm))
		reply_add(reply, ",\"failure\":\"%s\"", vm->failure);
	add_first_error(vm, reply);
	return true;
}

bool op_map(struct vm *vm, const struct request *request, struct reply *reply)
{
	(void)request;
	reply_add(reply, ",\"hva\":%" PRIuPTR ",\"bytes\":%" PRIu64
		  ",\"gpa\":%llu,\"pages\":%" PRIu64 ",\"backing\":\"%s\"",
		  (uintptr_t)vm->memory.base,
		  vm->memory.pages << GUEST_PAGE_SHIFT, SWEPT_GPA,
		  vm->memory.pages, backing_names[vm->memory.backing]);
	return true;
}

bool op_pin(struct vm *vm, const struct request *request, struct reply *reply)
{
	struct number_list list = { 0 };
	int error;

	if (strcmp(request->argv[1], "none") &&
	    !parse_number_list(request->argv[1], CPU_SETSIZE, &list))
		return reply_error(reply,
				   "bad CPU list %s: use numbers separated by commas, or none",
				   request->argv[1]);
	error = vm_pin(vm, &list);
	if (error)
		return reply_error(reply,
				   "cannot pin to %s: %s; see /sys/devices/system/cpu/online",
				   request->argv[1], strerror(error));
	return true;
}

bool op_pause(struct vm *vm, const struct request *request,
	      struct reply *reply)
{
	(void)request;
	(void)reply;
	vm_pause(vm);
	return true;
}

bool op_resume(struct vm *vm, const struct request *request,
	       struct reply *reply)
{
	(void)request;
	(void)reply;
	vm_resume(vm);
	return true;
}

bool op_close_vm(struct vm *vm, const struct request *request,
		 struct reply *reply)
{
	(void)request;
	if (vm->fd < 0)
		return reply_error(reply, "the VM fd is closed already");
	close(vm->fd);
	vm->fd = -1;
	return true;
}

static bool set_slot(struct vm *vm, enum slot slot, bool present,
		     struct reply *reply)
{
	int error = vm_set_slot(vm, slot, present);

	if (error)
		return reply_error(reply, "cannot %s memory slot %d: %s",
				   present ? "add" : "delete", slot,
				   strerror(error));
	return true;
}

static bool set_scratch_slot(struct vm *vm, bool present, struct reply *reply)
{
	if (vm->scratch_present == present)
		return reply_error(reply, "the scratch slot is %s already",
				   present ? "there" : "deleted");
	if (!set_slot(vm, SLOT_SCRATCH, present, reply))
		return false;
	vm->scratch_present = present;
	return true;
}

/* A running guest would take an MMIO exit on a deleted slot. */
static bool cycle_swept_slot(struct vm *vm, struct reply *reply)
{
	bool paused = vm->paused;
	bool done;

	vm_pause(vm);
	done = set_slot(vm, SLOT_SWEPT, false, reply) &&
		set_slot(vm, SLOT_SWEPT, true, reply);
	if (!paused)
		vm_resume(vm);
	return done;
}

bool op_slot(struct vm *vm, const struct request *request, struct reply *reply)
{
	const char *action = request->argv[1];

	if (vm->fd < 0)
		return reply_error(reply, "the VM fd is closed: slots cannot change any more");
	if (!strcmp(action, "delete"))
		return set_scratch_slot(vm, false, reply);
	if (!strcmp(action, "add"))
		return set_scratch_slot(vm, true, reply);
	if (!strcmp(action, "cycle"))
		return cycle_swept_slot(vm, reply);
	return reply_error(reply, "unknown slot action %s: use delete, add or cycle",
			   action);
}

static bool count_dirty(struct vm *vm, struct reply *reply)
{
	uint64_t words = (vm->memory.pages + 63) / 64;
	uint64_t *bitmap = xcalloc(words, sizeof(*bitmap));
	struct kvm_dirty_log log = { .slot = SLOT_SWEPT, .dirty_bitmap = bitmap };
	uint64_t dirty = 0;
	bool done = true;
	uint64_t i;

	if (ioctl(vm->fd, KVM_GET_DIRTY_LOG, &log))
		done = reply_error(reply, "KVM_GET_DIRTY_LOG: %s%s",
				   strerror(errno),
				   vm->dirty_log ? "" : "; use dirty-log on first");
	for (i = 0; i < words; i++)
		dirty += __builtin_popcountll(bitmap[i]);
	free(bitmap);
	reply_add(reply, ",\"dirty\":%" PRIu64, dirty);
	return done;
}

static bool set_dirty_log(struct vm *vm, bool on, struct reply *reply)
{
	int error = vm_set_dirty_log(vm, on);

	if (error)
		return reply_error(reply, "cannot switch the dirty log: %s",
				   strerror(error));
	return true;
}

bool op_dirty_log(struct vm *vm, const struct request *request,
		  struct reply *reply)
{
	const char *action = request->argv[1];

	if (vm->fd < 0)
		return reply_error(reply, "the VM fd is closed: no dirty log any more");
	if (!strcmp(action, "on"))
		return set_dirty_log(vm, true, reply);
	if (!strcmp(action, "off"))
		return set_dirty_log(vm, false, reply);
	if (!strcmp(action, "get"))
		return count_dirty(vm, reply);
	return reply_error(reply, "unknown dirty-log action %s: use on, off or get",
			   action);
}
