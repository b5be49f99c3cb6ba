#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs the policy module, and the patched KVM where it can be built, with DKMS.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/dkms-lib.sh"

usage() {
	cat <<-'END'
	usage: dkms-install.sh
	  Installs for the running kernel, or for that of variable KERNEL_RELEASE.
	END
	tree_usage
}

target_release() {
	local release=${KERNEL_RELEASE:-$(uname -r)}

	[[ -n ${KERNEL_RELEASE:-} || $release == 6.12.* ]] ||
		die "the running kernel $release is no 6.12: boot one, or name an installed one by" \
			"KERNEL_RELEASE=$("$TOP/scripts/kernel.sh" release)"
	[[ -d $INSTALL_TREE/$release ]] ||
		die "$INSTALL_TREE/$release is missing: apt-get install linux-image-$release"
	[[ -e /lib/modules/$release/build/include ]] ||
		die "the headers of kernel $release are missing: apt-get install linux-headers-$release"
	printf '%s\n' "$release"
}

remove_earlier() {
	local release=$1 version

	for version in $(added_versions); do
		restore_source "$version"
		run_logged "removing $PACKAGE $version from kernel $release" "$BUILD/dkms-remove.log" \
			run_dkms remove "$PACKAGE/$version" -k "$release"
	done
	# dkms does not remove what an interrupted build has left.
	rm -rf "${DKMS_TREE:?}/$PACKAGE"/*/"$release" "$DKMS_TREE/$PACKAGE/kernel-$release-"*
}

build_and_install() {
	local release=$1

	[[ -e $DKMS_TREE/$PACKAGE/$VERSION/source ]] || run_dkms add "$PACKAGE/$VERSION" >&2
	run_logged "building for kernel $release with DKMS (a minute or two)" \
		"$BUILD/dkms-install.log" run_dkms install "$PACKAGE/$VERSION" -k "$release"
	update_dependencies "$release"
}

built_modules() {
	find "$DKMS_TREE/$PACKAGE/$VERSION/$1" -name '*.ko*' -printf '%f\n' |
		sed 's/\.ko.*//' | sort
}

report_modules() {
	local release=$1 name path

	for name in $(built_modules "$release"); do
		path=$(module_path "$release" "$name")
		[[ $path == "$INSTALL_TREE/$release/updates/"* ]] ||
			die "DKMS did not install $name, depmod finds ${path:-none}:" \
				"see $BUILD/dkms-install.log"
		printf '%-14s %-34s %s\n' "$name" "$(modinfo -F version "$path")" "$path"
	done
}

report_next_step() {
	local release=$1

	if ! grep '^KVM is not patched' "$(make_log "$release")"; then
		printf '%s\n' "The kvm that is loaded stays until it is loaded anew: reboot, or, with no VM" \
			"running, modprobe -r kvm_invpolicy kvm_amd kvm && modprobe kvm_amd (Intel: kvm_intel)."
	fi
	[[ $(mokutil --sb-state 2>/dev/null || true) != *enabled* ]] ||
		printf '%s\n' "Secure Boot is on: these modules load only when DKMS's key is enrolled:" \
			"mokutil --import /var/lib/dkms/mok.pub, then reboot and confirm."
}

case "${1:-}:$#" in
:0) ;;
-h:1 | --help:1) usage; exit 0 ;;
*) usage >&2; exit 2 ;;
esac
check_trees
"$TOP/scripts/setup.sh" dkms
RELEASE=$(target_release)
mkdir -p "$DKMS_TREE"
remove_earlier "$RELEASE"
copy_source
build_and_install "$RELEASE"
report_modules "$RELEASE"
report_next_step "$RELEASE"
! grep -q '^kvm_invpolicy is a stub' "$(make_log "$RELEASE")" ||
	die "the policy module does not build for kernel $RELEASE, a stub that only says so is" \
		"installed: boot a 6.12 kernel, or see $(make_log "$RELEASE")"
