/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks that a program executes to have the instructions between them counted. A mark
 * is one instruction without effect that no compiler emits: a long NOP with a magic
 * displacement (x86), a move of a magic constant to the zero register (arm64).
 */
#ifndef TCG_COUNT_MARK_H
#define TCG_COUNT_MARK_H

#define MARK_IDS	64
#define MARK_MAGIC	0xa500
#define MARK_X86_HIGH	0x4d41
#define MARK_OP(code)	((code) >> 6 & 3)
#define MARK_ID(code)	((code) & (MARK_IDS - 1))

enum mark_op {
	MARK_OP_BEGIN = 1,
	MARK_OP_END,
	MARK_OP_DUMP,
};

#define MARK_CODE(op, id)	(MARK_MAGIC | (op) << 6 | (id))

/* Needs optimisation: the arguments must become constants. */
static inline __attribute__((always_inline)) void mark(enum mark_op op, int id)
{
#ifdef __aarch64__
	__asm__ volatile("movz xzr, #%c0, lsl #48" : : "i" (MARK_CODE(op, id)) : "memory");
#else
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c0"
			 : : "i" (MARK_X86_HIGH << 16 | MARK_CODE(op, id)) : "memory");
#endif
}

/* Opens a window on the executing CPU; @id is below MARK_IDS. */
static inline __attribute__((always_inline)) void mark_begin(int id)
{
	mark(MARK_OP_BEGIN, id);
}

/* Closes the window of the executing CPU. */
static inline __attribute__((always_inline)) void mark_end(void)
{
	mark(MARK_OP_END, 0);
}

/* Writes out what the closed windows of each id add up to, and starts again at zero. */
static inline __attribute__((always_inline)) void mark_dump(void)
{
	mark(MARK_OP_DUMP, 0);
}

#define MARK_LOOP_TURNS		1000
#define MARK_LOOP_INSTRUCTIONS	(1 + 2 * MARK_LOOP_TURNS)

/* Executes MARK_LOOP_INSTRUCTIONS instructions, to see that they are what is counted. */
static inline __attribute__((always_inline)) void mark_loop(void)
{
#ifdef __aarch64__
	__asm__ volatile("mov x9, %0\n1:\tsubs x9, x9, #1\n\tb.ne 1b"
			 : : "i" (MARK_LOOP_TURNS) : "x9", "cc");
#else
	__asm__ volatile("movl %0, %%ecx\n1:\tdecl %%ecx\n\tjnz 1b"
			 : : "i" (MARK_LOOP_TURNS) : "ecx", "cc");
#endif
}

#endif
