// SPDX-License-Identifier: GPL-2.0-only
/* What sysfs and procfs tell about the host. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

#define SYS_MODULE	"/sys/module/"
#define POLICY_MODULE	SYS_MODULE "kvm_invpolicy"
#define POLICY_PARAMETERS POLICY_MODULE "/parameters"
#define KVM_MODULE	SYS_MODULE "kvm"

static bool read_line(const char *path, char value[HOST_VALUE_MAX])
{
	FILE *file = fopen(path, "re");
	bool read;

	if (!file)
		return false;
	read = fgets(value, HOST_VALUE_MAX, file);
	fclose(file);
	if (read)
		value[strcspn(value, "\n")] = '\0';
	return read;
}

static bool read_unsigned(const char *path, unsigned int *number)
{
	char value[HOST_VALUE_MAX], *end;

	if (!read_line(path, value))
		return false;
	*number = strtoul(value, &end, 10);
	return end != value && !*end;
}

bool host_module_loaded(void)
{
	return !access(POLICY_MODULE, F_OK);
}

bool host_module_version(char value[HOST_VALUE_MAX])
{
	return read_line(POLICY_MODULE "/version", value);
}

bool host_module_observe_only(void)
{
	char value[HOST_VALUE_MAX];

	return read_line(POLICY_PARAMETERS "/observe_only", value) && value[0] == 'Y';
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

void host_module_parameters(void (*show)(const char *name, const char *value))
{
	struct dirent **entries;
	int count = scandir(POLICY_PARAMETERS, &entries, is_visible, alphasort);

	if (count < 0)
		return;
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX], value[HOST_VALUE_MAX];

		snprintf(path, sizeof(path), POLICY_PARAMETERS "/%s", entries[i]->d_name);
		if (read_line(path, value))
			show(entries[i]->d_name, value);
		free(entries[i]);
	}
	free(entries);
}

bool host_kvm_loaded(void)
{
	return !access(KVM_MODULE, F_OK);
}

bool host_kvm_hook_version(unsigned int *version)
{
	return read_unsigned(KVM_MODULE "/parameters/invalidate_policy_version", version);
}

bool host_numa_balancing(unsigned int *mode)
{
	return read_unsigned("/proc/sys/kernel/numa_balancing", mode);
}

bool host_process_name(pid_t pid, char value[HOST_VALUE_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	return read_line(path, value);
}
