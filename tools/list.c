// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "command.h"
#include "error.h"
#include "host.h"
#include "json.h"
#include "list.h"
#include "settings.h"

int attached_list_read(const struct device *device, struct attached_list *list)
{
	unsigned int capacity = device->info.attached + 16;

	*list = (struct attached_list) { };
	for (;;) {
		struct kvm_invpolicy_list call = { .size = sizeof(call), .capacity = capacity };

		free(list->entries);
		list->entries = calloc(capacity, sizeof(*list->entries));
		if (!list->entries)
			return -ENOMEM;
		call.entries = (uintptr_t)list->entries;
		if (ioctl(device->fd, KVM_INVPOLICY_LIST, &call) < 0) {
			int error = -errno;

			attached_list_free(list);
			return error;
		}
		if (call.count <= capacity) {
			list->count = call.count;
			return 0;
		}
		capacity = call.count + 16;
	}
}

void attached_list_free(struct attached_list *list)
{
	free(list->entries);
	list->entries = NULL;
}

static const char *process_name(pid_t pid, char name[HOST_VALUE_MAX])
{
	return host_process_name(pid, name) ? name : "(gone)";
}

void attached_list_print(const struct attached_list *list)
{
	char name[HOST_VALUE_MAX], settings[SETTINGS_TEXT_MAX];

	if (!list->count)
		return;
	printf("%6s  %8s  %-16s  %s\n", "ID", "PID", "PROCESS", "SETTINGS");
	for (unsigned int i = 0; i < list->count; i++) {
		const struct kvm_invpolicy_list_entry *entry = &list->entries[i];

		printf("%6llu  %8d  %-16s  %s\n", entry->id, entry->pid,
		       process_name(entry->pid, name), settings_text(settings, &entry->settings));
	}
}

void attached_list_json(const struct attached_list *list)
{
	char name[HOST_VALUE_MAX];

	json_array_begin("vms");
	for (unsigned int i = 0; i < list->count; i++) {
		const struct kvm_invpolicy_list_entry *entry = &list->entries[i];

		json_object_begin(NULL);
		json_unsigned("id", entry->id);
		json_unsigned("pid", entry->pid);
		json_string("process", process_name(entry->pid, name));
		settings_json("", &entry->settings);
		json_object_end();
	}
	json_array_end();
}

int command_list(const struct arguments *arguments)
{
	struct attached_list list;
	struct device device;
	int code, error;

	code = device_open(&device);
	if (code)
		return code;
	error = attached_list_read(&device, &list);
	device_close(&device);
	if (error)
		return device_open_fail(error);

	if (arguments->json) {
		json_object_begin(NULL);
		json_unsigned("count", list.count);
		attached_list_json(&list);
		json_object_end();
		json_finish();
	} else if (list.count) {
		attached_list_print(&list);
	} else {
		puts("no VM is attached");
	}
	attached_list_free(&list);
	return EXIT_OK;
}
