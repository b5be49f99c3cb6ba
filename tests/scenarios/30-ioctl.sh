# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Every call of the device, right and wrong, says what the header promises.
# kvm: stock patched
# timeout: 180

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

modprobe kvm_invpolicy
if [ "$(kvm_kind)" = stock ]; then
	tap '' invp-ioctl errors no-hooks
	exit
fi
tap '' invp-ioctl errors hooks
tap '' invp-ioctl fuzz 1 5
rmmod kvm_invpolicy
modprobe kvm_invpolicy observe_only=1
tap observe-only- invp-ioctl errors no-hooks
