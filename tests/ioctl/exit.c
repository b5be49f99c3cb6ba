// SPDX-License-Identifier: GPL-2.0-only
/* The setting exit. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "errors.h"
#include "guest.h"
#include "parameter.h"
#include "tap.h"

#define KVM	KVM_INVPOLICY_EXIT_KVM
#define FAST	KVM_INVPOLICY_EXIT_FAST

#define EXIT_PARAMETER	MODULE_FOLDER "parameters/exit"

static int call(int device, unsigned int cmd, int vm, __u32 exit)
{
	const struct kvm_invpolicy_settings settings = { .exit = exit };

	return vm_call_settings(device, cmd, vm, &settings);
}

static void expect_exit(int device, int vm, __u32 exit, const char *when)
{
	expect_value(vm_settings(device, vm).exit, exit, "exit, %s", when);
}

static void get_info(bool hooks)
{
	struct kvm_invpolicy_info info = device_info();
	char word[16];

	test_begin("GET_INFO-exit");
	expect_value(info.exit_modes, hooks ? 1 << KVM | 1 << FAST : 0, "exit_modes");
	read_word(EXIT_PARAMETER, word, sizeof(word));
	expect_value(info.defaults.exit, strcmp(word, "fast") ? KVM : FAST, "defaults.exit");
	test_end();
}

static void defaults(int device, int vm)
{
	char word[16];

	read_word(EXIT_PARAMETER, word, sizeof(word));
	test_begin("ATTACH-exit-default");
	write_word(EXIT_PARAMETER, "fast");
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0), 0, "ATTACH");
	expect_exit(device, vm, FAST, "as the default");
	write_word(EXIT_PARAMETER, "kvm");
	expect_exit(device, vm, FAST, "after the default changed");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	expect_errno(call(device, KVM_INVPOLICY_ATTACH, vm, FAST), 0, "ATTACH exit=fast");
	expect_exit(device, vm, FAST, "against the default");
	test_end();
	write_word(EXIT_PARAMETER, word);
}

static void update(int device, int vm)
{
	test_begin("UPDATE-changes-exit");
	expect_errno(call(device, KVM_INVPOLICY_UPDATE, vm, KVM), 0, "UPDATE");
	expect_exit(device, vm, KVM, "after an update");
	expect_errno(vm_call(device, KVM_INVPOLICY_UPDATE, vm, KVM_INVPOLICY_NUMA_KVM), 0,
		     "UPDATE of another setting");
	expect_exit(device, vm, KVM, "after an update of another setting");
	expect_errno(call(device, KVM_INVPOLICY_UPDATE, vm, FAST + 1), EINVAL, "UPDATE");
	expect_exit(device, vm, KVM, "after a refused update");
	expect_errno(call(device, KVM_INVPOLICY_DETACH, vm, FAST), EINVAL, "DETACH exit=fast");
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
	test_end();
}

void errors_exit(bool hooks)
{
	int device = device_open();
	int vm = vm_create();

	get_info(hooks);
	if (hooks) {
		defaults(device, vm);
		update(device, vm);
	}
	close(vm);
	close(device);
}
