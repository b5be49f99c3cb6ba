// SPDX-License-Identifier: GPL-2.0-only
/* Starts vCPUs at EL1 on an identity map of 2 MiB blocks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../el1.h"
#include "payload.h"
#include "util.h"
#include "vm.h"

#define ENTRIES		512
#define GIB_SHIFT	30

/* KVM counts no stage-2 faults here: its tracepoint kvm_guest_fault tells them. */
const char * const arch_vcpu_counters[ARCH_VCPU_COUNTERS] = { NULL };

static uint64_t *table(struct vm *vm, uint64_t gpa)
{
	return (uint64_t *)(vm->low + gpa);
}

static void map_gib(struct vm *vm, uint64_t blocks_gpa, uint64_t gib)
{
	uint64_t *blocks = table(vm, blocks_gpa);
	uint64_t i;

	table(vm, TABLES_GPA)[gib] = blocks_gpa | EL1_TABLE;
	for (i = 0; i < ENTRIES; i++)
		blocks[i] = gib << GIB_SHIFT | i * HUGE_BYTES | EL1_BLOCK;
}

void arch_vm_init(struct vm *vm)
{
	uint64_t first = SWEPT_GPA >> GIB_SHIFT;
	uint64_t last = (SWEPT_GPA + (vm->memory.pages << GUEST_PAGE_SHIFT) - 1) >>
		GIB_SHIFT;
	uint64_t next = TABLES_GPA + GUEST_PAGE_SIZE;
	uint64_t gib;

	map_gib(vm, next, 0);
	for (gib = first; gib <= last; gib++) {
		next += GUEST_PAGE_SIZE;
		map_gib(vm, next, gib);
	}
}

void arch_vcpu_init(struct vcpu *vcpu)
{
	struct el1_start start = {
		.pc = PAYLOAD_GPA,
		.sp = STACKS_GPA + (vcpu->index + 1) * STACK_SIZE,
		.argument = MAILBOX_GPA + vcpu->index * sizeof(struct mailbox),
		.tables = TABLES_GPA,
	};

	if (el1_init_vcpu(vcpu->vm->fd, vcpu->fd, &start))
		die("cannot set the registers of vCPU %u: %s", vcpu->index, strerror(errno));
}

/* What the vectors of payload-arm64.S do last: they store their number where no slot is. */
bool arch_vcpu_trapped(struct vcpu *vcpu, char *text, size_t size)
{
	uint64_t vector, esr, elr, far;

	if (vcpu->run->exit_reason != KVM_EXIT_MMIO ||
	    vcpu->run->mmio.phys_addr != TRAPPED_GPA ||
	    el1_get(vcpu->fd, EL1_CORE(regs.regs[0]), &vector) ||
	    el1_get(vcpu->fd, EL1_ESR_REG, &esr) ||
	    el1_get(vcpu->fd, EL1_CORE(elr_el1), &elr) ||
	    el1_get(vcpu->fd, EL1_FAR_REG, &far))
		return false;
	snprintf(text, size, "exception by vector 0x%" PRIx64 ", ESR 0x%" PRIx64
		 ", ELR 0x%" PRIx64 ", FAR 0x%" PRIx64, vector * 0x80, esr, elr, far);
	return true;
}
