// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "device.h"
#include "errors.h"

int compat_call(int device, unsigned int cmd, void *arg)
{
	return device_call(device, cmd, arg);
}

void errors_compat(bool hooks)
{
	(void)hooks;
	puts("ok - 32-bit # SKIP a 64-bit program of arm64 has no way to make a 32-bit call");
}
