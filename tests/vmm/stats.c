// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "stats.h"
#include "util.h"

int stats_open(int kvm_fd)
{
	int fd = ioctl(kvm_fd, KVM_GET_STATS_FD, NULL);

	if (fd < 0)
		die("cannot open KVM's statistics: %s; Linux 5.14 or newer is needed",
		    strerror(errno));
	return fd;
}

static void read_fully(int fd, void *data, size_t bytes, off_t offset)
{
	if (pread(fd, data, bytes, offset) != (ssize_t)bytes)
		die("cannot read KVM's statistics: %s", strerror(errno));
}

struct counter stats_find(int stats_fd, const char *name)
{
	struct kvm_stats_header header;
	size_t size;
	uint32_t i;

	read_fully(stats_fd, &header, sizeof(header), 0);
	size = sizeof(struct kvm_stats_desc) + header.name_size;
	for (i = 0; i < header.num_desc; i++) {
		char buffer[sizeof(struct kvm_stats_desc) + 256];
		struct kvm_stats_desc *desc = (void *)buffer;

		if (size > sizeof(buffer))
			break;
		read_fully(stats_fd, buffer, size, header.desc_offset + i * size);
		if (!strcmp(desc->name, name))
			return (struct counter){
				stats_fd, header.data_offset + desc->offset };
	}
	die("this kernel's KVM has no statistic %s: Linux 6.12 has it", name);
}

uint64_t stats_read(const struct counter *counter)
{
	uint64_t value;

	read_fully(counter->fd, &value, sizeof(value), counter->offset);
	return value;
}
