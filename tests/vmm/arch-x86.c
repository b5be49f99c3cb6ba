// SPDX-License-Identifier: GPL-2.0-only
/* Starts vCPUs in 64-bit mode on an identity map of 2 MiB pages. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "payload.h"
#include "util.h"
#include "vm.h"

#define PTE_PRESENT	(1ULL << 0)
#define PTE_WRITE	(1ULL << 1)
#define PTE_ACCESSED	(1ULL << 5)
#define PTE_DIRTY	(1ULL << 6)
#define PTE_HUGE	(1ULL << 7)

#define CR0_PE		(1ULL << 0)
#define CR0_MP		(1ULL << 1)
#define CR0_ET		(1ULL << 4)
#define CR0_NE		(1ULL << 5)
#define CR0_WP		(1ULL << 16)
#define CR0_PG		(1ULL << 31)
#define CR4_PAE		(1ULL << 5)
#define EFER_LME	(1ULL << 8)
#define EFER_LMA	(1ULL << 10)

#define ENTRIES		512
#define GIB_SHIFT	30
#define TSS_GPA		0xfffbd000

/*
 * 64-bit gates, task state and the frame of a trap: Intel SDM volume 3, 6.14. Vectors 29 and
 * 30 are AMD's: APM volume 2, 8.2.
 */
#define VECTORS		32
#define PUSHES_ERROR_CODE \
	(1u << 8 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 17 | \
	 1u << 21 | 1u << 29 | 1u << 30)
#define CODE_SELECTOR	8
#define CODE_DESCRIPTOR	0x00af9b000000ffffULL
#define INTERRUPT_GATE	0x8e
#define BUSY_TASK	0xb
#define TRAP_STACK	1

const char * const arch_vcpu_counters[ARCH_VCPU_COUNTERS] = { "pf_fixed", "pf_taken" };

struct trap_gate {
	uint16_t offset_low;
	uint16_t selector;
	uint8_t stack;
	uint8_t type;
	uint16_t offset_middle;
	uint32_t offset_high;
	uint32_t reserved;
} __attribute__((__packed__));

struct task_state {
	uint32_t reserved0;
	uint64_t stacks[3];
	uint64_t reserved1;
	uint64_t trap_stacks[7];
	uint64_t reserved2;
	uint16_t reserved3;
	uint16_t io_map;
} __attribute__((__packed__));

/* What the handler pushed, and above it what the CPU did. */
struct trap_frame {
	uint64_t vector;
	uint64_t error_code;
	uint64_t rip;
	uint64_t cs;
	uint64_t rflags;
	uint64_t rsp;
	uint64_t ss;
};

struct trap_area {
	uint64_t descriptors[2];
	struct trap_gate gates[VECTORS];
	uint8_t handlers[VECTORS][8];
	struct {
		struct task_state task;
		char stack[512];
	} __aligned(16) vcpus[VCPUS_MAX];
} __aligned(16);

_Static_assert(sizeof(struct task_state) == 104, "Intel SDM volume 3, figure 8-11");
_Static_assert(TRAPS_GPA + sizeof(struct trap_area) <= RECORDS_GPA,
	       "what a trap needs overlaps the records");

static struct trap_area *trap_area(const struct vm *vm)
{
	return (void *)(vm->low + TRAPS_GPA);
}

/* A trap stops its vCPU: the handler pushes an error code if the CPU has not, and halts. */
static void write_handler(uint8_t *handler, unsigned int vector)
{
	enum { PUSH = 0x6a, HLT = 0xf4 };

	if (!(PUSHES_ERROR_CODE >> vector & 1)) {
		*handler++ = PUSH;
		*handler++ = 0;
	}
	*handler++ = PUSH;
	*handler++ = vector;
	*handler = HLT;
}

static void init_traps(struct vm *vm)
{
	struct trap_area *area = trap_area(vm);
	unsigned int vector;

	area->descriptors[CODE_SELECTOR / sizeof(uint64_t)] = CODE_DESCRIPTOR;
	for (vector = 0; vector < VECTORS; vector++) {
		uint64_t handler = TRAPS_GPA +
			offsetof(struct trap_area, handlers[vector]);

		write_handler(area->handlers[vector], vector);
		area->gates[vector] = (struct trap_gate){
			.offset_low = handler,
			.offset_middle = handler >> 16,
			.selector = CODE_SELECTOR,
			.stack = TRAP_STACK,
			.type = INTERRUPT_GATE,
		};
	}
}

static void set_traps(const struct vcpu *vcpu, struct kvm_sregs *sregs)
{
	struct trap_area *area = trap_area(vcpu->vm);
	uint64_t task = TRAPS_GPA + offsetof(struct trap_area, vcpus[vcpu->index].task);

	area->vcpus[vcpu->index].task.trap_stacks[TRAP_STACK - 1] = TRAPS_GPA +
		offsetof(struct trap_area, vcpus[vcpu->index + 1]);
	sregs->gdt.base = TRAPS_GPA + offsetof(struct trap_area, descriptors);
	sregs->gdt.limit = sizeof(area->descriptors) - 1;
	sregs->idt.base = TRAPS_GPA + offsetof(struct trap_area, gates);
	sregs->idt.limit = sizeof(area->gates) - 1;
	sregs->tr = (struct kvm_segment){
		.base = task,
		.limit = sizeof(struct task_state) - 1,
		.type = BUSY_TASK,
		.present = 1,
	};
}

bool arch_vcpu_trapped(struct vcpu *vcpu, char *text, size_t size)
{
	const struct trap_frame *frame;
	struct kvm_sregs sregs;
	struct kvm_regs regs;

	if (vcpu->run->exit_reason != KVM_EXIT_HLT ||
	    ioctl(vcpu->fd, KVM_GET_REGS, &regs) ||
	    ioctl(vcpu->fd, KVM_GET_SREGS, &sregs) ||
	    regs.rsp > RECORDS_GPA - sizeof(*frame))
		return false;
	frame = (void *)(vcpu->vm->low + regs.rsp);
	snprintf(text, size, "exception %" PRIu64 ", error code 0x%" PRIx64 ", RIP 0x%"
		 PRIx64 ", RSP 0x%" PRIx64 ", CR2 0x%llx", frame->vector,
		 frame->error_code, frame->rip, frame->rsp, sregs.cr2);
	return true;
}

static uint64_t *table(struct vm *vm, uint64_t gpa)
{
	return (uint64_t *)(vm->low + gpa);
}

static void map_gib(struct vm *vm, uint64_t directory_gpa, uint64_t gib)
{
	uint64_t *pointers = table(vm, TABLES_GPA + GUEST_PAGE_SIZE);
	uint64_t *directory = table(vm, directory_gpa);
	uint64_t i;

	pointers[gib] = directory_gpa | PTE_PRESENT | PTE_WRITE | PTE_ACCESSED;
	for (i = 0; i < ENTRIES; i++)
		directory[i] = gib << GIB_SHIFT | i * HUGE_BYTES | PTE_PRESENT |
			PTE_WRITE | PTE_ACCESSED | PTE_DIRTY | PTE_HUGE;
}

void arch_vm_init(struct vm *vm)
{
	uint64_t first = SWEPT_GPA >> GIB_SHIFT;
	uint64_t last = (SWEPT_GPA + (vm->memory.pages << GUEST_PAGE_SHIFT) - 1) >>
		GIB_SHIFT;
	uint64_t next = TABLES_GPA + 2 * GUEST_PAGE_SIZE;
	uint64_t gib;

	table(vm, TABLES_GPA)[0] = (TABLES_GPA + GUEST_PAGE_SIZE) | PTE_PRESENT |
		PTE_WRITE | PTE_ACCESSED;
	map_gib(vm, next, 0);
	for (gib = first; gib <= last; gib++) {
		next += GUEST_PAGE_SIZE;
		map_gib(vm, next, gib);
	}
	init_traps(vm);
	/* Intel CPUs without unrestricted guest want it. */
	if (ioctl(vm->fd, KVM_SET_TSS_ADDR, TSS_GPA))
		die("KVM_SET_TSS_ADDR: %s", strerror(errno));
}

static void set_cpuid(struct vcpu *vcpu)
{
	enum { LEAVES = 256 };
	struct kvm_cpuid2 *cpuid;
	int kvm = kvm_open();

	cpuid = xcalloc(1, sizeof(*cpuid) + LEAVES * sizeof(cpuid->entries[0]));
	cpuid->nent = LEAVES;
	if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, cpuid))
		die("KVM_GET_SUPPORTED_CPUID: %s", strerror(errno));
	if (ioctl(vcpu->fd, KVM_SET_CPUID2, cpuid))
		die("KVM_SET_CPUID2: %s", strerror(errno));
	free(cpuid);
	close(kvm);
}

static void set_segment(struct kvm_segment *segment, uint8_t type, bool code)
{
	memset(segment, 0, sizeof(*segment));
	segment->limit = 0xffffffff;
	segment->type = type;
	segment->present = 1;
	segment->s = 1;
	segment->g = 1;
	segment->l = code;
	segment->db = !code;
}

static void set_long_mode(struct vcpu *vcpu)
{
	struct kvm_sregs sregs;

	if (ioctl(vcpu->fd, KVM_GET_SREGS, &sregs))
		die("KVM_GET_SREGS: %s", strerror(errno));
	set_segment(&sregs.cs, 0xb, true);
	set_segment(&sregs.ds, 0x3, false);
	sregs.es = sregs.ds;
	sregs.fs = sregs.ds;
	sregs.gs = sregs.ds;
	sregs.ss = sregs.ds;
	sregs.cs.selector = CODE_SELECTOR;
	set_traps(vcpu, &sregs);
	sregs.cr0 = CR0_PE | CR0_MP | CR0_ET | CR0_NE | CR0_WP | CR0_PG;
	sregs.cr3 = TABLES_GPA;
	sregs.cr4 = CR4_PAE;
	sregs.efer = EFER_LME | EFER_LMA;
	if (ioctl(vcpu->fd, KVM_SET_SREGS, &sregs))
		die("KVM_SET_SREGS: %s", strerror(errno));
}

void arch_vcpu_init(struct vcpu *vcpu)
{
	struct kvm_regs regs = {
		.rip = PAYLOAD_GPA,
		.rsp = STACKS_GPA + (vcpu->index + 1) * STACK_SIZE,
		.rdi = MAILBOX_GPA + vcpu->index * sizeof(struct mailbox),
		.rflags = 2,
	};

	set_cpuid(vcpu);
	set_long_mode(vcpu);
	if (ioctl(vcpu->fd, KVM_SET_REGS, &regs))
		die("KVM_SET_REGS: %s", strerror(errno));
}
