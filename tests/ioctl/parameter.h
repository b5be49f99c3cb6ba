/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARAMETER_H
#define PARAMETER_H

#include <stddef.h>

#define MODULE_FOLDER	"/sys/module/kvm_invpolicy/"

/* The first line of a file, without its end. */
void read_word(const char *path, char *word, size_t size);
void write_word(const char *path, const char *word);

#endif
