// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "util.h"

static void complain(const char *format, va_list args)
{
	fputs("vmm: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	exit(EXIT_ERRORS);
}

void die_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	exit(EXIT_USAGE);
}

void *xcalloc(uint64_t count, uint64_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		die("out of memory: give the machine more or use a smaller --memory");
	return memory;
}

bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && !*end && *value >= min && *value <= max;
}

bool parse_number_list(const char *text, unsigned int limit, struct number_list *list)
{
	const char *position = text;
	unsigned long number;
	char *end;

	list->count = 0;
	do {
		if (*position < '0' || *position > '9' ||
		    list->count == ARRAY_SIZE(list->numbers))
			return false;
		number = strtoul(position, &end, 10);
		if (number >= limit)
			return false;
		list->numbers[list->count++] = number;
		position = end + 1;
	} while (*end == ',');
	return !*end;
}

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

void sleep_us(unsigned int us)
{
	struct timespec duration = { us / 1000000, us % 1000000 * 1000L };

	nanosleep(&duration, NULL);
}
