// SPDX-License-Identifier: GPL-2.0-only
/* Settings: what is accepted, what they are called, what they do. */
#include <kunit/test.h>

#include "policy.h"

struct action_case {
	u32 numa;
	enum kvm_invpolicy_reason reason;
	enum invp_action action;
};

static const struct action_case action_cases[] = {
	{ KVM_INVPOLICY_NUMA_UNSPEC, KVM_INVPOLICY_REASON_NUMA, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_UNSPEC, KVM_INVPOLICY_REASON_UNMAP, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_UNSPEC, KVM_INVPOLICY_REASON_EXIT, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_UNSPEC, KVM_INVPOLICY_REASON_OTHER, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_KVM, KVM_INVPOLICY_REASON_NUMA, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_KVM, KVM_INVPOLICY_REASON_UNMAP, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_KVM, KVM_INVPOLICY_REASON_EXIT, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_KVM, KVM_INVPOLICY_REASON_OTHER, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_SKIP, KVM_INVPOLICY_REASON_NUMA, INVP_ACTION_ELIDE },
	{ KVM_INVPOLICY_NUMA_SKIP, KVM_INVPOLICY_REASON_UNMAP, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_SKIP, KVM_INVPOLICY_REASON_EXIT, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_SKIP, KVM_INVPOLICY_REASON_OTHER, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_PRECISE, KVM_INVPOLICY_REASON_NUMA, INVP_ACTION_ELIDE },
	{ KVM_INVPOLICY_NUMA_PRECISE, KVM_INVPOLICY_REASON_UNMAP, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_PRECISE, KVM_INVPOLICY_REASON_EXIT, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_PRECISE, KVM_INVPOLICY_REASON_OTHER, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_PACED, KVM_INVPOLICY_REASON_NUMA, INVP_ACTION_ELIDE },
	{ KVM_INVPOLICY_NUMA_PACED, KVM_INVPOLICY_REASON_UNMAP, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_PACED, KVM_INVPOLICY_REASON_EXIT, INVP_ACTION_DEFAULT },
	{ KVM_INVPOLICY_NUMA_PACED, KVM_INVPOLICY_REASON_OTHER, INVP_ACTION_DEFAULT },
};

/* A new setting or reason must bring its rows. */
static_assert(ARRAY_SIZE(action_cases) ==
	      __KVM_INVPOLICY_NUMA_END * __KVM_INVPOLICY_REASON_END);

static void describe_action(const struct action_case *param, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "numa=%u reason=%u", param->numa, param->reason);
}

KUNIT_ARRAY_PARAM(action, action_cases, describe_action);

static void acts_on_reason(struct kunit *test)
{
	const struct action_case *param = test->param_value;
	struct kvm_invpolicy_settings settings = { .numa = param->numa };

	KUNIT_EXPECT_EQ(test, invp_action(&settings, param->reason, PAGE_SIZE), param->action);
}

static void accepts_known_settings(struct kunit *test)
{
	struct kvm_invpolicy_settings settings = {};

	for (; settings.numa < __KVM_INVPOLICY_NUMA_END; settings.numa++)
		KUNIT_EXPECT_TRUE_MSG(test, invp_settings_valid(&settings),
				      "numa=%u", settings.numa);
}

static void refuses_unknown_settings(struct kunit *test)
{
	static const u32 unknown[] = { __KVM_INVPOLICY_NUMA_END, 1u << 31, U32_MAX };
	int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		struct kvm_invpolicy_settings settings = { .numa = unknown[i] };

		KUNIT_EXPECT_FALSE_MSG(test, invp_settings_valid(&settings),
				       "numa=%u", unknown[i]);
	}
}

static void accepts_rates_in_range(struct kunit *test)
{
	static const u32 rates[] = { 0, 1, 64, KVM_INVPOLICY_NUMA_PACE_MBPS_MAX };
	int i;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		struct kvm_invpolicy_settings settings = { .numa_pace_mbps = rates[i] };

		KUNIT_EXPECT_TRUE_MSG(test, invp_settings_valid(&settings),
				      "numa_pace_mbps=%u", rates[i]);
	}
}

static void refuses_rates_out_of_range(struct kunit *test)
{
	static const u32 rates[] = { KVM_INVPOLICY_NUMA_PACE_MBPS_MAX + 1, 1u << 31, U32_MAX };
	int i;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		struct kvm_invpolicy_settings settings = { .numa_pace_mbps = rates[i] };

		KUNIT_EXPECT_FALSE_MSG(test, invp_settings_valid(&settings),
				       "numa_pace_mbps=%u", rates[i]);
	}
}

static void refuses_reserved_fields(struct kunit *test)
{
	struct kvm_invpolicy_settings settings = { .numa = KVM_INVPOLICY_NUMA_SKIP };
	unsigned long bit;

	for (bit = 0; bit < 8 * sizeof(settings.reserved); bit++) {
		u32 *field = &settings.reserved[bit / 32];

		*field = 1u << (bit % 32);
		KUNIT_EXPECT_FALSE_MSG(test, invp_settings_valid(&settings), "bit %lu", bit);
		*field = 0;
	}
	KUNIT_EXPECT_TRUE(test, invp_settings_valid(&settings));
}

static void update_changes_what_is_specified(struct kunit *test)
{
	struct kvm_invpolicy_settings settings = { .numa = KVM_INVPOLICY_NUMA_KVM };
	struct kvm_invpolicy_settings change = { .numa = KVM_INVPOLICY_NUMA_SKIP };

	invp_settings_update(&settings, &change);
	KUNIT_EXPECT_EQ(test, settings.numa, KVM_INVPOLICY_NUMA_SKIP);

	change.numa = KVM_INVPOLICY_NUMA_KVM;
	invp_settings_update(&settings, &change);
	KUNIT_EXPECT_EQ(test, settings.numa, KVM_INVPOLICY_NUMA_KVM);
}

static void update_changes_one_of_two(struct kunit *test)
{
	const struct kvm_invpolicy_settings rate = { .numa_pace_mbps = 7 };
	const struct kvm_invpolicy_settings mode = { .numa = KVM_INVPOLICY_NUMA_PACED };
	struct kvm_invpolicy_settings settings = {
		.numa = KVM_INVPOLICY_NUMA_KVM,
		.numa_pace_mbps = 64,
	};

	invp_settings_update(&settings, &rate);
	KUNIT_EXPECT_EQ(test, settings.numa, KVM_INVPOLICY_NUMA_KVM);
	KUNIT_EXPECT_EQ(test, settings.numa_pace_mbps, 7);

	invp_settings_update(&settings, &mode);
	KUNIT_EXPECT_EQ(test, settings.numa, KVM_INVPOLICY_NUMA_PACED);
	KUNIT_EXPECT_EQ(test, settings.numa_pace_mbps, 7);
}

static void update_keeps_what_is_unspecified(struct kunit *test)
{
	const struct kvm_invpolicy_settings before = {
		.numa = KVM_INVPOLICY_NUMA_SKIP,
		.numa_pace_mbps = 64,
	};
	const struct kvm_invpolicy_settings nothing = {};
	struct kvm_invpolicy_settings settings = before;

	invp_settings_update(&settings, &nothing);
	KUNIT_EXPECT_MEMEQ(test, &settings, &before, sizeof(settings));
}

static void modes_are_all_but_unspecified(struct kunit *test)
{
	u32 numa;

	for (numa = 0; numa < 32; numa++) {
		bool exists = numa != KVM_INVPOLICY_NUMA_UNSPEC &&
			      numa < __KVM_INVPOLICY_NUMA_END;

		KUNIT_EXPECT_EQ_MSG(test, !!(invp_numa_modes() & BIT(numa)), exists,
				    "numa=%u", numa);
	}
}

static void names_round_trip(struct kunit *test)
{
	u32 numa, parsed;

	for (numa = KVM_INVPOLICY_NUMA_KVM; numa < __KVM_INVPOLICY_NUMA_END; numa++) {
		const char *name = invp_numa_name(numa);

		KUNIT_ASSERT_NOT_NULL(test, name);
		parsed = KVM_INVPOLICY_NUMA_UNSPEC;
		KUNIT_EXPECT_EQ_MSG(test, invp_numa_parse(name, &parsed), 0, "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, parsed, numa, "%s", name);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(INVP_NUMA_CHOICES, name),
					  "%s is no choice of the messages", name);
	}
}

static void names_are_those_users_know(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, invp_numa_name(KVM_INVPOLICY_NUMA_KVM), "kvm");
	KUNIT_EXPECT_STREQ(test, invp_numa_name(KVM_INVPOLICY_NUMA_SKIP), "skip");
	KUNIT_EXPECT_STREQ(test, invp_numa_name(KVM_INVPOLICY_NUMA_PRECISE), "precise");
	KUNIT_EXPECT_STREQ(test, invp_numa_name(KVM_INVPOLICY_NUMA_PACED), "paced");
}

static void parses_a_line_of_sysfs(struct kunit *test)
{
	u32 numa = KVM_INVPOLICY_NUMA_UNSPEC;

	KUNIT_EXPECT_EQ(test, invp_numa_parse("skip\n", &numa), 0);
	KUNIT_EXPECT_EQ(test, numa, KVM_INVPOLICY_NUMA_SKIP);
	KUNIT_EXPECT_EQ(test, invp_numa_parse("kvm\n", &numa), 0);
	KUNIT_EXPECT_EQ(test, numa, KVM_INVPOLICY_NUMA_KVM);
}

static const char *const bad_names[] = {
	"", "\n", " ", "s", "ski", "skipp", "skip ", " skip", "skip\n\n", "\nskip", "SKIP",
	"kv", "kvm,skip", "pace", "pacedprecise", "precise paced", "unspec", "(null)", "0", "1",
	"2", "3", "4", "-1",
};

static void describe_name(const char *const *param, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "\"%*pE\"", (int)strlen(*param), *param);
}

KUNIT_ARRAY_PARAM(bad_name, bad_names, describe_name);

static void refuses_bad_name(struct kunit *test)
{
	const char *const *name = test->param_value;
	u32 numa = 0xdead;

	KUNIT_EXPECT_EQ(test, invp_numa_parse(*name, &numa), -EINVAL);
	KUNIT_EXPECT_EQ(test, numa, 0xdead);
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE_PARAM(acts_on_reason, action_gen_params),
	KUNIT_CASE(accepts_known_settings),
	KUNIT_CASE(refuses_unknown_settings),
	KUNIT_CASE(accepts_rates_in_range),
	KUNIT_CASE(refuses_rates_out_of_range),
	KUNIT_CASE(refuses_reserved_fields),
	KUNIT_CASE(update_changes_what_is_specified),
	KUNIT_CASE(update_changes_one_of_two),
	KUNIT_CASE(update_keeps_what_is_unspecified),
	KUNIT_CASE(modes_are_all_but_unspecified),
	KUNIT_CASE(names_round_trip),
	KUNIT_CASE(names_are_those_users_know),
	KUNIT_CASE(parses_a_line_of_sysfs),
	KUNIT_CASE_PARAM(refuses_bad_name, bad_name_gen_params),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "kvm_invpolicy_policy",
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);
