/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROCESS_H
#define PROCESS_H

#include <stddef.h>
#include <sys/types.h>

/**
 * struct process - a child process
 * @pid: of the child
 * @socket: its other end is the argument of the child's function
 */
struct process {
	pid_t pid;
	int socket;
};

struct process process_start(void (*run)(int socket, const void *arg),
			     const void *arg);
void process_kill(struct process *process);
void kill_and_wait(pid_t pid);

/* An event of this process: pages that were in use are unmapped. */
void unmap_pages(size_t count);

void send_fd(int socket, int fd);
int receive_fd(int socket);
void send_number(int socket, int number);
int receive_number(int socket);

int fd_of_process(pid_t pid, int fd);
size_t vm_fds_of_process(pid_t pid, int *fds, size_t max);

#endif
