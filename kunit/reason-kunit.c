// SPDX-License-Identifier: GPL-2.0-only
/* Reasons of ranges that no sender has sent, in a real mm. */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>

#include "exiting.h"
#include "reason.h"

/* What reason_init() maps, in pages: two VMAs that touch, a hole, a VMA, a hole. */
enum {
	WRITABLE = 0,
	READ_ONLY = 4,
	HOLE = 6,
	LAST = 8,
	LAST_HOLE = 10,
	END = 12,
};

static const char *const event_names[] = {
	[MMU_NOTIFY_UNMAP] = "UNMAP",
	[MMU_NOTIFY_CLEAR] = "CLEAR",
	[MMU_NOTIFY_PROTECTION_VMA] = "PROTECTION_VMA",
	[MMU_NOTIFY_PROTECTION_PAGE] = "PROTECTION_PAGE",
	[MMU_NOTIFY_SOFT_DIRTY] = "SOFT_DIRTY",
	[MMU_NOTIFY_RELEASE] = "RELEASE",
	[MMU_NOTIFY_MIGRATE] = "MIGRATE",
	[MMU_NOTIFY_EXCLUSIVE] = "EXCLUSIVE",
};

struct reason_mm {
	struct mm_struct *mm;
	unsigned long addr;
};

static int reason_init(struct kunit *test)
{
	struct reason_mm *user = kunit_kzalloc(test, sizeof(*user), GFP_KERNEL);
	unsigned long addr, read_only;

	KUNIT_ASSERT_NOT_NULL(test, user);
	addr = kunit_vm_mmap(test, NULL, 0, END * PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_FALSE(test, !addr || IS_ERR_VALUE(addr));

	read_only = vm_mmap(NULL, addr + READ_ONLY * PAGE_SIZE, (HOLE - READ_ONLY) * PAGE_SIZE,
			    PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0);
	KUNIT_ASSERT_EQ(test, read_only, addr + READ_ONLY * PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr + HOLE * PAGE_SIZE, (LAST - HOLE) * PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr + LAST_HOLE * PAGE_SIZE,
					   (END - LAST_HOLE) * PAGE_SIZE));
	user->mm = current->mm;
	user->addr = addr;
	test->priv = user;
	return 0;
}

static struct mmu_notifier_range range_of(const struct reason_mm *user,
					  enum mmu_notifier_event event, int start, int end)
{
	struct mmu_notifier_range range;

	mmu_notifier_range_init(&range, event, MMU_NOTIFIER_RANGE_BLOCKABLE, user->mm,
				user->addr + start * PAGE_SIZE, user->addr + end * PAGE_SIZE);
	return range;
}

static enum kvm_invpolicy_reason reason_read_locked(const struct mmu_notifier_range *range)
{
	enum kvm_invpolicy_reason reason;

	mmap_read_lock(range->mm);
	reason = invp_reason(range);
	mmap_read_unlock(range->mm);
	return reason;
}

static enum kvm_invpolicy_reason reason_write_locked(const struct mmu_notifier_range *range)
{
	enum kvm_invpolicy_reason reason;

	mmap_write_lock(range->mm);
	reason = invp_reason(range);
	mmap_write_unlock(range->mm);
	return reason;
}

static enum kvm_invpolicy_reason reason_downgraded(const struct mmu_notifier_range *range)
{
	enum kvm_invpolicy_reason reason;

	mmap_write_lock(range->mm);
	mmap_write_downgrade(range->mm);
	reason = invp_reason(range);
	mmap_read_unlock(range->mm);
	return reason;
}

struct span_case {
	const char *name;
	int start;
	int end;
	enum kvm_invpolicy_reason reason;
};

static void describe_span(const struct span_case *param, char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

static const struct span_case numa_spans[] = {
	{ "inside a VMA", WRITABLE + 1, WRITABLE + 2, KVM_INVPOLICY_REASON_NUMA },
	{ "whole VMA", WRITABLE, READ_ONLY, KVM_INVPOLICY_REASON_NUMA },
	{ "first page of a VMA", WRITABLE, WRITABLE + 1, KVM_INVPOLICY_REASON_NUMA },
	{ "last page of a VMA", READ_ONLY - 1, READ_ONLY, KVM_INVPOLICY_REASON_NUMA },
	{ "whole VMA before a hole", READ_ONLY, HOLE, KVM_INVPOLICY_REASON_NUMA },
	{ "whole VMA after a hole", LAST, LAST_HOLE, KVM_INVPOLICY_REASON_NUMA },
	{ "a page into the next VMA", WRITABLE, READ_ONLY + 1, KVM_INVPOLICY_REASON_OTHER },
	{ "two VMAs", WRITABLE, HOLE, KVM_INVPOLICY_REASON_OTHER },
	{ "a page into the hole", READ_ONLY, HOLE + 1, KVM_INVPOLICY_REASON_OTHER },
	{ "a page of hole, then a VMA", LAST - 1, LAST_HOLE, KVM_INVPOLICY_REASON_OTHER },
	{ "hole", HOLE, LAST, KVM_INVPOLICY_REASON_OTHER },
	{ "hole between two VMAs", READ_ONLY, LAST_HOLE, KVM_INVPOLICY_REASON_OTHER },
	{ "a page into the last hole", LAST, LAST_HOLE + 1, KVM_INVPOLICY_REASON_OTHER },
	{ "last hole", LAST_HOLE, END, KVM_INVPOLICY_REASON_OTHER },
};

KUNIT_ARRAY_PARAM(numa_span, numa_spans, describe_span);

static void numa_needs_one_vma(struct kunit *test)
{
	const struct span_case *param = test->param_value;
	struct mmu_notifier_range range = range_of(test->priv, MMU_NOTIFY_PROTECTION_VMA,
						   param->start, param->end);

	KUNIT_EXPECT_EQ(test, reason_read_locked(&range), param->reason);
}

static void numa_needs_the_read_lock(struct kunit *test)
{
	struct mmu_notifier_range range = range_of(test->priv, MMU_NOTIFY_PROTECTION_VMA,
						   WRITABLE, READ_ONLY);

	KUNIT_EXPECT_EQ(test, reason_write_locked(&range), KVM_INVPOLICY_REASON_OTHER);
	KUNIT_EXPECT_EQ(test, reason_downgraded(&range), KVM_INVPOLICY_REASON_NUMA);
}

static void numa_needs_a_blockable_range(struct kunit *test)
{
	struct mmu_notifier_range range = range_of(test->priv, MMU_NOTIFY_PROTECTION_VMA,
						   WRITABLE, READ_ONLY);

	range.flags = 0;
	KUNIT_EXPECT_EQ(test, reason_read_locked(&range), KVM_INVPOLICY_REASON_OTHER);
}

static void numa_needs_the_task_of_the_mm(struct kunit *test)
{
	struct mmu_notifier_range range = range_of(test->priv, MMU_NOTIFY_PROTECTION_VMA,
						   WRITABLE, READ_ONLY);
	struct mm_struct *other = mm_alloc();
	enum kvm_invpolicy_reason reason;

	KUNIT_ASSERT_NOT_NULL(test, other);
	kthread_unuse_mm(range.mm);
	kthread_use_mm(other);
	reason = reason_read_locked(&range);
	kthread_unuse_mm(other);
	kthread_use_mm(range.mm);
	mmput(other);
	KUNIT_EXPECT_EQ(test, reason, KVM_INVPOLICY_REASON_OTHER);
}

struct vm_flag_case {
	const char *name;
	vm_flags_t flag;
	enum kvm_invpolicy_reason reason;
};

static const struct vm_flag_case vm_flag_cases[] = {
	{ "userfaultfd write-protect", VM_UFFD_WP, KVM_INVPOLICY_REASON_OTHER },
	{ "userfaultfd missing", VM_UFFD_MISSING, KVM_INVPOLICY_REASON_NUMA },
	{ "hugetlb", VM_HUGETLB, KVM_INVPOLICY_REASON_OTHER },
	{ "locked", VM_LOCKED, KVM_INVPOLICY_REASON_NUMA },
};

static void describe_vm_flag(const struct vm_flag_case *param, char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(vm_flag, vm_flag_cases, describe_vm_flag);

static void numa_depends_on_vm_flags(struct kunit *test)
{
	const struct vm_flag_case *param = test->param_value;
	struct mmu_notifier_range range = range_of(test->priv, MMU_NOTIFY_PROTECTION_VMA,
						   WRITABLE, READ_ONLY);
	enum kvm_invpolicy_reason reason;
	struct vm_area_struct *vma;

	mmap_write_lock(range.mm);
	vma = find_vma(range.mm, range.start);
	vm_flags_set(vma, param->flag);
	mmap_write_downgrade(range.mm);
	reason = invp_reason(&range);
	mmap_read_unlock(range.mm);

	mmap_write_lock(range.mm);
	vm_flags_clear(vma, param->flag);
	mmap_write_unlock(range.mm);
	KUNIT_EXPECT_EQ(test, reason, param->reason);
}

static const struct span_case unmap_spans[] = {
	{ "hole", HOLE, LAST, KVM_INVPOLICY_REASON_UNMAP },
	{ "a page of a hole", HOLE + 1, LAST, KVM_INVPOLICY_REASON_UNMAP },
	{ "inside a VMA", WRITABLE + 1, WRITABLE + 2, KVM_INVPOLICY_REASON_OTHER },
	{ "whole VMA", WRITABLE, READ_ONLY, KVM_INVPOLICY_REASON_OTHER },
	{ "two VMAs", WRITABLE, HOLE, KVM_INVPOLICY_REASON_OTHER },
	{ "last page of a VMA, then a hole", HOLE - 1, LAST, KVM_INVPOLICY_REASON_OTHER },
	{ "hole, then first page of a VMA", HOLE, LAST + 1, KVM_INVPOLICY_REASON_OTHER },
};

KUNIT_ARRAY_PARAM(unmap_span, unmap_spans, describe_span);

static void unmap_needs_a_hole(struct kunit *test)
{
	const struct span_case *param = test->param_value;
	struct mmu_notifier_range range = range_of(test->priv, MMU_NOTIFY_UNMAP,
						   param->start, param->end);

	KUNIT_EXPECT_EQ(test, reason_write_locked(&range), param->reason);
	KUNIT_EXPECT_EQ(test, reason_downgraded(&range), param->reason);
	range.flags = 0;
	KUNIT_EXPECT_EQ(test, reason_read_locked(&range), param->reason);
}

static void unmap_of_a_detached_vma(struct kunit *test)
{
	struct mmu_notifier_range range = range_of(test->priv, MMU_NOTIFY_UNMAP,
						   WRITABLE, READ_ONLY);
	enum kvm_invpolicy_reason detached, attached;
	struct vm_area_struct *vma;

	mmap_write_lock(range.mm);
	vma = find_vma(range.mm, range.start);
	vma_start_write(vma);
	vma_mark_detached(vma, true);
	detached = invp_reason(&range);
	vma_mark_detached(vma, false);
	attached = invp_reason(&range);
	mmap_write_unlock(range.mm);

	KUNIT_EXPECT_EQ(test, detached, KVM_INVPOLICY_REASON_UNMAP);
	KUNIT_EXPECT_EQ(test, attached, KVM_INVPOLICY_REASON_OTHER);
}

static const enum mmu_notifier_event all_events[] = {
	MMU_NOTIFY_UNMAP, MMU_NOTIFY_CLEAR, MMU_NOTIFY_PROTECTION_VMA, MMU_NOTIFY_PROTECTION_PAGE,
	MMU_NOTIFY_SOFT_DIRTY, MMU_NOTIFY_RELEASE, MMU_NOTIFY_MIGRATE, MMU_NOTIFY_EXCLUSIVE,
};

static const enum mmu_notifier_event other_events[] = {
	MMU_NOTIFY_CLEAR, MMU_NOTIFY_PROTECTION_PAGE, MMU_NOTIFY_SOFT_DIRTY,
	MMU_NOTIFY_RELEASE, MMU_NOTIFY_MIGRATE, MMU_NOTIFY_EXCLUSIVE,
};

static void describe_event(const enum mmu_notifier_event *event, char *desc)
{
	strscpy(desc, event_names[*event], KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(any_event, all_events, describe_event);
KUNIT_ARRAY_PARAM(other_event, other_events, describe_event);

static enum mmu_notifier_event event_of(struct kunit *test)
{
	const enum mmu_notifier_event *event = test->param_value;

	return *event;
}

static void everything_else_is_other(struct kunit *test)
{
	struct mmu_notifier_range range;
	int i;

	for (i = 0; i < ARRAY_SIZE(numa_spans); i++) {
		range = range_of(test->priv, event_of(test), numa_spans[i].start,
				 numa_spans[i].end);
		KUNIT_EXPECT_EQ(test, reason_read_locked(&range), KVM_INVPOLICY_REASON_OTHER);
		KUNIT_EXPECT_EQ(test, reason_write_locked(&range), KVM_INVPOLICY_REASON_OTHER);
	}
}

/* Reclaim, KSM and truncation hold other locks. */
static void other_needs_no_lock(struct kunit *test)
{
	struct mmu_notifier_range range = range_of(test->priv, event_of(test),
						   WRITABLE, READ_ONLY);

	KUNIT_EXPECT_EQ(test, invp_reason(&range), KVM_INVPOLICY_REASON_OTHER);
}

static void exit_when_reaped(struct kunit *test)
{
	struct mmu_notifier_range vma = range_of(test->priv, event_of(test), WRITABLE, READ_ONLY);
	struct mmu_notifier_range hole = range_of(test->priv, event_of(test), HOLE, LAST);
	struct reason_mm *user = test->priv;

	set_bit(MMF_UNSTABLE, &user->mm->flags);
	KUNIT_EXPECT_EQ(test, reason_read_locked(&vma), KVM_INVPOLICY_REASON_EXIT);
	KUNIT_EXPECT_EQ(test, reason_read_locked(&hole), KVM_INVPOLICY_REASON_EXIT);
	kthread_unuse_mm(user->mm);
	KUNIT_EXPECT_EQ(test, reason_read_locked(&vma), KVM_INVPOLICY_REASON_EXIT);
	kthread_use_mm(user->mm);

	clear_bit(MMF_UNSTABLE, &user->mm->flags);
	KUNIT_EXPECT_NE(test, reason_read_locked(&vma), KVM_INVPOLICY_REASON_EXIT);
	KUNIT_EXPECT_NE(test, reason_read_locked(&hole), KVM_INVPOLICY_REASON_EXIT);
}

/* Another process may share the mm and live on: a vfork() child has its parent's. */
static void no_exit_when_a_group_exits(struct kunit *test)
{
	struct mmu_notifier_range range = range_of(test->priv, event_of(test),
						   WRITABLE, READ_ONLY);
	enum kvm_invpolicy_reason alive = reason_read_locked(&range), dying;

	set_group_exit(true);
	dying = reason_read_locked(&range);
	set_group_exit(false);

	KUNIT_EXPECT_NE(test, alive, KVM_INVPOLICY_REASON_EXIT);
	KUNIT_EXPECT_EQ(test, dying, alive);
}

static struct kunit_case reason_cases[] = {
	KUNIT_CASE_PARAM(numa_needs_one_vma, numa_span_gen_params),
	KUNIT_CASE(numa_needs_the_read_lock),
	KUNIT_CASE(numa_needs_a_blockable_range),
	KUNIT_CASE(numa_needs_the_task_of_the_mm),
	KUNIT_CASE_PARAM(numa_depends_on_vm_flags, vm_flag_gen_params),
	KUNIT_CASE_PARAM(unmap_needs_a_hole, unmap_span_gen_params),
	KUNIT_CASE(unmap_of_a_detached_vma),
	KUNIT_CASE_PARAM(everything_else_is_other, other_event_gen_params),
	KUNIT_CASE_PARAM(other_needs_no_lock, other_event_gen_params),
	KUNIT_CASE_PARAM(exit_when_reaped, any_event_gen_params),
	KUNIT_CASE_PARAM(no_exit_when_a_group_exits, any_event_gen_params),
	{}
};

static struct kunit_suite reason_suite = {
	.name = "kvm_invpolicy_reason",
	.init = reason_init,
	.test_cases = reason_cases,
};

kunit_test_suite(reason_suite);
