# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What each policy makes of a guest whose pages are all on the wrong node: how fast it
# runs, and when its pages are on the right one. Runs in the test machine;
# scripts/bench-numa.sh says which cells to measure and turns the samples into rows.
# kvm: patched
# timeout: 9000

# shellcheck source-path=SCRIPTDIR source=../tests/scenarios/lib.sh
. /lib/scenarios/lib.sh

# What it sets: BACKING, POLICIES, ROUNDS and SECONDS_MEASURED.
# shellcheck source=/dev/null
. /etc/bench-numa

MEMORY_MIB=256
# As in the demo: small portions, or the scan itself pauses the emulated CPUs.
SCAN_MIB=32
SCAN_MS=500
LOCAL_PERCENT=90
SAMPLES=/run/samples.json

settings_of() {
	case $1 in
	off | mbind) echo numa=kvm ;;
	paced-*) echo "numa=paced numa_pace_mbps=${1#paced-}" ;;
	*) echo "numa=$1" ;;
	esac
}

# number KEY JSON: without a process of its own, as it is asked every second.
number() {
	_rest=${2#*\""$1"\":}
	echo "${_rest%%[!0-9]*}"
}

is_local() {
	[ $(($(number local "$placement") * 100)) -ge \
		$(($(number pages "$placement") * LOCAL_PERCENT)) ]
}

# uptime: sets now, in seconds.
uptime_now() {
	read -r now _ </proc/uptime
	now=${now%.*}
}

# sample PHASE [MORE]: one JSON object; sets placement.
sample() {
	placement=$(ctl guest placement)
	read -r _at _ </proc/uptime
	echo "{\"policy\":\"$policy\",\"round\":$round,\"phase\":\"$1\",\"at\":$_at," \
		"\"guest\":$(ctl guest stat),\"placement\":$placement${2:-}}" >>$SAMPLES
}

# What costs more than a guest should pay each second.
# shellcheck disable=SC2154 # set by start_vmm
counted_sample() {
	sample "$1" ",\"counters\":$(kvm-invpolicy stat "$guest_PID" --json),
		\"unmap_events\":$(unmap_events "$guest_PID"),
		\"numa_pte_updates\":$(vmstat numa_pte_updates),
		\"numa_pages_migrated\":$(vmstat numa_pages_migrated)"
}

# sample_until PHASE SECONDS [COMMAND]: one sample a second, to the end or until COMMAND
# succeeds.
sample_until() {
	uptime_now
	_end=$((now + $2))
	while [ "$now" -lt $_end ]; do
		sleep 1
		sample "$1"
		! ${3:-false} || return 0
		uptime_now
	done
}

# The end of the window, which is counted by itself, shows a guest whose pages are placed.
measure_window() {
	counted_sample window
	sample_until window $((SECONDS_MEASURED * 2 / 3))
	counted_sample window
	sample_until window $((SECONDS_MEASURED / 3))
	counted_sample window
}

# All vCPUs go to the other node once their pages are placed.
measure_move() {
	sample_until settle $((SECONDS_MEASURED * 2)) is_local
	is_local || return 0
	ctl guest pin 3,4,1,2 >/dev/null
	sample move
	sample_until move $((SECONDS_MEASURED * 2)) is_local
}

# shellcheck disable=SC2153 # BACKING is no misspelling
prepare_guest() {
	if [ "$policy" = off ]; then
		numa_off
	else
		# Before the guest starts: a thread takes its scan period from then.
		numa_on $SCAN_MIB $SCAN_MS
	fi
	start_misplaced guest --memory $MEMORY_MIB --backing "${BACKING%-pinned}" >/dev/null
	[ "$BACKING" = "${BACKING%-pinned}" ] || ctl guest io-buffer on >/dev/null
	# shellcheck disable=SC2046 # one word a setting
	kvm-invpolicy attach "$guest_PID" $(settings_of "$policy")
	[ "$policy" = mbind ] || ctl guest mbind off >/dev/null
}

measure_cell() {
	prepare_guest
	measure_window
	case $BACKING,$policy in
	*-pinned,*) ;;
	*,kvm | *,paced-256) measure_move ;;
	esac
	check "$policy-round-$round-guest-memory-intact" stop_vmm guest
}

modprobe kvm_invpolicy
note "the host scans $SCAN_MIB MiB every $SCAN_MS ms; the guest has 4 vCPUs and $MEMORY_MIB MiB, $BACKING"
: >$SAMPLES
round=1
while [ $round -le "$ROUNDS" ]; do
	for policy in $POLICIES; do
		note "round $round of $ROUNDS, $BACKING, $policy"
		measure_cell
	done
	round=$((round + 1))
done
result $SAMPLES
