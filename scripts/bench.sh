#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs a benchmark of bench/ in the test machine and puts its rows into build/bench.json.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

JSON=$BUILD/bench.json

build_products() {
	"$TOP/scripts/build-kvm.sh"
	make -s -C "$TOP/tests/vmm" OUT="$BUILD"
	make -s -C "$TOP/tools" OUT="$BUILD/static" LDFLAGS=-static
	gcc -std=gnu11 -Wall -Wextra -O2 -static -I"$TOP/module/include/uapi" \
		-o "$BUILD/events" "$TOP/bench/events.c"
}

build_initramfs() {
	local module

	for module in kvm kvm-amd; do
		unpack_stock_module "$module" "$RUN/stock"
	done
	echo "$NAME" >"$RUN/list"
	"$TOP/scripts/initramfs.sh" "$RUN/initramfs.cpio.gz" --modules-dir "$BUILD/kvm" \
		--file "$BUILD/vmm:/bin/vmm" --file "$BUILD/events:/bin/events" \
		--file "$BUILD/static/kvm-invpolicy:/bin/kvm-invpolicy" \
		--file "$RUN/stock/kvm.ko:/lib/stock/kvm.ko" \
		--file "$RUN/stock/kvm-amd.ko:/lib/stock/kvm-amd.ko" \
		--file "$RUN/list:/etc/scenarios" \
		--file "$TOP/tests/scenarios/lib.sh:/lib/scenarios/lib.sh" \
		--file "$TOP/bench/$NAME.sh:/lib/scenarios/$NAME.sh"
}

# A swap's ratio to the stock KVM of the same swap; lines are "SWAP MODE NANOSECONDS".
rows_idle() {
	jq -R -s --arg bench "$NAME" '
		def median: sort | .[length / 2 | floor];
		[split("\n")[] | select(. != "") | split(" ")
			| { swap: .[0], mode: .[1], ns: (.[2] | tonumber) }] as $turns
		| [$turns | group_by([.swap, .mode])[] | { swap: .[0].swap, mode: .[0].mode, ns: (map(.ns) | median) }] as $medians
		| ($medians | map(select(.mode == "stock") | { (.swap): .ns }) | add) as $stock
		| [$medians | group_by(.mode)[] | .[0].mode as $mode | map(.ns / $stock[.swap]) as $ratios
			| { bench: $bench, policy: $mode, metric: "event_cost_to_stock",
			    value: ($ratios | median), spread: [($ratios | min), ($ratios | max)] }]
	' "$RUN/files/samples.txt"
}

merge_rows() {
	local old='[]'

	[[ ! -s $JSON ]] || old=$(cat "$JSON")
	jq --arg bench "$NAME" --argjson old "$old" \
		'($old | map(select(.bench != $bench))) + .' >"$JSON.new"
	mv "$JSON.new" "$JSON"
}

NAME=${1:-}
RUN=$BUILD/bench-$NAME
[[ $# == 1 && -e $TOP/bench/$NAME.sh && $(type -t "rows_$NAME") == function ]] ||
	die "no benchmark '$NAME': choose idle"
build_products
build_initramfs
step "booting the distribution's kernel in QEMU: about 5 minutes of measurements"
"$TOP/scripts/boot.sh" --initrd "$RUN/initramfs.cpio.gz" --timeout 1200 --results "$RUN" \
	--append invp.kvm=patched ||
	die "the benchmark did not come to its end: see $RUN/console.log"
"rows_$NAME" | merge_rows
jq -r --arg bench "$NAME" '.[] | select(.bench == $bench)
	| [.policy, .metric, (.value, .spread[0], .spread[1] | . * 1000 | round / 1000)] | @tsv' \
	"$JSON" | awk -F '\t' '{ printf "  %-12s %-22s %7s  (%s to %s)\n", $1, $2, $3, $4, $5 }'
echo "medians and spread, emulated; rows in ${JSON#"$TOP"/}"
