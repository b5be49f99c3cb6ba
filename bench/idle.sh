# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What an event costs that no policy changes: with the stock KVM, with the patched one and
# no policy, and with a policy. All in one boot, KVM's modules taking turns.
# kvm: patched
# timeout: 900

# shellcheck source-path=SCRIPTDIR source=../tests/scenarios/lib.sh
. /lib/scenarios/lib.sh

SWAPS=6
ROUNDS=10
EVENTS=4000
SAMPLES=/run/samples.txt

# No VM may live while KVM is replaced, the guard neither.
unload_kvm() {
	rmmod kvm_invpolicy 2>/dev/null || true
	rmmod kvm_amd
	rmmod kvm
}

measure_stock() {
	insmod /lib/stock/kvm.ko
	insmod /lib/stock/kvm-amd.ko
	events $ROUNDS $EVENTS unattached | sed 's/^unattached/stock/'
	unload_kvm
}

measure_patched() {
	modprobe kvm-amd
	modprobe kvm_invpolicy
	events $ROUNDS $EVENTS unattached kvm skip
	unload_kvm
}

# A trigger on a tracepoint of KVM's must not outlive it.
echo '!hist:keys=common_pid:size=16384' >$TRACING/events/kvm/kvm_unmap_hva_range/trigger
kill "$(pidof vmm)"
sleep 1
unload_kvm
: >$SAMPLES
swap=1
while [ $swap -le $SWAPS ]; do
	note "swap $swap of $SWAPS"
	measure_stock | sed "s/^/$swap /" >>$SAMPLES
	measure_patched | sed "s/^/$swap /" >>$SAMPLES
	swap=$((swap + 1))
done
modprobe kvm-amd
(setsid vmm guard >/dev/null 2>&1 3>&- 4>&- &)
result $SAMPLES
check measured [ "$(wc -l <$SAMPLES)" -eq $((SWAPS * ROUNDS * 4)) ]
