#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs the end-to-end scenarios, one test machine per kind of KVM.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$TOP/scripts/machine.sh"

FOLDER=$TOP/tests/scenarios
BOOT_SECONDS=120

usage() {
	cat <<-'END'
	usage: scenarios.sh [--kvm patched|stock|debug|arm64:CPU] [--rounds N] [SCENARIO…]
	  Default: all of tests/scenarios, in both kinds of machine. A scenario names
	  its kinds in a line "# kvm: stock", "# kvm: patched" or "# kvm: stock patched".
	  The third kind, the debug kernel, runs those for patched and "# kvm: debug".
	  An arm64 machine with CPUs of the kind CPU, such as neoverse-n1, cortex-a72 or
	  max, runs those for patched but for those with a line "# not-arm64: REASON".
	  --rounds N  how often each way to die is tried in 34-pressure, not once
	END
}

KINDS=(stock patched)
ROUNDS=
SCENARIOS=()
PASSED=0
FAILED=0
SKIPPED=0
MACHINES=0

parse_arguments() {
	while (($#)); do
		case $1 in
		--kvm)
			known_kind "${2:-}" || is_arm64 "${2:-}" ||
				die "--kvm ${2:-}: give patched, stock, debug or arm64:CPU"
			KINDS=("$2"); shift 2 ;;
		--rounds)
			[[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--rounds ${2:-}: give a number"
			ROUNDS=$2; shift 2 ;;
		-h | --help) usage; exit 0 ;;
		-*) usage >&2; exit 2 ;;
		*) SCENARIOS+=("$(basename "$1" .sh)"); shift ;;
		esac
	done
}

all_scenarios() {
	find "$FOLDER" -name '[0-9]*.sh' -printf '%f\n' | sort | sed 's/\.sh$//'
}

header() {
	sed -n "s/^# $1: *//p" "$FOLDER/$2.sh"
}

check_scenarios() {
	local name kind kinds

	for name in "${SCENARIOS[@]}"; do
		[[ -e $FOLDER/$name.sh ]] ||
			die "no scenario $name: the scenarios are" "$(all_scenarios | xargs)"
		kinds=$(header kvm "$name")
		[[ -n $kinds ]] || die "scenario $name needs a line '# kvm: stock' or '# kvm: patched'"
		for kind in $kinds; do
			known_kind "$kind" ||
				die "scenario $name: '# kvm: $kind' must be stock, patched or debug"
		done
	done
}

# Those that are for a kind of machine, if they can run on its architecture.
scenarios_of() {
	local kinds=$1 name

	[[ $1 != debug ]] || kinds='(patched|debug)'
	! is_arm64 "$1" || kinds=patched
	for name in "${SCENARIOS[@]}"; do
		[[ " $(header kvm "$name") " =~ \ $kinds\  ]] || continue
		if is_arm64 "$1" && [[ -n $(header not-arm64 "$name") ]]; then
			continue
		fi
		printf '%s\n' "$name"
	done
}

report_not_arm64() {
	local name reason

	for name in "${SCENARIOS[@]}"; do
		reason=$(header not-arm64 "$name")
		[[ -n $reason ]] || continue
		printf 'ok - %s # SKIP %s\n' "$name" "$reason"
		SKIPPED=$((SKIPPED + 1))
	done
}

seconds_of() {
	local name limit sum=$((BOOT_SECONDS * SLOWDOWN))

	for name in "$@"; do
		limit=$(header timeout "$name")
		sum=$((sum + (${limit:-120} + 5) * SLOWDOWN))
	done
	printf '%s\n' "$sum"
}

build_initramfs() {
	local kind=$1 results=$BUILD/scenarios-${1/:/-} name
	local list=$results/list
	local options modules

	mapfile -t options < <(program_options)
	options+=(--file "$PRODUCTS/invp-ioctl:/bin/invp-ioctl" --file "$list:/etc/scenarios")
	shift
	mkdir -p "$results"
	printf '%s\n' "$@" >"$list"
	for name in "$@"; do
		options+=(--file "$FOLDER/$name.sh:/lib/scenarios/$name.sh")
	done
	if [[ $kind == stock ]]; then
		options+=(--file "$BUILD/kvm/kvm_invpolicy.ko:/lib/modules/$RELEASE/updates/kvm_invpolicy.ko")
	else
		modules=$(module_options "$kind")
		mapfile -t -O "${#options[@]}" options <<<"$modules"
	fi
	if [[ $kind == patched ]]; then
		unpack_stock_module kvm-amd "$results/stock"
		options+=(--file "$results/stock/kvm-amd.ko:/lib/stock/kvm-amd.ko"
			  --file "$BUILD/kvm-other/module/kvm_invpolicy.ko:/lib/other-version/kvm_invpolicy.ko")
	fi
	"$TOP/scripts/initramfs.sh" "$results/initramfs.cpio.gz" "${options[@]}"
}

count() {
	grep -c -E "$1" "$2" || true
}

# A scenario that never came to its last verdict, kernel-log, has failed.
report_unfinished() {
	local tap=$1 name

	shift
	for name in "$@"; do
		if ! grep -q -E "^(not )?ok - $name/kernel-log" "$tap"; then
			printf 'not ok - %s/finished\n# the machine stopped before its end\n' "$name" |
				tee -a "$tap"
		fi
	done
}

run_machine() {
	local kind=$1 results=$BUILD/scenarios-${1/:/-} tap seconds status=0 skipped options

	shift
	tap=$results/verdict.tap
	seconds=$(seconds_of "$@")
	mapfile -t options < <(boot_options "$kind")
	[[ -z $ROUNDS ]] || options[-1]+=" invp.rounds=$ROUNDS"
	step "$kind KVM: booting a machine for $# scenarios, at most $seconds s"
	printf '# machine with %s KVM\n' "$kind"
	"$TOP/scripts/boot.sh" --initrd "$results/initramfs.cpio.gz" --timeout "$seconds" \
		--results "$results" "${options[@]}" || status=$?
	((status == 0 || status == 1 || status == 3)) || exit "$status"
	report_unfinished "$tap" "$@"
	if ((status == 3)); then
		printf 'not ok - %s machine\n# it did not come to its end: see %s\n' \
			"$kind" "$results/console.log" | tee -a "$tap"
	fi
	skipped=$(count '^ok .*# SKIP' "$tap")
	PASSED=$((PASSED + $(count '^ok ' "$tap") - skipped))
	FAILED=$((FAILED + $(count '^not ok ' "$tap")))
	SKIPPED=$((SKIPPED + skipped))
	MACHINES=$((MACHINES + 1))
}

parse_arguments "$@"
((${#SCENARIOS[@]})) || mapfile -t SCENARIOS < <(all_scenarios)
check_scenarios
prepare_kind "${KINDS[0]}"
! is_arm64 "${KINDS[0]}" || report_not_arm64
RELEASE=$("$TOP/scripts/kernel.sh" release)
for kind in "${KINDS[@]}"; do
	mapfile -t names < <(scenarios_of "$kind")
	((${#names[@]})) || continue
	build_initramfs "$kind" "${names[@]}"
	run_machine "$kind" "${names[@]}"
done
((MACHINES)) || die "none of these scenarios is for ${KINDS[*]} KVM: see their '# kvm:' lines"
printf '1..%d\n' $((PASSED + FAILED + SKIPPED))
if ((SKIPPED)); then
	printf '# %d skipped\n' "$SKIPPED"
fi
printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
((FAILED == 0))
