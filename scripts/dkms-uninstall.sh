#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Removes everything that dkms-install.sh installed, for all kernels and versions.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/dkms-lib.sh"

usage() {
	echo "usage: dkms-uninstall.sh"
	tree_usage
}

kernels_with_builds() {
	find "$DKMS_TREE/$PACKAGE" -mindepth 2 -maxdepth 2 -type d -name '[0-9]*' -printf '%f\n' | sort -u
}

remove_version() {
	local version=$1

	restore_source "$version"
	run_logged "removing $PACKAGE $version" "$BUILD/dkms-remove.log" \
		run_dkms remove "$PACKAGE/$version" --all
}

check_stock_kvm() {
	local release=$1 path

	if [[ ! -d $INSTALL_TREE/$release ]]; then
		printf 'kernel %s: no longer installed\n' "$release"
		return
	fi
	update_dependencies "$release"
	path=$(module_path "$release" kvm)
	[[ $path == "$INSTALL_TREE/$release/kernel/"* || $path == "(builtin)" ]] ||
		die "kernel $release: depmod finds kvm in ${path:-no place}, not in kernel/:" \
			"remove that file, apt-get install --reinstall linux-image-$release, and run again"
	printf 'kernel %s: kvm is %s again\n' "$release" "$path"
}

case "${1:-}:$#" in
:0) ;;
-h:1 | --help:1) usage; exit 0 ;;
*) usage >&2; exit 2 ;;
esac
check_trees
VERSIONS=$(added_versions)
if [[ -n $VERSIONS ]]; then
	need_command dkms dkms
	KERNELS=$(kernels_with_builds)
	for version in $VERSIONS; do
		remove_version "$version"
	done
	for release in $KERNELS; do
		check_stock_kvm "$release"
	done
	echo "What is loaded stays loaded until a reboot, or, with no VM running, until" \
		"modprobe -r kvm_invpolicy kvm_amd kvm (Intel: kvm_intel)."
else
	echo "$PACKAGE is not installed with DKMS: nothing to remove but copies of its source"
fi
rm -rf "${DKMS_TREE:?}/$PACKAGE" "$SOURCE_TREE/$PACKAGE"-[0-9]* "$KVM_CACHE"
[[ ! -d ${KVM_CACHE%/*} ]] || rmdir --ignore-fail-on-non-empty "${KVM_CACHE%/*}"
