/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's names for the compiler's attributes. */
#ifndef VMM_COMPILER_H
#define VMM_COMPILER_H

#define __aligned(bytes)	__attribute__((__aligned__(bytes)))
#define __noreturn		__attribute__((__noreturn__))
#define __printf(text, args)	__attribute__((__format__(__printf__, text, args)))
#define noinline		__attribute__((__noinline__))

#endif
