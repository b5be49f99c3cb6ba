// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>

#include "error.h"

int fail(enum exit_code code, const char *format, ...)
{
	va_list args;

	fputs("kvm-invpolicy: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return code;
}
