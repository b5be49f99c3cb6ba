// SPDX-License-Identifier: GPL-2.0-only
/* More than one process, or more than one VM, has to do with a policy. */
#include <errno.h>
#include <fcntl.h>
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

static __u32 attached_before;

static void attach(int device, int vm)
{
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0), 0, "ATTACH");
}

static void detach(int device, int vm)
{
	expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), 0, "DETACH");
}

static void expect_gone(pid_t pid, int number)
{
	expect(wait_vm_folder_gone(pid, number), "the VM is still there");
	expect(wait_attached_vms(attached_before), "the VM is still attached");
}

/* The mm that the VM is bound to has gone. */
static void expect_no_process(int device, int vm)
{
	int observer = device_open();

	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0), ESRCH,
		     "ATTACH after the process");
	expect_errno(vm_call(observer, KVM_INVPOLICY_OBSERVE, vm, 0), ESRCH,
		     "OBSERVE after the process");
	close(observer);
}

/* Ends when the other end of @socket sends a number. */
static void run_vmm(int socket, const void *attached)
{
	struct guest guest;
	int device = device_open();

	guest_create(&guest);
	guest_run(&guest);
	if (*(const bool *)attached)
		attach(device, guest.vm);
	send_number(socket, guest.number);
	send_fd(socket, guest.vm);
	receive_number(socket);
}

static struct process start_vmm(bool attached, int *number, int *vm)
{
	struct process vmm = process_start(run_vmm, &attached);

	*number = receive_number(vmm.socket);
	*vm = receive_fd(vmm.socket);
	return vmm;
}

static void end_vmm(struct process *vmm, bool killed)
{
	if (killed)
		kill(vmm->pid, SIGKILL);
	else
		send_number(vmm->socket, 0);
	waitpid(vmm->pid, NULL, 0);
	close(vmm->socket);
}

/* Keeps the descriptor of a VM whose VMM has ended. */
static void keep(bool attached, bool killed, bool detaches)
{
	int device = device_open();
	int number, vm;
	struct process vmm = start_vmm(attached, &number, &vm);

	end_vmm(&vmm, killed);
	expect(vm_folder_exists(vmm.pid, number), "the VM has gone too early");
	expect_value(attached_vms_of(vmm.pid), attached, "listed");
	if (attached)
		expect(vm_ended(device, vm), "stats do not say ended");
	if (detaches)
		detach(device, vm);
	if (detaches || !attached) {
		expect_value(attached_vms_of(vmm.pid), 0, "listed afterwards");
		expect_errno(vm_call(device, KVM_INVPOLICY_DETACH, vm, 0), ENOENT,
			     "DETACH without a policy");
		expect_no_process(device, vm);
	}
	close(vm);
	expect_gone(vmm.pid, number);
	close(device);
}

static void kept_descriptors(void)
{
	static const char *const endings[] = { "exited", "killed" };
	int killed;

	for (killed = 0; killed < 2; killed++) {
		test_begin("kept-after-vmm-%s-detach-close", endings[killed]);
		keep(true, killed, true);
		test_end();
		test_begin("kept-after-vmm-%s-close", endings[killed]);
		keep(true, killed, false);
		test_end();
		test_begin("kept-after-vmm-%s-not-attached", endings[killed]);
		keep(false, killed, false);
		test_end();
	}
}

static void two_vms(void)
{
	struct guest first, second;
	int device = device_open();

	test_begin("two-vms-in-one-process");
	guest_create(&first);
	guest_create(&second);
	guest_run(&first);
	guest_run(&second);
	attach(device, first.vm);
	attach(device, second.vm);
	expect_value(attached_vms_of(getpid()), 2, "listed");
	guest_close(&first);
	expect(!vm_folder_exists(getpid(), first.number), "the closed VM remains");
	expect_value(attached_vms_of(getpid()), 1, "listed after a close");
	expect(!vm_ended(device, second.vm), "the other VM has ended");
	guest_close(&second);
	expect_gone(getpid(), second.number);
	test_end();
	close(device);
}

static void duplicate(void)
{
	struct guest guest;
	int device = device_open();
	int copy;

	test_begin("duplicated-descriptor");
	guest_create(&guest);
	copy = dup(guest.vm);
	attach(device, guest.vm);
	expect_errno(vm_call(device, KVM_INVPOLICY_ATTACH, copy, 0), EEXIST,
		     "ATTACH by the copy");
	guest_close(&guest);
	expect_value(attached_vms_of(getpid()), 1, "listed after one close");
	detach(device, copy);
	attach(device, copy);
	close(copy);
	expect_gone(getpid(), guest.number);
	test_end();
	close(device);
}

/* The child has the VM, but not the mm that the VM is bound to. */
static void run_forking_vmm(int socket, const void *arg)
{
	struct guest guest;
	int device = device_open();
	pid_t child;

	(void)arg;
	guest_create(&guest);
	guest_run(&guest);
	attach(device, guest.vm);
	child = fork();
	if (!child) {
		detach(device, guest.vm);
		attach(device, guest.vm);
		send_number(socket, getpid());
		for (;;)
			pause();
	}
	send_number(socket, guest.number);
	wait(NULL);
	for (;;)
		pause();
}

static void forked(bool parent_first)
{
	struct process vmm;
	int first, second;

	test_begin("forked-vmm-%s-dies-first", parent_first ? "parent" : "child");
	vmm = process_start(run_forking_vmm, NULL);
	first = receive_number(vmm.socket);
	second = receive_number(vmm.socket);

	/* Which of the two comes first is open; descriptors are small numbers. */
	if (first > second) {
		int child = first;

		first = second;
		second = child;
	}
	if (parent_first) {
		process_kill(&vmm);
	} else {
		kill(second, SIGKILL);
		close(vmm.socket);
		usleep(100000);
	}
	expect(vm_folder_exists(vmm.pid, first), "the VM has gone too early");
	expect_value(attached_vms_of(vmm.pid), 1, "listed");
	if (parent_first)
		kill(second, SIGKILL);
	else
		kill_and_wait(vmm.pid);
	expect_gone(vmm.pid, first);
	test_end();
}

/* Another program keeps the descriptor: the process lives, its mm does not. */
static void run_executing_vmm(int socket, const void *arg)
{
	struct guest guest;
	int device = device_open();

	(void)arg;
	guest_create(&guest);
	guest_run(&guest);
	attach(device, guest.vm);
	fcntl(guest.vm, F_SETFD, 0);
	send_number(socket, guest.number);
	execlp("sleep", "sleep", "1000", NULL);
	die("cannot execute sleep: %s", strerror(errno));
}

static void executed(bool detaches)
{
	int device = device_open();
	struct process vmm;
	int number, vm;
	char byte;

	test_begin("vmm-executes-another-program%s", detaches ? "-detach" : "");
	vmm = process_start(run_executing_vmm, NULL);
	number = receive_number(vmm.socket);
	expect_value(read(vmm.socket, &byte, 1), 0, "bytes read at exec");
	vm = fd_of_process(vmm.pid, number);
	expect_value(attached_vms_of(vmm.pid), 1, "listed");
	expect(vm_ended(device, vm), "stats do not say ended");
	if (detaches) {
		detach(device, vm);
		expect_no_process(device, vm);
	}
	close(vm);
	expect(vm_folder_exists(vmm.pid, number), "the VM has gone too early");
	process_kill(&vmm);
	expect_gone(vmm.pid, number);
	test_end();
	close(device);
}

/* Attach and detach race with the end of the mm. */
static void killed_under_calls(void)
{
	int device = device_open();
	int number, vm, round, calls;

	test_begin("vmm-killed-while-attached-and-detached");
	for (round = 0; round < 20; round++) {
		struct process vmm = start_vmm(false, &number, &vm);
		int error = 0;

		for (calls = 0; !error; calls++) {
			error = vm_call(device, KVM_INVPOLICY_ATTACH, vm, 0);
			if (calls == round % 3)
				kill(vmm.pid, SIGKILL);
			if (!error)
				detach(device, vm);
		}
		expect_errno(error, ESRCH, "round %d: ATTACH", round);
		close(vm);
		process_kill(&vmm);
		expect_gone(vmm.pid, number);
	}
	test_end();
	close(device);
}

void handover(void)
{
	attached_before = attached_vms();
	kept_descriptors();
	two_vms();
	duplicate();
	forked(true);
	forked(false);
	executed(false);
	executed(true);
	killed_under_calls();
}
