#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Leaves in a folder, uncompressed, the modules that DKMS builds and installs: for the
# test machine. The trees are private ones in build/dkms.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/dkms-lib.sh"

inputs_key() {
	{
		printf '%s\n' "$RELEASE" "$KERNEL_SOURCE"
		cat "$HEADERS/include/generated/package.h"
		source_files | (cd "$TOP" && xargs -0 sha256sum)
	} | sha256sum
}

extract() {
	local path=$1 target

	target=$DIR/$(basename "$path")
	case $path in
	*.xz) xz -dc "$path" >"${target%.xz}" ;;
	*.zst) zstd -qdc "$path" >"${target%.zst}" ;;
	*.gz) gzip -dc "$path" >"${target%.gz}" ;;
	*) cp "$path" "$target" ;;
	esac
}

collect_modules() {
	local path

	rm -rf "$DIR"
	mkdir -p "$DIR"
	for path in "$INSTALL_TREE/$RELEASE"/updates/dkms/*.ko*; do
		extract "$path"
	done
	[[ -e $DIR/kvm.ko ]] || die "DKMS built no patched kvm:" \
		"$(grep '^KVM is not patched' "$(make_log "$RELEASE")")"
}

[[ $# == 1 && $1 != -* ]] || { echo "usage: dkms-modules.sh DIR"; exit 2; }
DIR=$1
RELEASE=$("$TOP/scripts/kernel.sh" release)
HEADERS=$("$TOP/scripts/kernel.sh" headers)
KERNEL_SOURCE=$("$TOP/scripts/kernel.sh" source)
export KERNEL_SOURCE
KEY=$(inputs_key)
if [[ $KEY != "$(cat "$DIR/inputs" 2>/dev/null)" ]]; then
	use_private_tree "$BUILD/dkms" "$RELEASE"
	"$TOP/scripts/dkms-install.sh" >&2
	collect_modules
	printf '%s\n' "$KEY" >"$DIR/inputs"
fi
printf '%s\n' "$DIR"
