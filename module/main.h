/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_MAIN_H
#define _INVP_MAIN_H

#include <uapi/linux/kvm_invpolicy.h>

struct kvm_invpolicy_settings invp_default_settings(void);
bool invp_auto_attach(void);

int invp_device_register(void);
void invp_device_unregister(void);

#endif
