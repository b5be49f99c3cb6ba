#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Which TLBIs and cache cleans arm64 executes when memory is taken away from a VM: none but one
# flush where events are coalesced, and all cleans but those of pages whose contents die; and
# none at all in a VM that was torn down.
#
#	unmap-counts.sh [neoverse-n1] [max]
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

# What is counted as it is measured.
export BENCH_JSON=$BUILD/unmap-counts.json
PASSED=0
FAILED=0

# check NAME FILTER: every cell of a CPU, with its values under both policies, passes the filter.
check() {
	local wrong

	wrong=$(jq -c --arg cpu "$CPU" '
		map(select(.cpu == $cpu)) | group_by([.backing, .operation, .pages])
		| map((.[0] | { backing, operation, pages })
			+ (group_by(.policy) | map({ (.[0].policy):
				(map({ (.metric): .value }) | add) }) | add))
		| map(select(.stock)) | map(select(('"$2"') | not))
		| if length == 0 then "no cell" else .[] end' <<<"$CELLS" |
		{ grep -v '^"no cell"$' || true; })
	if [[ -z $wrong ]]; then
		PASSED=$((PASSED + 1))
		echo "ok - $CPU/$1"
	else
		FAILED=$((FAILED + 1))
		printf 'not ok - %s/%s\n' "$CPU" "$1"
		printf '# %s\n' "${wrong//$'\n'/$'\n'# }"
	fi
}

# All that is below is in vain if nothing was counted.
check_measured() {
	check stock-was-counted '.stock.instructions > 1000 and
		.stock["tlbi-ipas2e1is"] + .stock["tlbi-ripas2e1is"] > 0'
	check coalesced-was-counted '.coalesce.flushes > 0'
}

check_tlbis() {
	check no-tlbi-by-address '.coalesce["tlbi-ipas2e1is"] + .coalesce["tlbi-ripas2e1is"] == 0'
	check no-tlbi-of-stage-1 '.coalesce["tlbi-vmalle1is"] == 0'
	check one-tlbi-a-flush '.coalesce["tlbi-vmalls12e1is"] == .coalesce.flushes'
}

# Whatever the CPU: KVM has no part in it any more.
check_retired() {
	check retired-was-counted '(.operation != "munmap") or .retired.instructions > 1000'
	check retired-costs-nothing '(.operation != "munmap") or
		.retired["tlbi-ipas2e1is"] + .retired["tlbi-ripas2e1is"] + .retired["tlbi-vmalle1is"]
		+ .retired["tlbi-vmalls12e1is"] + .retired["dc-civac"] + .retired.flushes == 0'
}

check_neoverse_n1() {
	check stock-flushes-each-page '(.backing | endswith("-thp")) or
		.stock["tlbi-ipas2e1is"] >= .pages and .stock["dc-civac"] >= .pages * 64'
	check contents-that-die-are-not-cleaned '(.backing | startswith("memfd")) or
		.operation == "dontneed" or .coalesce["dc-civac"] == 0'
	check contents-that-may-live-are-cleaned '(.backing | startswith("anon")) and
		.operation != "dontneed" or .coalesce["dc-civac"] == .stock["dc-civac"]'
}

check_max() {
	check fwb-needs-no-cleaning '.coalesce["dc-civac"] == 0'
}

CPUS=("$@")
((${#CPUS[@]})) || CPUS=(neoverse-n1 max)
rm -f "$BENCH_JSON"
"$TOP/scripts/bench-unmap.sh" --quick "${CPUS[@]}" >&2
CELLS=$(<"$BENCH_JSON")
for CPU in "${CPUS[@]}"; do
	check_measured
	check_tlbis
	check_retired
	"check_${CPU//-/_}"
done
printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
((FAILED == 0))
