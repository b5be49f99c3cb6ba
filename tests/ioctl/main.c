// SPDX-License-Identifier: GPL-2.0-only
/* Drives every call of /dev/kvm-invpolicy, right and wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "errors.h"
#include "fuzz.h"
#include "lifetime.h"
#include "tap.h"

static const char usage[] =
"Usage: invp-ioctl errors hooks|no-hooks  every call with every wrong argument\n"
"       invp-ioctl orders                 every order in which VMs and processes end\n"
"       invp-ioctl churn PID ROUNDS       attach, update and detach the VMs of PID\n"
"       invp-ioctl fuzz SEED SECONDS      calls with arguments that are wrong at random\n"
"\n"
"errors, orders and fuzz print TAP lines, churn one line at its end. no-hooks: VMs can\n"
"only be observed, as with a stock KVM or observe_only=1.\n"
"\n"
"Exit status: 0 success, 1 a test failed, 2 the tests could not be run\n";

static int bad_usage(void)
{
	fputs(usage, stderr);
	return 2;
}

static int errors(const char *kind)
{
	bool hooks = !strcmp(kind, "hooks");

	if (!hooks && strcmp(kind, "no-hooks"))
		return bad_usage();
	test_begin("kvm-has-%s", kind);
	expect_value(!!device_info().hook_version, hooks, "hook_version is set");
	test_end();
	if (tap_status())
		return 1;
	errors_layout(hooks);
	errors_vmfd(hooks);
	errors_state(hooks);
	errors_coalesce(hooks);
	errors_exit(hooks);
	errors_list(hooks);
	errors_compat(hooks);
	if (hooks) {
		errors_memslots();
		errors_teardown();
		errors_race();
	}
	return tap_status();
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	tap_init();
	if (!strcmp(command, "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (!strcmp(command, "errors") && argc == 3)
		return errors(argv[2]);
	if (!strcmp(command, "orders") && argc == 2) {
		orders();
		handover();
		return tap_status();
	}
	if (!strcmp(command, "fuzz") && argc == 4) {
		fuzz(strtoull(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
		return tap_status();
	}
	if (!strcmp(command, "churn") && argc == 4) {
		churn(atoi(argv[2]), strtoul(argv[3], NULL, 10));
		return 0;
	}
	return bad_usage();
}
