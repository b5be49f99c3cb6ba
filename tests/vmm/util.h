/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VMM_UTIL_H
#define VMM_UTIL_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

#define EXIT_ERRORS	1
#define EXIT_USAGE	2

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct number_list {
	unsigned int count;
	unsigned int numbers[1024];
};

void die(const char *format, ...)
	__noreturn __printf(1, 2);
void die_usage(const char *format, ...)
	__noreturn __printf(1, 2);

void *xcalloc(uint64_t count, uint64_t size);
bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/* Numbers below limit, separated by commas. */
bool parse_number_list(const char *text, unsigned int limit, struct number_list *list);

uint64_t now_ms(void);
void sleep_us(unsigned int us);

#endif
