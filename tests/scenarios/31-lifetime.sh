# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# VMs, descriptors, memory and processes go away in every order; nothing stays behind.
# kvm: patched
# timeout: 240

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

guards_vm_only() {
	[ "$(ls -d /sys/kernel/debug/kvm/*-*)" = "$(ls -d /sys/kernel/debug/kvm/"$(pidof vmm)"-*)" ]
}

modprobe kvm_invpolicy
check guards-vm-only-before guards_vm_only
tap '' invp-ioctl orders
check guards-vm-only-after guards_vm_only
check unload rmmod kvm_invpolicy
