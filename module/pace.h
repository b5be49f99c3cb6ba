/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _INVP_PACE_H
#define _INVP_PACE_H

#include <linux/sizes.h>
#include <linux/time64.h>
#include <linux/types.h>

/* The least that a full bucket holds, and the deepest debt: one huge page of x86. */
#define INVP_PACE_MIN_BURST	SZ_2M

/* Who waits longer asks again: by then the rate may have risen. */
#define INVP_PACE_MAX_DELAY	NSEC_PER_SEC

/**
 * struct invp_pace - a token bucket whose rate follows what NUMA hints achieve
 * @ceiling: highest rate, bytes/s
 * @floor: lowest rate, bytes/s
 * @rate: present rate, bytes/s; tokens come in at it
 * @guest_bytes: size of guest memory
 * @tokens: bytes that may be unmapped; negative: debt
 * @refilled: ns; tokens have come in up to this time
 * @window_start: ns; begin of the window of which the next verdict will be
 * @unmapped: bytes unmapped in that window
 * @migrated: bytes migrated in that window
 * @fruitless: bytes unmapped since the rate rose to the ceiling or was last found to be
 *	worth it, without enough of them migrating; counted until patience is at its end
 * @boosted: the vCPUs moved, and no window since was fruitful
 * @wandered: how many such boosts in a row were given up, as far as that counts
 *
 * Every function wants the caller to keep others off the pace, and may be called in any
 * context. Time is that of any clock; while it stands still or goes back, nothing comes in.
 */
struct invp_pace {
	u64 ceiling;
	u64 floor;
	u64 rate;
	u64 guest_bytes;
	s64 tokens;
	u64 refilled;
	u64 window_start;
	u64 unmapped;
	u64 migrated;
	u64 fruitless;
	bool boosted;
	unsigned int wandered;
};

void invp_pace_init(struct invp_pace *pace, u64 ceiling, u64 guest_bytes, u64 now);
void invp_pace_configure(struct invp_pace *pace, u64 ceiling, u64 guest_bytes);
u64 invp_pace_tokens(struct invp_pace *pace, u64 now);
u64 invp_pace_delay(struct invp_pace *pace, u64 now);
void invp_pace_unmapped(struct invp_pace *pace, u64 bytes, u64 now);
void invp_pace_migrated(struct invp_pace *pace, u64 bytes);
bool invp_pace_vcpus_moved(struct invp_pace *pace);

#endif
