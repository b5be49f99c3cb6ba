#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Breaks a copy of the project on purpose, one mutant at a time, and sees that its tests notice.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

FOLDER=$TOP/tests/mutants
OUT=$BUILD/mutants
TREE=$OUT/tree
KVM_CACHE=$OUT/cache
PATCHES=patches/${SOURCE_PACKAGE/source-/}

PASSED=0
FAILED=0

usage() {
	cat <<-'END'
	usage: mutants.sh [--check] [MUTANT…]
	  Default: all of tests/mutants; with --check none is run, but each has to apply.
	  A mutant is a patch for the project's own files, or for KVM as it is built (debug:
	  with the contract checker in it). Before it:
	    # caught-by: scenario stock|patched|debug|arm64:CPU SCENARIO…
	    # caught-by: kunit SUITE[.TEST]
	    # caught-by: counts neoverse-n1|max
	    # says: EXTENDED REGULAR EXPRESSION
	  Each run must fail, and its output or the console must say so, or all of it if there
	  are several such lines; then the run is stopped. What was printed is kept in
	  build/mutants.
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

# series_of MUTANT: what the mutant of a kernel file is made for, the last one to be
# lengthened by it if it is for a kernel of our own.
series_of() {
	case $(header caught-by "$1") in
	"scenario debug "*) echo series series.arm64 series.debug ;;
	"scenario arm64:"* | counts*) echo series series.arm64 ;;
	*) echo series series.out-of-tree ;;
	esac
}

is_for_built_kernel() {
	[[ $(series_of "$1") != *out-of-tree ]]
}

patches_below() {
	local series

	for series in $(series_of "$1"); do
		cat "$TOP/$PATCHES/$series"
	done
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
		[[ $line =~ ^(scenario\ (stock|patched|debug|arm64:[a-z0-9-]+)|kunit|counts)\ [^\ ] ]] ||
			die "mutant $1: '# caught-by: $line': give scenario stock, patched, debug or arm64:CPU, kunit or counts"
	done < <(header caught-by "$1")
}

# --- running ----------------------------------------------------------------

copy_project() {
	mkdir -p "$TREE/build"
	rsync -a --delete --exclude=/build --exclude=/.git "$TOP/" "$TREE/"
}

# apply FOLDER MUTANT [OPTION]: to the files below a folder.
apply() {
	patch --directory="$1" --strip=1 --forward --fuzz=0 --silent "${@:3}" <"$FOLDER/$2.patch"
}

# The script that builds a kernel of our own builds again what a patch changes, and no more.
apply_mutant() {
	local series

	if ! changes_kernel "$1"; then
		apply "$TREE" "$1"
	elif is_for_built_kernel "$1"; then
		series=$(series_of "$1")
		cp "$FOLDER/$1.patch" "$TREE/$PATCHES/"
		echo "$1.patch" >>"$TREE/$PATCHES/${series##* }"
	fi
}

build_kvm() {
	XDG_CACHE_HOME=$KVM_CACHE KERNEL_SOURCE=$SOURCE "$TREE/scripts/build-kvm.sh"
}

# In a cache of the mutants' own, where nobody else finds one of them. What it is built
# from is kept in it; a run that was broken off leaves more there.
build_pristine_kvm() {
	if ! diff -rq "$KVM_CACHE/patches" "$TOP/$PATCHES"; then
		rm -rf "$KVM_CACHE"
		mkdir -p "$KVM_CACHE"
		cp -r "$TOP/$PATCHES" "$KVM_CACHE/patches"
	fi
	build_kvm
}

# In place, so that no more is built again than what the mutant changes.
build_kvm_with_mutant() {
	local kvm

	build_pristine_kvm
	kvm=$(find "$KVM_CACHE/kvm_invpolicy" -maxdepth 1 -name 'kvm-*')
	touch "$KVM_CACHE/patches/mutant"
	apply "$kvm" "$1"
	build_kvm
	apply "$kvm" "$1" --reverse
	rm "$KVM_CACHE/patches/mutant"
}

# run_scenarios MUTANT KIND SCENARIO…
run_scenarios() {
	if changes_kernel "$1"; then build_kvm_with_mutant "$1"; else build_pristine_kvm; fi
	make -s -C "$TREE/tests/vmm" OUT="$TREE/build"
	make -s -C "$TREE/tests/ioctl" OUT="$TREE/build"
	make -s -C "$TREE/tools" OUT="$TREE/build/static" LDFLAGS=-static
	"$TREE/scripts/scenarios.sh" --kvm "${@:2}"
}

# run_tests MUTANT KIND ARGUMENT…: as a line "caught-by" names them.
run_tests() {
	case $2:$3 in
	scenario:debug) "$TREE/scripts/test-debug.sh" "${@:4}" ;;
	scenario:arm64:*) "$TREE/scripts/test-arm64.sh" "${3#arm64:}" "${@:4}" ;;
	scenario:*) run_scenarios "$1" "${@:3}" ;;
	kunit:*) "$TREE/scripts/kunit.sh" "$3" ;;
	counts:*) "$TREE/tests/unmap-counts.sh" "$3" ;;
	esac
}

consoles() {
	find "$TREE/build" -name console.log -newer "$OUT/started"
}

# says_all MUTANT LOG
says_all() {
	local line files

	mapfile -t files < <(consoles)
	while read -r line; do
		grep -q -E -e "$line" "$2" "${files[@]}" || return
	done < <(header says "$1")
}

# run_until_said MUTANT LOG KIND ARGUMENT…: what a mutant breaks beyond that takes long.
# Sets STATUS: called as a condition, it would go on after a build that failed.
run_until_said() {
	local mutant=$1 log=$2 run

	set -m
	run_tests "$mutant" "${@:3}" >"$log" 2>&1 </dev/null &
	run=$!
	set +m
	# shellcheck disable=SC2064 # the local is gone when the trap runs
	trap "kill -TERM -- -$run 2>/dev/null" EXIT
	while kill -0 "$run" 2>/dev/null && ! says_all "$mutant" "$log"; do
		sleep 1
	done
	kill -TERM -- "-$run" 2>/dev/null || true
	trap - EXIT
	STATUS=0
	wait "$run" || STATUS=$?
}

verdict() {
	printf '%s %d - %s: %s\n' "$1" $((PASSED + FAILED)) "$2" "$3"
}

# A mutant that fails to build, or upsets something else, is not caught.
judge() {
	local mutant=$1 status=$2 tests=$3 log=$4

	if ((status == 0)); then
		FAILED=$((FAILED + 1))
		verdict 'not ok' "$mutant" "SURVIVED $tests: see ${log#"$TOP"/}"
	elif ! says_all "$mutant" "$log"; then
		FAILED=$((FAILED + 1))
		verdict 'not ok' "$mutant" "$tests failed, but not for what it is to say: see ${log#"$TOP"/}"
	else
		PASSED=$((PASSED + 1))
		verdict ok "$mutant" "caught by $tests in $SECONDS s"
	fi
	consoles | xargs -r cat >"${log%.log}.console.log"
}

run_mutant() {
	local tests log words

	while read -r tests; do
		log=$OUT/$1.${tests//[^[:alnum:].-]/-}.log
		read -r -a words <<<"$tests"
		step "$1: $tests"
		SECONDS=0
		touch "$OUT/started"
		run_until_said "$1" "$log" "${words[@]}"
		judge "$1" "$STATUS" "$tests" "$log"
	done < <(header caught-by "$1")
}

# --- all of them ------------------------------------------------------------

CHECK_ONLY=
case ${1:-} in
-h | --help) usage; exit 0 ;;
--check) CHECK_ONLY=1; shift ;;
-*) usage >&2; exit 2 ;;
esac
MUTANTS=("$@")
((${#MUTANTS[@]})) || mapfile -t MUTANTS < <(all_mutants)
[[ -n $CHECK_ONLY ]] || "$TOP/scripts/setup.sh" build run kunit
SOURCE=$("$TOP/scripts/kernel.sh" source)
copy_project
rotten=()
for mutant in "${MUTANTS[@]}"; do
	[[ -e $FOLDER/$mutant.patch ]] ||
		die "no mutant $mutant: the mutants are" "$(all_mutants | xargs)"
	check_headers "$mutant"
	check_applies "$mutant" || rotten+=("$mutant")
done
((${#rotten[@]} == 0)) ||
	die "these do not apply any more: make them anew for today's code, or remove them:" \
		"${rotten[@]}"
[[ -z $CHECK_ONLY ]] || exit 0
for mutant in "${MUTANTS[@]}"; do
	copy_project
	apply_mutant "$mutant"
	run_mutant "$mutant"
done
printf '1..%d\n' $((PASSED + FAILED))
printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
((FAILED == 0))
