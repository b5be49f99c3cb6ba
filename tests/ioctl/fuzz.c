// SPDX-License-Identifier: GPL-2.0-only
/* Two threads make calls whose arguments are nearly right, and quite wrong, at random. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "fuzz.h"
#include "guest.h"
#include "tap.h"

#define THREADS		2
#define VMS		3
#define OTHER_FDS	5
#define PAGE_BYTES	4096
#define WORDS		(PAGE_BYTES / sizeof(uint32_t))
#define CANARY		0xa5
#define ERRNO_MAX	134

/**
 * struct fuzzer - what one thread calls with
 * @state: of its generator
 * @end: when to stop
 * @page: for the argument; what follows it is not mapped
 * @read_only: the same, may not be written
 * @results: calls by errno
 * @calls: number of calls
 */
struct fuzzer {
	uint64_t state;
	time_t end;
	unsigned char *page;
	unsigned char *read_only;
	unsigned long results[ERRNO_MAX];
	unsigned long calls;
};

/* Both threads use them, and put others in their place. */
static int vms[VMS];
static int others[OTHER_FDS];
static int device;

/* What a call may answer; anything else is not in its documentation. */
static const int known_errors[] = {
	0, EFAULT, EINVAL, E2BIG, EBADF, ENXIO, ENOTTY, EEXIST, ENOENT, EBUSY, ESRCH, EINTR, EPERM,
};

static const uint32_t sizes[] = {
	0, 1, 4, 8, 16, 24, 32, 48, 64, 100, 128, 256, 1024, 4000, 4096, 4097, 65536, UINT32_MAX,
};

static const uint32_t words[] = {
	0, 1, 2, 3, 4, 5, 7, 8, 15, 31, 64, 255, 65536, 65537, 1048576, 1048577, INT32_MAX,
	(uint32_t)INT32_MIN, UINT32_MAX - 1, UINT32_MAX,
};

static uint32_t below(struct fuzzer *fuzzer, uint32_t limit)
{
	fuzzer->state ^= fuzzer->state << 13;
	fuzzer->state ^= fuzzer->state >> 7;
	fuzzer->state ^= fuzzer->state << 17;
	return (fuzzer->state >> 16) % limit;
}

static int pick_fd(struct fuzzer *fuzzer)
{
	uint32_t choice = below(fuzzer, 10);

	if (choice < 7)
		return __atomic_load_n(&vms[below(fuzzer, VMS)], __ATOMIC_RELAXED);
	if (choice < 9)
		return others[below(fuzzer, OTHER_FDS)];
	return words[below(fuzzer, ARRAY_SIZE(words))];
}

static uint32_t true_size(unsigned int cmd)
{
	switch (cmd) {
	case KVM_INVPOLICY_GET_INFO:
		return sizeof(struct kvm_invpolicy_info);
	case KVM_INVPOLICY_GET_STATS:
		return sizeof(struct kvm_invpolicy_stats);
	case KVM_INVPOLICY_LIST:
		return sizeof(struct kvm_invpolicy_list);
	default:
		return sizeof(struct kvm_invpolicy_vm);
	}
}

/* A right argument, of which some words are then made wrong. */
static void make_argument(struct fuzzer *fuzzer, unsigned int cmd)
{
	static struct kvm_invpolicy_list_entry entries[THREADS][8];
	struct kvm_invpolicy_list *list = (void *)fuzzer->page;
	struct kvm_invpolicy_vm *vm = (void *)fuzzer->page;
	uint32_t wrong = below(fuzzer, 4);

	memset(fuzzer->page, 0, PAGE_BYTES);
	if (cmd == KVM_INVPOLICY_LIST) {
		list->capacity = below(fuzzer, 8);
		list->entries = (uintptr_t)entries[fuzzer->state % THREADS];
	} else if (cmd != KVM_INVPOLICY_GET_INFO) {
		vm->vm_fd = pick_fd(fuzzer);
	}
	if (cmd == KVM_INVPOLICY_ATTACH || cmd == KVM_INVPOLICY_UPDATE)
		vm->settings.numa = below(fuzzer, __KVM_INVPOLICY_NUMA_END);
	while (wrong--)
		((uint32_t *)fuzzer->page)[1 + below(fuzzer, true_size(cmd) / 4 + 2)] =
			words[below(fuzzer, ARRAY_SIZE(words))];
	vm->size = below(fuzzer, 4) ? true_size(cmd) : sizes[below(fuzzer, ARRAY_SIZE(sizes))];
}

/* Where the argument is: mostly at the page's end, or a part of it beyond. */
static void *place_argument(struct fuzzer *fuzzer, uint32_t size)
{
	uint32_t room = size < PAGE_BYTES ? size : PAGE_BYTES;

	switch (below(fuzzer, 16)) {
	case 0:
		return NULL;
	case 1:
		return fuzzer->page + PAGE_BYTES;
	case 2:
		return (void *)(uintptr_t)0xffff888000000000;
	case 3:
		memcpy(fuzzer->page + PAGE_BYTES - room / 2, fuzzer->page, room / 2);
		return fuzzer->page + PAGE_BYTES - room / 2;
	case 4:
		mprotect(fuzzer->read_only, PAGE_BYTES, PROT_READ | PROT_WRITE);
		memcpy(fuzzer->read_only, fuzzer->page, PAGE_BYTES);
		mprotect(fuzzer->read_only, PAGE_BYTES, PROT_READ);
		return fuzzer->read_only;
	case 5:
		return fuzzer->page + 1 + below(fuzzer, 7);
	default:
		return fuzzer->page;
	}
}

static bool known(int error)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known_errors); i++)
		if (known_errors[i] == error)
			return true;
	return false;
}

/* What is behind the size that the caller gave is not the call's. */
static bool overwritten(const struct fuzzer *fuzzer, uint32_t size)
{
	uint32_t i;

	for (i = size; i < PAGE_BYTES; i++)
		if (fuzzer->page[i] != CANARY)
			return true;
	return false;
}

/* By a 32-bit program each fourth one. */
static int make_call(struct fuzzer *fuzzer, unsigned int cmd, void *argument)
{
	if ((uintptr_t)argument <= UINT32_MAX && !below(fuzzer, 4))
		return compat_call(device, cmd, argument);
	return device_call(device, cmd, argument);
}

static void call(struct fuzzer *fuzzer)
{
	unsigned int cmd = _IO(KVM_INVPOLICY_IOC, below(fuzzer, 9));
	uint32_t size;
	void *argument;
	int error;

	make_argument(fuzzer, cmd);
	if (!below(fuzzer, 20))
		cmd = below(fuzzer, UINT32_MAX);
	memcpy(&size, fuzzer->page, sizeof(size));
	argument = place_argument(fuzzer, size);
	/* A longer structure is right if all that is unknown in it is zero. */
	if (argument == fuzzer->page && size >= sizeof(uint32_t) && size < PAGE_BYTES)
		memset(fuzzer->page + size, CANARY, PAGE_BYTES - size);
	error = make_call(fuzzer, cmd, argument);
	fuzzer->calls++;
	fuzzer->results[error < ERRNO_MAX ? error : 0]++;
	expect(known(error), "command 0x%x, size %u: %s", cmd, size, strerror(error));
	if (argument == fuzzer->page && size >= sizeof(uint32_t) && size < PAGE_BYTES)
		expect(!overwritten(fuzzer, size), "command 0x%x wrote behind its size %u",
		       cmd, size);
}

/* With its policy, as a VM goes; a call of the other thread may have the old descriptor. */
static void replace_vm(struct fuzzer *fuzzer)
{
	int *vm = &vms[below(fuzzer, VMS)];
	int old = __atomic_exchange_n(vm, vm_create(), __ATOMIC_RELAXED);

	close(old);
}

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

static void *fuzz_thread(void *arg)
{
	struct fuzzer *fuzzer = arg;

	while (now() < fuzzer->end && !test_failing()) {
		if (!below(fuzzer, 100))
			replace_vm(fuzzer);
		call(fuzzer);
	}
	return NULL;
}

/* Where the pointers of a 32-bit program go; arm64 has none. */
#ifndef MAP_32BIT
#define MAP_32BIT	0
#endif

static unsigned char *map_page(void)
{
	unsigned char *pages = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (pages == MAP_FAILED || munmap(pages + PAGE_BYTES, PAGE_BYTES))
		die("cannot map memory: %s", strerror(errno));
	return pages;
}

static void open_fds(void)
{
	size_t i;

	device = device_open();
	for (i = 0; i < VMS; i++)
		vms[i] = vm_create();
	others[0] = kvm_open();
	others[1] = dup(device);
	others[2] = eventfd(0, EFD_CLOEXEC);
	others[3] = memfd_create("invp-ioctl", MFD_CLOEXEC);
	others[4] = open("/", O_PATH | O_CLOEXEC);
}

static void close_fds(void)
{
	size_t i;

	for (i = 0; i < VMS; i++)
		close(vms[i]);
	for (i = 0; i < OTHER_FDS; i++)
		close(others[i]);
	close(device);
}

static void report(const struct fuzzer *fuzzers)
{
	unsigned long sum;
	int error, i;

	for (error = 0; error < ERRNO_MAX; error++) {
		sum = 0;
		for (i = 0; i < THREADS; i++)
			sum += fuzzers[i].results[error];
		if (sum)
			printf("# %lu times %s\n", sum, error ? strerror(error) : "success");
	}
}

void fuzz(uint64_t seed, unsigned int seconds)
{
	static struct fuzzer fuzzers[THREADS];
	pthread_t threads[THREADS];
	__u32 before = attached_vms();
	int i;

	open_fds();
	test_begin("random-calls-of-seed-%llu", (unsigned long long)seed);
	for (i = 0; i < THREADS; i++) {
		/* Never zero, from which xorshift does not come away. */
		fuzzers[i].state = (seed << 1 | 1) * 0x9e3779b97f4a7c15 + i;
		fuzzers[i].end = now() + seconds;
		fuzzers[i].page = map_page();
		fuzzers[i].read_only = map_page();
		if (pthread_create(&threads[i], NULL, fuzz_thread, &fuzzers[i]))
			die("cannot create a thread: raise ulimit -u");
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	expect(fuzzers[0].results[0] && fuzzers[0].results[EINVAL] && fuzzers[0].results[EFAULT],
	       "%lu calls were not of all kinds", fuzzers[0].calls);
	close_fds();
	expect(wait_attached_vms(before), "VMs stay attached: %u", attached_vms());
	test_end();
	report(fuzzers);
}
