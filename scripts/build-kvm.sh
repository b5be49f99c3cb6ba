#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the patched kvm, kvm-amd and kvm-intel and the policy module against the
# headers of a distribution's kernel, and leaves them in build/kvm.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

release=$("$TOP/scripts/kernel.sh" release)
headers=$("$TOP/scripts/kernel.sh" headers)
source=$("$TOP/scripts/kernel.sh" source)
"$TOP/scripts/kernel.sh" check-match "$source" "$headers"

# KVM itself changes with the kernel and the patch only; the module is built each time.
key=$({
	echo "$release $source"
	cat "$TOP/patches"/*/{[0-9]*,out-of-tree-*}.patch "$TOP/patches"/*/series{,.out-of-tree} \
		"$TOP/scripts/kvm-tree.sh"
} | sha256sum | cut -c1-16)
tree=$CACHE/kvm-$release-$key
if [[ -e $tree/laid-out ]]; then
	rsync -rcp --delete --exclude='*.o' --exclude='.*' --exclude='*.ko' --exclude='*.mod*' \
		--exclude=modules.order "$TOP/module/" "$tree/module/"
	cp "$TOP/VERSION" "$tree/"
else
	step "laying out KVM of $source with the companion patch"
	"$TOP/scripts/kvm-tree.sh" "$source" "$tree"
	touch "$tree/laid-out"
fi
run_logged "building KVM and the policy module for $release (a minute the first time)" \
	"$BUILD/kvm.log" \
	make -C "$headers" M="$tree" KVM_BUILD="$release+invpolicy$(<"$TOP/VERSION")" \
	-j"$(nproc)" modules

# A policy module for other hooks, which must refuse these: for the scenarios.
other=$BUILD/kvm-other
mkdir -p "$other"
rsync -rcp --exclude='*.o' --exclude='.*' --exclude='*.ko' --exclude='*.mod*' \
	--exclude=modules.order "$tree/include" "$tree/module" "$tree/VERSION" "$other/"
sed -i 's/\(define KVM_INVALIDATE_POLICY_VERSION\).*/\1 99/' \
	"$other/include/linux/kvm_invalidate_policy.h"
run_logged "building a policy module of another hook version" "$BUILD/kvm-other.log" \
	make -C "$headers" M="$other/module" -j"$(nproc)" modules

mkdir -p "$BUILD/kvm"
cp "$tree"/arch/x86/kvm/{kvm,kvm-amd,kvm-intel}.ko "$tree/module/kvm_invpolicy.ko" "$BUILD/kvm/"
