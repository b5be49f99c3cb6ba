/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * User interface of kvm_invpolicy, the alternate invalidation policy for KVM.
 *
 * Open /dev/kvm-invpolicy and use the calls below. Whoever holds a VM file
 * descriptor (KVM_CREATE_VM) has the right to set the policy of that VM.
 *
 * Every structure begins with @size, which the caller sets to sizeof() of the
 * structure it was compiled with, and @flags. A newer module accepts a shorter
 * structure and reads what is missing as zero; an older module accepts a longer
 * one if all that it does not know is zero, and answers E2BIG otherwise.
 * Unknown flags and non-zero reserved fields are EINVAL.
 *
 * A policy stays with its VM until it is detached or the VM is destroyed; it
 * does not depend on the descriptor or the process that attached it. An
 * observation belongs to the descriptor that asked for it and ends with it.
 *
 * Errors that every call with a @vm_fd shares:
 *   EBADF        @vm_fd is not an open file
 *   ENXIO        @vm_fd is open but is not a VM
 *   EFAULT       the argument cannot be read or written
 */
#ifndef _UAPI_LINUX_KVM_INVPOLICY_H
#define _UAPI_LINUX_KVM_INVPOLICY_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Raised when a call changes its meaning; additions do not raise it. */
#define KVM_INVPOLICY_ABI	1

#define KVM_INVPOLICY_DEVICE	"/dev/kvm-invpolicy"

/**
 * enum kvm_invpolicy_numa - what KVM does when NUMA balancing protects memory
 * @KVM_INVPOLICY_NUMA_UNSPEC: attach: the module's default; update: no change
 * @KVM_INVPOLICY_NUMA_KVM: KVM's own behaviour, every announced page is unmapped
 * @KVM_INVPOLICY_NUMA_SKIP: nothing is unmapped; the guest is not disturbed, and
 *	the placement of its memory no longer follows its accesses
 * @KVM_INVPOLICY_NUMA_PRECISE: at the end of the event only those pages that the host
 *	really protected, and that can migrate, are unmapped, with one flush
 * @KVM_INVPOLICY_NUMA_PACED: the same pages, but from a worker, through a token bucket:
 *	the guest faults in again what the rate allows, and the placement of its memory
 *	still follows its accesses
 * @__KVM_INVPOLICY_NUMA_END: internal
 */
enum kvm_invpolicy_numa {
	KVM_INVPOLICY_NUMA_UNSPEC,
	KVM_INVPOLICY_NUMA_KVM,
	KVM_INVPOLICY_NUMA_SKIP,
	KVM_INVPOLICY_NUMA_PRECISE,
	KVM_INVPOLICY_NUMA_PACED,
	/* add new values above this line */
	__KVM_INVPOLICY_NUMA_END
};

/**
 * enum kvm_invpolicy_reason - why the host changed its mappings
 * @KVM_INVPOLICY_REASON_NUMA: automatic NUMA balancing collects access hints
 * @KVM_INVPOLICY_REASON_UNMAP: munmap, brk or a mapping replaced by MAP_FIXED
 * @KVM_INVPOLICY_REASON_EXIT: the process exits or is reaped after an OOM kill; with
 *	KVM_INVPOLICY_EXIT_FAST also what its threads do after a fatal signal
 * @KVM_INVPOLICY_REASON_OTHER: everything else and everything in doubt
 * @__KVM_INVPOLICY_REASON_END: internal
 */
enum kvm_invpolicy_reason {
	KVM_INVPOLICY_REASON_NUMA,
	KVM_INVPOLICY_REASON_UNMAP,
	KVM_INVPOLICY_REASON_EXIT,
	KVM_INVPOLICY_REASON_OTHER,
	/* add new values above this line */
	__KVM_INVPOLICY_REASON_END
};

/* Room for reasons to come; entries past the known ones are zero. */
#define KVM_INVPOLICY_NR_REASONS	8

/**
 * enum kvm_invpolicy_flush - how KVM flushes what an event makes it unmap
 * @KVM_INVPOLICY_FLUSH_UNSPEC: attach: the module's default; update: no change
 * @KVM_INVPOLICY_FLUSH_KVM: KVM's own behaviour, on some processors page by page
 * @KVM_INVPOLICY_FLUSH_COALESCE: all pages are unmapped first; then all TLB entries of the
 *	VM are flushed at once, before mmu_lock is dropped and before the event goes on
 * @__KVM_INVPOLICY_FLUSH_END: internal
 */
enum kvm_invpolicy_flush {
	KVM_INVPOLICY_FLUSH_UNSPEC,
	KVM_INVPOLICY_FLUSH_KVM,
	KVM_INVPOLICY_FLUSH_COALESCE,
	/* add new values above this line */
	__KVM_INVPOLICY_FLUSH_END
};

/**
 * enum kvm_invpolicy_exit - what KVM does when all who have the VM's memory are dying
 * @KVM_INVPOLICY_EXIT_UNSPEC: attach: the module's default; update: no change
 * @KVM_INVPOLICY_EXIT_KVM: KVM's own behaviour, each event is handled by itself
 * @KVM_INVPOLICY_EXIT_FAST: at the first event the VM is retired, as by
 *	KVM_INVPOLICY_TEARDOWN, so that the others cost nothing
 * @__KVM_INVPOLICY_EXIT_END: internal
 */
enum kvm_invpolicy_exit {
	KVM_INVPOLICY_EXIT_UNSPEC,
	KVM_INVPOLICY_EXIT_KVM,
	KVM_INVPOLICY_EXIT_FAST,
	/* add new values above this line */
	__KVM_INVPOLICY_EXIT_END
};

/* A guest that may lose 64 GiB a second needs no pace. */
#define KVM_INVPOLICY_NUMA_PACE_MBPS_MAX	65536

/* 4 GiB in pages of 4 KiB: where even that is left to KVM, nothing need be coalesced. */
#define KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX	1048576

/**
 * struct kvm_invpolicy_settings - what to do, by reason
 * @numa: one of &enum kvm_invpolicy_numa
 * @numa_pace_mbps: MiB per second that KVM_INVPOLICY_NUMA_PACED may unmap at most, 1 to
 *	KVM_INVPOLICY_NUMA_PACE_MBPS_MAX; zero: attach: the module's default; update: no
 *	change. Kept, and without effect, while @numa is another mode
 * @unmap: one of &enum kvm_invpolicy_flush, for events of KVM_INVPOLICY_REASON_UNMAP
 * @other: the same for events of KVM_INVPOLICY_REASON_OTHER
 * @coalesce_min_pages: pages (of the host's smallest size) that an event must announce for
 *	KVM_INVPOLICY_FLUSH_COALESCE, 1 to KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX; smaller ones
 *	are left to KVM; zero: attach: the module's default; update: no change. Kept, and
 *	without effect, while neither @unmap nor @other is KVM_INVPOLICY_FLUSH_COALESCE
 * @exit: one of &enum kvm_invpolicy_exit
 * @reserved: zero
 */
struct kvm_invpolicy_settings {
	__u32 numa;
	__u32 numa_pace_mbps;
	__u32 unmap;
	__u32 other;
	__u32 coalesce_min_pages;
	__u32 exit;
	__u32 reserved[2];
};

/**
 * struct kvm_invpolicy_counter - events of one reason
 * @events: number of events; the end of the process's memory is one of them
 * @bytes: sum of the lengths of the announced ranges
 */
struct kvm_invpolicy_counter {
	__u64 events;
	__u64 bytes;
};

/**
 * struct kvm_invpolicy_info - KVM_INVPOLICY_GET_INFO: what module and kernel can do
 * @size: sizeof(struct kvm_invpolicy_info)
 * @flags: zero
 * @abi: KVM_INVPOLICY_ABI of the module
 * @hook_version: version of the hooks in KVM; zero: KVM has none, or the module
 *	was loaded with observe_only=1, and VMs can only be observed
 * @numa_modes: bit n is set if value n of &enum kvm_invpolicy_numa can be attached
 * @attached: number of VMs that have a policy
 * @defaults: what a VM that is attached gets for each setting that is zero; an older
 *	module leaves those zero that it does not know
 * @auto_attach: one if VMs are attached when they are created
 * @unmap_modes: bit n is set if value n of &enum kvm_invpolicy_flush can be attached as
 *	@unmap of the settings; zero with an older module
 * @other_modes: the same for @other
 * @exit_modes: bit n is set if value n of &enum kvm_invpolicy_exit can be attached; zero
 *	with an older module, which has no KVM_INVPOLICY_TEARDOWN either
 * @reserved: zero
 * @version: version of the module, a NUL-terminated string
 */
struct kvm_invpolicy_info {
	__u32 size;
	__u32 flags;
	__u32 abi;
	__u32 hook_version;
	__u32 numa_modes;
	__u32 attached;
	struct kvm_invpolicy_settings defaults;
	__u32 auto_attach;
	__u32 unmap_modes;
	__u32 other_modes;
	__u32 exit_modes;
	__u32 reserved[2];
	char version[32];
};

/**
 * struct kvm_invpolicy_vm - KVM_INVPOLICY_ATTACH, _UPDATE, _DETACH, _OBSERVE and _TEARDOWN
 * @size: sizeof(struct kvm_invpolicy_vm)
 * @flags: zero
 * @vm_fd: the VM
 * @reserved: zero
 * @settings: attach and update only; zero for the others
 *
 * ATTACH: EEXIST if the VM has a policy, EOPNOTSUPP if KVM has no hooks, EPERM if
 * the VM has private or encrypted memory, ESRCH if the VM's process is gone, EINTR
 * on a signal, EINVAL for a bad setting.
 * UPDATE, DETACH: ENOENT if the VM has no policy.
 * TEARDOWN: ends the VM for good, as a VMM may want that is about to unmap its memory: its
 * vCPUs leave the guest, KVM_RUN and most calls to KVM fail with EIO from now on, all of its
 * memory is unmapped from the guest, and later changes of the host's mappings cost KVM
 * nothing. The contents stay with the process. Not to be undone; a second call finds
 * nothing to do. ENOENT if the VM has no policy; EPERM as for ATTACH.
 * OBSERVE: begins to count the events of the VM's process for this descriptor, or,
 * if it observes that VM already, reads the VM's memslots anew and goes on
 * counting. EBUSY if the descriptor observes another VM; one that takes an ended VM's
 * place in the same process may pass for it. ESRCH and EINTR as above, for the first
 * call.
 */
struct kvm_invpolicy_vm {
	__u32 size;
	__u32 flags;
	__s32 vm_fd;
	__u32 reserved;
	struct kvm_invpolicy_settings settings;
};

/* The VM observed by this descriptor, in place of the policy of @vm_fd. */
#define KVM_INVPOLICY_STATS_OBSERVED	(1U << 0)

/**
 * struct kvm_invpolicy_stats - KVM_INVPOLICY_GET_STATS: counters since attach or observe
 * @size: sizeof(struct kvm_invpolicy_stats)
 * @flags: KVM_INVPOLICY_STATS_OBSERVED or zero
 * @vm_fd: the VM; with KVM_INVPOLICY_STATS_OBSERVED it must be -1
 * @reserved: zero
 * @settings: the settings in force; zero when observed
 * @reason: by &enum kvm_invpolicy_reason
 * @numa_elided: NUMA events that KVM was told to ignore
 * @numa_untracked: NUMA events that KVM handled its own way although the policy
 *	was to ignore them, because too many were under way at once
 * @numa_guest_pages: observed only: pages of guest memory (by the memslots of the
 *	VM) that NUMA events announced: at most this is what KVM unmaps for them
 * @ended: one if the VM's process has exited
 * @reserved2: zero
 * @numa_pages_protected: pages that the host had made PROT_NONE where NUMA events
 *	announced them
 * @numa_pages_pinned: of these, pages that were spared because they may be pinned for DMA
 *	and so cannot migrate
 * @numa_pages_placed: of these, pages that were spared because they are already on the only
 *	node on which the vCPUs may run or, with KVM_INVPOLICY_NUMA_PACED, because hints have
 *	moved them lately or would not, or because they wait for the guest to take one
 * @numa_pages_unmapped: pages of the runs that KVM had mapped and unmapped
 * @numa_pages_migrated: pages that moved (were cleared) after a hint that the worker gave
 * @numa_runs: runs of pages, merged from neighbours, that KVM was told to unmap
 * @numa_flushes: remote TLB flushes for them
 * @numa_rounds: rounds of the worker
 * @numa_pace_rate: bytes per second that the worker may unmap now
 * @numa_pace_tokens: bytes that the worker may unmap at once
 * @numa_pace_waiting: bytes announced that the worker has not handled yet
 * @coalesced_events: events whose flushes KVM was told to coalesce
 * @coalesced_pages: pages that KVM had mapped and unmapped for them
 * @coalesced_flushes: flushes of the VM's TLBs for them
 * @retired_pages: pages that were still mapped when the VM was retired
 * @retired_flushes: flushes of the VM's TLBs for them
 * @retired: one if the VM was retired: KVM tells the policy of no event any more
 * @reserved3: zero
 *
 * From @numa_pages_protected to @numa_pace_waiting all is zero unless @settings have been
 * KVM_INVPOLICY_NUMA_PRECISE or KVM_INVPOLICY_NUMA_PACED; @numa_pages_migrated, and all from
 * @numa_rounds to @numa_pace_waiting, unless KVM_INVPOLICY_NUMA_PACED. From
 * @coalesced_events to @coalesced_flushes all is zero unless KVM_INVPOLICY_FLUSH_COALESCE or
 * KVM_INVPOLICY_EXIT_FAST.
 *
 * ENOENT if the VM has no policy, or nothing is observed.
 */
struct kvm_invpolicy_stats {
	__u32 size;
	__u32 flags;
	__s32 vm_fd;
	__u32 reserved;
	struct kvm_invpolicy_settings settings;
	struct kvm_invpolicy_counter reason[KVM_INVPOLICY_NR_REASONS];
	__u64 numa_elided;
	__u64 numa_untracked;
	__u64 numa_guest_pages;
	__u32 ended;
	__u32 reserved2;
	__u64 numa_pages_protected;
	__u64 numa_pages_pinned;
	__u64 numa_pages_placed;
	__u64 numa_pages_unmapped;
	__u64 numa_pages_migrated;
	__u64 numa_runs;
	__u64 numa_flushes;
	__u64 numa_rounds;
	__u64 numa_pace_rate;
	__u64 numa_pace_tokens;
	__u64 numa_pace_waiting;
	__u64 coalesced_events;
	__u64 coalesced_pages;
	__u64 coalesced_flushes;
	__u64 retired_pages;
	__u64 retired_flushes;
	__u32 retired;
	__u32 reserved3;
};

/**
 * struct kvm_invpolicy_list_entry - one VM that has a policy
 * @id: number of the policy, unique as long as the module is loaded
 * @pid: process that created the VM, as the initial PID namespace numbers it
 * @reserved: zero
 * @settings: the settings in force
 */
struct kvm_invpolicy_list_entry {
	__u64 id;
	__s32 pid;
	__u32 reserved;
	struct kvm_invpolicy_settings settings;
};

/**
 * struct kvm_invpolicy_list - KVM_INVPOLICY_LIST: the VMs that have a policy
 * @size: sizeof(struct kvm_invpolicy_list)
 * @flags: zero
 * @capacity: in: entries that fit at @entries
 * @count: out: VMs that have a policy; only the first @capacity were written, the
 *	oldest first
 * @entries: address of an array of struct kvm_invpolicy_list_entry
 */
struct kvm_invpolicy_list {
	__u32 size;
	__u32 flags;
	__u32 capacity;
	__u32 count;
	__u64 entries;
};

/* The numbers carry no size: @size does, so that they survive growth. */
#define KVM_INVPOLICY_IOC	0xbe

#define KVM_INVPOLICY_GET_INFO	_IO(KVM_INVPOLICY_IOC, 0x00)
#define KVM_INVPOLICY_ATTACH	_IO(KVM_INVPOLICY_IOC, 0x01)
#define KVM_INVPOLICY_UPDATE	_IO(KVM_INVPOLICY_IOC, 0x02)
#define KVM_INVPOLICY_DETACH	_IO(KVM_INVPOLICY_IOC, 0x03)
#define KVM_INVPOLICY_GET_STATS	_IO(KVM_INVPOLICY_IOC, 0x04)
#define KVM_INVPOLICY_LIST	_IO(KVM_INVPOLICY_IOC, 0x05)
#define KVM_INVPOLICY_OBSERVE	_IO(KVM_INVPOLICY_IOC, 0x06)
#define KVM_INVPOLICY_TEARDOWN	_IO(KVM_INVPOLICY_IOC, 0x07)

#endif /* _UAPI_LINUX_KVM_INVPOLICY_H */
