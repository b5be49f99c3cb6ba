# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs suites, one after another even if one has failed, and adds up their results; to be
# sourced after lib.sh.

LOGS=$BUILD/test
PASSED=0
FAILED=0
SKIPPED=0
SUMMARY=
SUITE_LOGS=()

# A suite ends with "N passed, N failed", and may say "# N skipped" before it.
suite() {
	local name=$1 log=$LOGS/$1.log start=$SECONDS status=0 passed failed skipped

	shift
	step "suite $name"
	mkdir -p "$LOGS"
	SUITE_LOGS+=("$log")
	"$@" 2>&1 | tee "$log" || status=$?
	read -r passed failed < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$log" | tail -n 1) ||
		passed=0 failed=1
	skipped=$(sed -n 's/^# \([0-9]*\) skipped.*/\1/p' "$log" | tail -n 1)
	((status == 0 || failed > 0)) || failed=1
	PASSED=$((PASSED + passed))
	FAILED=$((FAILED + failed))
	SKIPPED=$((SKIPPED + ${skipped:-0}))
	SUMMARY+=$(printf '  %-11s %4d passed %4d failed %4d skipped %5d s' \
		"$name" "$passed" "$failed" "${skipped:-0}" $((SECONDS - start)))$'\n'
}

# The verdict over all suites; fails if one has.
report_suites() {
	printf '\n%s' "$SUMMARY"
	if ((FAILED)); then
		grep -h -A 2 '^not ok' "${SUITE_LOGS[@]}" | sed 's/^/  /' || true
		echo "verdict: FAIL; whole output in ${LOGS#"$TOP"/}"
	else
		echo "verdict: PASS"
	fi
	printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
	((FAILED == 0))
}
