/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ERRORS_H
#define ERRORS_H

#include <stdbool.h>

/* @hooks: this KVM lets VMs be attached; else they can only be observed. */
void errors_layout(bool hooks);
void errors_vmfd(bool hooks);
void errors_state(bool hooks);
void errors_coalesce(bool hooks);
void errors_memslots(void);
void errors_exit(bool hooks);
void errors_teardown(void);
void errors_list(bool hooks);
void errors_compat(bool hooks);
void errors_race(void);

#endif
