// SPDX-License-Identifier: GPL-2.0-only
/* A small VMM whose guest checks every page that it touches. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "control.h"
#include "check-file.h"
#include "keepfd.h"
#include "sharer.h"
#include "util.h"
#include "vm.h"

#define VMS_MAX		16

static const char usage[] =
"Usage: vmm run --control PATH [OPTION...]   run VMs whose guests sweep their memory\n"
"       vmm ctl PATH [vm N] COMMAND [ARG...] send a command, print the reply (JSON)\n"
"       vmm check-file FILE PAGES SWEEP      whether FILE holds what a guest of that\n"
"                                            memory wrote in SWEEP or later\n"
"       vmm guard                            hold one VM with one vCPU until killed\n"
"       vmm hog CPU                          let nobody else run there until killed\n"
"\n"
"Options of run:\n"
"  --control PATH       unix socket to take commands on\n"
"  --vcpus N            vCPUs of each VM, 1 to 64 (4)\n"
"  --memory MIB         swept memory of each VM, 1 to 8192 (64)\n"
"  --backing KIND       anon, anon-thp, memfd or hugetlb (anon)\n"
"  --pin CPU,CPU,...    CPUs for the vCPU threads, in turn\n"
"  --node N,N,...       nodes to place equal parts of the memory on at first\n"
"  --vms N              VMs in the process, 1 to 16 (1)\n"
"  --mergeable          let KSM scan all of the memory\n"
"  --keep-fd-in-child   a child process keeps the VM fds until SIGTERM\n"
"  --share-memory       another process has all of the memory too, until SIGTERM\n"
"\n"
"Commands (FIRST and COUNT are pages of the swept memory):\n";

static void print_help(void)
{
	fputs(usage, stdout);
	control_print_commands();
	puts("\nExit status: 0 success, 1 the command failed or the guest found errors,\n"
	     "2 bad usage, or ctl cannot connect");
}

static enum backing parse_backing(const char *name)
{
	int backing;

	for (backing = 0; backing < BACKINGS; backing++)
		if (!strcmp(name, backing_names[backing]))
			return backing;
	die_usage("unknown backing %s: use anon, anon-thp, memfd or hugetlb",
		  name);
}

static uint64_t number_option(const char *option, const char *text,
			      uint64_t min, uint64_t max)
{
	uint64_t value;

	if (!parse_number(text, min, max, &value))
		die_usage("bad --%s %s: use a number from %llu to %llu", option,
			  text, (unsigned long long)min, (unsigned long long)max);
	return value;
}

static const struct option options[] = {
	{ "control",		required_argument, NULL, 'c' },
	{ "vcpus",		required_argument, NULL, 'v' },
	{ "memory",		required_argument, NULL, 'm' },
	{ "backing",		required_argument, NULL, 'b' },
	{ "pin",		required_argument, NULL, 'p' },
	{ "node",		required_argument, NULL, 'n' },
	{ "vms",		required_argument, NULL, 'V' },
	{ "mergeable",		no_argument,	   NULL, 'M' },
	{ "keep-fd-in-child",	no_argument,	   NULL, 'k' },
	{ "share-memory",	no_argument,	   NULL, 's' },
	{ }
};

static void parse_option(struct config *config, int option, const char *text)
{
	switch (option) {
	case 'c':
		config->control = text;
		break;
	case 'v':
		config->vcpus = number_option("vcpus", text, 1, VCPUS_MAX);
		break;
	case 'm':
		config->pages = number_option("memory", text, 1, SWEPT_MAX_MIB)
			<< (20 - GUEST_PAGE_SHIFT);
		break;
	case 'b':
		config->backing = parse_backing(text);
		break;
	case 'p':
		if (!parse_number_list(text, CPU_SETSIZE, &config->pin))
			die_usage("bad --pin %s: use CPU numbers separated by commas",
				  text);
		break;
	case 'n':
		if (!parse_number_list(text, NODES_MAX, &config->nodes))
			die_usage("bad --node %s: use node numbers separated by commas",
				  text);
		break;
	case 'V':
		config->vms = number_option("vms", text, 1, VMS_MAX);
		break;
	case 'M':
		config->mergeable = true;
		break;
	case 'k':
		config->keep_fd_in_child = true;
		break;
	case 's':
		config->share_memory = true;
		break;
	}
}

static void check_config(const struct config *config)
{
	uint64_t bytes = config->pages << GUEST_PAGE_SHIFT;

	if (!config->control)
		die_usage("run needs --control PATH: see vmm --help");
	if (config->backing == BACKING_HUGETLB && bytes % HUGE_BYTES)
		die_usage("bad --memory %llu: hugetlb takes an even number of MiB",
			  (unsigned long long)bytes >> 20);
	if (config->mergeable && config->backing != BACKING_ANON &&
	    config->backing != BACKING_ANON_THP)
		die_usage("bad --mergeable: KSM takes --backing anon or anon-thp only");
}

static struct config parse_options(int argc, char **argv)
{
	struct config config = {
		.vms = 1,
		.vcpus = 4,
		.pages = 64 << (20 - GUEST_PAGE_SHIFT),
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (option == ':')
			die_usage("option %s needs a value: see vmm --help",
				  argv[optind - 1]);
		if (option == '?')
			die_usage("bad option %s: see vmm --help",
				  argv[optind - 1]);
		parse_option(&config, option, optarg);
	}
	if (optind < argc)
		die_usage("unexpected argument %s: see vmm --help", argv[optind]);
	check_config(&config);
	return config;
}

static void start_vms(struct vm *vms, const struct config *config,
		      const struct keeper *keeper)
{
	int kvm = kvm_open();
	unsigned int i;
	int error;

	for (i = 0; i < config->vms; i++) {
		vms[i].index = i;
		vm_init(&vms[i], kvm, config);
		if (config->keep_fd_in_child) {
			keeper_give(keeper, vms[i].fd);
			vms[i].keeper = keeper->pid;
		}
		vm_start(&vms[i]);
		error = config->pin.count ? vm_pin(&vms[i], &config->pin) : 0;
		if (error)
			die_usage("cannot pin the vCPUs: %s; see /sys/devices/system/cpu/online",
				  strerror(error));
	}
	close(kvm);
}

static int run(int argc, char **argv)
{
	struct config config = parse_options(argc, argv);
	struct keeper keeper = { 0 };
	pid_t sharer = 0;
	unsigned int i;
	struct vm *vms;
	int listener;
	int status = 0;

	signal(SIGPIPE, SIG_IGN);
	if (config.keep_fd_in_child)
		keeper = keeper_start();
	if (config.share_memory)
		sharer = sharer_start();
	vms = xcalloc(config.vms, sizeof(*vms));
	listener = control_listen(config.control);
	start_vms(vms, &config, &keeper);
	for (i = 0; i < config.vms; i++)
		vms[i].sharer = sharer;
	printf("ready pid=%d\n", getpid());
	fflush(stdout);

	control_serve(listener, vms, config.vms);
	unlink(config.control);
	for (i = 0; i < config.vms; i++)
		if (vm_errors(&vms[i]))
			status = EXIT_ERRORS;
	return status;
}

/*
 * While this VM lives, KVM has no reason to patch kernel text when other VMs
 * come and go: it is the first one, and its vCPU has no in-kernel irqchip.
 */
static int guard(void)
{
	int vm = kvm_create_vm(kvm_open());

	if (ioctl(vm, KVM_CREATE_VCPU, 0) < 0)
		die("cannot create the guard's vCPU: %s", strerror(errno));
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

/* Whoever is left there cannot even die. */
static int hog(const char *text)
{
	struct sched_param param = { .sched_priority = 50 };
	uint64_t cpu;
	cpu_set_t set;

	if (!parse_number(text, 0, CPU_SETSIZE - 1, &cpu))
		die_usage("bad CPU %s: see /sys/devices/system/cpu/online", text);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		die("cannot have CPU %s: %s", text, strerror(errno));
	for (;;)
		;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "--help")) {
		print_help();
		return 0;
	}
	if (!strcmp(mode, "run"))
		return run(argc - 1, argv + 1);
	if (!strcmp(mode, "ctl")) {
		if (argc < 4)
			die_usage("ctl needs PATH and COMMAND: see vmm --help");
		return control_call(argv[2], argc - 3, argv + 3);
	}
	if (!strcmp(mode, "check-file")) {
		uint64_t pages, sweep;

		if (argc != 5 || !parse_number(argv[3], 1, SWEPT_MAX_MIB << 8, &pages) ||
		    !parse_number(argv[4], 1, STAMP_MASK, &sweep))
			die_usage("check-file needs FILE, PAGES and SWEEP: see vmm --help");
		return check_file(argv[2], pages, sweep);
	}
	if (!strcmp(mode, "guard")) {
		if (argc > 2)
			die_usage("guard takes no argument, not %s", argv[2]);
		return guard();
	}
	if (!strcmp(mode, "hog")) {
		if (argc != 3)
			die_usage("hog needs a CPU: see vmm --help");
		return hog(argv[2]);
	}
	die_usage("unknown mode %s: use run, ctl, check-file, guard, hog or --help",
		  *mode ? mode : "(none)");
}
