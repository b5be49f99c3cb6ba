// SPDX-License-Identifier: GPL-2.0-only
/* Why the host invalidates a range: read off the range and off what its sender locked. */
#include <linux/hugetlb.h>
#include <linux/mmu_notifier.h>

#include "compat/mm.h"
#include "reason.h"

/*
 * mprotect() sends the same event with the mmap_lock held for write. The others that
 * send it under the read lock, UFFDIO_WRITEPROTECT and PAGEMAP_SCAN, change only VMAs
 * with userfaultfd write protection; a PAGEMAP_SCAN may begin in another VMA, hence the
 * test of the whole range (mm/mprotect.c, mm/userfaultfd.c, fs/proc/task_mmu.c).
 */
static bool is_numa_hint(const struct mmu_notifier_range *range)
{
	struct mm_struct *mm = range->mm;
	struct vm_area_struct *vma;

	if (range->event != MMU_NOTIFY_PROTECTION_VMA ||
	    !mmu_notifier_range_blockable(range) ||
	    current->mm != mm || invp_mmap_write_locked(mm))
		return false;

	vma = find_vma(mm, range->start);
	return vma && vma->vm_start <= range->start && range->end <= vma->vm_end &&
	       !is_vm_hugetlb_page(vma) && !invp_vma_uffd_protected(vma);
}

/*
 * munmap() takes the VMA out of the tree before it sends the event, MAP_FIXED marks it
 * detached; mremap() leaves it in place, and the contents survive (mm/vma.c,
 * mm/mremap.c). All senders hold the mmap_lock.
 */
static bool is_unmap(const struct mmu_notifier_range *range)
{
	struct vm_area_struct *vma;

	if (range->event != MMU_NOTIFY_UNMAP)
		return false;

	vma = find_vma_intersection(range->mm, range->start, range->end);
	return !vma || invp_vma_detached(vma);
}

/**
 * invp_reason() - why the host invalidates a range
 * @range: as passed to an MMU notifier
 *
 * Whatever cannot be told for certain is KVM_INVPOLICY_REASON_OTHER.
 *
 * Context: range_start of an MMU notifier, that is, in the task that sends the event and
 * under the locks that it holds. Does not sleep.
 * Return: the reason.
 */
enum kvm_invpolicy_reason invp_reason(const struct mmu_notifier_range *range)
{
	if (invp_mm_oom_reaped(range->mm))
		return KVM_INVPOLICY_REASON_EXIT;
	if (is_numa_hint(range))
		return KVM_INVPOLICY_REASON_NUMA;
	if (is_unmap(range))
		return KVM_INVPOLICY_REASON_UNMAP;
	return KVM_INVPOLICY_REASON_OTHER;
}
