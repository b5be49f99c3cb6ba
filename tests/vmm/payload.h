/* SPDX-License-Identifier: GPL-2.0-only */
/* What an architecture has to offer: the image and the start of a vCPU. */
#ifndef VMM_PAYLOAD_H
#define VMM_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>

struct vm;
struct vcpu;

extern const char payload_image[];
extern const char payload_image_end[];

/* Called once slot 0 is mapped: page tables and the like. */
void arch_vm_init(struct vm *vm);

/* Points the vCPU at PAYLOAD_GPA, its mailbox in the first argument register. */
void arch_vcpu_init(struct vcpu *vcpu);

/*
 * KVM's statistics of a vCPU that are worth telling here, by their names; the rest is NULL.
 */
#define ARCH_VCPU_COUNTERS	2
extern const char * const arch_vcpu_counters[ARCH_VCPU_COUNTERS];

/*
 * The payload does nothing that traps. Whether the vCPU has stopped because it did all
 * the same: text then says how.
 */
bool arch_vcpu_trapped(struct vcpu *vcpu, char *text, size_t size);

#endif
