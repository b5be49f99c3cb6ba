// SPDX-License-Identifier: GPL-2.0-only
/* What the module has in sysfs. */
#include <stdio.h>
#include <string.h>

#include "parameter.h"
#include "tap.h"

void read_word(const char *path, char *word, size_t size)
{
	FILE *file = fopen(path, "re");

	if (!file || !fgets(word, size, file))
		die("cannot read %s: is kvm_invpolicy loaded?", path);
	word[strcspn(word, "\n")] = '\0';
	fclose(file);
}

void write_word(const char *path, const char *word)
{
	FILE *file = fopen(path, "we");

	if (!file || fputs(word, file) < 0 || fclose(file))
		die("cannot write %s to %s: run as root", word, path);
}
