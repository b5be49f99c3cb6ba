/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_EXITING_H
#define _INVP_EXITING_H

#include <linux/sched/signal.h>

/* Makes the current thread group look as if a fatal signal had come, or undoes it. */
static inline void set_group_exit(bool on)
{
	guard(spinlock_irq)(&current->sighand->siglock);
	if (on)
		current->signal->flags |= SIGNAL_GROUP_EXIT;
	else
		current->signal->flags &= ~SIGNAL_GROUP_EXIT;
}

#endif
