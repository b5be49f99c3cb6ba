// SPDX-License-Identifier: GPL-2.0-only
/* Which events are coalesced. */
#include <kunit/test.h>
#include <linux/limits.h>

#include "policy.h"

#define KVM		KVM_INVPOLICY_FLUSH_KVM
#define COALESCE	KVM_INVPOLICY_FLUSH_COALESCE
#define PAGES(n)	((n) * PAGE_SIZE)

struct reason_case {
	u32 unmap;
	u32 other;
	enum kvm_invpolicy_reason reason;
	enum invp_action action;
};

static const struct reason_case reason_cases[] = {
	{ KVM, KVM, KVM_INVPOLICY_REASON_NUMA, INVP_ACTION_DEFAULT },
	{ KVM, KVM, KVM_INVPOLICY_REASON_UNMAP, INVP_ACTION_DEFAULT },
	{ KVM, KVM, KVM_INVPOLICY_REASON_EXIT, INVP_ACTION_DEFAULT },
	{ KVM, KVM, KVM_INVPOLICY_REASON_OTHER, INVP_ACTION_DEFAULT },
	{ COALESCE, KVM, KVM_INVPOLICY_REASON_NUMA, INVP_ACTION_DEFAULT },
	{ COALESCE, KVM, KVM_INVPOLICY_REASON_UNMAP, INVP_ACTION_COALESCE_DYING },
	{ COALESCE, KVM, KVM_INVPOLICY_REASON_EXIT, INVP_ACTION_DEFAULT },
	{ COALESCE, KVM, KVM_INVPOLICY_REASON_OTHER, INVP_ACTION_DEFAULT },
	{ KVM, COALESCE, KVM_INVPOLICY_REASON_NUMA, INVP_ACTION_DEFAULT },
	{ KVM, COALESCE, KVM_INVPOLICY_REASON_UNMAP, INVP_ACTION_DEFAULT },
	{ KVM, COALESCE, KVM_INVPOLICY_REASON_EXIT, INVP_ACTION_DEFAULT },
	{ KVM, COALESCE, KVM_INVPOLICY_REASON_OTHER, INVP_ACTION_COALESCE },
	{ COALESCE, COALESCE, KVM_INVPOLICY_REASON_NUMA, INVP_ACTION_DEFAULT },
	{ COALESCE, COALESCE, KVM_INVPOLICY_REASON_UNMAP, INVP_ACTION_COALESCE_DYING },
	{ COALESCE, COALESCE, KVM_INVPOLICY_REASON_EXIT, INVP_ACTION_DEFAULT },
	{ COALESCE, COALESCE, KVM_INVPOLICY_REASON_OTHER, INVP_ACTION_COALESCE },
};

/* A new reason must bring its rows. */
static_assert(ARRAY_SIZE(reason_cases) == 4 * __KVM_INVPOLICY_REASON_END);

static void describe_reason(const struct reason_case *param, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "unmap=%u other=%u reason=%u",
		 param->unmap, param->other, param->reason);
}

KUNIT_ARRAY_PARAM(reason, reason_cases, describe_reason);

static void acts_on_reason(struct kunit *test)
{
	const struct reason_case *param = test->param_value;
	struct kvm_invpolicy_settings settings = {
		.numa = KVM_INVPOLICY_NUMA_KVM,
		.unmap = param->unmap,
		.other = param->other,
		.coalesce_min_pages = 1,
	};

	KUNIT_EXPECT_EQ(test, invp_action(&settings, param->reason, PAGES(16)), param->action);
}

static void leaves_numa_hints_to_numa(struct kunit *test)
{
	struct kvm_invpolicy_settings settings = {
		.unmap = COALESCE,
		.other = COALESCE,
		.coalesce_min_pages = 1,
	};

	for (settings.numa = KVM_INVPOLICY_NUMA_KVM; settings.numa < __KVM_INVPOLICY_NUMA_END;
	     settings.numa++) {
		enum invp_action action = settings.numa == KVM_INVPOLICY_NUMA_KVM ?
					  INVP_ACTION_DEFAULT : INVP_ACTION_ELIDE;

		KUNIT_EXPECT_EQ_MSG(test, invp_action(&settings, KVM_INVPOLICY_REASON_NUMA,
						      PAGES(16)), action,
				    "numa=%u", settings.numa);
	}
}

struct size_case {
	u32 min_pages;
	unsigned long bytes;
	bool coalesced;
};

static const struct size_case size_cases[] = {
	{ 1, 0, false },
	{ 1, PAGES(1) - 1, false },
	{ 1, PAGES(1), true },
	{ 1, PAGES(2), true },
	{ 2, PAGES(1), false },
	{ 2, PAGES(2) - 1, false },
	{ 2, PAGES(2), true },
	{ 512, 0, false },
	{ 512, PAGES(511), false },
	{ 512, PAGES(512), true },
	{ 512, PAGES(513), true },
	{ KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX, 0, false },
	{ KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX,
	  PAGES(KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX - 1UL), false },
	{ KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX,
	  PAGES(0UL + KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX), true },
	/* Their pages do not fit into 32 bits. */
	{ 512, PAGES(BIT(32)), true },
	{ 512, ULONG_MAX, true },
};

static void describe_size(const struct size_case *param, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "coalesce_min_pages=%u bytes=%lu",
		 param->min_pages, param->bytes);
}

KUNIT_ARRAY_PARAM(size, size_cases, describe_size);

static void leaves_small_events_to_kvm(struct kunit *test)
{
	const struct size_case *param = test->param_value;
	struct kvm_invpolicy_settings settings = {
		.numa = KVM_INVPOLICY_NUMA_KVM,
		.unmap = COALESCE,
		.other = COALESCE,
		.coalesce_min_pages = param->min_pages,
	};

	KUNIT_EXPECT_EQ(test, invp_action(&settings, KVM_INVPOLICY_REASON_UNMAP, param->bytes),
			param->coalesced ? INVP_ACTION_COALESCE_DYING : INVP_ACTION_DEFAULT);
	KUNIT_EXPECT_EQ(test, invp_action(&settings, KVM_INVPOLICY_REASON_OTHER, param->bytes),
			param->coalesced ? INVP_ACTION_COALESCE : INVP_ACTION_DEFAULT);
}

static void elides_whatever_the_size(struct kunit *test)
{
	struct kvm_invpolicy_settings settings = {
		.numa = KVM_INVPOLICY_NUMA_SKIP,
		.unmap = COALESCE,
		.other = COALESCE,
		.coalesce_min_pages = 512,
	};

	KUNIT_EXPECT_EQ(test, invp_action(&settings, KVM_INVPOLICY_REASON_NUMA, 0),
			INVP_ACTION_ELIDE);
	KUNIT_EXPECT_EQ(test, invp_action(&settings, KVM_INVPOLICY_REASON_NUMA, PAGES(1)),
			INVP_ACTION_ELIDE);
}

static void accepts_known_settings(struct kunit *test)
{
	static const u32 pages[] = { 0, 1, 512, KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX };
	struct kvm_invpolicy_settings settings = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		settings.coalesce_min_pages = pages[i];
		for (settings.unmap = 0; settings.unmap < __KVM_INVPOLICY_FLUSH_END;
		     settings.unmap++) {
			for (settings.other = 0; settings.other < __KVM_INVPOLICY_FLUSH_END;
			     settings.other++)
				KUNIT_EXPECT_TRUE_MSG(test, invp_settings_valid(&settings),
						      "unmap=%u other=%u coalesce_min_pages=%u",
						      settings.unmap, settings.other, pages[i]);
		}
	}
}

static void refuses_unknown_settings(struct kunit *test)
{
	static const u32 flushes[] = { __KVM_INVPOLICY_FLUSH_END, 1u << 31, U32_MAX };
	static const u32 pages[] = { KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX + 1, 1u << 31, U32_MAX };
	int i;

	for (i = 0; i < ARRAY_SIZE(flushes); i++) {
		struct kvm_invpolicy_settings unmap = { .unmap = flushes[i] };
		struct kvm_invpolicy_settings other = { .other = flushes[i] };
		struct kvm_invpolicy_settings min = { .coalesce_min_pages = pages[i] };

		KUNIT_EXPECT_FALSE_MSG(test, invp_settings_valid(&unmap), "unmap=%u", flushes[i]);
		KUNIT_EXPECT_FALSE_MSG(test, invp_settings_valid(&other), "other=%u", flushes[i]);
		KUNIT_EXPECT_FALSE_MSG(test, invp_settings_valid(&min), "coalesce_min_pages=%u",
				       pages[i]);
	}
}

/* Each from either side, so that no field is taken for another. */
static void update_changes_one_of_three(struct kunit *test)
{
	const struct kvm_invpolicy_settings changes[] = {
		{ .unmap = COALESCE }, { .other = COALESCE }, { .coalesce_min_pages = 7 },
		{ .unmap = KVM }, { .other = KVM }, { .coalesce_min_pages = 1 },
	};
	const struct kvm_invpolicy_settings wanted[] = {
		{ .unmap = COALESCE, .other = KVM, .coalesce_min_pages = 512 },
		{ .unmap = COALESCE, .other = COALESCE, .coalesce_min_pages = 512 },
		{ .unmap = COALESCE, .other = COALESCE, .coalesce_min_pages = 7 },
		{ .unmap = KVM, .other = COALESCE, .coalesce_min_pages = 7 },
		{ .unmap = KVM, .other = KVM, .coalesce_min_pages = 7 },
		{ .unmap = KVM, .other = KVM, .coalesce_min_pages = 1 },
	};
	struct kvm_invpolicy_settings settings = {
		.unmap = KVM,
		.other = KVM,
		.coalesce_min_pages = 512,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		invp_settings_update(&settings, &changes[i]);
		KUNIT_EXPECT_MEMEQ_MSG(test, &settings, &wanted[i], sizeof(settings),
				       "change %d", i);
	}
}

static void update_keeps_what_is_unspecified(struct kunit *test)
{
	const struct kvm_invpolicy_settings before = {
		.numa = KVM_INVPOLICY_NUMA_SKIP,
		.numa_pace_mbps = 64,
		.unmap = COALESCE,
		.other = KVM,
		.coalesce_min_pages = 512,
	};
	const struct kvm_invpolicy_settings nothing = {};
	struct kvm_invpolicy_settings settings = before;

	invp_settings_update(&settings, &nothing);
	KUNIT_EXPECT_MEMEQ(test, &settings, &before, sizeof(settings));
}

static void modes_are_all_but_unspecified(struct kunit *test)
{
	u32 flush;

	for (flush = 0; flush < 32; flush++) {
		bool exists = flush != KVM_INVPOLICY_FLUSH_UNSPEC &&
			      flush < __KVM_INVPOLICY_FLUSH_END;

		KUNIT_EXPECT_EQ_MSG(test, !!(invp_flush_modes() & BIT(flush)), exists,
				    "flush=%u", flush);
	}
}

static void names_are_those_users_know(struct kunit *test)
{
	u32 flush, parsed;

	KUNIT_EXPECT_STREQ(test, invp_flush_name(KVM), "kvm");
	KUNIT_EXPECT_STREQ(test, invp_flush_name(COALESCE), "coalesce");
	for (flush = KVM; flush < __KVM_INVPOLICY_FLUSH_END; flush++) {
		const char *name = invp_flush_name(flush);

		parsed = KVM_INVPOLICY_FLUSH_UNSPEC;
		KUNIT_EXPECT_EQ_MSG(test, invp_flush_parse(name, &parsed), 0, "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, parsed, flush, "%s", name);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(INVP_FLUSH_CHOICES, name),
					  "%s is no choice of the messages", name);
	}
}

static void parses_a_line_of_sysfs(struct kunit *test)
{
	u32 flush = KVM_INVPOLICY_FLUSH_UNSPEC;

	KUNIT_EXPECT_EQ(test, invp_flush_parse("coalesce\n", &flush), 0);
	KUNIT_EXPECT_EQ(test, flush, COALESCE);
	KUNIT_EXPECT_EQ(test, invp_flush_parse("kvm\n", &flush), 0);
	KUNIT_EXPECT_EQ(test, flush, KVM);
}

static void refuses_bad_names(struct kunit *test)
{
	static const char *const bad[] = {
		"", "\n", "c", "coalesc", "coalesced", " coalesce", "coalesce ", "coalesce\n\n",
		"COALESCE", "kv", "kvm,coalesce", "skip", "fast", "unspec", "0", "1", "2",
	};
	u32 flush = 0xdead;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ_MSG(test, invp_flush_parse(bad[i], &flush), -EINVAL,
				    "\"%s\"", bad[i]);
		KUNIT_EXPECT_EQ(test, flush, 0xdead);
	}
}

static struct kunit_case coalesce_cases[] = {
	KUNIT_CASE_PARAM(acts_on_reason, reason_gen_params),
	KUNIT_CASE(leaves_numa_hints_to_numa),
	KUNIT_CASE_PARAM(leaves_small_events_to_kvm, size_gen_params),
	KUNIT_CASE(elides_whatever_the_size),
	KUNIT_CASE(accepts_known_settings),
	KUNIT_CASE(refuses_unknown_settings),
	KUNIT_CASE(update_changes_one_of_three),
	KUNIT_CASE(update_keeps_what_is_unspecified),
	KUNIT_CASE(modes_are_all_but_unspecified),
	KUNIT_CASE(names_are_those_users_know),
	KUNIT_CASE(parses_a_line_of_sysfs),
	KUNIT_CASE(refuses_bad_names),
	{}
};

static struct kunit_suite coalesce_suite = {
	.name = "kvm_invpolicy_coalesce",
	.test_cases = coalesce_cases,
};

kunit_test_suite(coalesce_suite);
