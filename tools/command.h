/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>
#include <sys/types.h>
#include <linux/kvm_invpolicy.h>

struct arguments {
	pid_t pid;
	struct kvm_invpolicy_settings settings;
	unsigned int seconds;
	bool json;
};

/* Each returns an exit code; what went wrong has been printed. */
int command_status(const struct arguments *arguments);
int command_features(const struct arguments *arguments);
int command_list(const struct arguments *arguments);
int command_attach(const struct arguments *arguments);
int command_detach(const struct arguments *arguments);
int command_set(const struct arguments *arguments);
int command_teardown(const struct arguments *arguments);
int command_stat(const struct arguments *arguments);
int command_observe(const struct arguments *arguments);

#endif
