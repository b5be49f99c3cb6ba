#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Where the kernel to build for and to boot is: release, source, image, modules.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

SOURCE_CACHE=$CACHE/source

usage() {
	cat <<-'END'
	usage: kernel.sh release                   kernel release (variable KERNEL_RELEASE overrides)
	       kernel.sh headers                   folder of its headers
	       kernel.sh source                    unpacked kernel source (variable KERNEL_SOURCE overrides)
	       kernel.sh image                     its vmlinuz
	       kernel.sh modules                   its /lib/modules folder
	                                           (both below variable KERNEL_ROOT, default /)
	       kernel.sh check-match SRC HEADERS   fails unless both are of one version
	END
}

print_release() {
	local headers

	if [[ -n ${KERNEL_RELEASE:-} ]]; then
		printf '%s\n' "$KERNEL_RELEASE"
		return
	fi
	headers=$(matching_headers)
	[[ -n $headers ]] || headers=$(find /usr/src -maxdepth 1 -printf '%f\n' | only_headers | sed 1q)
	[[ -n $headers ]] || die "no linux-headers-6.12*-amd64 installed: run scripts/setup.sh build"
	printf '%s\n' "${headers#linux-headers-}"
}

print_existing() {
	local path=$1 package=$2

	[[ -e $path ]] || die "$path is missing: apt-get install $package"
	printf '%s\n' "$path"
}

unpack_source() {
	local target=$1 archive=/usr/src/$SOURCE_PACKAGE.tar.xz partial

	need_file "$archive" "apt-get install $SOURCE_PACKAGE"
	mkdir -p "$SOURCE_CACHE"
	partial=$(mktemp -d "$SOURCE_CACHE/.partial.XXXXXX")
	# shellcheck disable=SC2064 # the local is gone when the trap runs
	trap "rm -rf '$partial'" EXIT
	run_logged "unpacking $archive to $target" "$SOURCE_CACHE/unpack.log" \
		tar -C "$partial" --strip-components=1 -xf "$archive"
	chmod 755 "$partial"
	# Somebody else may have unpacked the same meanwhile: theirs is as good.
	mv -T "$partial" "$target" 2>/dev/null || [[ -e $target/Makefile ]] ||
		die "cannot move $partial to $target: remove $target and run again"
}

print_source() {
	local version target

	if [[ -n ${KERNEL_SOURCE:-} ]]; then
		need_file "$KERNEL_SOURCE/Makefile" "set KERNEL_SOURCE to a kernel source tree"
		printf '%s\n' "$KERNEL_SOURCE"
		return
	fi
	version=$(installed_version "$SOURCE_PACKAGE")
	[[ -n $version ]] ||
		die "$SOURCE_PACKAGE is not installed: run scripts/setup.sh build, or set KERNEL_SOURCE"
	target=$SOURCE_CACHE/${SOURCE_PACKAGE}_$version
	[[ -e $target/Makefile ]] || unpack_source "$target"
	printf '%s\n' "$target"
}

kernel_version() {
	local tree=$1

	need_file "$tree/Makefile" "name a kernel source or headers folder"
	env -u MAKEFLAGS -u MAKELEVEL make -s --no-print-directory -C "$tree" kernelversion ||
		die "$tree does not tell its version: name a complete kernel source or headers folder"
}

# Two uploads of one kernel version can differ: Debian's own version tells.
debian_version_of_headers() {
	sed -n 's/.*LINUX_PACKAGE_ID " Debian \(.*\)"/\1/p' \
		"$1/include/generated/package.h" 2>/dev/null || true
}

check_match() {
	local source=$1 headers=$2 source_version headers_version

	source_version=$(kernel_version "$source")
	headers_version=$(kernel_version "$headers")
	if [[ $source_version == "$headers_version" &&
	      $source == "$SOURCE_CACHE/${SOURCE_PACKAGE}"_* ]]; then
		headers_version=$(debian_version_of_headers "$headers")
		[[ -n $headers_version ]] || return 0
		source_version=${source##*/"${SOURCE_PACKAGE}"_}
	fi
	[[ $source_version == "$headers_version" ]] ||
		die "kernel source $source is $source_version but headers $headers are" \
			"$headers_version: run scripts/setup.sh build, which installs" \
			"$SOURCE_PACKAGE and linux-headers of one version"
}

case "${1:-}:$#" in
release:1) print_release ;;
headers:1) release=$(print_release); print_existing "/usr/src/linux-headers-$release" "linux-headers-$release" ;;
source:1) print_source ;;
image:1) release=$(print_release); print_existing "${KERNEL_ROOT:-}/boot/vmlinuz-$release" "linux-image-$release" ;;
modules:1) release=$(print_release); print_existing "${KERNEL_ROOT:-}/lib/modules/$release" "linux-image-$release" ;;
check-match:3) check_match "$2" "$3" ;;
-h:1 | --help:1) usage ;;
*) usage >&2; exit 2 ;;
esac
