// SPDX-License-Identifier: GPL-2.0-only
/* What exit=fast goes by: the setting, and that nobody will use the memory again. */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/mman.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

#include "dying.h"
#include "exiting.h"
#include "policy.h"

#define KVM	KVM_INVPOLICY_EXIT_KVM
#define FAST	KVM_INVPOLICY_EXIT_FAST

static void retires_at_the_end_only(struct kunit *test)
{
	struct kvm_invpolicy_settings settings = { .exit = FAST };
	enum kvm_invpolicy_reason reason;

	for (reason = 0; reason < __KVM_INVPOLICY_REASON_END; reason++)
		KUNIT_EXPECT_EQ_MSG(test, invp_action(&settings, reason, PAGE_SIZE),
				    reason == KVM_INVPOLICY_REASON_EXIT ? INVP_ACTION_RETIRE :
				    INVP_ACTION_DEFAULT, "reason %u", reason);
}

static void retires_if_told_to(struct kunit *test)
{
	struct kvm_invpolicy_settings settings = {};

	for (; settings.exit < FAST; settings.exit++)
		KUNIT_EXPECT_EQ(test, invp_action(&settings, KVM_INVPOLICY_REASON_EXIT, PAGE_SIZE),
				INVP_ACTION_DEFAULT);
}

static void accepts_known_settings(struct kunit *test)
{
	struct kvm_invpolicy_settings settings = {};

	for (; settings.exit <= FAST; settings.exit++)
		KUNIT_EXPECT_TRUE_MSG(test, invp_settings_valid(&settings), "%u", settings.exit);
	KUNIT_EXPECT_FALSE(test, invp_settings_valid(&settings));
	settings.exit = U32_MAX;
	KUNIT_EXPECT_FALSE(test, invp_settings_valid(&settings));
}

static void update_changes_it_alone(struct kunit *test)
{
	const struct kvm_invpolicy_settings nothing = {}, fast = { .exit = FAST };
	struct kvm_invpolicy_settings settings = { .numa = 1, .unmap = 1, .exit = KVM };

	invp_settings_update(&settings, &fast);
	KUNIT_EXPECT_EQ(test, settings.exit, FAST);
	invp_settings_update(&settings, &nothing);
	KUNIT_EXPECT_EQ(test, settings.exit, FAST);
	KUNIT_EXPECT_EQ(test, settings.numa, 1);
	KUNIT_EXPECT_EQ(test, settings.unmap, 1);
}

static void has_names(struct kunit *test)
{
	u32 value;

	KUNIT_EXPECT_EQ(test, invp_exit_modes(), BIT(KVM) | BIT(FAST));
	KUNIT_ASSERT_EQ(test, invp_exit_parse("fast\n", &value), 0);
	KUNIT_EXPECT_EQ(test, value, FAST);
	KUNIT_EXPECT_STREQ(test, invp_exit_name(KVM), "kvm");
	KUNIT_EXPECT_EQ(test, invp_exit_parse("slow", &value), -EINVAL);
}

/* .init of what follows: the test has a memory of its own. */
static int own_memory(struct kunit *test)
{
	unsigned long addr = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, 0);

	KUNIT_ASSERT_FALSE(test, !addr || IS_ERR_VALUE(addr));
	return 0;
}

static void own_memory_exit(struct kunit *test)
{
	set_group_exit(false);
	current->signal->core_state = NULL;
}

static void living_process_is_not_dying(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, invp_mm_dying(current->mm));
}

static void killed_process_is(struct kunit *test)
{
	set_group_exit(true);
	KUNIT_EXPECT_TRUE(test, invp_mm_dying(current->mm));
}

static void only_its_own_memory_is(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc();

	KUNIT_ASSERT_NOT_NULL(test, mm);
	set_group_exit(true);
	KUNIT_EXPECT_FALSE(test, invp_mm_dying(mm));
	mmput(mm);
}

static void reaped_memory_is_whoever_looks(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc();

	KUNIT_ASSERT_NOT_NULL(test, mm);
	set_bit(MMF_UNSTABLE, &mm->flags);
	KUNIT_EXPECT_TRUE(test, invp_mm_dying(mm));
	mmput(mm);
}

static void memory_that_is_dumped_is_not(struct kunit *test)
{
	struct core_state core_state = {};

	set_group_exit(true);
	current->signal->core_state = &core_state;
	KUNIT_EXPECT_FALSE(test, invp_mm_dying(current->mm));
}

struct sharer {
	struct completion told_to_die;
	struct completion dies;
	struct completion may_go;
};

static int share_memory(void *arg)
{
	struct sharer *sharer = arg;

	wait_for_completion(&sharer->told_to_die);
	set_group_exit(true);
	complete(&sharer->dies);
	wait_for_completion(&sharer->may_go);
	set_group_exit(false);
	do_exit(0);
}

static void shared_memory_is_once_all_die(struct kunit *test)
{
	struct sharer sharer;
	pid_t pid;

	init_completion(&sharer.told_to_die);
	init_completion(&sharer.dies);
	init_completion(&sharer.may_go);
	pid = user_mode_thread(share_memory, &sharer, CLONE_VM | SIGCHLD);
	KUNIT_ASSERT_GT(test, pid, 0);
	set_group_exit(true);
	KUNIT_EXPECT_FALSE(test, invp_mm_dying(current->mm));
	complete(&sharer.told_to_die);
	wait_for_completion(&sharer.dies);
	KUNIT_EXPECT_TRUE(test, invp_mm_dying(current->mm));
	complete(&sharer.may_go);
	kernel_wait(pid, NULL);
}

static struct kunit_case exit_cases[] = {
	KUNIT_CASE(retires_at_the_end_only),
	KUNIT_CASE(retires_if_told_to),
	KUNIT_CASE(accepts_known_settings),
	KUNIT_CASE(update_changes_it_alone),
	KUNIT_CASE(has_names),
	{}
};

static struct kunit_suite exit_suite = {
	.name = "kvm_invpolicy_exit",
	.test_cases = exit_cases,
};

static struct kunit_case dying_cases[] = {
	KUNIT_CASE(living_process_is_not_dying),
	KUNIT_CASE(killed_process_is),
	KUNIT_CASE(only_its_own_memory_is),
	KUNIT_CASE(reaped_memory_is_whoever_looks),
	KUNIT_CASE(memory_that_is_dumped_is_not),
	KUNIT_CASE(shared_memory_is_once_all_die),
	{}
};

static struct kunit_suite dying_suite = {
	.name = "kvm_invpolicy_dying",
	.init = own_memory,
	.exit = own_memory_exit,
	.test_cases = dying_cases,
};

kunit_test_suites(&exit_suite, &dying_suite);
