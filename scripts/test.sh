#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs every suite, even after one has failed, and adds up their results.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

LOGS=$BUILD/test
PASSED=0
FAILED=0
SKIPPED=0
SUMMARY=

# A suite ends with "N passed, N failed", and may say "# N skipped" before it.
suite() {
	local name=$1 log=$LOGS/$1.log start=$SECONDS status=0 passed failed skipped

	shift
	step "suite $name"
	"$@" 2>&1 | tee "$log" || status=$?
	read -r passed failed < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$log" | tail -n 1) ||
		passed=0 failed=1
	skipped=$(sed -n 's/^# \([0-9]*\) skipped.*/\1/p' "$log" | tail -n 1)
	((status == 0 || failed > 0)) || failed=1
	PASSED=$((PASSED + passed))
	FAILED=$((FAILED + failed))
	SKIPPED=$((SKIPPED + ${skipped:-0}))
	SUMMARY+=$(printf '  %-10s %4d passed %4d failed %4d skipped %5d s' \
		"$name" "$passed" "$failed" "${skipped:-0}" $((SECONDS - start)))$'\n'
}

mkdir -p "$LOGS"
"$TOP/scripts/setup.sh" build run kunit dkms
build_products
make -s -C "$TOP/bench/tcg-count" OUT="$BUILD"
suite command "$TOP/tools/tests/cli.sh" "$BUILD/static/kvm-invpolicy"
suite counter "$TOP/bench/tcg-count/test.sh" "$BUILD"
suite scenarios "$TOP/scripts/scenarios.sh"
suite kunit "$TOP/scripts/kunit.sh"
suite dkms "$TOP/tests/dkms.sh"

printf '\n%s' "$SUMMARY"
if ((FAILED)); then
	grep -h -A 2 '^not ok' "$LOGS"/*.log | sed 's/^/  /' || true
	echo "verdict: FAIL; whole output in ${LOGS#"$TOP"/}"
else
	echo "verdict: PASS"
fi
printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
((FAILED == 0))
