#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Prints where a static arm64 busybox is, taken from Debian's package and kept in the cache.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

WORK=$CACHE/arm64/busybox

# With lists and architecture of its own, and the host's sources and keys: dpkg on the
# host is never to hear of arm64.
apt_get_arm64() {
	apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
		-o APT::Sandbox::User=root -o Dir::State="$PARTIAL/state" \
		-o Dir::State::status="$PARTIAL/status" -o Dir::Cache="$PARTIAL/cache" "$@"
}

download_busybox() {
	mkdir -p "$PARTIAL"/{state/lists,cache/archives}/partial
	touch "$PARTIAL/status"
	apt_get_arm64 update
	(cd "$PARTIAL" && apt_get_arm64 download busybox-static)
	dpkg-deb -x "$PARTIAL"/busybox-static_*_arm64.deb "$PARTIAL/root"
	mv "$(find "$PARTIAL/root" -path '*/bin/busybox')" "$WORK"
}

case ${1:-} in
'') ;;
-h | --help) echo "usage: arm64-busybox.sh"; exit 0 ;;
*) echo "usage: arm64-busybox.sh" >&2; exit 2 ;;
esac
if [[ ! -e $WORK ]]; then
	mkdir -p "${WORK%/*}"
	PARTIAL=$(mktemp -d "$WORK.XXXXXX")
	trap 'rm -rf "$PARTIAL"' EXIT
	run_logged "downloading an arm64 busybox" "$WORK.log" download_busybox
fi
printf '%s\n' "$WORK"
