#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Counts what the death of a VMM costs, on x86 and emulated arm64, and puts the rows into
# build/bench.json.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/bench-lib.sh"

RUN=$BUILD/bench-exit
CPUS=()
ROUNDS=3
SIZES='65536 524288'

usage() {
	cat <<-'END'
	usage: bench-exit.sh [--quick] [x86|ARM64-CPU…]
	  Default: x86 and neoverse-n1, a quarter of an hour each.
	  --quick   256 MiB only, once
	END
}

while (($#)); do
	case $1 in
	--quick) ROUNDS=1 SIZES=65536 ;;
	-h | --help) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) CPUS+=("$1") ;;
	esac
	shift
done
((${#CPUS[@]})) || CPUS=(x86 neoverse-n1)

build_initramfs() {
	printf "%s='%s'\n" ROUNDS "$ROUNDS" SIZES "$SIZES" >"$RUN/settings"
	echo exit >"$RUN/list"
	"$TOP/scripts/initramfs.sh" "$RUN/initramfs.cpio.gz" --arch "$ARCHITECTURE" \
		--modules-dir "$MODULES" \
		--file "$PRODUCTS/vmm:/bin/vmm" --file "$PRODUCTS/exit-vmm:/bin/exit-vmm" \
		--file "$PRODUCTS/static/kvm-invpolicy:/bin/kvm-invpolicy" \
		--file "$RUN/settings:/etc/bench-exit" --file "$RUN/list:/etc/scenarios" \
		--file "$TOP/tests/scenarios/lib.sh:/lib/scenarios/lib.sh" \
		--file "$TOP/bench/exit.sh:/lib/scenarios/exit.sh"
}

# windows CPU: "POLICY BACKING WAY PAGES METRIC VALUE". The instructions are those of the CPU
# where the VMM is, for others wait busily; whoever executes a TLBI or a clean, it counts.
windows() {
	awk -v file="$RUN/$1.counts.txt" '
		function fail(why) {
			print "bench-exit.sh: error: " file ": " why >"/dev/stderr"
			exit 1
		}
		BEGIN { split("tlbi-ipas2e1is tlbi-ripas2e1is tlbi-vmalle1is tlbi-vmalls12e1is " \
			"dc-civac", kinds) }
		NR == FNR {
			cells = NR
			cell[NR] = $1 " " $2 " " $3 " " $4
			flushes[NR] = $5; us[NR] = $6; unmaps[NR] = $7
			next
		}
		/^error/ { fail($0) }
		$2 == "instructions" { window++; count[window, $2] = $4; next }
		{ count[window, $2] = $5 }
		END {
			if (window != cells)
				fail(window " windows of " cells)
			for (i = 1; i <= cells; i++) {
				print cell[i], "flushes", flushes[i]
				print cell[i], "emulated-us", us[i]
				print cell[i], "unmap-events", unmaps[i]
				print cell[i], "instructions", count[i, "instructions"] + 0
				for (k in kinds)
					print cell[i], kinds[k], count[i, kinds[k]] + 0
			}
		}' "$RUN/$1.cells.txt" "$RUN/$1.counts.txt"
}

rows() {
	windows "$1" | jq -R -n --arg cpu "$1" '
		def median: sort | .[length / 2 | floor];
		[inputs / " " | { policy: .[0], backing: .[1], way: .[2],
				  pages: (.[3] | tonumber), metric: .[4], value: (.[5] | tonumber) }]
		| group_by([.backing, .way, .pages, .policy, .metric])
		| map(map(.value) as $values | .[0] + { bench: "exit", cpu: $cpu,
			value: ($values | median), spread: [$values | min, max] })
		# A teardown stands beside the munmap of stock KVM.
		| . + (map(select(.metric == "emulated-us")) | group_by([.backing, .pages])
			| map((map(select(.policy == "stock") | { (.way): .value }) | add) as $stock
				| .[] | select(.policy == "fast")
				| ($stock[.way] // $stock.munmap) as $us
				| . + { metric: "emulated-time-to-stock", value: (.value / $us),
					spread: (.spread | map(. / $us)) }))'
}

print_table() {
	jq -r --arg cpu "$1" '
		map(select(.bench == "exit" and .cpu == $cpu))
		| group_by([.pages, .backing, .way])[] | . as $cell
		| ["stock", "fast"][] as $policy
		| ($cell | map(select(.policy == $policy) | { (.metric): .value }) | add) as $m
		| select($m)
		| [$cell[0].pages, $cell[0].backing, $cell[0].way, $policy, $m.instructions,
		   $m["tlbi-ipas2e1is"] + $m["tlbi-ripas2e1is"], $m["tlbi-vmalle1is"],
		   $m["tlbi-vmalls12e1is"], $m["dc-civac"], $m.flushes, $m["unmap-events"],
		   (($m["emulated-time-to-stock"] // 1) * 1000 | round / 1000)] | @tsv' "$JSON" |
		awk -F '\t' -v cpu="$1" '
			function line() {
				printf "  %7s %-9s %-9s %-6s %13s %9s %9s %10s %9s %8s %7s %6s\n",
					$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
			}
			BEGIN {
				print cpu
				$0 = "pages\tbacking\tway\tpolicy\tinstructions\tIPAS2E1\tVMALLE1\tVMALLS12E1\tDC CIVAC\tflushes\tunmaps\ttime"
				line()
			}
			{ line() }'
}

prepare_machine() {
	if [[ $1 == x86 ]]; then
		set_architecture x86
		MODULES=$BUILD/kvm MACHINE=()
		"$TOP/scripts/setup.sh" build run bench
		build_products
	else
		set_architecture arm64
		"$TOP/scripts/setup.sh" arm64
		use_built_kernel arm64
		MODULES=$KERNEL_ROOT/policy MACHINE=(--arm64 "$1")
		build_user_space
	fi
	build_bench_program exit-vmm exit
	build_initramfs
}

measure() {
	local cpu=$1

	prepare_machine "$cpu"
	step "$cpu: booting an emulated machine that counts instructions"
	"$TOP/scripts/boot.sh" "${MACHINE[@]}" --initrd "$RUN/initramfs.cpio.gz" --timeout 5400 \
		--memory 6144 --results "$RUN" --append invp.kvm=patched \
		--plugin "$BUILD/tcg-count.so,out=$RUN/$cpu.counts.txt" ||
		die "the benchmark did not come to its end: see $RUN/console.log"
	mv "$RUN/files/cells.txt" "$RUN/$cpu.cells.txt"
	rows "$cpu" | merge_rows ".bench == \"exit\" and .cpu == \"$cpu\""
	print_table "$cpu"
}

mkdir -p "$RUN"
for cpu in "${CPUS[@]}"; do
	(measure "$cpu")
done
echo "time is emulated, as a ratio to stock; all rows in ${JSON#"$TOP"/}"
