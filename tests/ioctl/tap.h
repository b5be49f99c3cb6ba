/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * A test is what one TAP line tells: it passes when every expectation between
 * its begin and its end was met. Child processes and threads may add
 * expectations; only the process that began a test ends it.
 */
void tap_init(void);
void test_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool test_failing(void);
void test_end(void);
int tap_status(void);

void expect_errno(int got, int wanted, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void expect_value(long long got, long long wanted, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void expect(bool met, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The test cannot be done at all. */
void die(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

#endif
