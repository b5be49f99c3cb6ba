# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What an event costs that no policy changes: with the stock KVM, with the patched one and
# no policy, and with a policy. All in one boot, KVM's modules taking turns.
# kvm: patched
# timeout: 900

# shellcheck source-path=SCRIPTDIR source=../tests/scenarios/lib.sh
. /lib/scenarios/lib.sh

SWAPS=3
ROUNDS=3
WINDOWS=101
# The CPU that device interrupts do not go to.
CPU=1
TURNS=/run/turns.txt

# No VM may live while KVM is replaced, the guard neither.
unload_kvm() {
	rmmod kvm_invpolicy 2>/dev/null || true
	rmmod kvm_amd
	rmmod kvm
}

# On one CPU from the start: another that the process has once run on takes part in its TLB
# flushes until that CPU happens to run something else.
measure() {
	taskset -c $CPU events $ROUNDS $WINDOWS "$@" >>$TURNS
}

measure_stock() {
	insmod /lib/stock/kvm.ko
	insmod /lib/stock/kvm-amd.ko
	measure stock
	unload_kvm
}

measure_patched() {
	modprobe kvm-amd
	modprobe kvm_invpolicy
	measure unattached kvm skip
	unload_kvm
}

# A trigger on a tracepoint of KVM's must not outlive it.
echo '!hist:keys=common_pid:size=16384' >$TRACING/events/kvm/kvm_unmap_hva_range/trigger
kill "$(pidof vmm)"
sleep 1
unload_kvm
: >$TURNS
swap=1
while [ $swap -le $SWAPS ]; do
	note "swap $swap of $SWAPS"
	measure_stock
	measure_patched
	swap=$((swap + 1))
done
modprobe kvm-amd
(setsid vmm guard >/dev/null 2>&1 3>&- 4>&- &)
result $TURNS
# Two events in each mode, and a loop for each start of the program.
check measured [ "$(wc -l <$TURNS)" -eq $((SWAPS * (ROUNDS * 4 * 2 + 2))) ]
