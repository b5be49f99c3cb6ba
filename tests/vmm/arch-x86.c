// SPDX-License-Identifier: GPL-2.0-only
/* Starts vCPUs in 64-bit mode on an identity map of 2 MiB pages. */
#include <errno.h>
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
