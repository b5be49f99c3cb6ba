#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs, through apt, what a group of targets needs and this machine lacks.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
	cat <<-'END'
	usage: setup.sh GROUP…
	  build   kernel source, headers of the same version, compiler and kbuild's tools
	  run     QEMU and what the initramfs of the test machine is made of
	  check   the static checkers
	  kunit   what KUnit needs to build its kernel and to run it
	  dkms    DKMS
	  arm64   what the arm64 machines and their KUnit are built with, and QEMU for them
	  bench   what draws the plots
	  clang   LLVM's compiler and linker
	END
}

packages_of() {
	local build=(gcc make bc flex bison libc6-dev libelf-dev libssl-dev xz-utils
		     kmod rsync cpio git patch perl)

	case $1 in
	build) printf '%s\n' "${build[@]}" ;;
	run) printf '%s\n' qemu-system-x86 busybox-static jq binutils cpio gzip \
		kmod xz-utils ;;
	check) printf '%s\n' sparse coccinelle libpython3-dev shellcheck g++ perl python3 ;;
	kunit) printf '%s\n' "${build[@]}" python3 qemu-system-x86 ;;
	dkms) printf '%s\n' "${build[@]}" dkms ;;
	arm64) printf '%s\n' "${build[@]}" gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
		qemu-system-arm python3 gzip ;;
	bench) printf '%s\n' gnuplot-nox ;;
	clang) printf '%s\n' clang lld llvm ;;
	*) usage >&2; exit 2 ;;
	esac
}

wants_kernel() {
	[[ $1 == build || $1 == kunit || $1 == dkms || $1 == arm64 ]]
}

candidate_version() {
	apt-cache policy "$1" | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

kernel_candidates() {
	local version headers

	version=$(candidate_version "$SOURCE_PACKAGE")
	[[ -n $version ]] || die "apt offers no $SOURCE_PACKAGE: add the security or backports" \
		"source of Debian 12, or use Debian 13, and run again"
	headers=$(apt-cache pkgnames linux-headers-6.12. | only_headers |
		first_with_version "$version" candidate_version)
	[[ -n $headers ]] || die "apt offers $SOURCE_PACKAGE $version but no linux-headers-6.12*-amd64" \
		"of that version: wait for the mirror, or pin $SOURCE_PACKAGE to an older version"
	printf '%s\n' "$SOURCE_PACKAGE" "$headers"
}

install_packages() {
	local packages=("$@") kernel

	[[ $(id -u) == 0 ]] || die "run this as root: it installs" "${packages[@]}" \
		${KERNEL_MISSING:+"$SOURCE_PACKAGE and headers of the same version"}
	step "apt-get update"
	apt-get -q update >&2
	if [[ -n $KERNEL_MISSING ]]; then
		kernel=$(kernel_candidates)
		mapfile -t -O "${#packages[@]}" packages <<<"$kernel"
		step "the kernel image that comes with the headers is installed beside the running one"
	fi
	step "installing ${packages[*]}"
	DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
		install "${packages[@]}" >&2
}

(($#)) || { usage >&2; exit 2; }
case $1 in -h | --help) usage; exit 0 ;; esac
KERNEL_MISSING=
MISSING=()
WANTED=$(for group in "$@"; do packages_of "$group" || exit; done)
while read -r package; do
	[[ -n $(installed_version "$package") ]] || MISSING+=("$package")
done < <(sort -u <<<"$WANTED")
for group in "$@"; do
	! wants_kernel "$group" || [[ -n $(matching_headers) ]] || KERNEL_MISSING=yes
done
[[ ${#MISSING[@]} -eq 0 && -z $KERNEL_MISSING ]] || install_packages "${MISSING[@]}"
