// SPDX-License-Identifier: GPL-2.0-only
/* Changes the policy of running VMs again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "lifetime.h"
#include "process.h"
#include "tap.h"

#define VMS_MAX		16
#define PAUSE_MAX_US	4000

static void call(int device, const char *name, unsigned int cmd, int vm, __u32 numa)
{
	int error = vm_call(device, cmd, vm, numa);

	if (error)
		die("%s: %s", name, strerror(error));
}

/*
 * Detach takes far longer than all else: without pauses hardly any event would
 * meet a policy. Random ones let events begin and end at every point.
 */
static void let_events_come(void)
{
	usleep(random() % PAUSE_MAX_US);
}

/* Returns how many events were elided. */
static unsigned long long churn_vm(int device, int vm)
{
	struct kvm_invpolicy_stats stats;

	call(device, "ATTACH", KVM_INVPOLICY_ATTACH, vm, KVM_INVPOLICY_NUMA_SKIP);
	let_events_come();
	call(device, "UPDATE", KVM_INVPOLICY_UPDATE, vm, KVM_INVPOLICY_NUMA_KVM);
	call(device, "UPDATE", KVM_INVPOLICY_UPDATE, vm, KVM_INVPOLICY_NUMA_SKIP);
	let_events_come();
	if (policy_stats(device, vm, &stats))
		die("GET_STATS fails");
	call(device, "DETACH", KVM_INVPOLICY_DETACH, vm, 0);
	return stats.numa_elided;
}

void churn(pid_t pid, unsigned long rounds)
{
	time_t begin = time(NULL);
	int device = device_open();
	int vms[VMS_MAX];
	size_t count = vm_fds_of_process(pid, vms, VMS_MAX);
	unsigned long long elided = 0;
	unsigned long round;
	size_t i;

	if (!count)
		die("process %d has no VM: give the PID of a VMM", pid);
	for (round = 0; round < rounds; round++)
		for (i = 0; i < count; i++)
			elided += churn_vm(device, vms[i]);
	printf("rounds %lu vms %zu elided %llu seconds %ld\n", rounds, count,
	       elided, (long)(time(NULL) - begin));
	if (!elided)
		die("no event met a policy: nothing was tested, turn NUMA balancing on");
}
