#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs every suite for x86.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$TOP/scripts/suites.sh"

"$TOP/scripts/setup.sh" build run kunit dkms
build_products
make -s -C "$TOP/bench/tcg-count" OUT="$BUILD"
suite command "$TOP/tools/tests/cli.sh" "$BUILD/static/kvm-invpolicy"
suite counter "$TOP/bench/tcg-count/test.sh" "$BUILD"
suite scenarios "$TOP/scripts/scenarios.sh"
suite kunit "$TOP/scripts/kunit.sh"
suite dkms "$TOP/tests/dkms.sh"
report_suites
