# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# A VM that is torn down runs no more, has lost nothing that its guest wrote, and what the
# host does with its memory after that is nothing to KVM.
# kvm: patched
# timeout: 240

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

PAGES=8192

# ended COUNT: so many vCPUs were refused by KVM.
ended() {
	[ "$(ctl vm stat | json_get ended)" -eq "$1" ]
}

# check_unmap BACKING OPERATION: the host takes the memory back, and KVM does nothing.
check_unmap() {
	_unmaps=$(unmap_events "$vm_PID")
	check "$1-$2" ctl vm "$2"
	check "$1-$2-without-kvm" [ "$(unmap_events "$vm_PID")" -eq "$_unmaps" ]
}

# check_teardown BACKING
check_teardown() {
	start_vmm vm --memory 32 --backing "$1"
	check "$1-swept" wait_for 60 swept_twice vm
	kvm-invpolicy attach "$vm_PID" numa=kvm
	check "$1-teardown" kvm-invpolicy teardown "$vm_PID"
	check "$1-vcpus-ended" wait_for 20 ended 4
	take_counters "$vm_PID"
	note "$(cat /run/counters)"
	check "$1-retired" [ "$(counter retired)" -eq 1 ]
	check "$1-unmapped" [ "$(counter retired_pages)" -ge $PAGES ]
	check "$1-flushed" [ "$(counter retired_flushes)" -ge 1 ]
	check "$1-teardown-again" kvm-invpolicy teardown "$vm_PID"
	take_counters "$vm_PID"
	check "$1-nothing-left" [ "$(counter retired_pages)" -lt $((PAGES + 4096)) ]
	check "$1-contents" ctl vm verify
	check_unmap "$1" discard-all
	check_unmap "$1" unmap-all
	check "$1-detach" kvm-invpolicy detach "$vm_PID"
	check "$1-quit" stop_vmm vm
}

modprobe kvm_invpolicy
echo 40 >/proc/sys/vm/nr_hugepages
for backing in anon anon-thp memfd hugetlb; do
	check_teardown $backing
done
echo 0 >/proc/sys/vm/nr_hugepages

# A policy is what gives the right to judge a VM, and the VM stays what it is.
start_vmm vm --memory 32
check not-attached-is-refused [ "$(kvm-invpolicy teardown "$vm_PID" 2>&1 | grep -c 'is attached')" -eq 1 ]
check not-attached-runs-on wait_for 60 swept_twice vm
kvm-invpolicy attach "$vm_PID" numa=skip
check paused ctl vm pause
check paused-teardown kvm-invpolicy teardown "$vm_PID"
check paused-detach kvm-invpolicy detach "$vm_PID"
# KVM remembers without a policy, and under another one.
check paused-resume ctl vm resume
check paused-ended wait_for 20 ended 4
check_unmap paused unmap-all
kvm-invpolicy attach "$vm_PID"
take_counters "$vm_PID"
check paused-retired-still [ "$(counter retired)" -eq 1 ]
check paused-quit stop_vmm vm
