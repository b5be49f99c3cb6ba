#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Measures guest throughput and placement under NUMA balancing, one boot for each backing,
# puts the rows into build/bench.json and draws docs/numa-tradeoff.svg.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/bench-lib.sh"

RUN=$BUILD/bench-numa
PLOT=$TOP/docs/numa-tradeoff.svg
ALL_BACKINGS=(anon anon-thp memfd anon-pinned memfd-pinned)

usage() {
	cat <<-END
	usage: bench-numa.sh [--quick] [--rounds N] [BACKING…]
	  Backings: ${ALL_BACKINGS[*]}; default all, 8 to 20 minutes each.
	  --rounds  how often each policy has its turn, default 2
	  --quick   few policies, one short round, no plot; default anon: a few minutes
	END
}

POLICIES="off mbind kvm skip precise paced-16 paced-64 paced-256"
ROUNDS=2
SECONDS_MEASURED=36
# Pinned pages go nowhere, however long one waits.
SECONDS_PINNED=12
QUICK=
BACKINGS=()

parse_arguments() {
	local known=" ${ALL_BACKINGS[*]} "

	while (($#)); do
		case $1 in
		--quick) QUICK=1 POLICIES="off kvm skip paced-256" ROUNDS=1 SECONDS_MEASURED=21 ;;
		--rounds)
			[[ ${2:-} =~ ^[1-9]$ ]] || die "--rounds ${2:-}: give a number from 1 to 9"
			ROUNDS=$2; shift ;;
		-h | --help) usage; exit 0 ;;
		*)
			[[ $known == *" $1 "* ]] || { usage >&2; exit 2; }
			BACKINGS+=("$1") ;;
		esac
		shift
	done
	if ((${#BACKINGS[@]} == 0)); then
		BACKINGS=("${ALL_BACKINGS[@]}")
		[[ -z $QUICK ]] || BACKINGS=(anon)
	fi
}

build_initramfs() {
	local backing=$1 seconds=$SECONDS_MEASURED

	[[ $backing != *-pinned ]] || seconds=$SECONDS_PINNED
	printf "%s='%s'\n" BACKING "$backing" POLICIES "$POLICIES" ROUNDS "$ROUNDS" \
		SECONDS_MEASURED "$seconds" >"$RUN/cells"
	echo numa >"$RUN/list"
	"$TOP/scripts/initramfs.sh" "$RUN/initramfs.cpio.gz" --modules-dir "$BUILD/kvm" \
		--file "$BUILD/vmm:/bin/vmm" \
		--file "$BUILD/static/kvm-invpolicy:/bin/kvm-invpolicy" \
		--file "$RUN/cells:/etc/bench-numa" \
		--file "$RUN/list:/etc/scenarios" \
		--file "$TOP/tests/scenarios/lib.sh:/lib/scenarios/lib.sh" \
		--file "$TOP/bench/numa.sh:/lib/scenarios/numa.sh"
}

# No cell takes longer: start and end of a guest, its window, and both waits of a move.
boot_seconds() {
	# shellcheck disable=SC2086 # words
	set -- $POLICIES
	echo $((180 + $# * ROUNDS * (90 + SECONDS_MEASURED) + 2 * ROUNDS * 4 * SECONDS_MEASURED))
}

# rows BACKING: one row a policy and metric, the median and the extremes of its rounds.
# What never came within its time is null, and larger than any number.
rows() {
	jq -s --arg backing "$1" '
		def of_phase(phase): map(select(.phase == phase));
		def share: .placement.local / .placement.pages;
		def seconds_to_local(start):
			(first(.[] | select(share >= 0.9)) // null) as $local
			| if $local then $local.at - start else infinite end;
		def sweeps_per_second: (last.guest.sweeps - first.guest.sweeps) / (last.at - first.at);
		def window:
			map(select(.counters)) as [$start, $settled, $final]
			| def delta(key): ($final | key) - ($start | key);
			{ sweeps_per_second: ([$start, $final] | sweeps_per_second),
			  sweeps_per_second_placed: ([$settled, $final] | sweeps_per_second),
			  refaults: delta(.guest.pf_fixed),
			  refaults_placed: ($final.guest.pf_fixed - $settled.guest.pf_fixed),
			  unmap_events: delta(.unmap_events),
			  remote_tlb_flushes: delta(.guest.remote_tlb_flush),
			  remote_tlb_flushes_placed:
				($final.guest.remote_tlb_flush - $settled.guest.remote_tlb_flush),
			  numa_pte_updates: delta(.numa_pte_updates),
			  numa_pages_migrated: delta(.numa_pages_migrated),
			  local_share_start: ($start | share),
			  local_share_mean: (map(share) | add / length),
			  local_share_end: ($final | share) }
			+ ($final.counters | with_entries(select(.value | type == "number"))
				| with_entries(select(.key | startswith("numa_") and . != "numa_pace_rate"
					and . != "numa_pace_tokens" and . != "numa_pace_waiting"))
				| with_entries(.key as $key | .key = "policy_" + .key
					| .value -= $start.counters[$key]));
		def move: if length == 0 then {} else
			{ move_local_share_start: (first | share),
			  move_seconds_to_local: seconds_to_local(first.at) } end;
		def median: sort | if length % 2 == 1 then .[length / 2 | floor]
			else (.[length / 2 - 1] + .[length / 2]) / 2 end;
		def or_null: if . == infinite then null else . end;
		[group_by([.policy, .round])[] | .[0].policy as $policy
			| (of_phase("window") | window) + (of_phase("move") | move)
				+ { seconds_to_local: (map(select(.phase != "move")) | seconds_to_local(.[0].at)) }
			| to_entries[] | { policy: $policy } + .]
		| [group_by([.policy, .key])[] | map(.value) as $values
			| { bench: "numa", backing: $backing, policy: .[0].policy, metric: .[0].key,
			    value: ($values | median | or_null),
			    spread: [$values | min, max | or_null] }]
	' "$RUN/$1.samples.json"
}

print_table() {
	jq -r --arg backing "$1" '
		def number: if . == null then "never" else . * 100 | round / 100 end;
		map(select(.bench == "numa" and .backing == $backing))
		| group_by(.policy)[]
		| (map({ (.metric): .value }) | add) as $m
		| [.[0].policy, ($m | .sweeps_per_second, .sweeps_per_second_placed, .refaults,
			.remote_tlb_flushes, .numa_pages_migrated, .local_share_end * 100,
			.seconds_to_local | number),
		   ($m | if has("move_seconds_to_local") then .move_seconds_to_local | number else "-" end)]
		| @tsv' "$JSON" | sort -t $'\t' -k 2 -n | awk -F '\t' -v backing="$1" '
		function line() {
			printf "  %-12s %9s %9s %10s %9s %9s %7s %7s %7s\n", $1, $2, $3, $4, $5, $6, $7, $8, $9
		}
		BEGIN {
			$0 = backing "\tsweeps/s\tplaced\tre-faults\tflushes\tmigrated\tlocal %\t90 % s\tmoved s"
			line()
		}
		{ line() }'
}

measure() {
	local backing=$1

	build_initramfs "$backing"
	step "$backing: booting the distribution's kernel in QEMU, at most $(boot_seconds) s"
	"$TOP/scripts/boot.sh" --initrd "$RUN/initramfs.cpio.gz" --timeout "$(boot_seconds)" \
		--results "$RUN" --append invp.kvm=patched ||
		die "the benchmark did not come to its end: see $RUN/console.log"
	mv "$RUN/files/samples.json" "$RUN/$backing.samples.json"
	rows "$backing" | merge_rows ".bench == \"numa\" and .backing == \"$backing\""
	print_table "$backing"
}

# Throughput is given as a share of that with balancing off.
draw_plot() {
	need_command gnuplot bench
	jq -r '
		map(select(.bench == "numa" and (.backing | endswith("-pinned") | not)))
		| group_by(.backing)[]
		| (map(select(.policy == "off" and .metric == "sweeps_per_second"))[0].value) as $off
		| group_by(.policy)[]
		| (map({ (.metric): .value }) | add) as $m
		| [.[0].backing, .[0].policy, $m.local_share_mean * 100,
		   $m.sweeps_per_second / $off * 100] | @tsv' "$JSON" >"$RUN/tradeoff.tsv"
	gnuplot -e "data='$RUN/tradeoff.tsv'" "$TOP/scripts/plot-numa.gp" |
		tr -s '[:space:]' ' ' >"$PLOT"
	step "plot: ${PLOT#"$TOP"/}"
}

parse_arguments "$@"
mkdir -p "$RUN"
build_products
for backing in "${BACKINGS[@]}"; do
	measure "$backing"
done
[[ -n $QUICK ]] || draw_plot
echo "medians over $ROUNDS rounds, emulated; all rows in ${JSON#"$TOP"/}"
