/* SPDX-License-Identifier: GPL-2.0-only */
/* KVM's binary statistics. */
#ifndef VMM_STATS_H
#define VMM_STATS_H

#include <stdint.h>
#include <sys/types.h>

struct counter {
	int fd;
	off_t offset;
};

int stats_open(int kvm_fd);
struct counter stats_find(int stats_fd, const char *name);
uint64_t stats_read(const struct counter *counter);

#endif
