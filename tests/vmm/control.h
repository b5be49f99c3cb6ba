/* SPDX-License-Identifier: GPL-2.0-only */
/* The command channel: one text line in, one JSON line out. */
#ifndef VMM_CONTROL_H
#define VMM_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "vm.h"

struct reply {
	char error[320];
	char *fields;
	size_t length;
	bool violation;
	bool quit;
};

struct request {
	int argc;
	char **argv;
	struct range range;
};

/* Returns false after reply_error(). */
typedef bool operation(struct vm *vm, const struct request *request,
		       struct reply *reply);

/* Appends `,"key":value` text, or sets the error and returns false. */
void reply_add(struct reply *reply, const char *format, ...)
	__printf(2, 3);
bool reply_error(struct reply *reply, const char *format, ...)
	__printf(2, 3);

/* The guest had its way with memory that it had lost: an error at the end. */
bool reply_violation(struct reply *reply, const char *format, ...)
	__printf(2, 3);

int control_listen(const char *path);
void control_serve(int listener, struct vm *vms, unsigned int vm_count);
int control_call(const char *path, int argc, char **argv);
void control_print_commands(void);

operation op_stat, op_map, op_pin, op_pause, op_resume, op_close_vm, op_slot,
	  op_dirty_log;
operation op_mprotect, op_check_ro, op_munmap, op_mapfixed, op_mremap, op_hammer;
operation op_punch, op_dontneed, op_stamp, op_verify, op_settle;
operation op_migrate, op_placement, op_mbind;
operation op_io_buffer, op_io_check;
operation op_uffd_wp, op_uffd_missing;
operation op_pageout, op_collapse, op_fork;
operation op_split, op_discard_all, op_unmap_all;
operation op_ksm;

#endif
