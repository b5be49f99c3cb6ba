# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Helpers of the scenarios; to be sourced by each. The init of the test machine
# sets SCENARIO, TAP and SLOWDOWN, and opens descriptor 3 (verdicts) and 4 (result files).

set -eu

TRACING=/sys/kernel/tracing
UNMAP_HIST=$TRACING/events/kvm/kvm_unmap_hva_range/hist
FAULT_HIST=$TRACING/events/kvm/kvm_guest_fault/hist
NUMA_SCAN=/sys/kernel/debug/sched/numa_balancing
VMMS=

# --- verdicts ---------------------------------------------------------------

verdict() {
	echo "$1 - $SCENARIO/$2${3:+ # $3}" | tee -a "$TAP" >&3
}

note() {
	printf '%s\n' "$*" | sed 's/^/# /' >&3
}

ok() {
	verdict ok "$1"
}

fail() {
	verdict 'not ok' "$1"
	shift
	note "$*"
}

skip() {
	verdict ok "$1" "SKIP $2"
}

# check NAME COMMAND…: ok when COMMAND succeeds. In a function called so, set -e
# is off: its last command decides.
check() {
	_name=$1
	shift
	if "$@" >/run/check 2>&1; then
		ok "$_name"
	else
		fail "$_name" "'$*' gave status $?: $(tail -n 3 /run/check)"
	fi
}

# tap PREFIX COMMAND…: makes the TAP lines that COMMAND prints verdicts of this scenario.
tap() {
	_prefix=$1
	shift
	_tap_status=0
	"$@" >/run/tap.out 2>/run/tap.log || _tap_status=$?
	sed "s,^\(not \)*ok - ,&$SCENARIO/$_prefix," /run/tap.out | tee -a "$TAP" >&3
	check "${_prefix}to-its-end" [ "$_tap_status" -lt 2 ]
	[ ! -s /run/tap.log ] || note "$(cat /run/tap.log)"
}

# Sends FILE to the results folder of the host.
result() {
	{
		echo "file ${1##*/}"
		base64 "$1"
		echo "."
	} >&4
}

# kvm_kind: stock or patched, as scripts/scenarios.sh booted this machine.
kvm_kind() {
	sed -n 's/.*invp\.kvm=\([a-z]*\).*/\1/p' /proc/cmdline
}

# --- waiting and reading ----------------------------------------------------

# wait_for SECONDS COMMAND…: repeats COMMAND until it succeeds.
wait_for() {
	_deadline=$(($(date +%s) + $1 * SLOWDOWN))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt $_deadline ] || return 1
		sleep 0.2
	done
}

# json_get KEY: the first value of KEY in the JSON on stdin, without quotes.
json_get() {
	grep -o -E "\"$1\": *(\"[^\"]*\"|\[[^]]*\]|[^]\",}[{]+)" | head -n 1 |
		sed -e 's/^[^:]*: *//' -e 's/^"\(.*\)"$/\1/' -e 's/ *$//'
}

vmstat() {
	awk -v key="$1" '$1 == key { print $2 }' /proc/vmstat
}

# --- VMs --------------------------------------------------------------------

vmm_ready() {
	grep -q '^ready ' "/run/$1.out" || ! kill -0 "$2" 2>/dev/null
}

# start_vmm NAME OPTION…: runs a VMM; sets NAME_PID and NAME_SOCK.
start_vmm() {
	_vm=$1
	shift
	# Of an earlier one of that name.
	rm -f "/run/$_vm.out"
	vmm run --control "/run/$_vm.sock" "$@" >"/run/$_vm.out" 2>&1 3>&- 4>&- &
	_pid=$!
	VMMS="$VMMS $_pid"
	eval "${_vm}_PID=$_pid ${_vm}_SOCK=/run/$_vm.sock"
	wait_for 60 vmm_ready "$_vm" "$_pid" || true
	grep -q '^ready ' "/run/$_vm.out" && return
	fail "start_vmm-$_vm" "vmm run $* is not ready: $(tail -n 3 "/run/$_vm.out")"
	return 1
}

# ctl NAME COMMAND…: prints the VMM's answer, one line of JSON.
ctl() {
	_vm=$1
	shift
	vmm ctl "/run/$_vm.sock" "$@"
}

# stop_vmm NAME: fails when the VMM's page oracle has seen an error, and says which.
stop_vmm() {
	eval "_pid=\$${1}_PID"
	_state=$(ctl "$1" stat)
	ctl "$1" quit
	wait "$_pid" && return
	printf '%s\n' "$_state"
	tail -n 3 "/run/$1.out"
	return 1
}

# swept_twice NAME: every vCPU has been through its memory twice.
swept_twice() {
	ctl "$1" stat >/run/stat
	json_get vcpu_sweeps </run/stat | tr -d '[]' | tr , '\n' |
		awk '$1 < 2 { slow = 1 } END { exit slow }'
}

# --- host memory manager ----------------------------------------------------

# numa_on [MIB [MS]]: scans MIB of a process every MS. The defaults leave the
# emulated CPUs to the guests.
numa_on() {
	echo 100 >$NUMA_SCAN/scan_delay_ms
	echo "${2:-1000}" >$NUMA_SCAN/scan_period_min_ms
	echo "${2:-1000}" >$NUMA_SCAN/scan_period_max_ms
	echo "${1:-64}" >$NUMA_SCAN/scan_size_mb
	echo 1 >/proc/sys/kernel/numa_balancing
}

numa_off() {
	echo 0 >/proc/sys/kernel/numa_balancing
}

# hits_by_threads HIST PID: what threads of PID, alive now, have caused.
# No such process is an error, not a zero.
hits_by_threads() {
	[ -d "/proc/$2/task" ] || return 1
	{
		ls "/proc/$2/task"
		cat "$1"
	} | awk '
		NF == 1 && /^[0-9]+$/ { thread[$1] = 1 }
		$2 == "common_pid:" && $3 in thread { sum += $NF }
		END { print sum + 0 }'
}

# unmap_events PID: in KVM.
unmap_events() {
	hits_by_threads $UNMAP_HIST "$1"
}

# guest_faults NAME: second-stage faults of the guest that made KVM map a page. Only x86
# has a statistic for them.
guest_faults() {
	if [ -e $FAULT_HIST ]; then
		eval "hits_by_threads $FAULT_HIST \$${1}_PID"
	else
		ctl "$1" stat | json_get pf_fixed
	fi
}

unmap_events_total() {
	awk '/^ *Hits:/ { print $2 }' $UNMAP_HIST
}

# swap_on MIB
swap_on() {
	[ -e /sys/block/zram0 ] || modprobe zram
	echo "$1M" >/sys/block/zram0/disksize
	mkswap /dev/zram0 >/dev/null
	swapon /dev/zram0
}

swap_off() {
	swapoff /dev/zram0 && echo 1 >/sys/block/zram0/reset
}

no_zombie() {
	! grep -l '^State:.*zombie' /proc/[0-9]*/status 2>/dev/null
}

# --- the counters of a policy -----------------------------------------------

# take_counters PID: those of its VM at one moment; counter NAME reads them.
take_counters() {
	kvm-invpolicy stat "$1" --json >/run/counters
}

counter() {
	json_get "$1" </run/counters
}

# counter_reaches PID NAME VALUE
counter_reaches() {
	take_counters "$1" && [ "$(counter "$2")" -ge "$3" ]
}

# --- every operation on a guest's memory ------------------------------------

operations() {
	case $1 in
	anon) echo check-ro munmap mapfixed dontneed mremap uffd-wp migrate ksm stamp ;;
	anon-thp) echo check-ro munmap mapfixed dontneed mremap uffd-wp migrate ksm stamp ;;
	memfd) echo check-ro munmap mapfixed punch dontneed mremap uffd-wp migrate stamp ;;
	hugetlb) echo check-ro munmap mapfixed punch mremap stamp ;;
	esac
}

# Each vCPU sweeps a quarter of the memory, and each round hits another one. A range is
# one huge page; in every other round, but for hugetlb, it cuts two in pieces. About such a
# split the host sends events of its own, which hide that an operation's own was missed.
range_of() {
	case $1,$(($2 % 2)) in
	hugetlb,* | *,1) echo $(($2 % 4 * 2048 + 1024)) 512 ;;
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

two_rounds() {
	operate "$1" "$2" 0 && operate "$1" "$2" 1 && ctl vm settle
}

# check_operations BACKING: every operation reaches the guest before it returns.
check_operations() {
	for operation in $(operations "$1"); do
		check "$1-$operation" two_rounds "$1" "$operation"
	done
}

# check_contents BACKING COUNTER SETTING…: with these settings, every operation reaches
# the guest before it returns; COUNTER shows that the policy was at work meanwhile.
check_contents() {
	backing=$1 at_work=$2
	shift 2
	start_vmm vm --memory 32 --backing "$backing"
	# shellcheck disable=SC2154 # set by start_vmm
	kvm-invpolicy attach "$vm_PID" "$@"
	# The scanner passes hugetlb by.
	[ "$backing" = hugetlb ] ||
		check "$backing-scanned" wait_for 60 counter_reaches "$vm_PID" "$at_work" 1
	check_operations "$backing"
	check "$backing-oracle" stop_vmm vm
}

# --- guests whose pages are on the wrong node, or pinned --------------------

# start_misplaced NAME OPTION…: CPUs 1 and 2 are node 0's, and two vCPUs run on each
# node; what they sweep is on the other one, and mapped by KVM: a page that is not gives
# the host its hint under every policy. Bound against hints until "ctl NAME mbind off".
start_misplaced() {
	_misplaced=$1
	shift
	start_vmm "$_misplaced" --vcpus 4 --pin 1,2,3,4 --node 1,0 "$@"
	ctl "$_misplaced" mbind on
	wait_for 180 swept_twice "$_misplaced"
}

# local_percent NAME: pages on the node of the vCPU that sweeps them.
local_percent() {
	ctl "$1" placement >/run/placement
	echo $(($(json_get local </run/placement) * 100 / $(json_get pages </run/placement)))
}

local_reaches() {
	[ "$(local_percent "$1")" -ge "$2" ]
}

# note_guest NAME: what its threads are at.
note_guest() {
	eval "_pid=\$${1}_PID"
	note "$(ctl "$1" stat)"
	for _task in /proc/"$_pid"/task/*; do
		note "thread ${_task##*/}: $(tr '\n' ' ' <"$_task/stack")"
	done
}

# check_migration SETTING…: pages follow the guest, and it finds them at their new place;
# far fewer flushes than pages.
check_migration() {
	start_misplaced vm --memory 64
	check migration-starts-misplaced [ "$(local_percent vm)" -le 10 ]
	kvm-invpolicy attach "$vm_PID" "$@"
	ctl vm mbind off
	check migration-pages-follow wait_for 180 local_reaches vm 90
	local_reaches vm 90 || note_guest vm
	take_counters "$vm_PID"
	note "$(cat /run/counters)"
	check migration-pages-unmapped [ "$(counter numa_pages_unmapped)" -ge 8192 ]
	if [ "$SLOWDOWN" -gt 1 ]; then
		skip migration-flushes-per-event "mmu_lock is given up to waiting vCPUs, each time with a flush"
	else
		check migration-flushes-per-event \
			[ "$(counter numa_flushes)" -le "$(counter numa_events)" ]
	fi
	check migration-flushes-per-page \
		[ $(($(counter numa_flushes) * 100)) -le "$(counter numa_pages_unmapped)" ]
	check migration-contents ctl vm verify
	check migration-oracle stop_vmm vm
}

no_refault_for_a_while() {
	swept_twice vm || return 1
	_faults=$(guest_faults vm)
	sleep 3
	[ "$(guest_faults vm)" -eq "$_faults" ]
}

# check_pinned BACKING SETTING…: NUMA balancing costs a guest nothing whose pages are
# pinned and so cannot move; once unpinned they are hinted again.
check_pinned() {
	backing=$1
	shift
	start_vmm vm --vcpus 4 --pin 1,2,3,4 --memory 64 --backing "$backing"
	check "pinned-$backing-registered" ctl vm io-buffer on
	kvm-invpolicy attach "$vm_PID" "$@"
	check "pinned-$backing-settled" wait_for 60 no_refault_for_a_while
	faults=$(guest_faults vm)
	take_counters "$vm_PID"
	check "pinned-$backing-scanned" wait_for 60 \
		counter_reaches "$vm_PID" numa_events $(($(counter numa_events) + 8))
	check "pinned-$backing-no-refault" [ "$(guest_faults vm)" -eq "$faults" ]
	take_counters "$vm_PID"
	note "$(cat /run/counters)"
	check "pinned-$backing-no-unmap" [ "$(counter numa_pages_unmapped)" -eq 0 ]
	check "pinned-$backing-no-flush" [ "$(counter numa_flushes)" -eq 0 ]
	# The host itself leaves pinned pages of private memory alone, those of files not.
	[ "$backing" != memfd ] ||
		check "pinned-$backing-spared" [ "$(counter numa_pages_pinned)" -gt 0 ]
	check "pinned-$backing-buffer-and-guest-agree" ctl vm io-check 4000 200
	check "pinned-$backing-released" ctl vm io-buffer off
	check "pinned-$backing-hinted-again" wait_for 60 \
		counter_reaches "$vm_PID" numa_pages_unmapped 1
	check "pinned-$backing-oracle" stop_vmm vm
}

# check_hinted SETTING: a NUMA mode that keeps the hints.
check_hinted() {
	check_migration "$1"
	for backing in anon memfd; do
		check_pinned $backing "$1"
	done
	for backing in anon anon-thp memfd; do
		check_contents $backing numa_pages_unmapped "$1"
	done
}

# --- the end ----------------------------------------------------------------

policy_unloaded() {
	[ ! -e /sys/module/kvm_invpolicy ] || rmmod kvm_invpolicy
}

# Every scenario leaves the machine as it found it; a module that cannot be
# unloaded without a VM has leaked a reference.
cleanup() {
	_status=$?
	trap - EXIT
	# A scenario that gave up waiting does not know why.
	[ $_status -eq 0 ] || grep -h '^vmm: ' /run/*.out 2>/dev/null | sed 's/^/# /' >&3 || true
	for _pid in $VMMS; do
		kill -KILL "$_pid" 2>/dev/null || true
	done
	wait
	numa_off
	wait_for 5 policy_unloaded ||
		fail cleanup "kvm_invpolicy cannot be unloaded: $(rmmod kvm_invpolicy 2>&1)"
	exit $_status
}

trap cleanup EXIT
trap 'exit 143' TERM
