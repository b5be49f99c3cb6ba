# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Measures one guest in interleaved windows: balancing off, KVM's own behaviour, skip.
# Runs in the test machine; scripts/demo.sh turns the windows into a verdict.
# kvm: patched
# timeout: 1100

# shellcheck source-path=SCRIPTDIR source=../tests/scenarios/lib.sh
. /lib/scenarios/lib.sh

ROUNDS=3
SECONDS_MEASURED=10
SECONDS_TO_SETTLE=40
SAMPLE_SECONDS=3
MEMORY_MIB=256
# 64 MiB a second, in small portions: at the default, 256 MiB a second in one, a scan takes
# seconds in the emulator, and the guest recovers before the next. What a scan costs by
# itself shows in skip against off.
SCAN_MIB=32
SCAN_MS=500
WINDOWS=/run/windows.jsonl

policy_off() {
	numa_off
	kvm-invpolicy set "$guest" numa=kvm
}

policy_kvm() {
	kvm-invpolicy set "$guest" numa=kvm
	numa_on $SCAN_MIB $SCAN_MS
}

policy_skip() {
	kvm-invpolicy set "$guest" numa=skip
	numa_on $SCAN_MIB $SCAN_MS
}

# now, sweeps, refaults, remote_tlb_flushes, numa_pte_updates
take_sample() {
	ctl guest stat >/run/sample
	echo "$(cut -d' ' -f1 /proc/uptime)" \
		"$(json_get sweeps </run/sample)" "$(json_get pf_fixed </run/sample)" \
		"$(json_get remote_tlb_flush </run/sample)" "$(vmstat numa_pte_updates)"
}

# Events that are not of NUMA balancing, as the module classifies them: the VMM's own
# memory has some.
other_events() {
	kvm-invpolicy stat "$guest" --json >/run/counters
	echo $(($(json_get unmap_events </run/counters) + $(json_get other_events </run/counters)))
}

# Re-faults of the guest and pages that the host has protected.
rates_of_interest() {
	echo "$(guest_faults guest) $(vmstat numa_pte_updates)"
}

# Steady: over the last four samples neither rate has moved by more than a quarter, or by
# more than a few pages. Prints the seconds it took, SECONDS_TO_SETTLE if it never was.
settle() {
	_start=$(date +%s)
	rates_of_interest >/run/samples
	while [ $(($(date +%s) - _start)) -lt $SECONDS_TO_SETTLE ]; do
		sleep $SAMPLE_SECONDS
		rates_of_interest >>/run/samples
		! tail -n 4 /run/samples | awk '
			NR > 1 { fault[NR] = $1 - last_fault; update[NR] = $2 - last_update }
			{ last_fault = $1; last_update = $2 }
			function steady(rate) {
				low = high = rate[2]
				for (i = 3; i <= 4; i++) {
					if (rate[i] < low) low = rate[i]
					if (rate[i] > high) high = rate[i]
				}
				return high - low <= 64 || high <= low * 1.25
			}
			END { exit !(NR == 4 && steady(fault) && steady(update)) }' || break
	done
	echo $(($(date +%s) - _start))
}

# window POLICY: prints its JSON object. The others are counted for a little longer than
# all events, so that what remains is of NUMA balancing for certain.
window() {
	"policy_$1" >/dev/null
	_settled=$(settle)
	_others=$(other_events)
	_unmaps=$(unmap_events "$guest")
	_before=$(take_sample)
	sleep $SECONDS_MEASURED
	_after=$(take_sample)
	_unmaps=$(($(unmap_events "$guest") - _unmaps))
	_others=$(($(other_events) - _others))
	echo "$1 $_settled $_before $_after $((_unmaps > _others ? _unmaps - _others : 0))" | awk '{
		printf "{\"policy\":\"%s\",\"settle_seconds\":%d,\"seconds\":%.2f,", $1, $2, $8 - $3
		printf "\"sweeps\":%.3f,\"refaults\":%d,", $9 - $4, $10 - $5
		printf "\"unmap_events\":%d,\"remote_tlb_flushes\":%d,", $13, $11 - $6
		printf "\"numa_pte_updates\":%d}\n", $12 - $7
	}'
}

swept_once() {
	ctl guest stat >/run/sample && json_get sweeps </run/sample | awk '{ exit !($1 >= 2) }'
}

modprobe kvm_invpolicy
note "kvm is $(cat /sys/module/kvm/version), kvm_invpolicy is $(cat /sys/module/kvm_invpolicy/version)"
note "the host scans $SCAN_MIB MiB every $SCAN_MS ms"
note "starting a guest with 4 vCPUs and $MEMORY_MIB MiB that checks and rewrites every page, sweep after sweep"
# Balancing is on before the guest starts: a thread takes its scan period from then.
numa_on $SCAN_MIB $SCAN_MS
start_vmm guest --vcpus 4 --memory $MEMORY_MIB
# shellcheck disable=SC2154 # set by start_vmm
guest=$guest_PID
kvm-invpolicy attach "$guest" numa=kvm
check guest-runs wait_for 120 swept_once

: >$WINDOWS
round=1
while [ $round -le $ROUNDS ]; do
	for policy in off kvm skip; do
		note "round $round of $ROUNDS, $policy: settling, then $SECONDS_MEASURED s"
		window $policy >>$WINDOWS
		note "    $(tail -n 1 $WINDOWS)"
	done
	round=$((round + 1))
done
numa_off
result $WINDOWS
check guest-memory-intact stop_vmm guest
