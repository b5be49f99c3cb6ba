/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_COMPAT_MM_H
#define _INVP_COMPAT_MM_H

#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/sched/coredump.h>
#include <linux/userfaultfd_k.h>

/*
 * The kernel only has assertions for this. Exact for a caller that runs under the
 * mmap_lock, whoever of its callers took it: a set writer bit is then its own.
 */
static inline bool invp_mmap_write_locked(struct mm_struct *mm)
{
#ifdef CONFIG_PREEMPT_RT
	return rw_base_is_write_locked(&mm->mmap_lock.rwbase);
#else
	return atomic_long_read(&mm->mmap_lock.count) & RWSEM_WRITER_LOCKED;
#endif
}

/* Unmapped from the VMA tree, as MAP_FIXED leaves what it replaces. */
static inline bool invp_vma_detached(struct vm_area_struct *vma)
{
#ifdef CONFIG_PER_VMA_LOCK
	return vma->detached;
#else
	return false;
#endif
}

static inline bool invp_vma_uffd_protected(struct vm_area_struct *vma)
{
	return userfaultfd_wp(vma);
}

/* As pmd_addr_end(), which is @end where the PMD is folded. */
static inline unsigned long invp_table_end(unsigned long addr, unsigned long end)
{
	unsigned long next = (addr & PMD_MASK) + PMD_SIZE;

	return next - 1 < end - 1 ? next : end;
}

static inline bool invp_mm_oom_reaped(struct mm_struct *mm)
{
	return test_bit(MMF_UNSTABLE, &mm->flags);
}

#endif
