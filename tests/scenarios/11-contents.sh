# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# With NUMA events elided, every other change of the host's mappings reaches the guest
# before the call that makes it returns.
# kvm: patched
# timeout: 420

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

ROUNDS=2

operations() {
	case $1 in
	anon) echo check-ro munmap mapfixed dontneed mremap uffd-wp migrate ksm stamp ;;
	anon-thp) echo check-ro munmap mapfixed dontneed mremap uffd-wp migrate ksm stamp ;;
	memfd) echo check-ro munmap mapfixed punch dontneed mremap uffd-wp migrate stamp ;;
	hugetlb) echo check-ro munmap mapfixed punch mremap stamp ;;
	esac
}

# Each vCPU sweeps a quarter of the memory, and each round hits another one. A range is
# one huge page for hugetlb; elsewhere it cuts two in pieces.
range_of() {
	case $1 in
	hugetlb) echo $(($2 % 4 * 2048)) 512 ;;
	*) echo $(($2 % 4 * 2048 + 470)) 80 ;;
	esac
}

operate() {
	_backing=$1 _op=$2 _round=$3
	_extra=
	[ "$_op" != migrate ] || _extra=$((_round % 2))
	# shellcheck disable=SC2046,SC2086 # two numbers, and one or none
	ctl vm "$_op" $(range_of "$_backing" "$_round") $_extra
}

all_rounds() {
	_n=0
	while [ $_n -lt $ROUNDS ]; do
		operate "$1" "$2" $_n || return 1
		_n=$((_n + 1))
	done
	ctl vm settle
}

scanned() {
	# shellcheck disable=SC2154 # set by start_vmm
	[ "$(kvm-invpolicy stat "$vm_PID" --json | json_get numa_elided)" -gt "$1" ]
}

modprobe kvm_invpolicy
echo 40 >/proc/sys/vm/nr_hugepages
numa_on 32 300
for backing in anon anon-thp memfd hugetlb; do
	start_vmm vm --memory 32 --backing $backing
	# shellcheck disable=SC2154 # set by start_vmm
	kvm-invpolicy attach "$vm_PID" numa=skip
	# The scanner passes hugetlb by.
	[ $backing = hugetlb ] || check "$backing-scanned" wait_for 60 scanned 0
	for operation in $(operations $backing); do
		check "$backing-$operation" all_rounds $backing "$operation"
	done
	check "$backing-oracle" stop_vmm vm
done
numa_off
echo 0 >/proc/sys/vm/nr_hugepages
