#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Compiles KVM and the policy module under the configurations and compilers that others have.
# With W=1 nothing may be said of the project's own files.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OUT=$BUILD/builds
PASSED=0
FAILED=0

usage() {
	cat <<-'END'
	usage: builds.sh [BUILD…]
	  Default: all. Logs are in build/builds.
	END
}

# each RUN: RUN NAME ARCHITECTURE MAKE-WORDS CONFIG…, where CONFIG is NAME=y or NAME=n.
each() {
	"$1" gcc x86 ''
	"$1" clang x86 LLVM=1
	"$1" rt x86 '' PREEMPT_RT=y PREEMPT=n
	"$1" lockdep x86 '' PROVE_LOCKING=y PROVE_RCU=y DEBUG_ATOMIC_SLEEP=y
	"$1" no-numa x86 '' NUMA=n X86_64_ACPI_NUMA=n NUMA_BALANCING=n
	"$1" no-thp x86 '' TRANSPARENT_HUGEPAGE=n
	"$1" no-hugetlb x86 '' HUGETLBFS=n
	"$1" no-uffd x86 '' USERFAULTFD=n PTE_MARKER_UFFD_WP=n
	"$1" no-ksm x86 '' KSM=n
	"$1" no-memcg x86 '' MEMCG=n
	"$1" no-policy x86 '' KVM_INVALIDATE_POLICY=n
	"$1" arm64 arm64 ''
	"$1" arm64-clang arm64 LLVM=1
	"$1" arm64-64k arm64 '' ARM64_64K_PAGES=y ARM64_4K_PAGES=n
	"$1" arm64-no-policy arm64 '' KVM_INVALIDATE_POLICY=n
}

# base_config ARCHITECTURE: what the test kernel of that architecture has, less what only
# slows it down.
base_config() {
	local name=debug

	[[ $1 == x86 ]] || name=arm64
	grep '^CONFIG_' "$TOP/scripts/$name.config" | grep -v -E \
		'KASAN|UBSAN|KMEMLEAK|DEBUG_OBJECTS|PROVE_|LOCKDEP|DEBUG_ATOMIC|POLICY_DEBUG|LOCALVERSION'
	[[ $1 == x86 ]] || printf 'CONFIG_%s\n' KVM_INVALIDATE_POLICY=y
}

# with_changes CONFIG…: the configuration on stdin, changed.
with_changes() {
	local change names

	names=$(printf '%s\n' "${@%=*}" | sed 's/.*/CONFIG_&=/')
	if (($#)); then grep -v -F "$names"; else cat; fi
	for change in "$@"; do
		case $change in
		*=n) printf '# CONFIG_%s is not set\n' "${change%=n}" ;;
		*) printf 'CONFIG_%s\n' "$change" ;;
		esac
	done
}

kbuild() {
	env -u MAKEFLAGS -u MAKELEVEL make -C "$TREE" O="$WORK" ARCH="$ARCHITECTURE" \
		CROSS_COMPILE="$CROSS_COMPILE" "${WORDS[@]}" -j"$(nproc)" "$@"
}

# Whatever was asked for must be so, or something else is built.
check_config() {
	local change

	for change in "$@"; do
		case $change in
		*=n) ! grep -q -x "CONFIG_${change%=n}=[ym]" "$WORK/.config" ;;
		*) grep -q -x -e "CONFIG_$change" "$WORK/.config" ;;
		esac || { echo "$change is not so"; return 1; }
	done
}

compile() {
	local kvm=arch/x86/kvm/

	[[ $ARCHITECTURE == x86 ]] || kvm=arch/arm64/kvm/
	kbuild KCONFIG_ALLCONFIG="$WORK/wanted" allnoconfig
	check_config "$@"
	kbuild modules_prepare
	kbuild W=1 $kvm
	rm -rf "$WORK/policy"
	mkdir -p "$WORK/policy"
	cp -r "$TOP/module" "$TOP/VERSION" "$WORK/policy/"
	# There is no kernel whose symbols could be looked up.
	kbuild W=1 M="$WORK/policy/module" KBUILD_MODPOST_WARN=1 modules
	[[ -e $WORK/policy/module/kvm_invpolicy.ko ]]
}

# With W=1 the kernel has warnings of its own.
own_warnings() {
	grep -E '(policy/module|virt/kvm/invalidate|kvm_invalidate)[^ ]*: warning' "$1"
}

run() {
	local name=$1 status

	ARCHITECTURE=$2 WORK=$OUT/$1
	set_architecture "$2"
	read -r -a WORDS <<<"$3"
	shift 3
	((${#SELECTED[@]} == 0)) || [[ " ${SELECTED[*]} " == *" $name "* ]] || return 0
	mkdir -p "$WORK"
	base_config "$ARCHITECTURE" | with_changes "$@" >"$WORK/wanted"
	step "$name${*:+: $*}"
	set +e
	(set -e; compile "$@") >"$OUT/$name.log" 2>&1
	status=$?
	set -e
	if ((status == 0)) && ! own_warnings "$OUT/$name.log"; then
		PASSED=$((PASSED + 1))
		echo "ok - $name"
	else
		FAILED=$((FAILED + 1))
		echo "not ok - $name"
		tail -n 15 "$OUT/$name.log" | sed 's/^/# /'
	fi
	# A build takes hundreds of MiB.
	rm -rf "$WORK"
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
-*) usage >&2; exit 2 ;;
esac
SELECTED=("$@")
"$TOP/scripts/setup.sh" build arm64 clang
TREE=$("$TOP/scripts/built-kernel.sh" tree)
mkdir -p "$OUT"
each run
((PASSED + FAILED)) || die "no build ${SELECTED[*]}: see scripts/builds.sh"
printf '1..%d\n%d passed, %d failed\n' $((PASSED + FAILED)) "$PASSED" "$FAILED"
((FAILED == 0))
