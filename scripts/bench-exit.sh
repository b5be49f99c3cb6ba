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

measure() {
	local cpu=$1 kind=arm64:$1

	[[ $cpu != x86 ]] || kind=patched
	count_in_machine "$cpu" "$kind" exit "ROUNDS=$ROUNDS SIZES='$SIZES'" '' --memory 6144
	rows "$cpu" | merge_rows ".bench == \"exit\" and .cpu == \"$cpu\""
	print_table "$cpu"
}

for cpu in "${CPUS[@]}"; do
	(measure "$cpu")
done
echo "time is emulated, as a ratio to stock; all rows in ${JSON#"$TOP"/}"
