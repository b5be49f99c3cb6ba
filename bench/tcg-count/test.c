// SPDX-License-Identifier: GPL-2.0-only
/* Runs on an emulated machine without a kernel; test.sh knows what must be counted. */
#include <stdint.h>

#include "mark.h"

#define ALIGNED_4K __attribute__((aligned(4096)))

/* Until the other CPU has run beside the windows, however late the host starts it. */
#define ENOUGH_TICKS	1000000

uint8_t stack[4096] ALIGNED_4K;

#ifdef __aarch64__

#define PSCI_CPU_ON	0xc4000003
#define PSCI_OFF	0x84000008

__asm__(".globl _start\n_start:\tldr x9, =stack + 4096\n\tmov sp, x9\n\tbl main");

static volatile uint32_t ticks;

static void other_cpu(void)
{
	for (;;)
		ticks++;
}

static uint32_t ticks_of_other_cpu(void)
{
	return ticks;
}

static void psci(uint64_t function, uint64_t cpu, uint64_t entry)
{
	register uint64_t x0 __asm__("x0") = function;
	register uint64_t x1 __asm__("x1") = cpu;
	register uint64_t x2 __asm__("x2") = entry;
	register uint64_t x3 __asm__("x3") = 0;

	__asm__ volatile("smc #0" : "+r" (x0), "+r" (x1), "+r" (x2), "+r" (x3) : : "memory");
}

/* Of each kind another number. RIPAS2E1IS is written out: not every CPU has it. */
static void special(void)
{
	__asm__ volatile(".rept 2\n\ttlbi ipas2e1is, x0\n\t.endr\n\t"
			 ".rept 3\n\ttlbi vmalle1is\n\t.endr\n\t"
			 ".rept 4\n\ttlbi vmalls12e1is\n\t.endr\n\t"
			 ".rept 5\n\tsys #4, c8, c0, #2, x0\n\t.endr\n\t"
			 ".rept 6\n\ttlbi alle2is\n\t.endr\n\t"
			 ".rept 7\n\tdc civac, %0\n\t.endr\n\t"
			 ".rept 8\n\tdc cvac, %0\n\t.endr\n\t"
			 ".rept 9\n\tdc cvau, %0\n\t.endr\n\t"
			 "ic iallu\n\tdsb sy"
			 : : "r" (stack) : "memory");
}

static void start_other_cpu(void)
{
	psci(PSCI_CPU_ON, 1, (uintptr_t)other_cpu);
}

static void power_off(void)
{
	psci(PSCI_OFF, 0, 0);
}

#else

#define MULTIBOOT_MAGIC	0x1badb002U
#define EFER		0xc0000080
#define EFER_SVME	0x1000
#define VM_HSAVE_PA	0xc0010117
#define APIC_SPURIOUS	0xfee000f0
#define APIC_COMMAND	0xfee00300
#define APIC_ENABLE	0x1ff
#define TO_ALL_OTHERS	0xc4000
#define INIT_IPI	0x500
#define STARTUP_IPI	0x600
#define OTHER_CPU_PAGE	8
#define OTHER_CPU_TICKS	0x8100
#define EXIT_PORT	0xf4

static const uint32_t multiboot[] __attribute__((used, section(".multiboot"))) = {
	MULTIBOOT_MAGIC, 0, -MULTIBOOT_MAGIC,
};

static uint8_t host_save[4096] ALIGNED_4K;
static uint8_t invalid_vmcb[4096] ALIGNED_4K;

__asm__(".globl _start\n_start:\tmovl $stack + 4096, %esp\n\tcall main");

static void write_register(uint32_t address, uint32_t value)
{
	*(volatile uint32_t *)(uintptr_t)address = value;
}

static void write_msr(uint32_t msr, uint32_t low)
{
	__asm__ volatile("wrmsr" : : "c" (msr), "a" (low), "d" (0));
}

/* The guest leaves at once: its control block is all zeros. */
static void special(void)
{
	write_msr(EFER, EFER_SVME);
	write_msr(VM_HSAVE_PA, (uintptr_t)host_save);
	__asm__ volatile("vmrun" : : "a" (invalid_vmcb) : "memory");
}

static uint32_t ticks_of_other_cpu(void)
{
	return *(volatile uint32_t *)OTHER_CPU_TICKS;
}

static void start_other_cpu(void)
{
	/* incl OTHER_CPU_TICKS; jmp to it, in real mode. */
	static const uint8_t code[] = { 0x66, 0xff, 0x06, 0x00, 0x81, 0xeb, 0xf9 };
	volatile uint8_t *page = (uint8_t *)(OTHER_CPU_PAGE * 4096);
	unsigned int i;

	for (i = 0; i < sizeof(code); i++)
		page[i] = code[i];
	*(volatile uint32_t *)OTHER_CPU_TICKS = 0;
	write_register(APIC_SPURIOUS, APIC_ENABLE);
	write_register(APIC_COMMAND, TO_ALL_OTHERS | INIT_IPI);
	write_register(APIC_COMMAND, TO_ALL_OTHERS | STARTUP_IPI | OTHER_CPU_PAGE);
}

static void power_off(void)
{
	__asm__ volatile("outl %0, %w1" : : "a" (0), "Nd" (EXIT_PORT));
}

#endif

int main(void)
{
	int turn;

	for (turn = 0; turn < 3; turn++) {
		mark_begin(1);
		mark_loop();
		mark_end();
	}
	mark_begin(63);
	mark_end();
	mark_dump();
	mark_begin(2);
	special();
	mark_end();
	mark_end();
	mark_dump();
	start_other_cpu();
	while (ticks_of_other_cpu() < ENOUGH_TICKS) {
		mark_begin(3);
		mark_loop();
		mark_end();
	}
	mark_begin(4);
	mark_begin(4);
	mark_end();
	power_off();
	return 0;
}
