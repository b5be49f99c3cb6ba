/* SPDX-License-Identifier: GPL-2.0-only */
/* A process that has the memory of the VMM, and outlives it. */
#ifndef VMM_SHARER_H
#define VMM_SHARER_H

#include <sys/types.h>

/* To be called before the VMs are created, so that it has none of their fds. */
pid_t sharer_start(void);

#endif
