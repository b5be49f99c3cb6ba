/* SPDX-License-Identifier: GPL-2.0-only */
/* A child that keeps the VM fds after the VMM has died. */
#ifndef VMM_KEEPFD_H
#define VMM_KEEPFD_H

#include <sys/types.h>

struct keeper {
	pid_t pid;
	int socket;
};

/* To be called before there are threads or guest memory. */
struct keeper keeper_start(void);
void keeper_give(const struct keeper *keeper, int fd);

#endif
