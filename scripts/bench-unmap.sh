#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Counts the instructions, flushes, TLBIs and cache cleans by which memory is taken away from a VM,
# puts the rows into build/bench.json and draws docs/arm64-unmap.svg.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/bench-lib.sh"

RUN=$BUILD/bench-unmap
PLOT=$TOP/docs/arm64-unmap.svg
CPUS=()
ROUNDS=3
QUICK=

usage() {
	cat <<-'END'
	usage: bench-unmap.sh [--quick] [CPU…]
	  Default: neoverse-n1, cortex-a72, max, and x86 with a kernel that is preempted
	  on request (x86-voluntary) and everywhere (x86-full), some minutes each.
	  --quick   up to 512 pages only, one round, no plot
	END
}

while (($#)); do
	case $1 in
	--quick) ROUNDS=1 QUICK=y PLOT= ;;
	-h | --help) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) CPUS+=("$1") ;;
	esac
	shift
done
((${#CPUS[@]})) || CPUS=(neoverse-n1 cortex-a72 max x86-voluntary x86-full)

# windows CPU: "POLICY BACKING OPERATION PAGES METRIC VALUE"; a kind of instruction that the
# plugin has not seen is none.
windows() {
	awk -v file="$RUN/$1.counts.txt" '
		function fail(why) {
			print "bench-unmap.sh: error: " file ": " why >"/dev/stderr"
			exit 1
		}
		BEGIN { split("instructions tlbi-ipas2e1is tlbi-ripas2e1is tlbi-vmalle1is " \
			"tlbi-vmalls12e1is tlbi-other dc-civac dc-cvac dc-other", kinds) }
		NR == FNR { cell[NR] = $1 " " $2 " " $3 " " $4; flushes[NR] = $5; cells = NR; next }
		/^error/ { fail($0) }
		$2 == "instructions" { window++ }
		{ count[window, $2] = $4 }
		END {
			if (window != cells)
				fail(window " windows of " cells)
			for (i = 1; i <= cells; i++) {
				print cell[i], "flushes", flushes[i]
				for (k in kinds)
					print cell[i], kinds[k], count[i, kinds[k]] + 0
			}
		}' "$RUN/$1.cells.txt" "$RUN/$1.counts.txt"
}

rows() {
	windows "$1" | jq -R -n --arg cpu "$1" '
		def median: sort | .[length / 2 | floor];
		[inputs / " " | { policy: .[0], backing: .[1], operation: .[2],
				  pages: (.[3] | tonumber), metric: .[4], value: (.[5] | tonumber) }]
		| group_by([.backing, .operation, .pages, .policy, .metric])
		| map(map(.value) as $values | .[0] + { bench: "unmap", cpu: $cpu,
			value: ($values | median), spread: [$values | min, max] })'
}

print_table() {
	jq -r --arg cpu "$1" '
		map(select(.bench == "unmap" and .cpu == $cpu))
		| group_by([.backing, .operation, .pages])[] | . as $cell
		| ["stock", "coalesce", "retired", "host"][] as $policy
		| ($cell | map(select(.policy == $policy) | { (.metric): .value }) | add) as $m
		| select($m)
		| [$cell[0].backing, $cell[0].operation, $cell[0].pages, $policy, $m.instructions,
		   $m["tlbi-ipas2e1is"] + $m["tlbi-ripas2e1is"], $m["tlbi-vmalle1is"],
		   $m["tlbi-vmalls12e1is"], $m["dc-civac"], $m.flushes] | @tsv' "$JSON" |
		awk -F '\t' -v cpu="$1" '
			function line() {
				printf "  %-10s %-16s %7s %-9s %13s %9s %9s %10s %9s %8s\n",
					$1, $2, $3, $4, $5, $6, $7, $8, $9, $10
			}
			BEGIN {
				print cpu
				$0 = "backing\toperation\tpages\tpolicy\tinstructions\tIPAS2E1\tVMALLE1\tVMALLS12E1\tDC CIVAC\tflushes"
				line()
			}
			{ line() }'
}

# Only on x86, where it is the question whether flushes are left to spare, is mmu_lock contended.
measure() {
	local cpu=$1 sizes='1 16 512 16384 131072'

	[[ $cpu != x86-* ]] || sizes='512 262144'
	[[ -z $QUICK ]] || sizes='1 16 512'
	if [[ $cpu == x86-* ]]; then
		count_in_machine "$cpu" patched unmap "ROUNDS=$ROUNDS SIZES='$sizes' CONTENDED=y" \
			"preempt=${cpu#x86-}" --memory 6144
	else
		count_in_machine "$cpu" "arm64:$cpu" unmap \
			"ROUNDS=$ROUNDS SIZES='$sizes' CONTENDED=n" ''
	fi
	rows "$cpu" | merge_rows ".bench == \"unmap\" and .cpu == \"$cpu\""
	print_table "$cpu"
}

draw_plot() {
	need_command gnuplot bench
	jq -r 'map(select(.bench == "unmap" and .operation == "munmap" and .metric == "instructions"
				and (.cpu | startswith("x86") | not)))
		| .[] | [.cpu, .backing, .policy, .pages, .value] | @tsv' "$JSON" >"$RUN/unmap.tsv"
	gnuplot -e "data='$RUN/unmap.tsv'" "$TOP/scripts/plot-unmap.gp" |
		tr -s '[:space:]' ' ' >"$PLOT"
	step "plot: ${PLOT#"$TOP"/}"
}

for cpu in "${CPUS[@]}"; do
	(measure "$cpu")
done
[[ -z $PLOT ]] || draw_plot
echo "of the CPU that takes the memory away, emulated; all rows in ${JSON#"$TOP"/}"
