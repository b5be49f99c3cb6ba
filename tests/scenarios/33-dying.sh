# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# With exit=fast a VM is retired at the first event of a process that dies, by a signal or
# reaped after an OOM kill; not while another process has its memory.
# kvm: patched
# timeout: 150

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

MEMORY_MIB=64
ROUNDS=8
RETIRE=$TRACING/events/kvm_invpolicy/invp_retire
GROUP=/sys/fs/cgroup/vmm
FAIR_SERVER=/sys/kernel/debug/sched/fair_server/cpu3/runtime
# CPUs of unbound workers: none is to wait behind the real-time thread.
WORKERS=/sys/devices/virtual/workqueue/cpumask

retired_count() {
	grep -c 'invp_retire:' $TRACING/trace || true
}

# kill_while_unmapping OPTION…: the many mappings of its memory are discarded one by one.
kill_while_unmapping() {
	start_vmm dying --memory $MEMORY_MIB "$@"
	# shellcheck disable=SC2154 # set by start_vmm
	kvm-invpolicy attach "$dying_PID" exit=fast
	sharer=$(ctl dying stat | json_get sharer_pid)
	ctl dying split
	wait_for 60 swept_twice dying
	ctl dying discard-all >/dev/null 2>&1 &
	_discard=$!
	sleep 0.0$((_round * 7 % 10))
	kill -KILL "$dying_PID"
	wait "$dying_PID" "$_discard" 2>/dev/null || true
	[ -z "$sharer" ] || kill -KILL "$sharer"
}

# retired_in_rounds OPTION…: prints how many VMs were retired.
retired_in_rounds() {
	echo >$TRACING/trace
	_round=0
	while [ $_round -lt $ROUNDS ]; do
		kill_while_unmapping "$@" >/dev/null
		_round=$((_round + 1))
	done
	retired_count
}

resident_kib() {
	awk '$1 == "VmRSS:" { print $2 }' "/proc/$1/status"
}

# Others have a share of the CPU of a real-time thread, by two means, the second not everywhere.
share_cpu() {
	if [ "$1" = on ]; then
		[ ! -e $FAIR_SERVER ] || echo 50000000 >$FAIR_SERVER
		echo 950000 >/proc/sys/kernel/sched_rt_runtime_us
		echo "$workers" >$WORKERS
	else
		workers=$(cat $WORKERS)
		printf '%x\n' $((0x$workers & ~8)) >$WORKERS
		echo -1 >/proc/sys/kernel/sched_rt_runtime_us
		[ ! -e $FAIR_SERVER ] || echo 0 >$FAIR_SERVER
	fi
}

# A victim that cannot run, as a real-time thread has its CPU, is reaped by the kernel.
starve() {
	for _task in /proc/"$1"/task/*; do
		taskset -p 8 "${_task##*/}" >/dev/null
	done
	vmm hog 3 &
	hog=$!
}

feed() {
	kill -KILL $hog
	wait $hog 2>/dev/null || true
}

is_reaped() {
	_resident=$(resident_kib "$1")
	[ "${_resident:-$MEMORY_MIB}" -lt $((MEMORY_MIB * 1024 / 4)) ]
}

# memory_file PID: the open file that backs the guest's memory.
memory_file() {
	for _fd in /proc/"$1"/fd/*; do
		case $(readlink "$_fd") in
		*memfd:guest*) echo "$_fd" ;;
		esac
	done
}

# check_oom BACKING
check_oom() {
	mkdir -p $GROUP
	# What is charged to a group stays there.
	echo $$ >$GROUP/cgroup.procs
	start_vmm victim --memory $MEMORY_MIB --backing "$1" --keep-fd-in-child --pin 0,1,2
	echo $$ >/sys/fs/cgroup/cgroup.procs
	keeper=$(ctl victim stat | json_get keeper_pid)
	echo "$keeper" >/sys/fs/cgroup/cgroup.procs
	ctl victim split
	check "$1-swept" wait_for 60 swept_twice victim
	# shellcheck disable=SC2154 # set by start_vmm
	kvm-invpolicy attach "$victim_PID" exit=fast
	starve "$victim_PID"
	# Without swap nothing can be reclaimed of private memory.
	echo $((MEMORY_MIB / 2))M >$GROUP/memory.max &
	_limit=$!
	check "$1-reaped" wait_for 20 is_reaped "$victim_PID"
	# Beside the reaper.
	check "$1-retired" wait_for 20 counter_reaches "$keeper" retired 1
	note "$(cat /run/counters)"
	check "$1-exit-seen" [ "$(counter exit_events)" -ge 1 ]
	# Only once, by the worker or by an event. The host may have tried reclaim first.
	_unmapped=$(($(counter retired_pages) + $(counter coalesced_pages)))
	check "$1-unmapped" [ $_unmapped -gt 1024 ]
	check "$1-unmapped-once" [ $_unmapped -le $((MEMORY_MIB * 256 + 4096)) ]
	feed
	wait "$victim_PID" $_limit 2>/dev/null || true
	check "$1-keeper-spared" kill -KILL "$keeper"
	check "$1-memory-given-back" wait_for 20 rmdir $GROUP
}

modprobe kvm_invpolicy
start_vmm living --memory 16
# shellcheck disable=SC2154 # set by start_vmm
kvm-invpolicy attach "$living_PID" exit=fast
ctl living dontneed 512 512
take_counters "$living_PID"
check living-unmaps [ "$(counter other_events)" -ge 1 ]
check living-not-retired [ "$(counter retired)" -eq 0 ]
check living-oracle stop_vmm living
echo 1 >$RETIRE/enable
retired=$(retired_in_rounds)
note "$retired of $ROUNDS killed VMMs had their VM retired"
check killed-while-unmapping-retired [ "$retired" -gt 0 ]
retired=$(retired_in_rounds --share-memory)
check shared-memory-not-retired [ "$retired" -eq 0 ]
echo 0 >$RETIRE/enable

mkdir -p /sys/fs/cgroup
grep -q ' /sys/fs/cgroup cgroup2 ' /proc/mounts || mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
share_cpu off
check_oom anon
check_oom anon-thp
share_cpu on

# What the guest wrote to a file is all there when the VM has died, however it did.
for end in kill teardown; do
	start_vmm vm --memory 32 --backing memfd
	wait_for 60 swept_twice vm
	# shellcheck disable=SC2154 # set by start_vmm
	kvm-invpolicy attach "$vm_PID" exit=fast
	exec 5<"$(memory_file "$vm_PID")"
	sweep=$(ctl vm stat | json_get vcpu_sweeps | tr -d '[]' | tr , '\n' | sort -n | head -n 1)
	[ $end = kill ] || kvm-invpolicy teardown "$vm_PID"
	kill -KILL "$vm_PID"
	wait "$vm_PID" 2>/dev/null || true
	check $end-file-complete vmm check-file /proc/self/fd/5 8192 "$sweep"
	exec 5<&-
done
