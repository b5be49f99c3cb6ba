# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# numa=precise: guest memory follows the guest, its contents stay right, and pages that
# cannot move cost it nothing.
# kvm: patched
# timeout: 720

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

modprobe kvm_invpolicy
numa_on 32 500
check_hinted numa=precise
numa_off
