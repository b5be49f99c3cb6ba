// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's memory as registered buffers of an io_uring: pinned for as long as a
 * device's DMA would pin it. The kernel reads and writes it without the page tables of
 * this process, so it shows whether guest and pin still are on the same pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "oracle-host.h"
#include "util.h"

/* No registered buffer may be larger. */
#define BUFFER_SHIFT	30
#define BUFFERS_MAX	(SWEPT_MAX_MIB >> (BUFFER_SHIFT - 20))

/* A ring of one entry, and a pipe that guest pages are copied from and to. */
struct io_ring {
	int fd;
	bool registered;
	uint32_t *sq_tail;
	uint32_t *sq_array;
	uint32_t *cq_head;
	uint32_t cq_mask;
	struct io_uring_cqe *cqes;
	struct io_uring_sqe *sqe;
	int pipe[2];
};

static void *map_shared(int fd, uint64_t bytes, off_t offset)
{
	void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			     fd, offset);

	if (address == MAP_FAILED)
		die("cannot map an io_uring: %s", strerror(errno));
	return address;
}

static void map_ring(struct io_ring *ring, const struct io_uring_params *params)
{
	char *sq = map_shared(ring->fd, params->sq_off.array +
			      params->sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	char *cq = map_shared(ring->fd, params->cq_off.cqes +
			      params->cq_entries * sizeof(struct io_uring_cqe),
			      IORING_OFF_CQ_RING);

	ring->sq_tail = (uint32_t *)(sq + params->sq_off.tail);
	ring->sq_array = (uint32_t *)(sq + params->sq_off.array);
	ring->cq_head = (uint32_t *)(cq + params->cq_off.head);
	ring->cq_mask = *(uint32_t *)(cq + params->cq_off.ring_mask);
	ring->cqes = (struct io_uring_cqe *)(cq + params->cq_off.cqes);
	ring->sqe = map_shared(ring->fd, sizeof(*ring->sqe), IORING_OFF_SQES);
}

static struct io_ring *open_ring(struct reply *reply)
{
	struct io_uring_params params = { 0 };
	struct io_ring *ring;
	int fd = syscall(SYS_io_uring_setup, 1, &params);

	if (fd < 0) {
		reply_error(reply, "io_uring_setup: %s; see /proc/sys/kernel/io_uring_disabled",
			    strerror(errno));
		return NULL;
	}
	ring = xcalloc(1, sizeof(*ring));
	ring->fd = fd;
	map_ring(ring, &params);
	if (pipe2(ring->pipe, O_CLOEXEC))
		die("cannot create a pipe for an io_uring: %s", strerror(errno));
	return ring;
}

static bool register_buffers(struct vm *vm, struct reply *reply)
{
	uint64_t bytes = vm->memory.pages << GUEST_PAGE_SHIFT;
	struct iovec buffers[BUFFERS_MAX];
	unsigned int count = 0;
	uint64_t begin, end;

	if (vm->ring->registered)
		return reply_error(reply, "the memory is registered already");
	for (begin = 0; begin < bytes; begin = end) {
		end = begin + (1ULL << BUFFER_SHIFT);
		if (end > bytes)
			end = bytes;
		buffers[count++] = (struct iovec){ vm->memory.base + begin, end - begin };
	}
	if (syscall(SYS_io_uring_register, vm->ring->fd, IORING_REGISTER_BUFFERS, buffers, count))
		return reply_error(reply,
				   "cannot register the memory: %s; raise ulimit -l or run as root",
				   strerror(errno));
	vm->ring->registered = true;
	return true;
}

static bool unregister_buffers(struct vm *vm, struct reply *reply)
{
	if (syscall(SYS_io_uring_register, vm->ring->fd, IORING_UNREGISTER_BUFFERS, NULL, 0))
		return reply_error(reply, "cannot unregister the memory: %s", strerror(errno));
	vm->ring->registered = false;
	return true;
}

bool op_io_buffer(struct vm *vm, const struct request *request, struct reply *reply)
{
	const char *action = request->argv[1];

	if (!vm->ring)
		vm->ring = open_ring(reply);
	if (!vm->ring)
		return false;
	if (!strcmp(action, "on"))
		return register_buffers(vm, reply);
	if (!strcmp(action, "off"))
		return unregister_buffers(vm, reply);
	return reply_error(reply, "unknown io-buffer action %s: use on or off", action);
}

/* Copies a page from the pipe to the guest or the other way, and waits for it. */
static void transfer(struct vm *vm, uint8_t opcode, int pipe, uint64_t page)
{
	struct io_ring *ring = vm->ring;
	uint32_t tail = *ring->sq_tail;
	struct io_uring_cqe *cqe = &ring->cqes[*ring->cq_head & ring->cq_mask];

	*ring->sqe = (struct io_uring_sqe){
		.opcode = opcode,
		.fd = pipe,
		.addr = (uintptr_t)memory_address(&vm->memory, page),
		.len = GUEST_PAGE_SIZE,
		.buf_index = page >> (BUFFER_SHIFT - GUEST_PAGE_SHIFT),
	};
	ring->sq_array[0] = 0;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die("io_uring_enter: %s", strerror(errno));
	if (cqe->res != (int)GUEST_PAGE_SIZE)
		die("io_uring transferred %d bytes of page %llu", cqe->res,
		    (unsigned long long)page);
	__atomic_store_n(ring->cq_head, *ring->cq_head + 1, __ATOMIC_RELEASE);
}

static void write_stamps(struct vm *vm, struct range range, uint64_t epoch)
{
	uint64_t words[WORDS_PER_PAGE] = { 0 };
	const int *pipe = vm->ring->pipe;
	uint64_t page;

	for (page = range.first; page < range.first + range.count; page++) {
		words[0] = host_stamp(page_gpa(page), epoch);
		words[WORDS_PER_PAGE - 1] = words[0];
		if (write(pipe[1], words, sizeof(words)) != sizeof(words))
			die("cannot fill the pipe: %s", strerror(errno));
		transfer(vm, IORING_OP_READ_FIXED, pipe[0], page);
	}
}

static void read_words(struct vm *vm, uint64_t page, uint64_t *ends)
{
	uint64_t words[WORDS_PER_PAGE];
	const int *pipe = vm->ring->pipe;

	transfer(vm, IORING_OP_WRITE_FIXED, pipe[1], page);
	if (read(pipe[0], words, sizeof(words)) != sizeof(words))
		die("cannot empty the pipe: %s", strerror(errno));
	ends[0] = words[0];
	ends[1] = words[WORDS_PER_PAGE - 1];
}

/* The guest must see what is written through the buffer, and the buffer what it writes. */
bool op_io_check(struct vm *vm, const struct request *request, struct reply *reply)
{
	struct range range = request->range;
	uint64_t epoch = oracle_next_epoch(vm);

	if (!vm->ring || !vm->ring->registered)
		return reply_error(reply, "the memory is not registered: use io-buffer on first");
	if (!oracle_begin(vm, range, reply))
		return false;
	write_stamps(vm, range, epoch);
	oracle_stamped(vm, range, epoch);
	return oracle_settle(vm, range, reply) &&
		oracle_verify_through(vm, range, read_words, reply);
}
