// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "util.h"

#define WORDS_MAX	8
#define LINE_BYTES	512

static operation op_quit;

static const struct command {
	const char *name;
	const char *arguments;
	int words;
	bool has_range;
	operation *run;
} commands[] = {
	{ "stat",	"",				1, false, op_stat },
	{ "map",	"",				1, false, op_map },
	{ "pin",	"CPU,CPU,...|none",		2, false, op_pin },
	{ "pause",	"",				1, false, op_pause },
	{ "resume",	"",				1, false, op_resume },
	{ "mprotect",	"FIRST COUNT none|ro|rw",	4, true, op_mprotect },
	{ "check-ro",	"FIRST COUNT",			3, true, op_check_ro },
	{ "munmap",	"FIRST COUNT",			3, true, op_munmap },
	{ "mapfixed",	"FIRST COUNT",			3, true, op_mapfixed },
	{ "hammer",	"FIRST COUNT",			3, true, op_hammer },
	{ "punch",	"FIRST COUNT",			3, true, op_punch },
	{ "dontneed",	"FIRST COUNT",			3, true, op_dontneed },
	{ "mremap",	"FIRST COUNT",			3, true, op_mremap },
	{ "migrate",	"FIRST COUNT NODE",		4, true, op_migrate },
	{ "placement",	"",				1, false, op_placement },
	{ "mbind",	"on|off",			2, false, op_mbind },
	{ "io-buffer",	"on|off",			2, false, op_io_buffer },
	{ "io-check",	"FIRST COUNT",			3, true, op_io_check },
	{ "uffd-wp",	"FIRST COUNT",			3, true, op_uffd_wp },
	{ "uffd-missing", "FIRST COUNT",		3, true, op_uffd_missing },
	{ "pageout",	"FIRST COUNT",			3, true, op_pageout },
	{ "collapse",	"FIRST COUNT",			3, true, op_collapse },
	{ "fork",	"",				1, false, op_fork },
	{ "ksm",	"FIRST COUNT",			3, true, op_ksm },
	{ "stamp",	"FIRST COUNT",			3, true, op_stamp },
	{ "split",	"",				1, false, op_split },
	{ "discard-all", "",				1, false, op_discard_all },
	{ "unmap-all",	"",				1, false, op_unmap_all },
	{ "slot",	"delete|add|cycle",		2, false, op_slot },
	{ "dirty-log",	"on|off|get",			2, false, op_dirty_log },
	{ "verify",	"",				1, false, op_verify },
	{ "settle",	"",				1, false, op_settle },
	{ "close-vm",	"",				1, false, op_close_vm },
	{ "quit",	"",				1, false, op_quit },
};

void control_print_commands(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %s%s%s\n", commands[i].name,
		       *commands[i].arguments ? " " : "", commands[i].arguments);
}

void reply_add(struct reply *reply, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		die("out of memory");
	reply->fields = realloc(reply->fields, reply->length + length + 1);
	if (!reply->fields)
		die("out of memory");
	memcpy(reply->fields + reply->length, text, length + 1);
	reply->length += length;
	free(text);
}

/* The first error is the cause: later ones only follow from it. */
static void set_error(struct reply *reply, const char *format, va_list args)
{
	char *c;

	if (reply->error[0])
		return;
	vsnprintf(reply->error, sizeof(reply->error), format, args);
	for (c = reply->error; *c; c++)
		if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
			*c = '?';
}

bool reply_error(struct reply *reply, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set_error(reply, format, args);
	va_end(args);
	return false;
}

bool reply_violation(struct reply *reply, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set_error(reply, format, args);
	va_end(args);
	reply->violation = true;
	return false;
}

static bool op_quit(struct vm *vm, const struct request *request,
		    struct reply *reply)
{
	(void)vm;
	(void)request;
	reply->quit = true;
	return true;
}

static const struct command *find_command(const char *name, struct reply *reply)
{
	char known[LINE_BYTES] = "";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(name, commands[i].name))
			return &commands[i];
		strcat(known, " ");
		strcat(known, commands[i].name);
	}
	reply_error(reply, "unknown command %.20s, the commands are%s", name, known);
	return NULL;
}

static bool parse_range(struct vm *vm, struct request *request,
			struct reply *reply)
{
	struct range *range = &request->range;
	uint64_t huge = HUGE_BYTES >> GUEST_PAGE_SHIFT;
	uint64_t pages = vm->memory.pages;

	if (!parse_number(request->argv[1], 0, pages - 1, &range->first) ||
	    !parse_number(request->argv[2], 1, pages - range->first,
			  &range->count))
		return reply_error(reply, "bad range %s %s: the memory has pages 0 to %" PRIu64,
				   request->argv[1], request->argv[2], pages - 1);
	if (vm->memory.backing == BACKING_HUGETLB &&
	    (range->first % huge || range->count % huge))
		return reply_error(reply,
				   "bad range %s %s: hugetlb takes multiples of %" PRIu64 " pages",
				   request->argv[1], request->argv[2], huge);
	return true;
}

static bool run_command(struct vm *vm, struct request *request,
			struct reply *reply)
{
	const struct command *command = find_command(request->argv[0], reply);
	uint64_t page;
	bool done;

	if (!command)
		return false;
	if (request->argc != command->words)
		return reply_error(reply, "usage: %s %s", command->name,
				   command->arguments);
	if (command->has_range && !parse_range(vm, request, reply))
		return false;
	if (command->has_range && command->run != op_mprotect &&
	    memory_find_protected(&vm->memory, request->range, &page))
		return reply_error(reply, "page %" PRIu64 " is protected: mprotect it rw first",
				   page);
	done = command->run(vm, request, reply);
	vm->violations += reply->violation;
	return done;
}

/* "vm N" in front of a command chooses the VM, the first one is the default. */
static bool run_line(struct vm *vms, unsigned int vm_count, char *line,
		     struct reply *reply)
{
	char *words[WORDS_MAX + 1];
	struct request request = { .argv = words };
	uint64_t index = 0;
	char *rest;
	char *word;

	for (word = strtok_r(line, " \t\r\n", &rest);
	     word && request.argc < WORDS_MAX;
	     word = strtok_r(NULL, " \t\r\n", &rest))
		words[request.argc++] = word;

	if (request.argc >= 2 && !strcmp(words[0], "vm")) {
		if (!parse_number(words[1], 0, vm_count - 1, &index))
			return reply_error(reply, "no VM %s: there are VMs 0 to %u",
					   words[1], vm_count - 1);
		request.argv += 2;
		request.argc -= 2;
	}
	if (!request.argc)
		request.argv[0] = "";
	return run_command(&vms[index], &request, reply);
}

static bool read_line(int fd, char *line, size_t size)
{
	size_t length = 0;
	ssize_t bytes;

	while (length < size - 1) {
		bytes = read(fd, line + length, size - 1 - length);
		if (bytes <= 0)
			break;
		length += bytes;
		line[length] = '\0';
		if (strchr(line, '\n'))
			return true;
	}
	return false;
}

static bool serve_client(struct vm *vms, unsigned int vm_count, int client)
{
	struct reply reply = { 0 };
	uint64_t begin = now_ms();
	char line[LINE_BYTES];

	if (!read_line(client, line, sizeof(line)))
		return true;
	run_line(vms, vm_count, line, &reply);
	if (!reply.fields)
		reply_add(&reply, "%s", "");
	if (reply.error[0])
		dprintf(client, "{\"ok\":false,\"error\":\"%s\"%s,\"ms\":%" PRIu64 "}\n",
			reply.error, reply.fields, now_ms() - begin);
	else
		dprintf(client, "{\"ok\":true%s,\"ms\":%" PRIu64 "}\n",
			reply.fields, now_ms() - begin);
	free(reply.fields);
	return !reply.quit;
}

static int open_socket(const char *path, struct sockaddr_un *address)
{
	int fd;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path))
		die_usage("control path %s is too long: use one of at most %zu characters",
			  path, sizeof(address->sun_path) - 1);
	memcpy(address->sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("socket: %s", strerror(errno));
	return fd;
}

int control_listen(const char *path)
{
	struct sockaddr_un address;
	int listener = open_socket(path, &address);

	unlink(path);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 8))
		die("cannot listen on %s: %s; choose another --control",
		    path, strerror(errno));
	return listener;
}

void control_serve(int listener, struct vm *vms, unsigned int vm_count)
{
	bool more = true;

	while (more) {
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0)
			continue;
		more = serve_client(vms, vm_count, client);
		close(client);
	}
}

static void send_line(int fd, int argc, char **argv)
{
	char line[LINE_BYTES] = "";
	int i;

	for (i = 0; i < argc; i++) {
		if (strlen(line) + strlen(argv[i]) + 2 > sizeof(line))
			die_usage("the command is too long: it may have %d characters",
				  LINE_BYTES - 2);
		strcat(line, argv[i]);
		strcat(line, i + 1 < argc ? " " : "\n");
	}
	if (write(fd, line, strlen(line)) < 0)
		die_usage("the VMM has gone: %s", strerror(errno));
}

int control_call(const char *path, int argc, char **argv)
{
	static const char success[] = "{\"ok\":true";
	struct sockaddr_un address;
	int fd = open_socket(path, &address);
	char *reply = NULL;
	size_t size = 0;
	FILE *stream;

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		die_usage("cannot connect to %s: %s; is vmm run --control %s running?",
			  path, strerror(errno), path);
	send_line(fd, argc, argv);
	stream = fdopen(fd, "r");
	if (!stream || getline(&reply, &size, stream) <= 0)
		die_usage("the VMM at %s died before it replied: see its output",
			  path);
	fputs(reply, stdout);
	return strncmp(reply, success, strlen(success)) ? EXIT_ERRORS : 0;
}
