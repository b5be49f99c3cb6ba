# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# NUMA balancing leaves a VM with numa=skip alone, and no other.
# kvm: patched
# timeout: 240

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

# What KVM had unmapped before is faulted in once more, and the host may then migrate it,
# which is an event: done when there is none for a while.
settled() {
	_before=$(unmap_events "$1")
	sleep 3
	[ "$(unmap_events "$1")" -eq "$_before" ]
}

# Waits until the scanner has passed over the VM with the policy again. The pages that
# the host protects would tell less: it protects again only what was touched meanwhile.
scan() {
	take_counters "$skipped"
	wait_for 60 counter_reaches "$skipped" numa_events $(($(counter numa_events) + 12)) ||
		echo "no scan in time"
}

# Of the events that KVM acted on in a scan, those that are of no other reason: a VMM
# changes mappings of its own, too.
numa_unmaps() {
	take_counters "$1"
	_others=$(($(counter unmap_events) + $(counter other_events)))
	_unmaps=$(unmap_events "$1")
	scan
	_unmaps=$(($(unmap_events "$1") - _unmaps))
	take_counters "$1"
	_others=$(($(counter unmap_events) + $(counter other_events) - _others))
	note "KVM acted on $_unmaps events, $_others of them not of NUMA balancing"
	echo $((_unmaps > _others ? _unmaps - _others : 0))
}

# NUMA events in a scan that the policy left to KVM.
left_to_kvm() {
	take_counters "$1"
	_left=$(($(counter numa_events) - $(counter numa_elided)))
	scan
	take_counters "$1"
	echo $(($(counter numa_events) - $(counter numa_elided) - _left))
}

# unmapped_since COUNT PID
unmapped_since() {
	[ "$(unmap_events "$2")" -gt "$1" ]
}

modprobe kvm_invpolicy
start_vmm skipped --memory 32
start_vmm stock --memory 32
# shellcheck disable=SC2154 # set by start_vmm
{ skipped=$skipped_PID; stock=$stock_PID; }

kvm-invpolicy attach "$skipped" numa=skip
before_other=$(unmap_events "$stock")
numa_on 16 500
check numa-events-seen wait_for 60 counter_reaches "$skipped" numa_events 5

check settled wait_for 60 settled "$skipped"
check no-unmap-when-skipped [ "$(numa_unmaps "$skipped")" -eq 0 ]
check neighbour-keeps-kvm wait_for 60 unmapped_since "$before_other" "$stock"
take_counters "$skipped"
check all-elided [ "$(counter numa_elided)" -eq "$(counter numa_events)" ]
check none-untracked [ "$(counter numa_untracked)" -eq 0 ]

faults=$(guest_faults skipped)
scan
check no-refault-when-skipped [ "$(($(guest_faults skipped) - faults))" -eq 0 ]

kvm-invpolicy set "$skipped" numa=kvm
check set-kvm-leaves-them [ "$(left_to_kvm "$skipped")" -gt 0 ]
kvm-invpolicy set "$skipped" numa=skip
check settled-again wait_for 60 settled "$skipped"
check set-skip-elides-again [ "$(numa_unmaps "$skipped")" -eq 0 ]
check set-skip-leaves-none [ "$(left_to_kvm "$skipped")" -le 0 ]

kvm-invpolicy detach "$skipped"
check detach-unmaps-again wait_for 60 unmapped_since "$(unmap_events "$skipped")" "$skipped"

numa_off
check oracle-skipped stop_vmm skipped
check oracle-stock stop_vmm stock
