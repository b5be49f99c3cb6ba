/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIST_H
#define LIST_H

#include "device.h"

struct attached_list {
	struct kvm_invpolicy_list_entry *entries;
	unsigned int count;
};

/* Zero or a negative errno. */
int attached_list_read(const struct device *device, struct attached_list *list);
void attached_list_free(struct attached_list *list);

void attached_list_print(const struct attached_list *list);
/* As the array "vms" of the object that is open. */
void attached_list_json(const struct attached_list *list);

#endif
