#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Prints the kernel source from which KVM can be patched for a kernel, or fails with
# one line on why it cannot.
set -euo pipefail
# DKMS also runs from package hooks, which have no HOME.
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-/var/cache}
unset MAKEFLAGS MAKELEVEL
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

CONF=${INVP_DKMS_CONF:-/etc/dkms/kvm_invpolicy.conf}

usage() {
	cat <<-'END'
	usage: dkms-source.sh RELEASE ARCH HEADERS
	  INVP_PATCH_KVM=no in /etc/dkms/kvm_invpolicy.conf (variable INVP_DKMS_CONF
	  overrides) leaves KVM alone. Variable KERNEL_SOURCE overrides the kernel source.
	END
}

refuse() {
	printf 'KVM is not patched: %s\n' "$*" >&2
	exit 1
}

check_choice() {
	local choice

	[[ -e $CONF ]] || return 0
	choice=$(set +u; unset INVP_PATCH_KVM
		 # shellcheck disable=SC1090 # the administrator's file
		 . "$CONF" >/dev/null
		 printf '%s' "${INVP_PATCH_KVM-yes}")
	case $choice in
	yes) ;;
	no) refuse "$CONF says INVP_PATCH_KVM=no" ;;
	*) refuse "$CONF says INVP_PATCH_KVM=$choice: give yes or no" ;;
	esac
}

# While apt upgrades, packages are unpacked but not yet configured.
unpacked_version() {
	dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null |
		sed -nE 's/^(unpacked|half-configured|triggers-[a-z]*|installed) //p' || true
}

check_packages() {
	local release=$1 package=$2 headers=linux-headers-$1 source_version headers_version

	headers_version=$(unpacked_version "$headers")
	source_version=$(unpacked_version "$package")
	[[ -n $headers_version ]] ||
		refuse "the headers of $release are not from a package $headers, whose version" \
			"would name the kernel source: apt-get install $headers"
	[[ $source_version == "$headers_version" ]] ||
		refuse "$package is ${source_version:-not installed} but $headers is" \
			"$headers_version: apt-get install $package=$headers_version"
}

unpack_kvm() {
	local package=$1 tree=$2 partial

	[[ ! -e $tree ]] || return 0
	[[ -e /usr/src/$package.tar.xz ]] ||
		refuse "/usr/src/$package.tar.xz is missing: apt-get install --reinstall $package"
	rm -rf "${tree%_*}_"*
	mkdir -p "${tree%/*}"
	partial=$(mktemp -d "${tree%/*}/.partial.XXXXXX")
	tar -C "$partial" --strip-components=1 -xf "/usr/src/$package.tar.xz" --wildcards \
		"$package"/{Makefile,scripts,'arch/x86/Makefile*',arch/x86/kvm,virt/kvm} \
		"$package/include/linux/kvm_host.h"
	mv -T "$partial" "$tree"
}

check_patch() {
	local source=$1 scratch reason

	scratch=$(mktemp -d)
	# shellcheck disable=SC2064 # the local is gone when the trap runs
	trap "rm -rf '$scratch'" EXIT
	reason=$("$TOP/scripts/kvm-tree.sh" "$source" "$scratch" 2>&1) ||
		refuse "${reason##*kvm-tree: }"
}

case "${1:-}:$#" in
-h:1 | --help:1) usage; exit 0 ;;
*:3) release=$1 arch=$2 headers=$3 ;;
*) usage >&2; exit 2 ;;
esac
line=$(cut -d. -f1,2 <<<"$release")
package=linux-source-$line
check_choice
[[ $arch == x86_64 ]] ||
	refuse "KVM is no module on $arch: build a kernel with the companion patch"
[[ -d $TOP/patches/linux-$line ]] ||
	refuse "no patch for Linux $line: supported are $(cd "$TOP/patches" && echo linux-*)"
if [[ -n ${KERNEL_SOURCE:-} ]]; then
	source=$KERNEL_SOURCE
	reason=$("$TOP/scripts/kernel.sh" check-match "$source" "$headers" 2>&1) ||
		refuse "${reason#*error: }"
else
	check_packages "$release" "$package"
	source=$CACHE/dkms/${package}_$(unpacked_version "$package")
	unpack_kvm "$package" "$source"
fi
check_patch "$source"
printf '%s\n' "$source"
