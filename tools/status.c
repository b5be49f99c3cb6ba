// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "command.h"
#include "device.h"
#include "error.h"
#include "host.h"
#include "json.h"
#include "list.h"
#include "settings.h"

struct status {
	bool opened;
	struct kvm_invpolicy_info info;
	struct attached_list attached;
};

static int read_status(struct status *status)
{
	struct device device;
	int error;

	*status = (struct status) { };
	error = device_try_open(&device);
	if (error)
		return error;
	status->info = device.info;
	error = attached_list_read(&device, &status->attached);
	device_close(&device);
	status->opened = !error;
	return error;
}

static void print_parameter(const char *name, const char *value)
{
	printf(" %s=%s", name, value);
}

static void print_module(void)
{
	char version[HOST_VALUE_MAX];

	if (!host_module_loaded())
		puts("not loaded");
	else if (host_module_version(version))
		printf("loaded, version %s\n", version);
	else
		puts("loaded");
}

static void print_hooks(const struct status *status)
{
	unsigned int version;

	if (status->opened && !status->info.hook_version)
		printf("not in use, because %s: VMs can only be observed\n", device_why_no_hooks());
	else if (status->opened)
		printf("version %u\n", status->info.hook_version);
	else if (host_kvm_hook_version(&version))
		printf("version %u\n", version);
	else if (host_kvm_loaded())
		puts("none: VMs can only be observed");
	else
		puts("unknown: kvm is not loaded");
}

static void print_numa_balancing(void)
{
	unsigned int mode;

	if (!host_numa_balancing(&mode))
		puts("not in this kernel");
	else if (mode)
		printf("on (kernel.numa_balancing=%u)\n", mode);
	else
		puts("off (kernel.numa_balancing=0)");
}

static void print_defaults(const struct kvm_invpolicy_info *info)
{
	char text[SETTINGS_TEXT_MAX];

	printf("defaults        %s%s\n", settings_text_all(text, &info->defaults),
	       info->auto_attach ? ", every new VM is attached" : "");
}

static void print_text(const struct status *status)
{
	printf("tool            version %s\n", VERSION);
	printf("module          ");
	print_module();
	printf("hooks in kvm    ");
	print_hooks(status);
	printf("NUMA balancing  ");
	print_numa_balancing();
	if (host_module_loaded()) {
		printf("parameters     ");
		host_module_parameters(print_parameter);
		putchar('\n');
	}
	if (!status->opened)
		return;
	print_defaults(&status->info);
	printf("attached VMs    %u\n", status->attached.count);
	if (status->attached.count)
		putchar('\n');
	attached_list_print(&status->attached);
}

static void json_parameter(const char *name, const char *value)
{
	json_string(name, value);
}

static void json_host(void)
{
	char version[HOST_VALUE_MAX];
	unsigned int number;

	json_string("tool_version", VERSION);
	json_bool("module_loaded", host_module_loaded());
	if (host_module_version(version))
		json_string("module_version", version);
	else
		json_null("module_version");
	if (host_kvm_hook_version(&number))
		json_unsigned("kvm_hook_version", number);
	else
		json_null("kvm_hook_version");
	if (host_numa_balancing(&number))
		json_unsigned("numa_balancing", number);
	else
		json_null("numa_balancing");
}

static void print_json(const struct status *status)
{
	json_object_begin(NULL);
	json_host();
	json_bool("device_readable", status->opened);
	if (status->opened) {
		json_unsigned("abi", status->info.abi);
		json_unsigned("hook_version", status->info.hook_version);
		settings_json("default_", &status->info.defaults);
		json_bool("auto_attach", status->info.auto_attach);
		json_unsigned("attached", status->attached.count);
		attached_list_json(&status->attached);
	}
	json_object_begin("parameters");
	host_module_parameters(json_parameter);
	json_object_end();
	json_object_end();
	json_finish();
}

int command_status(const struct arguments *arguments)
{
	struct status status;
	int error = read_status(&status);

	if (arguments->json)
		print_json(&status);
	else
		print_text(&status);
	fflush(stdout);
	attached_list_free(&status.attached);
	return error ? device_open_fail(error) : EXIT_OK;
}
