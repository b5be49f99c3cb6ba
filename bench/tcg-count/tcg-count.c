// SPDX-License-Identifier: GPL-2.0-only
/*
 * QEMU plugin that counts executed instructions between the marks of mark.h.
 *
 *	-plugin tcg-count.so,out=FILE
 *
 * FILE receives, at each dump mark and at exit, a line "ID KIND WINDOWS OWN ALL" for
 * each id that had windows and each kind that was executed: OWN by the CPU of the
 * window, ALL by all CPUs while it was open. Marks are not counted. Wrong use of marks
 * is told in a line that begins with "error".
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "mark.h"
#include "plugin-api.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define MAX_CPUS	64
#define MAX_INSN	16

enum kind {
	INSTRUCTIONS,
	VMRUN,
	TLBI_IPAS2E1IS,
	TLBI_RIPAS2E1IS,
	TLBI_VMALLE1IS,
	TLBI_VMALLS12E1IS,
	TLBI_OTHER,
	DC_CIVAC,
	DC_CVAC,
	DC_OTHER,
	KINDS,
};

static const char *const kind_names[KINDS] = {
	[INSTRUCTIONS] = "instructions",
	[VMRUN] = "vmrun",
	[TLBI_IPAS2E1IS] = "tlbi-ipas2e1is",
	[TLBI_RIPAS2E1IS] = "tlbi-ripas2e1is",
	[TLBI_VMALLE1IS] = "tlbi-vmalle1is",
	[TLBI_VMALLS12E1IS] = "tlbi-vmalls12e1is",
	[TLBI_OTHER] = "tlbi-other",
	[DC_CIVAC] = "dc-civac",
	[DC_CVAC] = "dc-cvac",
	[DC_OTHER] = "dc-other",
};

/* Only the CPU's own thread writes here; the others read @counts. */
struct cpu {
	uint64_t counts[KINDS];
	bool open;
	unsigned int id;
	uint64_t own_before[KINDS];
	uint64_t all_before[KINDS];
} __attribute__((aligned(64)));

struct total {
	uint64_t windows;
	uint64_t own[KINDS];
	uint64_t all[KINDS];
};

struct machine {
	const char *name;
	/* The code of a mark, -1 if the instruction is none. */
	int (*mark_of)(const uint8_t *insn, size_t size);
	/* INSTRUCTIONS if it is of no other kind. */
	enum kind (*kind_of)(const uint8_t *insn, size_t size);
};

int qemu_plugin_version;

static const struct machine *machine;
static bool insn_data_copies;
static int nr_cpus;
static struct cpu cpus[MAX_CPUS];

/* Guards the totals and the file. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct total totals[MARK_IDS];
static FILE *out;

/*
 * QEMU reads the version right after it has loaded the plugin. The function that tells was
 * taken out with version 2.
 */
static __attribute__((constructor)) void choose_version(void)
{
	qemu_plugin_version = dlsym(RTLD_DEFAULT, "qemu_plugin_n_vcpus") ? 1 : 2;
}

/* --- instructions ----------------------------------------------------------- */

static int x86_mark(const uint8_t *insn, size_t size)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x84, 0x00 };
	uint32_t displacement;

	if (size != sizeof(nop) + sizeof(displacement) || memcmp(insn, nop, sizeof(nop)))
		return -1;
	memcpy(&displacement, insn + sizeof(nop), sizeof(displacement));
	return displacement >> 16 == MARK_X86_HIGH ? (int)(displacement & 0xffff) : -1;
}

static enum kind x86_kind(const uint8_t *insn, size_t size)
{
	static const uint8_t vmrun[] = { 0x0f, 0x01, 0xd8 };

	return size == sizeof(vmrun) && !memcmp(insn, vmrun, size) ? VMRUN : INSTRUCTIONS;
}

#define MOVZ_XZR_LSL_48		0xd2e0001fU
#define MOVZ_XZR_LSL_48_MASK	0xffe0001fU

/* A system instruction without its register. */
#define SYS(op1, n, m, op2) \
	(0xd5080000U | (op1) << 16 | (n) << 12 | (m) << 8 | (op2) << 5)
#define SYS_MASK		0xffffffe0U
#define SYS_MASK_CRN		0xfff8f000U
#define SYS_MASK_CRN_CRM	0xfff8ff00U

static uint32_t arm64_word(const uint8_t *insn)
{
	uint32_t word;

	memcpy(&word, insn, sizeof(word));
	return word;
}

static int arm64_mark(const uint8_t *insn, size_t size)
{
	uint32_t word = arm64_word(insn);

	(void)size;
	return (word & MOVZ_XZR_LSL_48_MASK) == MOVZ_XZR_LSL_48 ? (int)(word >> 5 & 0xffff) : -1;
}

/* The first that fits counts. DC ZVA and its like store zeros: no maintenance. */
static enum kind arm64_kind(const uint8_t *insn, size_t size)
{
	static const struct {
		uint32_t mask;
		uint32_t value;
		enum kind kind;
	} patterns[] = {
		{ SYS_MASK, SYS(4, 8, 0, 1), TLBI_IPAS2E1IS },
		{ SYS_MASK, SYS(4, 8, 0, 2), TLBI_RIPAS2E1IS },
		{ SYS_MASK, SYS(0, 8, 3, 0), TLBI_VMALLE1IS },
		{ SYS_MASK, SYS(4, 8, 3, 6), TLBI_VMALLS12E1IS },
		{ SYS_MASK_CRN, SYS(0, 8, 0, 0), TLBI_OTHER },
		{ SYS_MASK_CRN, SYS(0, 9, 0, 0), TLBI_OTHER },
		{ SYS_MASK, SYS(3, 7, 14, 1), DC_CIVAC },
		{ SYS_MASK, SYS(3, 7, 10, 1), DC_CVAC },
		{ SYS_MASK_CRN_CRM, SYS(0, 7, 6, 0), DC_OTHER },
		{ SYS_MASK_CRN_CRM, SYS(0, 7, 10, 0), DC_OTHER },
		{ SYS_MASK_CRN_CRM, SYS(0, 7, 11, 0), DC_OTHER },
		{ SYS_MASK_CRN_CRM, SYS(0, 7, 12, 0), DC_OTHER },
		{ SYS_MASK_CRN_CRM, SYS(0, 7, 13, 0), DC_OTHER },
		{ SYS_MASK_CRN_CRM, SYS(0, 7, 14, 0), DC_OTHER },
	};
	uint32_t word = arm64_word(insn);
	size_t i;

	(void)size;
	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		if ((word & patterns[i].mask) == patterns[i].value)
			return patterns[i].kind;
	return INSTRUCTIONS;
}

static const struct machine machines[] = {
	{ "x86_64", x86_mark, x86_kind },
	{ "aarch64", arm64_mark, arm64_kind },
};

/* --- counting --------------------------------------------------------------- */

static uint64_t read_all(enum kind kind)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < nr_cpus; i++)
		sum += __atomic_load_n(&cpus[i].counts[kind], __ATOMIC_RELAXED);
	return sum;
}

static void complain(unsigned int cpu, const char *what)
{
	pthread_mutex_lock(&lock);
	fprintf(out, "error: CPU %u: %s\n", cpu, what);
	pthread_mutex_unlock(&lock);
}

static void begin(unsigned int index, unsigned int id)
{
	struct cpu *cpu = &cpus[index];
	enum kind kind;

	if (cpu->open)
		complain(index, "begin in an open window");
	cpu->open = true;
	cpu->id = id;
	for (kind = 0; kind < KINDS; kind++) {
		cpu->own_before[kind] = cpu->counts[kind];
		cpu->all_before[kind] = read_all(kind);
	}
}

static void end(unsigned int index)
{
	struct cpu *cpu = &cpus[index];
	struct total *total = &totals[cpu->id];
	enum kind kind;

	if (!cpu->open) {
		complain(index, "end without begin: has the program moved to another CPU?");
		return;
	}
	cpu->open = false;
	pthread_mutex_lock(&lock);
	total->windows++;
	for (kind = 0; kind < KINDS; kind++) {
		total->own[kind] += cpu->counts[kind] - cpu->own_before[kind];
		total->all[kind] += read_all(kind) - cpu->all_before[kind];
	}
	pthread_mutex_unlock(&lock);
}

static void print_total(unsigned int id)
{
	const struct total *total = &totals[id];
	enum kind kind;

	for (kind = 0; kind < KINDS; kind++)
		if (kind == INSTRUCTIONS || total->all[kind])
			fprintf(out, "%u %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", id,
				kind_names[kind], total->windows, total->own[kind],
				total->all[kind]);
}

static void dump(void)
{
	unsigned int id;

	pthread_mutex_lock(&lock);
	for (id = 0; id < MARK_IDS; id++)
		if (totals[id].windows)
			print_total(id);
	memset(totals, 0, sizeof(totals));
	pthread_mutex_unlock(&lock);
}

/* --- callbacks -------------------------------------------------------------- */

static void count(unsigned int cpu, void *kind)
{
	uint64_t *counter = &cpus[cpu].counts[(uintptr_t)kind];

	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static void execute_mark(unsigned int cpu, void *data)
{
	uintptr_t code = (uintptr_t)data;

	switch (MARK_OP(code)) {
	case MARK_OP_BEGIN:
		begin(cpu, MARK_ID(code));
		break;
	case MARK_OP_END:
		end(cpu);
		break;
	case MARK_OP_DUMP:
		dump();
		break;
	default:
		complain(cpu, "unknown mark");
	}
}

static void call_when_executed(struct qemu_plugin_insn *insn,
			       void (*call)(unsigned int cpu, void *data), uintptr_t data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, call, QEMU_PLUGIN_CB_NO_REGS,
					       (void *)data);
}

static void instrument(struct qemu_plugin_insn *insn)
{
	size_t size = qemu_plugin_insn_size(insn);
	const uint8_t *bytes;
	uint8_t copy[MAX_INSN];
	enum kind kind;
	int code;

	if (insn_data_copies) {
		plugin_insn_data_v3(insn, copy, sizeof(copy));
		bytes = copy;
	} else {
		bytes = plugin_insn_data_v1(insn);
	}
	code = machine->mark_of(bytes, size);
	if ((code & ~0xff) == MARK_MAGIC) {
		call_when_executed(insn, execute_mark, code);
		return;
	}
	call_when_executed(insn, count, INSTRUCTIONS);
	kind = machine->kind_of(bytes, size);
	if (kind != INSTRUCTIONS)
		call_when_executed(insn, count, kind);
}

static void translated(uint64_t plugin, struct qemu_plugin_tb *tb)
{
	size_t i, insns = qemu_plugin_tb_n_insns(tb);

	(void)plugin;
	for (i = 0; i < insns; i++)
		instrument(qemu_plugin_tb_get_insn(tb, i));
}

static void at_exit(uint64_t plugin, void *data)
{
	(void)plugin;
	(void)data;
	dump();
	if (fclose(out))
		perror("tcg-count: cannot write its file");
}

static const struct machine *find_machine(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(machines); i++)
		if (!strcmp(machines[i].name, name))
			return &machines[i];
	return NULL;
}

int qemu_plugin_install(uint64_t plugin, const struct qemu_info *info, int argc, char **argv)
{
	static const char option[] = "out=";

	machine = find_machine(info->target_name);
	if (!machine || !info->system_emulation || info->system.max_vcpus > MAX_CPUS) {
		fprintf(stderr, "tcg-count: needs an x86-64 or arm64 machine of at most %d CPUs\n",
			MAX_CPUS);
		return -1;
	}
	if (argc != 1 || strncmp(argv[0], option, strlen(option))) {
		fprintf(stderr, "tcg-count: give it out=FILE and nothing else\n");
		return -1;
	}
	out = fopen(argv[0] + strlen(option), "w");
	if (!out) {
		perror(argv[0]);
		return -1;
	}
	nr_cpus = info->system.max_vcpus;
	insn_data_copies = info->version.cur >= 3;
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, translated);
	qemu_plugin_register_atexit_cb(plugin, at_exit, NULL);
	return 0;
}
