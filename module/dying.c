// SPDX-License-Identifier: GPL-2.0-only
/* Whether anybody will ever use the memory of a process again. */
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include "compat/mm.h"
#include "dying.h"

/*
 * As __task_will_free_mem() of mm/oom_kill.c has it, but for the order: zap_threads() sets
 * core_state first. Who dumps its core reads its memory.
 */
static bool process_dies(const struct task_struct *process)
{
	const struct signal_struct *signal = process->signal;

	if (!(READ_ONCE(signal->flags) & SIGNAL_GROUP_EXIT))
		return false;
	/* Also before the list of processes is looked through. */
	smp_rmb();
	return !READ_ONCE(signal->core_state);
}

/* The leader may have given its memory up before the others. */
static bool process_uses(struct task_struct *process, const struct mm_struct *mm)
{
	struct task_struct *thread;

	for_each_thread(process, thread) {
		if (READ_ONCE(thread->mm) == mm)
			return true;
	}
	return false;
}

/* A process that dies can make no other that has its memory: copy_process() fails. */
static bool another_process_lives(const struct mm_struct *mm)
{
	struct task_struct *process;

	guard(rcu)();
	for_each_process(process) {
		/* Kernel threads only borrow it. */
		if (process->flags & PF_KTHREAD || same_thread_group(process, current) ||
		    process_dies(process))
			continue;
		if (process_uses(process, mm))
			return true;
	}
	return false;
}

/**
 * invp_mm_dying() - whether all processes that have a memory are dying
 * @mm: of an event
 *
 * Helpers made by vfork() or clone(CLONE_VM) have the memory of their parent and may outlive
 * it. Whom the OOM killer reaps, all who share its memory have been killed
 * (__oom_kill_process() and process_mrelease() see to it).
 *
 * Context: range_start of an MMU notifier. Does not sleep.
 * Return: true if so; false if not, or if it cannot be told in this task.
 */
bool invp_mm_dying(struct mm_struct *mm)
{
	if (invp_mm_oom_reaped(mm))
		return true;
	if (current->mm != mm || !process_dies(current))
		return false;
	return atomic_read(&mm->mm_users) == 1 || !another_process_lives(mm);
}
