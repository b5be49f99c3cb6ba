#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Lays out a folder from which kbuild makes the patched KVM and the policy module
# against a distribution's kernel headers:
#
#   kvm-tree.sh KERNEL_SOURCE OUT
#
# OUT gets KVM's own folders from the kernel source with the companion patch on them,
# and the policy module beside them, so that one kbuild run resolves its symbols.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

apply_series() {
	local patch

	while read -r patch; do
		patch --directory="$out" --strip=1 --forward --fuzz=0 --silent \
			--input="$patches/$patch" ||
			die "$patch does not apply to $source: this kernel source is not supported"
	done <"$patches/$1"
}

[ $# -eq 2 ] || die "usage: kvm-tree.sh KERNEL_SOURCE OUT"
source=$1
out=$2
[ -e "$source/virt/kvm/kvm_main.c" ] || die "$source is not a kernel source tree"

line=$(make --no-print-directory -s -C "$source" kernelversion | cut -d. -f1,2)
patches="$TOP/patches/linux-$line"
[ -d "$patches" ] || die "no patch for Linux $line in patches/: supported are $(cd "$TOP/patches" && echo linux-*)"

rm -rf "$out"
mkdir -p "$out/arch/x86" "$out/virt" "$out/include/linux"
cp -r "$source/arch/x86/kvm" "$out/arch/x86/"
cp -r "$source/virt/kvm" "$out/virt/"
cp "$source/include/linux/kvm_host.h" "$out/include/linux/"
apply_series series
apply_series series.out-of-tree
cp -r "$TOP/module" "$TOP/VERSION" "$out/"
echo 'obj-m := arch/x86/kvm/ module/' >"$out/Kbuild"
