// SPDX-License-Identifier: GPL-2.0-only
/*
 * A VMM lets go of an attached VM in every order, and stops at every point of
 * it: whatever it has left behind is cleaned up.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "guest.h"
#include "lifetime.h"
#include "process.h"
#include "tap.h"

enum action {
	CLOSE_VM,
	CLOSE_DEVICE,
	UNMAP_MEMORY,
	DETACH,
	ACTIONS
};

static const char *const action_names[] = {
	[CLOSE_VM] = "close-vm",
	[CLOSE_DEVICE] = "close-device",
	[UNMAP_MEMORY] = "munmap",
	[DETACH] = "detach",
};

static const struct ending {
	const char *name;
	bool killed;
} endings[] = {
	{ "exit", false },
	{ "kill", true },
};

/* The running vCPU keeps the VM beyond the close of its descriptor. */
static const struct variant {
	const char *name;
	bool vcpu_runs;
	bool observes_itself;
	bool is_observed;
} variants[] = {
	{ "running", .vcpu_runs = true },
	{ "stopped-observing-itself", .observes_itself = true },
	{ "running-observed", .vcpu_runs = true, .is_observed = true },
	{ "stopped-observed", .is_observed = true },
};

struct scene {
	const struct variant *variant;
	const struct ending *ending;
	enum action actions[ACTIONS];
	size_t count;
};

struct actor {
	struct guest guest;
	int device;
	bool detached;
};

static const char *name_of(const struct scene *scene)
{
	static char name[128];
	size_t i;

	name[0] = '\0';
	for (i = 0; i < scene->count; i++) {
		strcat(name, action_names[scene->actions[i]]);
		strcat(name, ", ");
	}
	return strcat(name, scene->ending->name);
}

static void detach(struct actor *actor, const char *name)
{
	int device = actor->device >= 0 ? actor->device : device_open();
	int wanted = actor->guest.vm >= 0 ? 0 : EBADF;

	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, actor->guest.vm, 0),
		     wanted, "%s: DETACH", name);
	actor->detached = !wanted;
	if (actor->device < 0)
		close(device);
}

static void act(struct actor *actor, enum action action, const char *name)
{
	bool vm_lives;

	switch (action) {
	case CLOSE_VM:
		close(actor->guest.vm);
		actor->guest.vm = -1;
		break;
	case CLOSE_DEVICE:
		close(actor->device);
		actor->device = -1;
		break;
	case UNMAP_MEMORY:
		guest_unmap(&actor->guest);
		break;
	default:
		detach(actor, name);
	}
	vm_lives = actor->guest.vm >= 0 || actor->guest.running;
	expect_value(attached_vms_of(getpid()), vm_lives && !actor->detached,
		     "%s: attached VMs after %s", name, action_names[action]);
}

static void play(int socket, const void *arg)
{
	const struct scene *scene = arg;
	struct actor actor = { .device = device_open() };
	size_t i;

	guest_create(&actor.guest);
	guest_run(&actor.guest);
	expect_errno(vm_call(actor.device, KVM_INVPOLICY_ATTACH, actor.guest.vm,
			     KVM_INVPOLICY_NUMA_SKIP), 0, "ATTACH");
	if (!scene->variant->vcpu_runs)
		guest_stop(&actor.guest);
	if (scene->variant->observes_itself)
		expect_errno(vm_call(device_open(), KVM_INVPOLICY_OBSERVE,
				     actor.guest.vm, 0), 0, "OBSERVE");
	send_number(socket, actor.guest.number);
	if (scene->variant->is_observed) {
		send_fd(socket, actor.guest.vm);
		receive_number(socket);
	}
	for (i = 0; i < scene->count; i++)
		act(&actor, scene->actions[i], name_of(scene));
	if (scene->ending->killed)
		raise(SIGKILL);
	_exit(0);
}

static int observer(const struct process *vmm)
{
	int device = device_open();
	int vm = receive_fd(vmm->socket);

	expect_errno(vm_call(device, KVM_INVPOLICY_OBSERVE, vm, 0), 0, "OBSERVE");
	close(vm);
	send_number(vmm->socket, 0);
	return device;
}

static void expect_observed_end(int device, const char *name)
{
	struct kvm_invpolicy_stats stats;

	expect_errno(observed_stats(device, &stats), 0, "%s: stats OBSERVED", name);
	expect_value(stats.ended, 1, "%s: ended", name);
	close(device);
}

static void run_scene(const struct scene *scene, __u32 attached_before)
{
	struct process vmm = process_start(play, scene);
	int number = receive_number(vmm.socket);
	int device = scene->variant->is_observed ? observer(&vmm) : -1;
	const char *name = name_of(scene);
	int status;

	waitpid(vmm.pid, &status, 0);
	close(vmm.socket);
	expect_value(status, scene->ending->killed ? SIGKILL : 0,
		     "%s: wait status", name);
	expect(wait_vm_folder_gone(vmm.pid, number),
	       "%s: the VM is still there", name);
	expect(wait_attached_vms(attached_before),
	       "%s: the VM is still attached", name);
	if (device >= 0)
		expect_observed_end(device, name);
}

static unsigned int run_continuations(struct scene *scene, __u32 attached_before)
{
	unsigned int played = 1;
	enum action action;
	size_t i;

	run_scene(scene, attached_before);
	for (action = 0; action < ACTIONS; action++) {
		/* Whatever is left behind is waited for, for seconds. */
		if (test_failing())
			break;
		for (i = 0; i < scene->count; i++)
			if (scene->actions[i] == action)
				break;
		if (i < scene->count)
			continue;
		scene->actions[scene->count++] = action;
		played += run_continuations(scene, attached_before);
		scene->count--;
	}
	return played;
}

void orders(void)
{
	__u32 attached_before = attached_vms();
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(variants); i++) {
		for (j = 0; j < ARRAY_SIZE(endings); j++) {
			struct scene scene = {
				.variant = &variants[i],
				.ending = &endings[j],
			};

			test_begin("order-%s-%s", variants[i].name,
				   endings[j].name);
			expect_value(run_continuations(&scene, attached_before),
				     65, "orders");
			test_end();
		}
	}
}
