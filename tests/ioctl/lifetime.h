/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIFETIME_H
#define LIFETIME_H

#include <sys/types.h>

void orders(void);
void handover(void);
void churn(pid_t pid, unsigned long rounds);

#endif
