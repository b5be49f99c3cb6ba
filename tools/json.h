/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>

/* Writes one JSON value to stdout; @key is NULL at the top and inside an array. */
void json_object_begin(const char *key);
void json_object_end(void);
void json_array_begin(const char *key);
void json_array_end(void);
void json_string(const char *key, const char *value);
void json_unsigned(const char *key, unsigned long long value);
void json_decimal(const char *key, double value);
void json_bool(const char *key, bool value);
void json_null(const char *key);

/* Ends the line after the outermost object. */
void json_finish(void);

#endif
