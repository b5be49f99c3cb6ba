# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the benchmarks share; to be sourced.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$TOP/scripts/machine.sh"

JSON=${BENCH_JSON:-$BUILD/bench.json}

# merge_rows FILTER: the rows on stdin take the place of those that the jq filter selects.
merge_rows() {
	[[ -s $JSON ]] || echo '[]' >"$JSON"
	jq --slurpfile old "$JSON" "(\$old[0] | map(select($1 | not))) + ." >"$JSON.new"
	mv "$JSON.new" "$JSON"
}

# Of bench/NAME.c, for a VM whose memory is all mapped, and of the plugin that counts for it.
build_bench_program() {
	make -s -C "$TOP/bench/tcg-count" OUT="$BUILD"
	"${CROSS_COMPILE}gcc" -std=gnu11 -Wall -Wextra -O2 -static -pthread -D_GNU_SOURCE \
		-I"$TOP/module/include/uapi" -I"$TOP/bench/tcg-count" -I"$TOP/tests/vmm" \
		-o "$RUN/bench-$1" \
		"$TOP"/bench/{"$1",guest-memory,touching-vm,touching-vm-"$ARCHITECTURE"}.c \
		"$TOP"/tests/vmm/{stats,util}.c
}

# count_in_machine CPU KIND NAME SETTINGS WORDS [BOOT-OPTION…]: boots a machine that runs
# bench/NAME.sh with these settings, and leaves in folder RUN what it measured (CPU.cells.txt)
# and what the plugin counted (CPU.counts.txt).
count_in_machine() {
	local cpu=$1 kind=$2 name=$3 words=$5 options modules boot

	build_for "$kind"
	mkdir -p "$RUN"
	build_bench_program "$name"
	echo "$4" >"$RUN/settings"
	echo "$name" >"$RUN/list"
	shift 5
	mapfile -t options < <(program_options)
	modules=$(module_options "$kind")
	mapfile -t -O "${#options[@]}" options <<<"$modules"
	"$TOP/scripts/initramfs.sh" "$RUN/initramfs.cpio.gz" "${options[@]}" \
		--file "$RUN/bench-$name:/bin/bench-$name" \
		--file "$RUN/settings:/etc/bench-settings" --file "$RUN/list:/etc/scenarios" \
		--file "$TOP/bench/$name.sh:/lib/scenarios/$name.sh"
	mapfile -t boot < <(boot_options "$kind")
	boot[-1]+=" $words"
	step "$cpu: booting an emulated machine that counts instructions"
	"$TOP/scripts/boot.sh" "${boot[@]}" "$@" --initrd "$RUN/initramfs.cpio.gz" \
		--timeout 5400 --results "$RUN" \
		--plugin "$BUILD/tcg-count.so,out=$RUN/$cpu.counts.txt" ||
		die "the benchmark did not come to its end: see $RUN/console.log"
	mv "$RUN/files/cells.txt" "$RUN/$cpu.cells.txt"
}
