#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The static checks, on a copy of the project: they leave files where they run.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OUT=$BUILD/check
TREE=$OUT/tree
HOOKED=$OUT/hooked
UNHOOKED=$OUT/unhooked
PATCHES=patches/${SOURCE_PACKAGE/source-/}
UAPI=module/include/uapi
MAX_LINES=500
# By the number of a patch: lines that it may add.
declare -A BUDGET=([0001]=250 [0002]=180 [0003]=150 [0004]=150 [0005]=150)

PASSED=0
FAILED=0

usage() {
	cat <<-'END'
	usage: check.sh
	  Runs all static checks. What each printed is kept in build/check/log.
	END
}

# check NAME COMMAND…: passes when COMMAND succeeds.
check() {
	local name=$1 log status
	log=$OUT/log/${name//[^[:alnum:].+-]/-}

	shift
	step "$name"
	set +e
	(set -e; "$@") >"$log" 2>&1
	status=$?
	set -e
	if ((status == 0)); then
		PASSED=$((PASSED + 1))
		printf 'ok %d - %s\n' $((PASSED + FAILED)) "$name"
	else
		FAILED=$((FAILED + 1))
		printf 'not ok %d - %s\n' $((PASSED + FAILED)) "$name"
		sed 's/^/# /' "$log"
	fi
}

# no_output COMMAND…: for commands whose every line of output is a finding. Status 1
# is that of a grep that found nothing.
no_output() {
	local output status=0

	output=$("$@" 2>&1) || status=$?
	[[ -z $output ]] || { printf '%s\n' "$output"; return 1; }
	((status <= 1)) || { echo "$1 failed with status $status"; return 1; }
}

copy_project() {
	rm -rf "$OUT"
	mkdir -p "$TREE" "$OUT/log"
	git -C "$TOP" ls-files -z --cached --others --exclude-standard |
		while IFS= read -r -d '' file; do
			[[ ! -e $TOP/$file ]] || printf '%s\0' "$file"
		done |
		(cd "$TOP" && xargs -0 cp -P --parents --preserve=mode -t "$TREE")
}

# --- checkpatch -------------------------------------------------------------

# c_files FOLDER…: those C files that exist by now.
c_files() {
	local folder

	for folder in "$@"; do
		[[ ! -d $folder ]] || find "$folder" -name '*.[ch]'
	done | sort
}

# checkpatch IGNORED_TYPES ARGUMENT…
checkpatch() {
	local status=0

	"$SOURCE/scripts/checkpatch.pl" --strict --no-tree --root="$SOURCE" --terse \
		--show-types --no-summary --ignore "$1" "${@:2}" || status=$?
	rm -f .checkpatch-camelcase*
	return $status
}

checkpatch_module() {
	local files

	mapfile -t files < <(c_files module kunit | grep -v -e trace.h -e "^$UAPI")
	# The mutex that has no comment beside it has one in the kernel-doc of its structure.
	checkpatch UNCOMMENTED_DEFINITION --file "${files[@]}"
}

# The layout of TRACE_EVENT() is that of all trace headers.
checkpatch_trace() {
	checkpatch OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT --file module/trace.h
}

# User space has no BIT().
checkpatch_uapi() {
	local files

	mapfile -t files < <(c_files "$UAPI")
	checkpatch BIT_MACRO --file "${files[@]}"
}

checkpatch_user_space() {
	local files ignored=(
		# What user space has in place of these is standard C and plain GCC.
		PREFER_KERNEL_TYPES
		PREFER_DEFINED_ATTRIBUTE_MACRO
		BIT_MACRO
		VOLATILE
		# PRIu64, _Static_assert
		CAMELCASE
		# "struct range range" is no slip of the pen.
		REPEATED_WORD
		# Messages name system calls and options, which functions are named after.
		EMBEDDED_FUNCTION_NAME
	)

	mapfile -t files < <(c_files tools tests bench)
	checkpatch "$(IFS=, && echo "${ignored[*]}")" --file "${files[@]}"
}

# KVM's entry in MAINTAINERS covers virt/kvm/* and include/linux/kvm*. A macro of KVM's own
# that moves to a header uses its arguments as it did.
checkpatch_patches() {
	checkpatch FILE_PATH_CHANGES,MACRO_ARG_REUSE "$PATCHES"/*.patch
}

# --- patch ------------------------------------------------------------------

# patches_of SERIES…: the patches of these series, one after the other.
patches_of() {
	cat "${@/#/$PATCHES/}" | sed "s|^|$PATCHES/|" | xargs cat
}

# Below the top of a repository git apply would leave out what lies elsewhere in it.
git_apply() {
	GIT_CEILING_DIRECTORIES=$(dirname "$SOURCE") git -C "$SOURCE" apply "$@" -
}

patches_apply() {
	patches_of series series.out-of-tree | git_apply --check --whitespace=error-all
	patches_of series series.arm64 series.debug | git_apply --check --whitespace=error-all
}

# Lines that each patch of the series adds.
patch_budget() {
	local patch added over=0

	while read -r patch; do
		added=$(git_apply --numstat <"$PATCHES/$patch" | awk '{ sum += $1 } END { print sum }')
		printf '%s: %d lines added, budget %d\n' "$patch" "$added" "${BUDGET[${patch%%-*}]:-0}"
		((added <= ${BUDGET[${patch%%-*}]:-0})) || over=1
	done < <(cat "$PATCHES"/series{,.arm64})
	((!over))
}

# --- builds -----------------------------------------------------------------

# Those of the kernel's own headers, of which Debian has two folders, are not ours.
no_warnings() {
	awk -v headers="${HEADERS%-*}-" '
		index($0, headers) == 1 { next }
		/^[^ ]+:[0-9]+:.*(warning|error):/ || /WARNING: modpost/ { print; found = 1 }
		END { exit found }' "$1"
}

# build_checked LOG FOLDER TARGET: with all of W=1 and sparse.
build_checked() {
	local log=$OUT/log/$1.output

	make -C "$HEADERS" M="$2" KVM_BUILD=check W=1 C=2 -j"$(nproc)" "$3" >"$log" 2>&1 ||
		{ no_warnings "$log" || true; echo "the build failed: see $log"; return 1; }
	grep -q '^  CHECK ' "$log" || { echo "sparse has checked nothing: see $log"; return 1; }
	no_warnings "$log"
}

defines_hooks() {
	[[ $(nm "$1/module/kvm_invpolicy.ko") == *" invp_hooks_attach"* ]]
}

build_hooked() {
	scripts/kvm-tree.sh "$SOURCE" "$HOOKED"
	build_checked hooked "$HOOKED/module" modules
	defines_hooks "$HOOKED" || { echo "the module was built without hooks"; return 1; }
}

build_unhooked() {
	mkdir -p "$UNHOOKED"
	cp -r module VERSION "$UNHOOKED"
	build_checked unhooked "$UNHOOKED/module" modules
	! defines_hooks "$UNHOOKED" || { echo "the module was built with hooks"; return 1; }
}

build_patched_kvm() {
	build_checked patched-kvm "$HOOKED" arch/x86/kvm/../../../virt/kvm/invalidate_policy.o
}

# --- kernel-doc -------------------------------------------------------------

kernel_doc() {
	"$SOURCE/scripts/kernel-doc" -none -Wall -Werror module/*.[ch] module/compat/*.h \
		"$UAPI"/linux/*.h "$HOOKED"/include/linux/kvm_invalidate_policy.h \
		"$HOOKED"/virt/kvm/invalidate_policy.c
}

# Global functions that have no kernel-doc right before their definition, in any file:
# one that is defined twice, for the module with and without hooks, needs it once.
undocumented_functions() {
	awk '
		FNR == 1 || /^}/ { head = ""; doc = "" }
		/^\/\*\*$/ { expect_name = 1; next }
		expect_name { doc = $2; sub(/\(.*/, "", doc); expect_name = 0; next }
		/^[a-z].*\(/ && !/;$/ && head == "" { head = $0; line = FNR }
		/^{/ && head != "" && head !~ /^static / {
			match(head, /[a-z0-9_]+\(/)
			name = substr(head, RSTART, RLENGTH - 1)
			if (name == doc)
				documented[name] = 1
			else
				suspect[FILENAME ":" line] = name
		}
		END {
			for (place in suspect)
				if (!(suspect[place] in documented))
					print place ": " suspect[place] "() has no kernel-doc"
		}' "$@" | sort
}

# --- user interface ---------------------------------------------------------

# Included twice, and with the module's own assertions of the layout.
uapi_user() {
	printf '#include <stddef.h>\n'
	printf '#include <linux/kvm_invpolicy.h>\n%.0s' 1 2
	printf '#ifndef __cplusplus\n#define static_assert(truth) _Static_assert(truth, #truth)\n#endif\n'
	grep '^static_assert(' module/device.c
}

# compile_uapi LANGUAGE STANDARD WIDTH. Without a 32-bit C library, the kernel's
# headers are where those of the 64-bit one are.
compile_uapi() {
	uapi_user | gcc -x "$1" -std="$2" -m"$3" -pedantic -Wall -Wextra -Werror -fsyntax-only \
		-I"$UAPI" -idirafter "/usr/include/$(gcc -print-multiarch)" -
}

# --- shell ------------------------------------------------------------------

# shell_files SHELL: by their first line or by what they tell shellcheck.
shell_files() {
	local first='^#!/(usr/)?bin/(env )?' directive='^# shellcheck shell=' files

	mapfile -t files < <(find . -type f | sort)
	awk -v mark="($first|$directive)$1( |\$)" '
		FNR > 3 { nextfile }
		$0 ~ mark { print FILENAME; nextfile }' "${files[@]}"
}

# A file named .sh that is in neither list would go unchecked.
shell_kinds() {
	no_output comm -23 <(find . -name '*.sh' | sort) \
		<({ shell_files bash; shell_files sh; } | sort)
}

shell_syntax() {
	local shell=$1 file status=0

	while read -r file; do
		"$shell" -n "$file" || status=1
	done < <(shell_files "${2:-$1}")
	return $status
}

shellcheck_all() {
	{ shell_files bash; shell_files sh; } | xargs shellcheck --format=gcc
}

# --- coccinelle -------------------------------------------------------------

# What coccinelle cannot parse it passes over in silence.
module_is_parsed() {
	printf '#define scoped_guard(...) for (;;)\n' >"$OUT/macros.h"
	spatch --macro-file "$OUT/macros.h" --parse-c module/*.c >"$OUT/log/parse-c" 2>&1
	grep -q 'pbs = 0;' "$OUT/log/parse-c" ||
		{ sed -n '/: present in/,$p' "$OUT/log/parse-c"; return 1; }
}

cocci() {
	no_output spatch --very-quiet --include-headers --no-includes --sp-file "$1" --dir module
}

# Coccinelle does not see preprocessor conditions.
version_tests() {
	no_output grep -rnE 'LINUX_VERSION|KERNEL_VERSION|RHEL_RELEASE|linux/version\.h' \
		--include='*.[chS]' --exclude-dir=compat module kunit
}

# --- the project's files ----------------------------------------------------

long_files() {
	find . -type f -exec wc -l {} + | awk -v max=$MAX_LINES '
		$2 != "total" && $1 >= max { print $2 ": " $1 " lines, split it below " max }'
}

dkms_version() {
	# shellcheck disable=SC2016 # the inner shell expands it
	dkms_tree=- kernelver=- arch=- kernel_source_dir=- \
		bash -c '. ./dkms.conf && printf "%s\n" "$PACKAGE_VERSION"'
}

# version_is FILE VERSION
version_is() {
	[[ $2 == "$(<VERSION)" ]] || { echo "$1 says ${2:-nothing}, VERSION says $(<VERSION)"; return 1; }
}

versions() {
	version_is dkms.conf "$(dkms_version)"
	version_is CHANGELOG.md "$(sed -n '/^## /{s/^## \([^ ]*\).*/\1/p;q}' CHANGELOG.md)"
}

# number_defined NAME FILE
number_defined() {
	sed -n "s/^#define $1[[:space:]]*//p" "$2"
}

# The command tells of a KVM with other hooks before any module is loaded.
hook_versions() {
	local hooks=$HOOKED/include/linux/kvm_invalidate_policy.h

	[[ $(number_defined INVP_HOOK_VERSION tools/device.h) == \
	   $(number_defined KVM_INVALIDATE_POLICY_VERSION "$hooks") ]] ||
		{ echo "tools/device.h and the patch have different hook versions"; return 1; }
}

# Home and work folders, fixed folders below /tmp, hosts of package registries.
foreign_places() {
	grep -rnIE -e '(^|[^[:alnum:]_.$}/-])/(home|root|work|Users)/[[:alnum:]._]' \
		-e '/tmp/[[:alnum:]._-]+/' \
		-e '(deb|security|snapshot|archive|ports|ftp)\.(debian|ubuntu)\.(org|com)' \
		-e '(pypi|pythonhosted|crates|rubygems|npmjs|docker|quay|ghcr|proxy\.golang)\.(org|io|com)' .
}

# --- all of them ------------------------------------------------------------

case ${1:-} in
'') ;;
-h | --help) usage; exit 0 ;;
*) usage >&2; exit 2 ;;
esac
export LC_ALL=C
# A make above this script hands its own flags and job slots down.
unset MAKEFLAGS MAKELEVEL MFLAGS
"$TOP/scripts/setup.sh" build check
HEADERS=$("$TOP/scripts/kernel.sh" headers)
SOURCE=$("$TOP/scripts/kernel.sh" source)
"$TOP/scripts/kernel.sh" check-match "$SOURCE" "$HEADERS"
copy_project
cd "$TREE"

check "checkpatch: module and kunit" checkpatch_module
check "checkpatch: trace.h" checkpatch_trace
check "checkpatch: user interface" checkpatch_uapi
check "checkpatch: user space" checkpatch_user_space
check "checkpatch: patches" checkpatch_patches
check "patches apply to the pristine kernel source" patches_apply
check "patches keep to their budget" patch_budget
check "mutants apply" scripts/mutants.sh --check
check "sparse and W=1: module with hooks" build_hooked
check "sparse and W=1: module without hooks" build_unhooked
check "sparse and W=1: the patch's own file" build_patched_kvm
check "kernel-doc" kernel_doc
check "kernel-doc for every global function" no_output undocumented_functions module/*.c
for width in 64 32; do
	check "user interface as C, $width bit" compile_uapi c c11 $width
	check "user interface as C++, $width bit" compile_uapi c++ c++17 $width
done
check "every shell script names its shell" shell_kinds
check "syntax: bash" shell_syntax bash
check "syntax: sh" shell_syntax dash sh
check "shellcheck" shellcheck_all
check "coccinelle parses the module" module_is_parsed
for rule in scripts/cocci/*.cocci; do
	check "coccinelle: $(basename "$rule" .cocci)" cocci "$rule"
done
check "kernel version tests only in compat/" version_tests
check "files under $MAX_LINES lines" no_output long_files
check "one version everywhere" versions
check "one hook version everywhere" hook_versions
check "no machine paths, no registry hosts" no_output foreign_places

printf '1..%d\n' $((PASSED + FAILED))
printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
((FAILED == 0))
