# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# With unmap=coalesce and other=coalesce every change of the host's mappings reaches the guest
# before the call that makes it returns, with one flush; small events are left to KVM.
# kvm: patched
# timeout: 420

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

# Events that the settings can coalesce, and those that were.
coalescible() {
	echo $(($(counter unmap_events) + $(counter other_events)))
}

all_coalesced() {
	take_counters "$vm_PID" && [ "$(counter coalesced_events)" -eq "$(coalescible)" ]
}

# check_flushes NAME: of the counters taken last.
check_flushes() {
	check "$1-pages" [ "$(counter coalesced_pages)" -gt 0 ]
	if [ "$SLOWDOWN" -gt 1 ]; then
		skip "$1-flushes-per-event" "mmu_lock is given up to waiting vCPUs, each time with a flush"
	else
		check "$1-flushes-per-event" \
			[ "$(counter coalesced_flushes)" -le "$(counter coalesced_events)" ]
	fi
	check "$1-flushes-per-page" \
		[ $(($(counter coalesced_flushes) * 4)) -le "$(counter coalesced_pages)" ]
}

# check_coalesced BACKING
check_coalesced() {
	start_vmm vm --memory 32 --backing "$1"
	kvm-invpolicy attach "$vm_PID" unmap=coalesce other=coalesce coalesce_min_pages=1
	check_operations "$1"
	# The counters of an event under way are not all there yet.
	check "$1-all-coalesced" wait_for 10 all_coalesced
	note "$(cat /run/counters)"
	check "$1-at-work" [ "$(counter coalesced_events)" -ge 12 ]
	check_flushes "$1"
	check "$1-oracle" stop_vmm vm
}

# coalesced_by OPERATION FIRST COUNT: the events of one operation that were coalesced. Each
# needs a range of its own: an operation splits mappings, and then the events of the next.
coalesced_by() {
	take_counters "$vm_PID"
	_before=$(counter coalesced_events)
	ctl vm "$@" >/run/operation || return
	take_counters "$vm_PID"
	echo $(($(counter coalesced_events) - _before))
}

modprobe kvm_invpolicy
echo 40 >/proc/sys/vm/nr_hugepages
for backing in anon anon-thp memfd hugetlb; do
	check_coalesced $backing
done
echo 0 >/proc/sys/vm/nr_hugepages

# To map private memory anew takes an mremap(), which is an event of its own.
start_vmm vm --memory 32 --backing memfd
kvm-invpolicy attach "$vm_PID"
check kvm-munmap two_rounds memfd munmap
check kvm-dontneed two_rounds memfd dontneed
take_counters "$vm_PID"
check kvm-is-default [ "$(counter unmap) $(counter other)" = "kvm kvm" ]
check kvm-saw-events [ "$(coalescible)" -gt 0 ]
for what in events pages flushes; do
	check kvm-coalesces-no-$what [ "$(counter coalesced_$what)" -eq 0 ]
done

kvm-invpolicy set "$vm_PID" unmap=coalesce coalesce_min_pages=64
check min-pages-munmap-63 [ "$(coalesced_by munmap 1024 63)" -eq 0 ]
check min-pages-munmap-64 [ "$(coalesced_by munmap 1152 64)" -ge 1 ]
check other-kvm-dontneed-64 [ "$(coalesced_by dontneed 1280 64)" -eq 0 ]
kvm-invpolicy set "$vm_PID" unmap=kvm other=coalesce
check min-pages-dontneed-63 [ "$(coalesced_by dontneed 1408 63)" -eq 0 ]
check min-pages-dontneed-64 [ "$(coalesced_by dontneed 1536 64)" -ge 1 ]
kvm-invpolicy set "$vm_PID" other=kvm
check kvm-again-dontneed-64 [ "$(coalesced_by dontneed 1792 64)" -eq 0 ]
check oracle stop_vmm vm
