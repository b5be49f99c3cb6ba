#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Counts a program whose instructions are known, on machines without a kernel.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PASSED=0
FAILED=0
SKIPPED=0

(($# == 1)) || { echo "usage: test.sh DIR, where DIR/tcg-count.so is" >&2; exit 2; }
PLUGIN=$1/tcg-count.so
WORK=$1/tcg-count.test
mkdir -p "$WORK"

verdict() {
	printf '%s - %s\n' "$1" "$2"
}

# check NAME COMMAND…
check() {
	local name=$1

	shift
	if "$@"; then
		verdict ok "$name"
		PASSED=$((PASSED + 1))
	else
		verdict 'not ok' "$name"
		FAILED=$((FAILED + 1))
	fi
}

build_program() {
	local compiler=$1 text=$2

	shift 2
	"$compiler" -std=gnu11 -Wall -Wextra -O2 -ffreestanding -mgeneral-regs-only "$@" \
		-fno-pic -fno-pie -fno-stack-protector -fno-asynchronous-unwind-tables \
		-nostdlib -static -no-pie -Wl,--build-id=none -Wl,-n -Wl,-Ttext="$text" \
		-o "$WORK/$ARCH" "$HERE/test.c"
}

# The program ends the machine with a status that differs from machine to machine.
run_program() {
	local status=0

	rm -f "$WORK/$ARCH.counts"
	timeout 20 "$@" -accel tcg,thread=multi -smp 2 -nodefaults -no-user-config -display none \
		-no-reboot -plugin "$PLUGIN,out=$WORK/$ARCH.counts" -kernel "$WORK/$ARCH" \
		>"$WORK/$ARCH.log" 2>&1 || status=$?
	((status < 2)) || { echo "# QEMU gave status $status: $(<"$WORK/$ARCH.log")"; return 1; }
}

has_lines() {
	diff -u "$1" - | sed 's/^/# /' >&2
}

# One CPU runs: all CPUs together are that one. How the program gets its operands for the
# special instructions is the compiler's affair.
exact_counts() {
	grep -v -e '^[34] ' -e '^2 instructions ' "$WORK/$ARCH.counts" | has_lines "$WORK/$ARCH.expected"
}

# Now the other CPU runs too, in as many windows as that takes.
own_and_all_differ() {
	awk '$1 == 3 && $2 == "instructions" && $4 == 2001 * $3 && $5 > $4 { found = 1 }
		END { exit !found }' "$WORK/$ARCH.counts"
}

suite() {
	check "$ARCH: exact counts, and what is no window" exact_counts
	check "$ARCH: this CPU's count and all CPUs'" own_and_all_differ
}

ARCH=x86
cat >"$WORK/x86.expected" <<'END'
1 instructions 3 6003 6003
63 instructions 1 0 0
error: CPU 0: end without begin: has the program moved to another CPU?
2 vmrun 1 1 1
error: CPU 0: begin in an open window
END
build_program gcc 0x100000 -m32 -march=i686 -fcf-protection=none
check "x86: runs to its end" run_program qemu-system-x86_64 -cpu EPYC,+svm \
	-device isa-debug-exit,iobase=0xf4,iosize=4
suite

ARCH=arm64
cat >"$WORK/arm64.expected" <<'END'
1 instructions 3 6003 6003
63 instructions 1 0 0
error: CPU 0: end without begin: has the program moved to another CPU?
2 tlbi-ipas2e1is 1 2 2
2 tlbi-ripas2e1is 1 5 5
2 tlbi-vmalle1is 1 3 3
2 tlbi-vmalls12e1is 1 4 4
2 tlbi-other 1 6 6
2 dc-civac 1 7 7
2 dc-cvac 1 8 8
2 dc-other 1 9 9
error: CPU 0: begin in an open window
END
if command -v aarch64-linux-gnu-gcc qemu-system-aarch64 >/dev/null; then
	build_program aarch64-linux-gnu-gcc 0x40080000
	check "arm64: runs to its end" run_program qemu-system-aarch64 -cpu max \
		-machine virt,virtualization=on,gic-version=3
	suite
else
	verdict ok "arm64 # SKIP no aarch64-linux-gnu-gcc or no qemu-system-aarch64"
	SKIPPED=1
fi

printf '# %d skipped\n%d passed, %d failed\n' "$SKIPPED" "$PASSED" "$FAILED"
((FAILED == 0))
