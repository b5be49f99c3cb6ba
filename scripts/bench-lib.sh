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
