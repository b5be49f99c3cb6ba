// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "number.h"

bool number_parse(const char *text, int max, int *number)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || text[0] == '+' || value < 1 || value > max)
		return false;
	*number = value;
	return true;
}
