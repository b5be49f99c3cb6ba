// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "counters.h"
#include "device.h"
#include "error.h"
#include "host.h"
#include "json.h"
#include "settings.h"
#include "vmfd.h"

#define REFRESH_MS 1000

struct observation {
	struct vm_set vms;
	/* One per VM: a descriptor observes a single VM. */
	struct device *devices;
	unsigned int opened;
	int signal_fd;
	double seconds;
	bool ended;
	struct kvm_invpolicy_stats stats;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Begins to observe, and later makes the module read the memslots anew. */
static int observe_all(const struct observation *observation)
{
	for (unsigned int i = 0; i < observation->vms.count; i++) {
		int error = device_vm_call(&observation->devices[i], KVM_INVPOLICY_OBSERVE,
					   observation->vms.fds[i], NULL);

		if (error)
			return error;
	}
	return 0;
}

static int open_devices(struct observation *observation)
{
	observation->devices = calloc(observation->vms.count, sizeof(*observation->devices));
	if (!observation->devices)
		return fail(EXIT_INTERNAL, "no memory for %u VMs: stop other programs",
			    observation->vms.count);
	while (observation->opened < observation->vms.count) {
		int code = device_open(&observation->devices[observation->opened]);

		if (code)
			return code;
		observation->opened++;
	}
	return EXIT_OK;
}

static int catch_signals(struct observation *observation)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	observation->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (observation->signal_fd < 0)
		return fail(EXIT_INTERNAL, "cannot wait for signals (%s): raise 'ulimit -n'",
			    strerror(errno));
	return EXIT_OK;
}

static int read_counters(struct observation *observation)
{
	observation->stats = (struct kvm_invpolicy_stats) { };
	for (unsigned int i = 0; i < observation->vms.count; i++) {
		struct kvm_invpolicy_stats stats;
		int error = device_observed(&observation->devices[i], &stats);

		if (error)
			return error;
		observation->ended |= stats.ended;
		counters_add(&observation->stats, &stats);
	}
	return 0;
}

static void show_progress(const struct observation *observation, unsigned int seconds)
{
	char pages[COUNTERS_TEXT_MAX];

	if (isatty(STDERR_FILENO))
		fprintf(stderr,
			"\robserving process %d: %.0f of %u s, %s guest pages in NUMA events",
			observation->vms.pid, observation->seconds, seconds,
			counters_count(pages, observation->stats.numa_guest_pages));
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

static bool wait_interrupted(const struct observation *observation, double seconds)
{
	struct pollfd events[] = {
		{ .fd = observation->signal_fd, .events = POLLIN },
		{ .fd = observation->vms.pidfd, .events = POLLIN },
	};
	int timeout = seconds * 1000 + 1;

	poll(events, 2, timeout < REFRESH_MS ? timeout : REFRESH_MS);
	return events[0].revents;
}

static int count_events(struct observation *observation, unsigned int seconds)
{
	double start = now();
	bool interrupted = false;
	int error = 0;

	while (!error && !interrupted && !observation->ended && observation->seconds < seconds) {
		show_progress(observation, seconds);
		interrupted = wait_interrupted(observation, seconds - observation->seconds);
		observation->seconds = now() - start;
		observation->ended = vm_set_process_ended(&observation->vms);
		error = observe_all(observation);
		if (error == -ESRCH) {
			observation->ended = true;
			error = 0;
		}
		if (!error)
			error = read_counters(observation);
	}
	clear_progress();
	return error;
}

/* KVM_INVPOLICY_NUMA_UNSPEC if the VMs do not all have the same, or have no policy. */
static __u32 numa_of_all(const struct observation *observation)
{
	__u32 numa = KVM_INVPOLICY_NUMA_UNSPEC;

	for (unsigned int i = 0; i < observation->vms.count; i++) {
		struct kvm_invpolicy_stats stats;

		if (device_stats(&observation->devices[i], observation->vms.fds[i], &stats) ||
		    (i && stats.settings.numa != numa))
			return KVM_INVPOLICY_NUMA_UNSPEC;
		numa = stats.settings.numa;
	}
	return numa;
}

static double pages_per_second(const struct observation *observation)
{
	return observation->stats.numa_guest_pages / observation->seconds;
}

static void write_verdict(const struct observation *observation, char *text, size_t size)
{
	const char *whose = observation->vms.count == 1 ? "this VM" : "these VMs";
	__u32 numa = numa_of_all(observation);
	char pages[COUNTERS_TEXT_MAX];
	unsigned int mode;

	counters_count(pages, pages_per_second(observation));
	if (observation->stats.numa_guest_pages && numa == KVM_INVPOLICY_NUMA_SKIP)
		snprintf(text, size,
			 "NUMA balancing announced %s pages a second of %s; numa=skip spares all of them",
			 pages, whose);
	else if (observation->stats.numa_guest_pages &&
		 (numa == KVM_INVPOLICY_NUMA_PRECISE || numa == KVM_INVPOLICY_NUMA_PACED))
		snprintf(text, size,
			 "NUMA balancing announced %s pages a second of %s; numa=%s spares all but those that 'kvm-invpolicy stat %d' shows as unmapped",
			 pages, whose, settings_numa_name(numa), observation->vms.pid);
	else if (observation->stats.numa_guest_pages)
		snprintf(text, size,
			 "NUMA balancing announced %s pages a second of %s, and KVM unmapped what the guest had of them; numa=skip would spare all",
			 pages, whose);
	else if (observation->stats.reason[KVM_INVPOLICY_REASON_NUMA].events)
		snprintf(text, size,
			 "NUMA balancing did not touch the memory of %s in %.0f s: a policy would not help here, or it takes a longer --seconds to see it",
			 whose, observation->seconds);
	else if (!host_numa_balancing(&mode) || !mode)
		snprintf(text, size,
			 "no NUMA event seen, as NUMA balancing is off on this host: a policy would not help here");
	else
		snprintf(text, size,
			 "no NUMA event seen in %.0f s: a policy would not help here, or it takes a longer --seconds to see one",
			 observation->seconds);
}

static void print_text(const struct observation *observation, const char *verdict)
{
	char pages[COUNTERS_TEXT_MAX];

	printf("process %d: %u VM%s observed for %.1f s%s\n\n", observation->vms.pid,
	       observation->vms.count, observation->vms.count == 1 ? "" : "s", observation->seconds,
	       observation->ended ? ", until the process ended" : "");
	counters_print(&observation->stats, observation->seconds);
	printf("\nguest memory in NUMA events: %s pages\n%s\n",
	       counters_count(pages, observation->stats.numa_guest_pages), verdict);
}

static void print_json(const struct observation *observation, const char *verdict)
{
	json_object_begin(NULL);
	json_unsigned("pid", observation->vms.pid);
	json_unsigned("vms", observation->vms.count);
	json_decimal("seconds", observation->seconds);
	json_bool("ended", observation->ended);
	counters_json(&observation->stats);
	json_unsigned("numa_guest_pages", observation->stats.numa_guest_pages);
	json_decimal("numa_guest_pages_per_second", pages_per_second(observation));
	json_string("verdict", verdict);
	json_object_end();
	json_finish();
}

static int observe(struct observation *observation, const struct arguments *arguments)
{
	char verdict[192];
	int code, error;

	code = open_devices(observation);
	if (!code)
		code = catch_signals(observation);
	if (code)
		return code;

	error = observe_all(observation);
	if (!error)
		error = count_events(observation, arguments->seconds);
	if (error)
		return device_fail(&observation->devices[0], observation->vms.pid, error);

	write_verdict(observation, verdict, sizeof(verdict));
	if (arguments->json)
		print_json(observation, verdict);
	else
		print_text(observation, verdict);
	return EXIT_OK;
}

int command_observe(const struct arguments *arguments)
{
	struct observation observation = { .signal_fd = -1 };
	int code;

	code = vm_set_open(&observation.vms, arguments->pid);
	if (code)
		return code;
	code = observe(&observation, arguments);

	while (observation.opened)
		device_close(&observation.devices[--observation.opened]);
	free(observation.devices);
	if (observation.signal_fd >= 0)
		close(observation.signal_fd);
	vm_set_close(&observation.vms);
	return code;
}
