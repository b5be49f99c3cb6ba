# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Helpers of the scenarios; to be sourced by each. The init of the test machine
# sets SCENARIO, TAP and SLOWDOWN, and opens descriptor 3 (verdicts) and 4 (result files).

set -eu

TRACING=/sys/kernel/tracing
UNMAP_HIST=$TRACING/events/kvm/kvm_unmap_hva_range/hist
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

# stop_vmm NAME: fails when the VMM's page oracle has seen an error.
stop_vmm() {
	eval "_pid=\$${1}_PID"
	ctl "$1" quit
	wait "$_pid"
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

# unmap_events PID: the events that threads of PID, alive now, caused in KVM.
# No such process is an error, not a zero.
unmap_events() {
	[ -d "/proc/$1/task" ] || return 1
	{
		ls "/proc/$1/task"
		cat $UNMAP_HIST
	} | awk '
		NF == 1 && /^[0-9]+$/ { thread[$1] = 1 }
		$2 == "common_pid:" && $3 in thread { sum += $NF }
		END { print sum + 0 }'
}

unmap_events_total() {
	awk '/^ *Hits:/ { print $2 }' $UNMAP_HIST
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
