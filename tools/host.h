/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HOST_VALUE_MAX 128

bool host_module_loaded(void);
bool host_module_version(char value[HOST_VALUE_MAX]);
bool host_module_observe_only(void);

/* Calls @show for every parameter of the loaded module, sorted by name. */
void host_module_parameters(void (*show)(const char *name, const char *value));

bool host_kvm_loaded(void);

/* False if the kvm that runs now has no hooks. */
bool host_kvm_hook_version(unsigned int *version);

/* kernel.numa_balancing; false if the kernel has no NUMA balancing. */
bool host_numa_balancing(unsigned int *mode);

bool host_process_name(pid_t pid, char value[HOST_VALUE_MAX]);

#endif
