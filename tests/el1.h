/* SPDX-License-Identifier: GPL-2.0-only */
/* Starts arm64 vCPUs at EL1, with caches and a stage 1 of 39 bits in 4 KiB granules. */
#ifndef EL1_H
#define EL1_H

#include <linux/kvm.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

/* Arm ARM, D8.3: descriptors. Blocks are normal memory, inner shareable, for EL1 only. */
#define EL1_TABLE	3ULL
#define EL1_BLOCK	(1ULL | 3ULL << 8 | 1ULL << 10)

/* Arm ARM, D19.2. Attribute 0 is write-back, read and write allocate. */
#define EL1_MAIR	0xffULL
#define EL1_SCTLR_ON	(1ULL << 0 | 1ULL << 2 | 1ULL << 12)	/* M, C, I */
#define EL1_TCR		(25ULL | 1ULL << 8 | 1ULL << 10 | 3ULL << 12 | 1ULL << 23 | 1ULL << 32)
#define EL1H_MASKED	0x3c5ULL

#define EL1_CORE(member) \
	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(member))
#define EL1_SCTLR_REG	ARM64_SYS_REG(3, 0, 1, 0, 0)
#define EL1_TTBR0_REG	ARM64_SYS_REG(3, 0, 2, 0, 0)
#define EL1_TCR_REG	ARM64_SYS_REG(3, 0, 2, 0, 2)
#define EL1_ESR_REG	ARM64_SYS_REG(3, 0, 5, 2, 0)
#define EL1_FAR_REG	ARM64_SYS_REG(3, 0, 6, 0, 0)
#define EL1_MAIR_REG	ARM64_SYS_REG(3, 0, 10, 2, 0)

struct el1_start {
	uint64_t pc;
	uint64_t sp;
	uint64_t argument;
	/* Of the table of level 1, where an entry stands for 1 GiB. */
	uint64_t tables;
};

static inline int el1_get(int vcpu, uint64_t id, uint64_t *value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (uintptr_t)value };

	return ioctl(vcpu, KVM_GET_ONE_REG, &reg);
}

static inline int el1_set(int vcpu, uint64_t id, uint64_t value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (uintptr_t)&value };

	return ioctl(vcpu, KVM_SET_ONE_REG, &reg);
}

/* 0, or -1 with errno. */
static inline int el1_init_vcpu(int vm, int vcpu, const struct el1_start *start)
{
	struct kvm_vcpu_init init;
	uint64_t sctlr;

	return ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init) ||
	       ioctl(vcpu, KVM_ARM_VCPU_INIT, &init) ||
	       el1_set(vcpu, EL1_MAIR_REG, EL1_MAIR) ||
	       el1_set(vcpu, EL1_TCR_REG, EL1_TCR) ||
	       el1_set(vcpu, EL1_TTBR0_REG, start->tables) ||
	       el1_get(vcpu, EL1_SCTLR_REG, &sctlr) ||
	       el1_set(vcpu, EL1_SCTLR_REG, sctlr | EL1_SCTLR_ON) ||
	       el1_set(vcpu, EL1_CORE(regs.pstate), EL1H_MASKED) ||
	       el1_set(vcpu, EL1_CORE(regs.pc), start->pc) ||
	       el1_set(vcpu, EL1_CORE(sp_el1), start->sp) ||
	       el1_set(vcpu, EL1_CORE(regs.regs[0]), start->argument) ? -1 : 0;
}

#endif
