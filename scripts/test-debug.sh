#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs the scenarios for the patched KVM on the debug kernel.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
	cat <<-'END'
	usage: test-debug.sh [SCENARIO…]
	  Default: all scenarios for the patched KVM. The debug kernel is built the first time.
	END
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
-*) usage >&2; exit 2 ;;
esac
"$TOP/scripts/setup.sh" build run
step "building the VMM, the command and the ioctl driver"
make -s -C "$TOP/tests/vmm" OUT="$BUILD"
make -s -C "$TOP/tests/ioctl" OUT="$BUILD"
make -s -C "$TOP/tools" OUT="$BUILD/static" LDFLAGS=-static
exec "$TOP/scripts/scenarios.sh" --kvm debug "$@"
