#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs KUnit and the scenarios on emulated arm64.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$TOP/scripts/suites.sh"

usage() {
	cat <<-'END'
	usage: test-arm64.sh [CPU SCENARIO…]
	  neoverse-n1 has neither TLBI by range nor FWB, max has both: all scenarios on each,
	  and the TLBIs and cache cleans of both are counted. On cortex-a72 KVM runs without
	  VHE: those scenarios in which VMs come and go. Or only what is named. The kernels are
	  built the first time.
	END
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
-*) usage >&2; exit 2 ;;
esac
(($# != 1)) || { usage >&2; exit 2; }
"$TOP/scripts/setup.sh" arm64
set_architecture arm64
build_user_space
(($# == 0)) || exec "$TOP/scripts/scenarios.sh" --kvm "arm64:$1" "${@:2}"
suite arm64-kunit "$TOP/scripts/kunit.sh" --arch arm64
suite counts "$TOP/tests/unmap-counts.sh"
suite neoverse-n1 "$TOP/scripts/scenarios.sh" --kvm arm64:neoverse-n1
suite max "$TOP/scripts/scenarios.sh" --kvm arm64:max
suite cortex-a72 "$TOP/scripts/scenarios.sh" --kvm arm64:cortex-a72 \
	12-auto-attach 31-lifetime 32-churn
report_suites
