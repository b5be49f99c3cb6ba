// SPDX-License-Identifier: GPL-2.0-only
/* Reasons of what the mm really sends when user space calls it. */
#include <kunit/test.h>
#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/mempolicy.h>
#include <linux/mman.h>
#include <linux/mmu_notifier.h>
#include <linux/uaccess.h>
#include <linux/userfaultfd.h>
#include <linux/workqueue.h>
#include <asm/unistd.h>

#include "exiting.h"
#include "reason.h"
#include "user-call.h"

#define NR_PAGES	8
#define SIZE		(NR_PAGES * PAGE_SIZE)
#define DISTANCE	(16 * SIZE)
#define MAX_SEEN	8

struct seen {
	enum mmu_notifier_event event;
	enum kvm_invpolicy_reason reason;
	unsigned long start;
	unsigned long end;
};

struct watched_mm {
	struct mmu_notifier mn;
	unsigned long addr;
	int nr_seen;
	struct seen seen[MAX_SEEN];
};

static int range_start(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	struct watched_mm *watched = container_of(mn, struct watched_mm, mn);
	enum kvm_invpolicy_reason reason;

	/* It must not sleep: here the kernel would complain. */
	preempt_disable();
	reason = invp_reason(range);
	preempt_enable();

	if (watched->nr_seen < MAX_SEEN)
		watched->seen[watched->nr_seen] = (struct seen){
			range->event, reason, range->start, range->end
		};
	watched->nr_seen++;
	return 0;
}

static const struct mmu_notifier_ops watch_ops = {
	.invalidate_range_start = range_start,
};

static void unwatch(void *mn)
{
	mmu_notifier_unregister(mn, ((struct mmu_notifier *)mn)->mm);
}

static unsigned long user_mmap(unsigned long addr, unsigned long prot, unsigned long flags)
{
	return syscall(__NR_mmap, addr, SIZE, prot, flags | MAP_POPULATE, -1, 0);
}

static long user_madvise(unsigned long addr, int advice)
{
	return syscall(__NR_madvise, addr, SIZE, advice, 0, 0, 0);
}

static int events_init(struct kunit *test)
{
	struct watched_mm *watched = kunit_kzalloc(test, sizeof(*watched), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, watched);
	watched->addr = kunit_vm_mmap(test, NULL, 0, SIZE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, 0);
	KUNIT_ASSERT_FALSE(test, !watched->addr || IS_ERR_VALUE(watched->addr));

	watched->mn.ops = &watch_ops;
	KUNIT_ASSERT_EQ(test, mmu_notifier_register(&watched->mn, current->mm), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unwatch, &watched->mn), 0);
	test->priv = watched;
	return 0;
}

/* What the calls since the last expect_events() have sent, no more and no less. */
static void expect_events(struct kunit *test, const struct seen *expected, int nr)
{
	struct watched_mm *watched = test->priv;
	int i;

	KUNIT_ASSERT_EQ(test, watched->nr_seen, nr);
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(test, watched->seen[i].event, expected[i].event);
		KUNIT_EXPECT_EQ(test, watched->seen[i].reason, expected[i].reason);
		KUNIT_EXPECT_EQ(test, watched->seen[i].start, expected[i].start);
		KUNIT_EXPECT_EQ(test, watched->seen[i].end, expected[i].end);
	}
	watched->nr_seen = 0;
}

static void expect_pages(struct kunit *test, enum mmu_notifier_event event,
			 enum kvm_invpolicy_reason reason, int start, int end)
{
	struct watched_mm *watched = test->priv;
	const struct seen expected = {
		event, reason,
		watched->addr + start * PAGE_SIZE, watched->addr + end * PAGE_SIZE,
	};

	expect_events(test, &expected, 1);
}

static void expect_all(struct kunit *test, enum mmu_notifier_event event,
		       enum kvm_invpolicy_reason reason)
{
	expect_pages(test, event, reason, 0, NR_PAGES);
}

static void replace_by_shared_mapping(struct kunit *test)
{
	struct watched_mm *watched = test->priv;

	KUNIT_ASSERT_EQ(test, watched->addr,
			user_mmap(watched->addr, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED));
	watched->nr_seen = 0;
}

static void hint(struct watched_mm *watched)
{
	mmap_read_lock(current->mm);
	change_prot_numa(find_vma(current->mm, watched->addr),
			 watched->addr, watched->addr + SIZE);
	mmap_read_unlock(current->mm);
}

static void numa_hint(struct kunit *test)
{
	hint(test->priv);
	expect_all(test, MMU_NOTIFY_PROTECTION_VMA, KVM_INVPOLICY_REASON_NUMA);
}

static void numa_hint_of_shared_memory(struct kunit *test)
{
	replace_by_shared_mapping(test);
	hint(test->priv);
	expect_all(test, MMU_NOTIFY_PROTECTION_VMA, KVM_INVPOLICY_REASON_NUMA);
}

static void mprotect_call(struct kunit *test)
{
	struct watched_mm *watched = test->priv;

	KUNIT_EXPECT_EQ(test, 0, syscall(__NR_mprotect, watched->addr, SIZE, PROT_READ, 0, 0, 0));
	expect_all(test, MMU_NOTIFY_PROTECTION_VMA, KVM_INVPOLICY_REASON_OTHER);
	KUNIT_EXPECT_EQ(test, 0, syscall(__NR_mprotect, watched->addr, SIZE, PROT_NONE, 0, 0, 0));
	expect_all(test, MMU_NOTIFY_PROTECTION_VMA, KVM_INVPOLICY_REASON_OTHER);
}

static void munmap_call(struct kunit *test)
{
	struct watched_mm *watched = test->priv;

	KUNIT_EXPECT_EQ(test, 0, syscall(__NR_munmap, watched->addr, SIZE, 0, 0, 0, 0));
	expect_all(test, MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_UNMAP);
}

static void munmap_inside_a_vma(struct kunit *test)
{
	struct watched_mm *watched = test->priv;

	KUNIT_EXPECT_EQ(test, 0, syscall(__NR_munmap, watched->addr + 2 * PAGE_SIZE, PAGE_SIZE,
					 0, 0, 0, 0));
	expect_pages(test, MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_UNMAP, 2, 3);
}

static void map_fixed_anonymous(struct kunit *test)
{
	struct watched_mm *watched = test->priv;

	KUNIT_ASSERT_EQ(test, watched->addr,
			user_mmap(watched->addr, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED));
	expect_all(test, MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_UNMAP);
}

static void map_fixed_shared(struct kunit *test)
{
	struct watched_mm *watched = test->priv;

	KUNIT_ASSERT_EQ(test, watched->addr,
			user_mmap(watched->addr, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED));
	expect_all(test, MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_UNMAP);
}

static void mremap_call(struct kunit *test, unsigned long target)
{
	struct watched_mm *watched = test->priv;

	KUNIT_ASSERT_EQ(test, target,
			syscall(__NR_mremap, watched->addr, SIZE, SIZE,
				MREMAP_MAYMOVE | MREMAP_FIXED, target, 0));
}

/* The pages survive the first event; when the second comes, they have moved away. */
static void mremap_to_free_addresses(struct kunit *test)
{
	struct watched_mm *watched = test->priv;
	unsigned long old = watched->addr;
	const struct seen expected[] = {
		{ MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_OTHER, old, old + SIZE },
		{ MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_UNMAP, old, old + SIZE },
	};

	mremap_call(test, old - DISTANCE);
	expect_events(test, expected, ARRAY_SIZE(expected));
}

static void mremap_over_a_mapping(struct kunit *test)
{
	struct watched_mm *watched = test->priv;
	unsigned long old = watched->addr, target = old - DISTANCE;
	const struct seen expected[] = {
		{ MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_UNMAP, target, target + SIZE },
		{ MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_OTHER, old, old + SIZE },
		{ MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_UNMAP, old, old + SIZE },
	};

	KUNIT_ASSERT_EQ(test, target,
			user_mmap(target, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED));
	mremap_call(test, target);
	expect_events(test, expected, ARRAY_SIZE(expected));
}

static void mremap_that_shrinks(struct kunit *test)
{
	struct watched_mm *watched = test->priv;

	KUNIT_ASSERT_EQ(test, watched->addr,
			syscall(__NR_mremap, watched->addr, SIZE, PAGE_SIZE, 0, 0, 0));
	expect_pages(test, MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_UNMAP, 1, NR_PAGES);
}

static void madvise_dontneed(struct kunit *test)
{
	struct watched_mm *watched = test->priv;

	KUNIT_EXPECT_EQ(test, 0, user_madvise(watched->addr, MADV_DONTNEED));
	expect_all(test, MMU_NOTIFY_CLEAR, KVM_INVPOLICY_REASON_OTHER);
}

static void madvise_free(struct kunit *test)
{
	struct watched_mm *watched = test->priv;

	KUNIT_EXPECT_EQ(test, 0, user_madvise(watched->addr, MADV_FREE));
	expect_all(test, MMU_NOTIFY_CLEAR, KVM_INVPOLICY_REASON_OTHER);
}

static void hole_punch(struct kunit *test)
{
	struct watched_mm *watched = test->priv;

	replace_by_shared_mapping(test);
	KUNIT_EXPECT_EQ(test, 0, user_madvise(watched->addr, MADV_REMOVE));
	expect_all(test, MMU_NOTIFY_CLEAR, KVM_INVPOLICY_REASON_OTHER);
}

static void write_to_the_zero_page(struct kunit *test)
{
	struct watched_mm *watched = test->priv;
	u8 __user *byte = (u8 __user *)watched->addr;
	u8 value;

	KUNIT_ASSERT_EQ(test, 0, user_madvise(watched->addr, MADV_DONTNEED));
	KUNIT_ASSERT_EQ(test, 0, get_user(value, byte));
	watched->nr_seen = 0;

	KUNIT_ASSERT_EQ(test, 0, put_user(1, byte));
	expect_pages(test, MMU_NOTIFY_CLEAR, KVM_INVPOLICY_REASON_OTHER, 0, 1);
}

static void user_ioctl(struct kunit *test, int fd, unsigned int cmd, const void *arg, size_t size)
{
	struct watched_mm *watched = test->priv;
	unsigned long user = user_mmap(0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);

	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(user));
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)user, arg, size));
	watched->nr_seen = 0;
	KUNIT_ASSERT_EQ(test, 0, syscall(__NR_ioctl, fd, cmd, user, 0, 0, 0));
}

static void close_file(void *fd)
{
	close_fd((long)fd);
}

static void uffd_write_protect(struct kunit *test)
{
	struct watched_mm *watched = test->priv;
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register reg = {
		.range = { watched->addr, SIZE },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect wp = {
		.range = { watched->addr, SIZE },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};
	long fd = syscall(__NR_userfaultfd, O_CLOEXEC, 0, 0, 0, 0, 0);

	KUNIT_ASSERT_GE(test, fd, 0);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, close_file, (void *)fd));
	user_ioctl(test, fd, UFFDIO_API, &api, sizeof(api));
	user_ioctl(test, fd, UFFDIO_REGISTER, &reg, sizeof(reg));
	user_ioctl(test, fd, UFFDIO_WRITEPROTECT, &wp, sizeof(wp));
	expect_all(test, MMU_NOTIFY_PROTECTION_VMA, KVM_INVPOLICY_REASON_OTHER);

	wp.mode = 0;
	user_ioctl(test, fd, UFFDIO_WRITEPROTECT, &wp, sizeof(wp));
	expect_all(test, MMU_NOTIFY_PROTECTION_VMA, KVM_INVPOLICY_REASON_OTHER);
}

struct reaper {
	struct work_struct work;
	long pidfd;
	long err;
};

static void reap(struct work_struct *work)
{
	struct reaper *reaper = container_of(work, struct reaper, work);

	reaper->err = syscall(__NR_process_mrelease, reaper->pidfd, 0, 0, 0, 0, 0);
}

/* From another task, which does not exit itself. */
static void reaped_by_another_task(struct kunit *test)
{
	struct reaper reaper = {
		.pidfd = syscall(__NR_pidfd_open, task_pid_nr(current), 0, 0, 0, 0, 0),
	};

	KUNIT_ASSERT_GE(test, reaper.pidfd, 0);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, close_file, (void *)reaper.pidfd));

	INIT_WORK_ONSTACK(&reaper.work, reap);
	set_group_exit(true);
	schedule_work(&reaper.work);
	flush_work(&reaper.work);
	set_group_exit(false);
	destroy_work_on_stack(&reaper.work);

	KUNIT_EXPECT_EQ(test, reaper.err, 0);
	expect_all(test, MMU_NOTIFY_UNMAP, KVM_INVPOLICY_REASON_EXIT);
}

static struct kunit_case events_cases[] = {
	KUNIT_CASE(numa_hint),
	KUNIT_CASE(numa_hint_of_shared_memory),
	KUNIT_CASE(mprotect_call),
	KUNIT_CASE(munmap_call),
	KUNIT_CASE(munmap_inside_a_vma),
	KUNIT_CASE(map_fixed_anonymous),
	KUNIT_CASE(map_fixed_shared),
	KUNIT_CASE(mremap_to_free_addresses),
	KUNIT_CASE(mremap_over_a_mapping),
	KUNIT_CASE(mremap_that_shrinks),
	KUNIT_CASE(madvise_dontneed),
	KUNIT_CASE(madvise_free),
	KUNIT_CASE(hole_punch),
	KUNIT_CASE(write_to_the_zero_page),
	KUNIT_CASE(uffd_write_protect),
	KUNIT_CASE(reaped_by_another_task),
	{}
};

static struct kunit_suite events_suite = {
	.name = "kvm_invpolicy_reason_events",
	.init = events_init,
	.test_cases = events_cases,
};

kunit_test_suite(events_suite);
