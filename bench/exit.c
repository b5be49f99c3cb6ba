// SPDX-License-Identifier: GPL-2.0-only
/*
 * A VMM dies, in a window for the plugin bench/tcg-count.
 *
 *	bench-exit POLICY BACKING WAY PAGES
 *
 * Prints a line "POLICY BACKING WAY PAGES FLUSHES MICROSECONDS", and has the plugin write the
 * counts of this window. PAGES are of 4 KiB. To be started on the CPU where it stays, with the
 * VMM. POLICY is
 *	stock	KVM alone
 *	fast	with exit=fast, unmap=coalesce and other=coalesce
 * WAY is
 *	munmap		the VMM unmaps the memory, and exits
 *	kill		it is killed
 *	oom		it is killed as its control group may have no memory any more
 *	teardown	it tears the VM down, which needs a policy, unmaps the memory, and exits
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kvm_invpolicy.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest-memory.h"
#include "mark.h"
#include "touching-vm.h"
#include "util.h"

#define GROUP		"/sys/fs/cgroup/exit"
/* Whoever has the limit set waits, busily, until enough memory is free. */
#define LIMIT_CPU	2

enum way {
	WAY_MUNMAP,
	WAY_KILL,
	WAY_OOM,
	WAY_TEARDOWN,
	WAYS,
};

static const char *const ways[WAYS] = {
	[WAY_MUNMAP]	= "munmap",
	[WAY_KILL]	= "kill",
	[WAY_OOM]	= "oom",
	[WAY_TEARDOWN]	= "teardown",
};

/* A pipe by which it is told to die. */
struct vmm {
	pid_t pid;
	int die;
};

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	close(fd);
}

static void move_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %d", cpu);
}

static void vmm_main(bool fast, const struct backing *backing, enum way way, size_t pages,
		     int ready, int die)
{
	static const struct kvm_invpolicy_settings fast_settings = {
		.unmap = KVM_INVPOLICY_FLUSH_COALESCE,
		.other = KVM_INVPOLICY_FLUSH_COALESCE,
		.exit = KVM_INVPOLICY_EXIT_FAST,
	};
	struct memory memory;
	struct vm vm;
	char byte;

	if (way == WAY_OOM)
		write_file(GROUP "/cgroup.procs", "0");
	memory = memory_create(backing, pages);
	vm = vm_create(memory.address, memory.bytes);
	if (fast)
		policy_attach(vm.fd, &fast_settings);
	vm_touch_all(&vm);
	if (write(ready, &vm.stats_fd, sizeof(vm.stats_fd)) < 0 || read(die, &byte, 1) != 1)
		err(1, "pipe");
	if (way == WAY_TEARDOWN)
		policy_teardown(vm.fd);
	munmap(memory.address, memory.bytes);
	_exit(0);
}

static struct vmm start_vmm(bool fast, const struct backing *backing, enum way way, size_t pages,
			    int *stats_fd)
{
	int ready[2], die[2], remote_fd, pidfd;
	struct vmm vmm;

	if (pipe(ready) || pipe(die))
		err(1, "pipe");
	vmm.pid = fork();
	if (vmm.pid < 0)
		err(1, "fork");
	if (!vmm.pid)
		vmm_main(fast, backing, way, pages, ready[1], die[0]);
	vmm.die = die[1];
	close(ready[1]);
	if (read(ready[0], &remote_fd, sizeof(remote_fd)) != sizeof(remote_fd))
		errx(1, "the VMM is gone");
	/* What it counted is to be read when it is dead. */
	pidfd = syscall(SYS_pidfd_open, vmm.pid, 0);
	*stats_fd = syscall(SYS_pidfd_getfd, pidfd, remote_fd, 0);
	if (*stats_fd < 0)
		err(1, "pidfd_getfd");
	close(pidfd);
	return vmm;
}

static pid_t set_limit(const char *limit)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	move_to_cpu(LIMIT_CPU);
	write_file(GROUP "/memory.max", limit);
	_exit(0);
}

static void let_die(const struct vmm *vmm, enum way way)
{
	switch (way) {
	case WAY_KILL:
		kill(vmm->pid, SIGKILL);
		break;
	case WAY_OOM:
		set_limit("1M");
		break;
	default:
		if (write(vmm->die, "", 1) != 1)
			err(1, "pipe");
	}
	waitpid(vmm->pid, NULL, 0);
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

static void measure(bool fast, const struct backing *backing, enum way way, size_t pages)
{
	struct counter flushes;
	uint64_t before, us;
	struct vmm vmm;
	int stats_fd;

	if (way == WAY_OOM)
		write_file(GROUP "/memory.max", "max");
	vmm = start_vmm(fast, backing, way, pages, &stats_fd);
	flushes = stats_find(stats_fd, "remote_tlb_flush_requests");
	before = stats_read(&flushes);
	us = now_us();
	mark_begin(0);
	let_die(&vmm, way);
	mark_end();
	us = now_us() - us;
	mark_dump();
	printf("%s %s %s %zu %" PRIu64 " %" PRIu64 "\n", fast ? "fast" : "stock", backing->name,
	       ways[way], pages, stats_read(&flushes) - before, us);
	while (wait(NULL) > 0)
		;
}

static enum way way_find(const char *name)
{
	int way;

	for (way = 0; way < WAYS; way++)
		if (!strcmp(ways[way], name))
			return way;
	errx(2, "no way %s", name);
}

int main(int argc, char **argv)
{
	if (argc != 5 || (strcmp(argv[1], "stock") && strcmp(argv[1], "fast")))
		errx(2, "usage: bench-exit stock|fast BACKING munmap|kill|oom|teardown PAGES");
	if (!strcmp(argv[1], "stock") && !strcmp(argv[3], ways[WAY_TEARDOWN]))
		errx(2, "stock KVM tears no VM down");
	measure(!strcmp(argv[1], "fast"), backing_find(argv[2]), way_find(argv[3]),
		strtoul(argv[4], NULL, 0));
	return 0;
}
