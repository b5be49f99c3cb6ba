/* SPDX-License-Identifier: GPL-2.0-only */
/* A pace in a time that the tests make. */
#ifndef _INVP_PACED_H
#define _INVP_PACED_H

#include <kunit/test.h>

#include "pace.h"

#define MIB		((u64)SZ_1M)
#define GIB		((u64)SZ_1G)
#define TIB		(1024 * GIB)
#define SEC		((u64)NSEC_PER_SEC)
#define MSEC		((u64)NSEC_PER_MSEC)

#define BEGIN		(5 * SEC)
#define CEILING		(64 * MIB)
#define GUEST		(256 * MIB)
/* At the ceiling: half of it. */
#define BURST		(CEILING / 2)

/**
 * struct paced - test->priv of a test of pace.c
 * @pace: a pace
 * @now: ns, the time that it is told
 */
struct paced {
	struct invp_pace pace;
	u64 now;
};

static inline void begin(struct paced *paced, u64 ceiling, u64 guest_bytes)
{
	paced->now = BEGIN;
	invp_pace_init(&paced->pace, ceiling, guest_bytes, BEGIN);
}

static inline int pace_init(struct kunit *test)
{
	struct paced *paced = kunit_kzalloc(test, sizeof(*paced), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, paced);
	begin(paced, CEILING, GUEST);
	test->priv = paced;
	return 0;
}

static inline u64 tokens(struct paced *paced)
{
	return invp_pace_tokens(&paced->pace, paced->now);
}

static inline void unmap(struct paced *paced, u64 bytes)
{
	invp_pace_unmapped(&paced->pace, bytes, paced->now);
}

#endif
