/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of QEMU's plugin interface that tcg-count uses; Debian's packages of
 * QEMU 7.2 bring no header of it.
 *
 * QEMU 7.2 takes plugins of version 0 and 1, QEMU 9.0 and later of version 2 up to
 * their own. What is declared here has stayed the same, but for
 * qemu_plugin_insn_data(), which copies from version 3 on.
 */
#ifndef TCG_COUNT_PLUGIN_API_H
#define TCG_COUNT_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUGIN_EXPORT	__attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;

/* The lowest and the own version of the running QEMU, and its machine. */
struct qemu_info {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus;
		int max_vcpus;
	} system;
};

enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS,
};

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
					   void (*translated)(uint64_t plugin,
							      struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*executed)(unsigned int cpu, void *data),
					    enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_atexit_cb(uint64_t plugin,
				    void (*at_exit)(uint64_t plugin, void *data),
				    void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

/* One function with two signatures: see struct qemu_info for the one that is there. */
const void *plugin_insn_data_v1(const struct qemu_plugin_insn *insn)
	__asm__("qemu_plugin_insn_data");
size_t plugin_insn_data_v3(const struct qemu_plugin_insn *insn, void *buffer, size_t size)
	__asm__("qemu_plugin_insn_data");

/* What a plugin exports. */
extern PLUGIN_EXPORT int qemu_plugin_version;
PLUGIN_EXPORT int qemu_plugin_install(uint64_t plugin, const struct qemu_info *info,
				      int argc, char **argv);

#endif
