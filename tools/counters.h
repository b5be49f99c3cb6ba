/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <linux/kvm_invpolicy.h>

struct device;

#define COUNTERS_TEXT_MAX 32

/* Sums the counters of several VMs; @sum->settings stay those of the first. */
void counters_add(struct kvm_invpolicy_stats *sum, struct kvm_invpolicy_stats *stats);

/* A table by reason; with columns per second unless @seconds is zero. */
void counters_print(const struct kvm_invpolicy_stats *stats, double seconds);
/* "numa_events", "numa_bytes", ... in the object that is open. */
void counters_json(const struct kvm_invpolicy_stats *stats);

/* What precise, paced, coalesce and fast counted, by the fields' names; null if not known. */
void counters_json_modes(struct kvm_invpolicy_stats *stats, const struct device *device);

/* "12,345", or "0.5" below ten; both write to and return @text. */
const char *counters_count(char text[COUNTERS_TEXT_MAX], double count);
const char *counters_bytes(char text[COUNTERS_TEXT_MAX], double bytes);

#endif
