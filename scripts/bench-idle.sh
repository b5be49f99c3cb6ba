#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Counts the instructions of an event that no policy changes, and puts the rows into
# build/bench.json.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/bench-lib.sh"

RUN=$BUILD/bench-idle
# Of mark_loop() in bench/tcg-count/mark.h.
LOOP_INSTRUCTIONS=2001

build_counters() {
	make -s -C "$TOP/bench/tcg-count" OUT="$BUILD"
	gcc -std=gnu11 -Wall -Wextra -O2 -static \
		-I"$TOP/module/include/uapi" -I"$TOP/bench/tcg-count" \
		-o "$BUILD/events" "$TOP/bench/events.c"
}

build_initramfs() {
	local module

	mkdir -p "$RUN"
	for module in kvm kvm-amd; do
		unpack_stock_module "$module" "$RUN/stock"
	done
	echo idle >"$RUN/list"
	"$TOP/scripts/initramfs.sh" "$RUN/initramfs.cpio.gz" --modules-dir "$BUILD/kvm" \
		--file "$BUILD/vmm:/bin/vmm" --file "$BUILD/events:/bin/events" \
		--file "$BUILD/static/kvm-invpolicy:/bin/kvm-invpolicy" \
		--file "$RUN/stock/kvm.ko:/lib/stock/kvm.ko" \
		--file "$RUN/stock/kvm-amd.ko:/lib/stock/kvm-amd.ko" \
		--file "$RUN/list:/etc/scenarios" \
		--file "$TOP/tests/scenarios/lib.sh:/lib/scenarios/lib.sh" \
		--file "$TOP/bench/idle.sh:/lib/scenarios/idle.sh"
}

# The plugin's lines of each turn follow one another in the order of the turns: prints
# "TURN MODE EVENT INSTRUCTIONS" for each window.
windows() {
	awk '
		function fail(why) {
			print "bench-idle.sh: error: " FILENAME ": " why >"/dev/stderr"
			failed = 1
			exit 1
		}
		NR == FNR { mode[NR] = $1; event[NR] = $2; id[NR] = $3; left[NR] = $4; turns = NR; next }
		/^error/ { fail($0) }
		$2 != "instructions" { next }
		!left[turn] { turn++ }
		$1 != id[turn] || $3 != 1 { fail("a count that is of no turn: " $0) }
		{ print turn, mode[turn], event[turn], $4; left[turn]-- }
		END { if (!failed && (turn != turns || left[turn])) fail("counts are missing") }
	' "$RUN/files/turns.txt" "$RUN/counts.txt"
}

# A turn's figure is the median of its windows, for interrupts fall into some.
turns() {
	windows | jq -R -n '
		def median: sort | .[length / 2 | floor];
		[inputs / " " | { turn: .[0], policy: .[1], event: .[2], count: (.[3] | tonumber) }]
		| [group_by(.turn)[] | (map(.count) | median) as $count | .[0] | .count = $count]'
}

rows() {
	local turns

	turns=$(turns)
	jq -e --argjson expected "$LOOP_INSTRUCTIONS" \
		'map(select(.event == "loop")) | length > 0 and all(.count == $expected)' \
		<<<"$turns" >/dev/null ||
		die "a loop of $LOOP_INSTRUCTIONS instructions was not counted so: see $RUN/counts.txt"
	jq '
		def median: sort | .[length / 2 | floor];
		map(select(.event != "loop"))
		| group_by(.event)[]
		| (map(select(.policy == "stock").count) | median) as $stock
		| group_by(.policy)[]
		| { bench: "idle", event: .[0].event, policy: .[0].policy } as $row
		| map(.count) | { value: median, spread: [min, max] }
		| $row + { metric: "instructions_per_event" } + .,
		  $row + { metric: "ratio_to_stock", value: (.value / $stock), spread: (.spread | map(. / $stock)) }
	' <<<"$turns" | jq -s .
}

table() {
	jq -r '
		["stock", "unattached", "kvm", "skip"] as $order
		| map(select(.bench == "idle"))
		| group_by(.event)[]
		| (map(select(.metric == "instructions_per_event"))
			| sort_by(.policy as $policy | $order | index($policy))) as $counts
		| map(select(.metric == "ratio_to_stock")) as $ratios
		| $counts[]
		| .policy as $policy
		| [.event, .policy, .value, .spread[0], .spread[1], .value - $counts[0].value,
		   ($ratios[] | select(.policy == $policy).value * 10000 | round / 10000)]
		| @tsv' "$JSON" |
		awk -F '\t' '
			BEGIN { printf "  %-6s %-11s %12s  %-18s %9s %9s\n", "event", "policy",
				"instructions", "(turns)", "to stock", "ratio" }
			{ printf "  %-6s %-11s %12d  %-18s %+9d %9.4f\n", $1, $2, $3,
				"(" $4 " to " $5 ")", $6, $7 }'
}

(($# == 0)) || die "bench-idle.sh takes no argument"
build_products
build_counters
build_initramfs
step "booting the distribution's kernel in QEMU, which counts instructions"
"$TOP/scripts/boot.sh" --initrd "$RUN/initramfs.cpio.gz" --timeout 1200 --results "$RUN" \
	--append invp.kvm=patched --plugin "$BUILD/tcg-count.so,out=$RUN/counts.txt" ||
	die "the benchmark did not come to its end: see $RUN/console.log"
rows | merge_rows '.bench == "idle"'
table
echo "median instructions of the CPU that sends the event, emulated; rows in ${JSON#"$TOP"/}"
