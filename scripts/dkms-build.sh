#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What DKMS runs, in its copy of the source, to build the modules that dkms.conf lists.
set -euo pipefail
unset MAKEFLAGS MAKELEVEL
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
	cat <<-'END'
	usage: dkms-build.sh [--kvm] RELEASE ARCH HEADERS [MAKE-ARGUMENT…]
	  Leaves the policy module, with --kvm also the patched KVM, in built/.
	END
}

build() {
	make -C "$HEADERS" M="$PWD/$1" KVM_BUILD="$RELEASE+invpolicy$(<VERSION)" -j"$(nproc)" \
		"${MAKE_ARGUMENTS[@]}" modules || return
	mkdir built
	find "$1" -name '*.ko' -exec cp -t built {} +
}

build_with_kvm() {
	local source

	source=$(scripts/dkms-source.sh "$RELEASE" "$ARCH" "$HEADERS")
	scripts/kvm-tree.sh "$source" kvm-tree
	build kvm-tree
}

build_alone() {
	# Only for the log: it says there why.
	scripts/dkms-source.sh "$RELEASE" "$ARCH" "$HEADERS" >/dev/null || true
	build module && return
	echo "kvm_invpolicy is a stub: it does not build for kernel $RELEASE, for the reason above"
	build scripts/dkms-stub
}

WITH_KVM=
if [[ ${1:-} == --kvm ]]; then
	WITH_KVM=yes
	shift
fi
(($# >= 3)) || { usage >&2; exit 2; }
RELEASE=$1 ARCH=$2 HEADERS=$3
MAKE_ARGUMENTS=("${@:4}")
if [[ -n $WITH_KVM ]]; then
	build_with_kvm
else
	build_alone
fi
