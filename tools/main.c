// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "error.h"
#include "host.h"
#include "number.h"
#include "settings.h"

#define SECONDS_DEFAULT	10
#define SECONDS_MAX	86400

enum {
	TAKES_PID	= 1 << 0,
	TAKES_SETTINGS	= 1 << 1,
	NEEDS_SETTINGS	= 1 << 2,
	TAKES_SECONDS	= 1 << 3,
	TAKES_JSON	= 1 << 4,
};

struct command {
	const char *name;
	int (*run)(const struct arguments *arguments);
	unsigned int takes;
	const char *description;
};

static const struct command commands[] = {
	{ "status", command_status, TAKES_JSON,
	  "what is loaded, the defaults and the attached VMs" },
	{ "features", command_features, TAKES_JSON,
	  "which settings this kernel and module can do, and why not" },
	{ "list", command_list, TAKES_JSON,
	  "the attached VMs" },
	{ "attach", command_attach, TAKES_PID | TAKES_SETTINGS,
	  "give every VM of a process a policy" },
	{ "detach", command_detach, TAKES_PID,
	  "give every VM of a process back to KVM's own behaviour" },
	{ "set", command_set, TAKES_PID | TAKES_SETTINGS | NEEDS_SETTINGS,
	  "change the policy of the attached VMs of a process" },
	{ "teardown", command_teardown, TAKES_PID,
	  "end the attached VMs of a process for good, so that their memory goes fast" },
	{ "stat", command_stat, TAKES_PID | TAKES_JSON,
	  "what the attached VMs of a process counted since attach" },
	{ "observe", command_observe, TAKES_PID | TAKES_SECONDS | TAKES_JSON,
	  "count what a policy would spare a process; changes nothing" },
	{ }
};

static const char *synopsis(const struct command *command)
{
	static char text[160];
	const char *settings = "";

	if (command->takes & TAKES_SETTINGS)
		settings = command->takes & NEEDS_SETTINGS ? " SETTING..." : " [SETTING...]";
	snprintf(text, sizeof(text), "%s%s%s%s%s", command->name,
		 command->takes & TAKES_PID ? " PID" : "", settings,
		 command->takes & TAKES_SECONDS ? " [--seconds N]" : "",
		 command->takes & TAKES_JSON ? " [--json]" : "");
	return text;
}

static void print_help(void)
{
	puts("Usage: kvm-invpolicy [COMMAND]\n"
	     "\n"
	     "Chooses how KVM reacts when the host changes the mappings of a VM's memory.\n"
	     "\n"
	     "Commands (without one: status):");
	for (const struct command *command = commands; command->name; command++)
		printf("  %-35s  %s\n", synopsis(command), command->description);
	puts("\n"
	     "Settings: see attach --help\n"
	     "\n"
	     "Options:\n"
	     "  --help     this text; after a command: what that command takes\n"
	     "  --version  the versions of this tool and of the loaded module\n"
	     "\n"
	     "Exit codes, JSON keys and examples: man 8 kvm-invpolicy");
}

static void print_settings_help(void)
{
	puts("  numa=kvm              KVM's own behaviour: unmap all that NUMA balancing\n"
	     "                        announces\n"
	     "  numa=skip             KVM ignores NUMA balancing:\n"
	     "                        " SETTINGS_CONSEQUENCE_OF_SKIP "\n"
	     "  numa=precise          unmap, with one flush, only those pages that the host really\n"
	     "                        protected and that can migrate\n"
	     "  numa=paced            the same pages, but in the background and at a limited rate");
	printf("  numa_pace_mbps=N      that rate at most, in MiB per second, 1 to %d\n",
	       KVM_INVPOLICY_NUMA_PACE_MBPS_MAX);
	puts("  unmap=kvm             munmap and the like: KVM's own behaviour\n"
	     "  unmap=coalesce        unmap all pages of such an event, then flush once\n"
	     "  other=kvm             all other changes of mappings: KVM's own behaviour\n"
	     "  other=coalesce        as unmap=coalesce");
	printf("  coalesce_min_pages=N  leave events of fewer pages to KVM, 1 to %d\n",
	       KVM_INVPOLICY_COALESCE_MIN_PAGES_MAX);
	puts("  exit=kvm              a process that dies: KVM's own behaviour\n"
	     "  exit=fast             unmap all memory of its VMs at once, then nothing more");
}

static void print_command_help(const struct command *command)
{
	printf("Usage: kvm-invpolicy %s\n\n%s\n\n", synopsis(command), command->description);
	if (command->takes & TAKES_PID)
		puts("  PID                   the process that runs the VMs, such as qemu");
	if (command->takes & TAKES_SETTINGS)
		print_settings_help();
	if (command->takes & TAKES_SECONDS)
		printf("  --seconds N           for how long, 1 to %d; default %d\n",
		       SECONDS_MAX, SECONDS_DEFAULT);
	if (command->takes & TAKES_JSON)
		puts("  --json                one JSON object instead of text");
	puts("  --help                this text");
}

static void print_version(void)
{
	char version[HOST_VALUE_MAX];

	printf("kvm-invpolicy %s\n", VERSION);
	if (host_module_version(version))
		printf("module kvm_invpolicy %s\n", version);
	else
		puts("module kvm_invpolicy not loaded");
}

static int parse_seconds(const char *text, unsigned int *seconds)
{
	int number;

	if (!text || !number_parse(text, SECONDS_MAX, &number))
		return fail(EXIT_USAGE, "bad --seconds %s: give a whole number from 1 to %d",
			    text ? text : "without a number", SECONDS_MAX);
	*seconds = number;
	return EXIT_OK;
}

static int parse_pid(const char *text, pid_t *pid)
{
	if (!number_parse(text, INT_MAX, pid))
		return fail(EXIT_USAGE, "bad PID '%s': give the number of a process", text);
	return EXIT_OK;
}

static int fail_unknown(const struct command *command, const char *text)
{
	return fail(EXIT_USAGE, "%s does not take '%s': use 'kvm-invpolicy %s'",
		    command->name, text, synopsis(command));
}

static int parse_operand(const struct command *command, const char *text,
			 struct arguments *arguments)
{
	if (command->takes & TAKES_SETTINGS && strchr(text, '=')) {
		if (settings_parse(text, &arguments->settings))
			return EXIT_OK;
		return fail(EXIT_USAGE, "bad setting '%s': use %s", text, settings_choices(NULL));
	}
	if (command->takes & TAKES_PID && !arguments->pid && text[0] != '-')
		return parse_pid(text, &arguments->pid);
	return fail_unknown(command, text);
}

static int check_complete(const struct command *command, const struct arguments *arguments)
{
	if (command->takes & TAKES_PID && !arguments->pid)
		return fail(EXIT_USAGE, "%s needs a PID: use 'kvm-invpolicy %s'",
			    command->name, synopsis(command));
	if (command->takes & NEEDS_SETTINGS && settings_empty(&arguments->settings))
		return fail(EXIT_USAGE, "%s needs a setting: use %s",
			    command->name, settings_choices(NULL));
	return EXIT_OK;
}

/* Moves @words past what it has read. */
static int parse_word(const struct command *command, char ***words, struct arguments *arguments)
{
	char *word = *(*words)++;

	if (command->takes & TAKES_JSON && !strcmp(word, "--json")) {
		arguments->json = true;
		return EXIT_OK;
	}
	if (command->takes & TAKES_SECONDS && !strncmp(word, "--seconds=", 10))
		return parse_seconds(word + 10, &arguments->seconds);
	if (command->takes & TAKES_SECONDS && !strcmp(word, "--seconds"))
		return parse_seconds(**words ? *(*words)++ : NULL, &arguments->seconds);
	return parse_operand(command, word, arguments);
}

static int run(const struct command *command, char **words)
{
	struct arguments arguments = { .seconds = SECONDS_DEFAULT };
	int code = EXIT_OK;

	while (*words && !code) {
		if (!strcmp(*words, "--help")) {
			print_command_help(command);
			return EXIT_OK;
		}
		code = parse_word(command, &words, &arguments);
	}
	if (!code)
		code = check_complete(command, &arguments);
	return code ? code : command->run(&arguments);
}

static int dispatch(char **words)
{
	if (!words[0])
		return run(&commands[0], words);
	if (!strcmp(words[0], "--help")) {
		print_help();
		return EXIT_OK;
	}
	if (!strcmp(words[0], "--version")) {
		print_version();
		return EXIT_OK;
	}
	for (const struct command *command = commands; command->name; command++)
		if (!strcmp(words[0], command->name))
			return run(command, words + 1);
	return fail(EXIT_USAGE, "unknown command '%s': see 'kvm-invpolicy --help'", words[0]);
}

int main(int argc, char **argv)
{
	int code = dispatch(argv + !!argc);

	if ((fflush(stdout) || ferror(stdout)) && !code)
		return fail(EXIT_INTERNAL,
			    "cannot write the output: check where stdout goes, and that its disk is not full");
	return code;
}
