/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VMM_CHECK_FILE_H
#define VMM_CHECK_FILE_H

#include <stdint.h>

/* Whether the first @pages of a file hold what the guest wrote in sweep @generation or later. */
int check_file(const char *path, uint64_t pages, uint64_t generation);

#endif
