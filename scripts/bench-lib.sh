# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the benchmarks share; to be sourced.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

JSON=${BENCH_JSON:-$BUILD/bench.json}

# merge_rows FILTER: the rows on stdin take the place of those that the jq filter selects.
merge_rows() {
	[[ -s $JSON ]] || echo '[]' >"$JSON"
	jq --slurpfile old "$JSON" "(\$old[0] | map(select($1 | not))) + ." >"$JSON.new"
	mv "$JSON.new" "$JSON"
}

# build_bench_program NAME MAIN: bench/MAIN.c, for a VM whose memory is all mapped, and the
# plugin that counts for it.
build_bench_program() {
	make -s -C "$TOP/bench/tcg-count" OUT="$BUILD"
	"${CROSS_COMPILE}gcc" -std=gnu11 -Wall -Wextra -O2 -static -pthread -D_GNU_SOURCE \
		-I"$TOP/module/include/uapi" -I"$TOP/bench/tcg-count" -I"$TOP/tests/vmm" \
		-o "$PRODUCTS/$1" \
		"$TOP"/bench/{"$2",guest-memory,touching-vm,touching-vm-"$ARCHITECTURE"}.c \
		"$TOP"/tests/vmm/{stats,util}.c
}
