# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# A vendor module has struct kvm in its own objects: the stock one, built for another
# struct kvm, does not load beside the patched kvm. Last, as it takes the guard down.
# kvm: patched
# not-arm64: it has no vendor modules

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

stock_is_refused() {
	! insmod /lib/stock/kvm-amd.ko 2>/run/refused &&
		dmesg | grep -q 'kvm_amd: Unknown symbol kvm_x86_vendor_init'
}

if [ ! -e /lib/stock/kvm-amd.ko ]; then
	skip stock-vendor-refused "this kernel's own kvm-amd has the patched struct kvm"
	exit
fi
kill "$(pidof vmm)"
check vendor-unloaded wait_for 10 rmmod kvm_amd
check stock-vendor-refused stock_is_refused
check own-vendor-loads modprobe kvm-amd
