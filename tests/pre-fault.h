/* SPDX-License-Identifier: GPL-2.0-only */
/* KVM_PRE_FAULT_MEMORY is newer than the headers of Debian 12: include/uapi/linux/kvm.h. */
#ifndef TESTS_PRE_FAULT_H
#define TESTS_PRE_FAULT_H

#include <linux/kvm.h>

#ifndef KVM_PRE_FAULT_MEMORY
struct kvm_pre_fault_memory {
	__u64 gpa;
	__u64 size;
	__u64 flags;
	__u64 padding[5];
};

#define KVM_PRE_FAULT_MEMORY	_IOWR(KVMIO, 0xd5, struct kvm_pre_fault_memory)
#endif

#endif
