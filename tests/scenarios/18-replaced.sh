# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Pages are replaced while every vCPU writes to them all the time, without an exit: once
# mmap() has returned, none writes to the old ones. On emulated arm64 a flush that is missing
# is seen here; x86 takes each vCPU out of the guest anyway, for the TLBs of the host itself.
# kvm: patched
# timeout: 180

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

ROUNDS=100

# replace_pages COUNT: a few pages at a time, so that they stay in the TLBs.
replace_pages() {
	_round=0
	while [ $_round -lt $ROUNDS ]; do
		ctl vm hammer $((_round % 64 * 64)) "$1" || return
		_round=$((_round + 1))
	done
}

modprobe kvm_invpolicy
start_vmm vm --vcpus 2 --memory 32 --backing memfd
kvm-invpolicy attach "$vm_PID"
check kvm-not-written replace_pages 4
kvm-invpolicy set "$vm_PID" unmap=coalesce coalesce_min_pages=1
for pages in 1 4 16; do
	take_counters "$vm_PID"
	before=$(counter coalesced_events)
	check coalesced-$pages-not-written replace_pages $pages
	take_counters "$vm_PID"
	check coalesced-$pages-at-work [ $(($(counter coalesced_events) - before)) -ge $ROUNDS ]
done
check settled ctl vm settle
check oracle stop_vmm vm
