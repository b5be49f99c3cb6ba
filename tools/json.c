// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "json.h"

static bool need_comma;

/* Bytes past ASCII are escaped one by one: a process name need not be valid UTF-8. */
static void put_quoted(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = *text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void begin_value(const char *key)
{
	if (need_comma)
		putchar(',');
	if (key) {
		put_quoted(key);
		putchar(':');
	}
	need_comma = true;
}

static void begin_container(const char *key, char bracket)
{
	begin_value(key);
	putchar(bracket);
	need_comma = false;
}

static void end_container(char bracket)
{
	putchar(bracket);
	need_comma = true;
}

void json_object_begin(const char *key)
{
	begin_container(key, '{');
}

void json_object_end(void)
{
	end_container('}');
}

void json_array_begin(const char *key)
{
	begin_container(key, '[');
}

void json_array_end(void)
{
	end_container(']');
}

void json_string(const char *key, const char *value)
{
	begin_value(key);
	put_quoted(value);
}

void json_unsigned(const char *key, unsigned long long value)
{
	begin_value(key);
	printf("%llu", value);
}

void json_decimal(const char *key, double value)
{
	begin_value(key);
	printf("%.3f", value);
}

void json_bool(const char *key, bool value)
{
	begin_value(key);
	fputs(value ? "true" : "false", stdout);
}

void json_null(const char *key)
{
	begin_value(key);
	fputs("null", stdout);
}

void json_finish(void)
{
	putchar('\n');
	need_comma = false;
}
