/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NUMBER_H
#define NUMBER_H

#include <stdbool.h>

/* False if @text is not a whole number from 1 to @max. */
bool number_parse(const char *text, int max, int *number);

#endif
