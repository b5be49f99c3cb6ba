// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tap.h"

#define NAME_BYTES	128
#define NOTE_BYTES	256
#define NOTES_MAX	8

/* Shared with child processes; @unmet goes on counting past @notes. */
static struct test {
	char name[NAME_BYTES];
	unsigned int expectations;
	unsigned int unmet;
	char notes[NOTES_MAX][NOTE_BYTES];
} *test;

static int status;

void tap_init(void)
{
	test = mmap(NULL, sizeof(*test), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (test == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	setvbuf(stdout, NULL, _IOLBF, 0);
}

void test_begin(const char *format, ...)
{
	va_list args;

	memset(test, 0, sizeof(*test));
	va_start(args, format);
	vsnprintf(test->name, sizeof(test->name), format, args);
	va_end(args);
}

void test_end(void)
{
	unsigned int i;

	/* A test that expected nothing has not tested anything. */
	if (!test->expectations)
		expect(false, "no expectation was reached");
	if (test->unmet)
		status = 1;
	printf("%sok - %s\n", test->unmet ? "not " : "", test->name);
	for (i = 0; i < test->unmet && i < NOTES_MAX; i++)
		printf("# %s\n", test->notes[i]);
	if (test->unmet > NOTES_MAX)
		printf("# and %u more of %u\n", test->unmet - NOTES_MAX,
		       test->expectations);
}

bool test_failing(void)
{
	return test->unmet;
}

int tap_status(void)
{
	return status;
}

static void note(const char *what, const char *format, va_list args)
{
	unsigned int i = __atomic_fetch_add(&test->unmet, 1, __ATOMIC_RELAXED);
	int length;

	if (i >= NOTES_MAX)
		return;
	length = vsnprintf(test->notes[i], NOTE_BYTES, format, args);
	if (length < NOTE_BYTES)
		snprintf(test->notes[i] + length, NOTE_BYTES - length, "%s", what);
}

static void expected(void)
{
	__atomic_fetch_add(&test->expectations, 1, __ATOMIC_RELAXED);
}

static const char *errno_name(int error)
{
	return error ? strerrorname_np(error) ?: "an unknown error" : "success";
}

void expect_errno(int got, int wanted, const char *format, ...)
{
	char what[NOTE_BYTES];
	va_list args;

	expected();
	if (got == wanted)
		return;
	snprintf(what, sizeof(what), ": %s instead of %s", errno_name(got),
		 errno_name(wanted));
	va_start(args, format);
	note(what, format, args);
	va_end(args);
}

void expect_value(long long got, long long wanted, const char *format, ...)
{
	char what[NOTE_BYTES];
	va_list args;

	expected();
	if (got == wanted)
		return;
	snprintf(what, sizeof(what), ": %lld instead of %lld", got, wanted);
	va_start(args, format);
	note(what, format, args);
	va_end(args);
}

void expect(bool met, const char *format, ...)
{
	va_list args;

	expected();
	if (met)
		return;
	va_start(args, format);
	note("", format, args);
	va_end(args);
}

void die(const char *format, ...)
{
	va_list args;

	fputs("invp-ioctl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}
