// SPDX-License-Identifier: GPL-2.0-only
/* userfaultfd: write protection, and pages that are missing until the host provides them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "oracle-host.h"
#include "util.h"

#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED	(1 << 13)
#endif

#define STANDSTILL_US	50000
#define POLL_MS		1

static int open_uffd(struct reply *reply)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP |
			UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
			UFFD_FEATURE_WP_UNPOPULATED,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		reply_error(reply,
			    "userfaultfd: %s; run as root or set vm.unprivileged_userfaultfd=1",
			    strerror(errno));
		return -1;
	}
	if (ioctl(fd, UFFDIO_API, &api)) {
		reply_error(reply, "userfaultfd write protection: %s; Linux 6.4 or newer is needed",
			    strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

static struct uffdio_range uffd_range(struct vm *vm, struct range range)
{
	return (struct uffdio_range){
		.start = (uintptr_t)memory_address(&vm->memory, range.first),
		.len = range_bytes(range),
	};
}

static bool write_protect(struct vm *vm, int fd, struct range range,
			  bool protect, struct reply *reply)
{
	struct uffdio_writeprotect wp = {
		.range = uffd_range(vm, range),
		.mode = protect ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	/* EAGAIN: the address space is just being changed. */
	while (ioctl(fd, UFFDIO_WRITEPROTECT, &wp))
		if (errno != EAGAIN)
			return reply_error(reply, "UFFDIO_WRITEPROTECT: %s",
					   strerror(errno));
	return true;
}

static uint64_t read_faults(int fd)
{
	struct uffd_msg message;
	uint64_t faults = 0;

	while (read(fd, &message, sizeof(message)) == sizeof(message))
		faults += message.event == UFFD_EVENT_PAGEFAULT;
	return faults;
}

static bool wait_for_fault(struct vm *vm, int fd, struct range range,
			   struct reply *reply)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	struct progress progress = { 0 };
	struct watch watch;

	if (vm->paused)
		return true;
	watch_begin(vm, range, &watch);
	while (poll(&pollfd, 1, POLL_MS) != 1) {
		if (watch_overrun(vm, &watch, reply))
			return false;
		if (progress_stalled(&progress, watch_visits(vm, &watch)))
			return reply_error(reply,
					   "no vCPU reaches the range: mprotect rw what is protected");
	}
	sleep_us(STANDSTILL_US);
	return true;
}

static bool check_unwritten(struct vm *vm, int fd, struct range range,
			    struct reply *reply)
{
	uint64_t bytes = range.count * 2 * sizeof(uint64_t);
	uint64_t *before = xcalloc(1, bytes);
	uint64_t *after = xcalloc(1, bytes);
	bool done;

	memory_snapshot(&vm->memory, range, before);
	done = wait_for_fault(vm, fd, range, reply);
	memory_snapshot(&vm->memory, range, after);
	if (memcmp(before, after, bytes))
		done = reply_violation(reply, "guest wrote to write-protected pages");
	reply_add(reply, ",\"uffd_faults\":%" PRIu64, read_faults(fd));
	free(before);
	free(after);
	return done;
}

bool op_uffd_wp(struct vm *vm, const struct request *request,
		struct reply *reply)
{
	struct range range = request->range;
	struct uffdio_register registration = {
		.range = uffd_range(vm, range),
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	int fd = open_uffd(reply);
	bool done;

	if (fd < 0)
		return false;
	if (ioctl(fd, UFFDIO_REGISTER, &registration)) {
		close(fd);
		return reply_error(reply, "UFFDIO_REGISTER: %s", strerror(errno));
	}
	done = write_protect(vm, fd, range, true, reply) &&
		check_unwritten(vm, fd, range, reply);
	done = write_protect(vm, fd, range, false, reply) && done;
	if (ioctl(fd, UFFDIO_UNREGISTER, &registration.range))
		done = reply_error(reply, "UFFDIO_UNREGISTER: %s",
				   strerror(errno));
	close(fd);
	return done && oracle_verify(vm, range, reply);
}

static bool provide_page(struct vm *vm, int fd, uint64_t page, uint64_t epoch,
			 struct reply *reply)
{
	static uint64_t words[GUEST_PAGE_SIZE / sizeof(uint64_t)];
	struct uffdio_copy copy = {
		.dst = (uintptr_t)memory_address(&vm->memory, page),
		.src = (uintptr_t)words,
		.len = GUEST_PAGE_SIZE,
	};

	words[0] = host_stamp(page_gpa(page), epoch);
	words[ARRAY_SIZE(words) - 1] = words[0];
	/* EAGAIN: the address space is just being changed. */
	while (ioctl(fd, UFFDIO_COPY, &copy))
		if (errno != EAGAIN)
			return reply_error(reply, "UFFDIO_COPY: %s", strerror(errno));
	return true;
}

/* The guest has to wait for each page, and finds what the host provides. */
static bool discard_and_provide(struct vm *vm, int fd, struct range range, struct reply *reply)
{
	uint64_t epoch = oracle_next_epoch(vm);
	uint64_t page;
	bool done;

	if (!oracle_begin(vm, range, reply))
		return false;
	if (madvise(memory_address(&vm->memory, range.first), range_bytes(range),
		    MADV_DONTNEED)) {
		oracle_cancel(vm, range);
		return reply_error(reply, "madvise: %s", strerror(errno));
	}
	oracle_stamped(vm, range, epoch);
	done = wait_for_fault(vm, fd, range, reply);
	for (page = range.first; page < range.first + range.count; page++)
		done = provide_page(vm, fd, page, epoch, reply) && done;
	reply_add(reply, ",\"uffd_faults\":%" PRIu64, read_faults(fd));
	return done;
}

bool op_uffd_missing(struct vm *vm, const struct request *request, struct reply *reply)
{
	struct range range = request->range;
	struct uffdio_register registration = {
		.range = uffd_range(vm, range),
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	bool done;
	int fd;

	if (memory_shared(&vm->memory))
		return reply_error(reply,
				   "%s memory keeps its pages: use --backing anon or anon-thp",
				   backing_names[vm->memory.backing]);
	fd = open_uffd(reply);
	if (fd < 0)
		return false;
	if (ioctl(fd, UFFDIO_REGISTER, &registration)) {
		close(fd);
		return reply_error(reply, "UFFDIO_REGISTER: %s", strerror(errno));
	}
	done = discard_and_provide(vm, fd, range, reply);
	/* The end of the descriptor wakes who still waits. */
	close(fd);
	return done && (vm->paused || oracle_settle(vm, range, reply));
}
