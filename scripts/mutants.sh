#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Breaks a copy of the project on purpose, one mutant at a time, and sees that its tests notice.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

FOLDER=$TOP/tests/mutants
OUT=$BUILD/mutants
TREE=$OUT/tree
PATCHES=patches/${SOURCE_PACKAGE/source-/}

PASSED=0
FAILED=0

usage() {
	cat <<-'END'
	usage: mutants.sh [MUTANT…]
	  Default: all of tests/mutants. A mutant is a patch for the project's own files, or
	  for KVM with the companion patch in it (debug: and the contract checker). Before it:
	    # caught-by: scenario patched|debug SCENARIO…
	    # caught-by: kunit SUITE[.TEST]
	    # says: EXTENDED REGULAR EXPRESSION
	  Each run must fail, and its output or the console must say so. What was printed is
	  kept in build/mutants.
	END
}

all_mutants() {
	find "$FOLDER" -name '*.patch' -printf '%f\n' | sort | sed 's/\.patch$//'
}

header() {
	sed -n "/^diff /q; s/^# $1: *//p" "$FOLDER/$2.patch"
}

# --- what a mutant changes --------------------------------------------------

changed_files() {
	sed -n 's|^+++ b/\([^\t]*\).*|\1|p' "$FOLDER/$1.patch"
}

changes_kernel() {
	[[ $(changed_files "$1") =~ ^(arch|include|virt)/ ]]
}

is_for_debug_kernel() {
	[[ $(header caught-by "$1") == "scenario debug "* ]]
}

# The series at whose end the mutant of a kernel file goes.
series_of() {
	if is_for_debug_kernel "$1"; then echo series.debug; else echo series; fi
}

# patches_below MUTANT: the patches that it is made for.
patches_below() {
	cat "$TOP/$PATCHES/series"
	! is_for_debug_kernel "$1" || cat "$TOP/$PATCHES/series.debug"
}

# Below the top of a repository git apply would leave out what lies elsewhere in it.
apply_check() {
	GIT_CEILING_DIRECTORIES=$(dirname "$1") git -C "$1" apply --check -
}

check_applies() {
	local mutant=$FOLDER/$1.patch

	if changes_kernel "$1"; then
		(cd "$TOP/$PATCHES" && patches_below "$1" | xargs cat) | cat - "$mutant" |
			apply_check "$SOURCE"
	else
		apply_check "$TREE" <"$mutant"
	fi
}

check_headers() {
	local line

	[[ -n $(header says "$1") ]] || die "mutant $1 needs a line '# says: …'"
	[[ -n $(header caught-by "$1") ]] || die "mutant $1 needs a line '# caught-by: …'"
	while read -r line; do
		[[ $line =~ ^(scenario\ (patched|debug)|kunit)\ [^\ ] ]] ||
			die "mutant $1: '# caught-by: $line': give scenario patched, scenario debug or kunit"
	done < <(header caught-by "$1")
}

# --- running ----------------------------------------------------------------

copy_project() {
	mkdir -p "$TREE/build"
	rsync -a --delete --exclude=/build --exclude=/.git "$TOP/" "$TREE/"
}

apply_mutant() {
	if changes_kernel "$1"; then
		cp "$FOLDER/$1.patch" "$TREE/$PATCHES/"
		echo "$1.patch" >>"$TREE/$PATCHES/$(series_of "$1")"
	else
		patch --directory="$TREE" --strip=1 --forward --fuzz=0 --silent <"$FOLDER/$1.patch"
	fi
}

run_scenarios_patched() {
	"$TREE/scripts/build-kvm.sh"
	make -s -C "$TREE/tests/vmm" OUT="$TREE/build"
	make -s -C "$TREE/tests/ioctl" OUT="$TREE/build"
	make -s -C "$TREE/tools" OUT="$TREE/build/static" LDFLAGS=-static
	"$TREE/scripts/scenarios.sh" --kvm patched "$@"
}

# run_tests KIND ARGUMENT…: as a line "caught-by" names them.
run_tests() {
	case $1:$2 in
	scenario:debug) "$TREE/scripts/test-debug.sh" "${@:3}" ;;
	scenario:*) run_scenarios_patched "${@:3}" ;;
	kunit:*) "$TREE/scripts/kunit.sh" "$2" ;;
	esac
}

verdict() {
	printf '%s %d - %s: %s\n' "$1" $((PASSED + FAILED)) "$2" "$3"
}

# A mutant that fails to build, or upsets something else, is not caught.
judge() {
	local mutant=$1 status=$2 tests=$3 log=$4 consoles

	mapfile -t consoles < <(find "$TREE/build" -name console.log -newer "$OUT/started")
	if ((status == 0)); then
		FAILED=$((FAILED + 1))
		verdict 'not ok' "$mutant" "SURVIVED $tests: see ${log#"$TOP"/}"
	elif ! grep -q -E -e "$(header says "$mutant")" "$log" "${consoles[@]}"; then
		FAILED=$((FAILED + 1))
		verdict 'not ok' "$mutant" "$tests failed, but not for what it is to say: see ${log#"$TOP"/}"
	else
		PASSED=$((PASSED + 1))
		verdict ok "$mutant" "caught by $tests in $SECONDS s"
	fi
	((!${#consoles[@]})) || cat "${consoles[@]}" >"${log%.log}.console.log"
}

run_mutant() {
	local tests log words status

	while read -r tests; do
		log=$OUT/$1.${tests//[^[:alnum:].-]/-}.log
		read -r -a words <<<"$tests"
		step "$1: $tests"
		SECONDS=0
		touch "$OUT/started"
		status=0
		run_tests "${words[@]}" >"$log" 2>&1 </dev/null || status=$?
		judge "$1" "$status" "$tests" "$log"
	done < <(header caught-by "$1")
}

# --- all of them ------------------------------------------------------------

case ${1:-} in
-h | --help) usage; exit 0 ;;
-*) usage >&2; exit 2 ;;
esac
MUTANTS=("$@")
((${#MUTANTS[@]})) || mapfile -t MUTANTS < <(all_mutants)
"$TOP/scripts/setup.sh" build run kunit
SOURCE=$("$TOP/scripts/kernel.sh" source)
copy_project
for mutant in "${MUTANTS[@]}"; do
	[[ -e $FOLDER/$mutant.patch ]] ||
		die "no mutant $mutant: the mutants are" "$(all_mutants | xargs)"
	check_headers "$mutant"
	check_applies "$mutant" ||
		die "mutant $mutant does not apply any more: make it anew for today's code, or remove it"
done
for mutant in "${MUTANTS[@]}"; do
	copy_project
	apply_mutant "$mutant"
	run_mutant "$mutant"
done
printf '1..%d\n' $((PASSED + FAILED))
printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
((FAILED == 0))
