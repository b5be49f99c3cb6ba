/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_DYING_H
#define _INVP_DYING_H

#include <linux/types.h>

struct mm_struct;

bool invp_mm_dying(struct mm_struct *mm);

#endif
