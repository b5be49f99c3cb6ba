# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# With auto_attach, a VM whose program knows nothing of the module is attached before its
# first event; one that was there before is not.
# kvm: patched
# timeout: 120

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

PARAMETERS=/sys/module/kvm_invpolicy/parameters

attached() {
	kvm-invpolicy list --json | json_get count
}

stat_of() {
	kvm-invpolicy stat "$1" --json | json_get "$2"
}

modprobe kvm_invpolicy
start_vmm early --memory 8
echo 1 >$PARAMETERS/auto_attach
echo skip >$PARAMETERS/numa
numa_on 8 300
start_vmm late --memory 8 --vms 2
# shellcheck disable=SC2154 # set by start_vmm
{ early=$early_PID; late=$late_PID; }

check both-vms-attached [ "$(attached)" -eq 2 ]
check default-setting [ "$(stat_of "$late" numa)" = skip ]
check earlier-vm-not-attached [ "$(kvm-invpolicy stat "$early" 2>/dev/null; echo $?)" = 10 ]

numa_events_elided() {
	[ "$(stat_of "$late" numa_elided)" -ge 3 ]
}
check events-elided wait_for 60 numa_events_elided
kvm-invpolicy stat "$late" --json >/run/counters
check every-event-elided \
	[ "$(json_get numa_elided </run/counters)" -eq "$(json_get numa_events </run/counters)" ]

echo kvm >$PARAMETERS/numa
start_vmm other --memory 8
# shellcheck disable=SC2154 # set by start_vmm
check new-default-for-new-vm [ "$(stat_of "$other_PID" numa)" = kvm ]
check old-vm-keeps-setting [ "$(stat_of "$late" numa)" = skip ]

echo 0 >$PARAMETERS/auto_attach
start_vmm last --memory 8
check switched-off [ "$(attached)" -eq 3 ]

# A VM takes its policy with it.
numa_off
for vm in late other last early; do
	check "oracle-$vm" stop_vmm $vm
done
check none-left [ "$(attached)" -eq 0 ]
