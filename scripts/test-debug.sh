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
build_user_space
exec "$TOP/scripts/scenarios.sh" --kvm debug "$@"
