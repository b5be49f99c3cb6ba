/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>

/* One TAP line, and comments that tell how often which answer came. */
void fuzz(uint64_t seed, unsigned int seconds);

#endif
