# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# numa=paced: as precise, and what waits for its turn hinders neither the guest nor any end.
# kvm: patched
# timeout: 900

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

MIB=1048576

# At 1 MiB a second most of what the scanner announces has to wait: what does is enough for
# a slow machine, too.
start_waiting() {
	modprobe kvm_invpolicy
	start_misplaced vm --memory 64
	kvm-invpolicy attach "$vm_PID" numa=paced numa_pace_mbps=1
	ctl vm mbind off
	check "$1-waits" wait_for 60 counter_reaches "$vm_PID" numa_pace_waiting $((48 * MIB))
}

sweeps_reach() {
	ctl vm stat >/run/stat
	json_get sweeps </run/stat | awk -v goal="$1" '{ exit !($1 >= goal) }'
}

# KVM's mappings are dropped, so each vCPU faults on every page, those in the set too.
faulting_guest_goes_on() {
	ctl vm slot cycle
	ctl vm stat >/run/stat
	wait_for 60 sweeps_reach "$(json_get sweeps </run/stat | awk '{ print $1 + 1 }')"
}

unmapped_bytes() {
	take_counters "$vm_PID"
	echo $(($(counter numa_pages_unmapped) * 4096))
}

# Two bursts may fall into the window beside what the rate allows.
within_the_rate() {
	_start=$(date +%s)
	_bytes=$(unmapped_bytes)
	sleep 10
	_bytes=$(($(unmapped_bytes) - _bytes))
	_seconds=$(($(date +%s) - _start + 1))
	echo "$_bytes bytes in $_seconds s"
	[ $_bytes -le $(((_seconds + 4) * MIB)) ] && [ $_bytes -gt 0 ]
}

detach_and_unload() {
	kvm-invpolicy detach "$vm_PID" && rmmod kvm_invpolicy
}

none_attached() {
	[ "$(kvm-invpolicy list --json | json_get count)" -eq 0 ]
}

# The host announces some MiB, and no more: when vCPUs have moved that has all hinted.
moved_vcpus_make_all_memory_wait() {
	sleep 5
	numa_off
	take_counters "$vm_PID"
	_unmapped=$(($(counter numa_pages_unmapped) + 49152))
	_events=$(($(counter numa_events) + 1))
	ctl vm pin 3,4,1,2
	numa_on 1 1000
	wait_for 20 counter_reaches "$vm_PID" numa_events $_events
	numa_off
	wait_for 20 counter_reaches "$vm_PID" numa_pages_unmapped $_unmapped
}

numa_on 32 500

modprobe kvm_invpolicy
start_misplaced vm --memory 256
kvm-invpolicy attach "$vm_PID" numa=paced
ctl vm mbind off
check move-settles wait_for 60 local_reaches vm 98
check move-hints-all-memory moved_vcpus_make_all_memory_wait
# It takes two hints, of pages that the guest has touched in between.
numa_on 32 500
check move-is-followed wait_for 120 local_reaches vm 90
check move-oracle stop_vmm vm
rmmod kvm_invpolicy

start_waiting fault
check fault-goes-on faulting_guest_goes_on
check fault-still-waits counter_reaches "$vm_PID" numa_pace_waiting 1
check rate-is-kept within_the_rate
check detach-and-unload detach_and_unload
check detach-oracle stop_vmm vm

start_waiting kill
kill -KILL "$vm_PID"
check kill-ends-the-policy wait_for 30 none_attached
check kill-unload rmmod kvm_invpolicy

modprobe kvm_invpolicy
check_hinted numa=paced
numa_off
