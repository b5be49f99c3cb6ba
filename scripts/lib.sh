# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Helpers shared by all scripts of this folder; to be sourced.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kvm_invpolicy
SOURCE_PACKAGE=linux-source-6.12
export TOP BUILD CACHE SOURCE_PACKAGE QEMU RUN_GROUP

die() {
	printf '%s: error: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Messages go to stderr: several scripts print a result on stdout.
step() {
	printf '==> %s\n' "$*" >&2
}

need_file() {
	local file=$1 remedy=$2

	[[ -e $file ]] || die "${file#"$TOP"/} is missing: $remedy"
}

need_command() {
	local command=$1 group=$2

	command -v "$command" >/dev/null ||
		die "$command is missing: run scripts/setup.sh $group"
}

heartbeat() {
	local what=$1 start=$SECONDS

	# The sleep outlives this function's end: it must hold none of our streams.
	while sleep 15 >/dev/null 2>&1; do
		printf '    %s: %d s\n' "$what" $((SECONDS - start)) >&2
	done
}

# run_logged WHAT LOG COMMAND…: long work, its output kept in LOG, a sign of
# life on stderr, the end of LOG shown when it fails.
run_logged() {
	local what=$1 log=$2 pulse status=0

	shift 2
	step "$what"
	mkdir -p "$(dirname "$log")"
	heartbeat "$what" &
	pulse=$!
	"$@" >"$log" 2>&1 || status=$?
	kill "$pulse" 2>/dev/null || true
	wait "$pulse" 2>/dev/null || true
	((status == 0)) && return
	tail -n 30 "$log" >&2
	die "$what failed with status $status: the whole output is in $log"
}

installed_version() {
	dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null |
		sed -n 's/^installed //p' || true
}

# Of the package names on stdin, those of standard (not rt, not cloud) headers,
# newest first.
only_headers() {
	grep -E '^linux-headers-6\.12\.[0-9.]+[+][a-z0-9.]+-amd64$' | sort -rV || true
}

# first_with_version VERSION COMMAND: the first package on stdin for which
# COMMAND prints VERSION.
first_with_version() {
	local version=$1 version_of=$2 package

	while read -r package; do
		if [[ $("$version_of" "$package") == "$version" ]]; then
			printf '%s\n' "$package"
			return
		fi
	done
}

# The installed headers that fit the installed kernel source, if any do.
matching_headers() {
	local version

	version=$(installed_version "$SOURCE_PACKAGE")
	[[ -z $version ]] ||
		{ dpkg-query -W -f '${Package}\n' 'linux-headers-6.12*' 2>/dev/null || true; } |
		only_headers | first_with_version "$version" installed_version
}

# set_architecture x86|arm64: of the test machine. QEMU emulates it and RUN_GROUP of
# setup.sh installs what that needs; its programs go to PRODUCTS.
set_architecture() {
	ARCHITECTURE=$1
	case $1 in
	x86)
		QEMU=qemu-system-x86_64 RUN_GROUP=run
		CROSS_COMPILE='' PRODUCTS=$BUILD ;;
	arm64)
		QEMU=qemu-system-aarch64 RUN_GROUP=arm64
		CROSS_COMPILE=aarch64-linux-gnu- PRODUCTS=$BUILD/arm64 ;;
	*) die "no test machine is of architecture $1: x86 and arm64 are" ;;
	esac
}
set_architecture x86

build_user_space() {
	local make=(make -s ARCH="$ARCHITECTURE" CC="${CROSS_COMPILE}gcc" OBJCOPY="${CROSS_COMPILE}objcopy")

	step "building the VMM, the command and the ioctl driver for $ARCHITECTURE"
	"${make[@]}" -C "$TOP/tests/vmm" OUT="$PRODUCTS"
	"${make[@]}" -C "$TOP/tests/ioctl" OUT="$PRODUCTS"
	"${make[@]}" -C "$TOP/tools" OUT="$PRODUCTS/static" LDFLAGS=-static
}

# What the test machine is given: the patched KVM, the module, and all of user space.
build_products() {
	"$TOP/scripts/build-kvm.sh"
	build_user_space
}

# use_built_kernel debug|arm64: in place of the distribution's.
use_built_kernel() {
	KERNEL_ROOT=$("$TOP/scripts/built-kernel.sh" "$1")
	KERNEL_RELEASE=$(basename "$KERNEL_ROOT"/lib/modules/*)
	export KERNEL_ROOT KERNEL_RELEASE
}

# unpack_stock_module NAME DIR: the kernel's own module, uncompressed, to DIR.
unpack_stock_module() {
	local path

	path=$(find "$("$TOP/scripts/kernel.sh" modules)/kernel" -name "$1.ko*")
	mkdir -p "$2"
	case $path in
	*.xz) xz -dc "$path" >"$2/$1.ko" ;;
	*.ko) cp "$path" "$2/$1.ko" ;;
	*) die "the kernel's module $1 is '$path': only .ko and .ko.xz are known" ;;
	esac
}
