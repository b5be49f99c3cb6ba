# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Every bad parameter and setting is EINVAL, with a line that lists the good ones.
# kvm: patched
# timeout: 120

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

PARAMETERS=/sys/module/kvm_invpolicy/parameters

said() {
	dmesg | grep -q -F "$1"
}

refused_at_load() {
	! modprobe kvm_invpolicy "$1" 2>/run/refused &&
		[ ! -e /sys/module/kvm_invpolicy ] && said "$2"
}

refused_in_sysfs() {
	! echo "$2" 2>/run/refused >"$PARAMETERS/$1" && said "$3"
}

for value in kv skipp off 1 SKIP; do
	check "load-numa-$value" refused_at_load "numa=$value" "numa=$value is no setting: use kvm or skip"
done
check load-auto_attach refused_at_load auto_attach=maybe "auto_attach=maybe is no setting: use 0 or 1"
check load-observe_only refused_at_load observe_only=2 "observe_only=2 is no setting: use 0 or 1"

check load-good modprobe kvm_invpolicy numa=kvm auto_attach=0
check numa-readable [ "$(cat $PARAMETERS/numa)" = kvm ]
for value in x kvm,skip ' '; do
	check "sysfs-numa-'$value'" refused_in_sysfs numa "$value" "is no setting: use kvm or skip"
done
check sysfs-auto_attach refused_in_sysfs auto_attach 7 "auto_attach=7 is no setting: use 0 or 1"
check sysfs-observe_only sh -c "! echo 1 >$PARAMETERS/observe_only"
check numa-unchanged [ "$(cat $PARAMETERS/numa)" = kvm ]
check sysfs-good sh -c "echo skip >$PARAMETERS/numa"
check numa-changed [ "$(cat $PARAMETERS/numa)" = skip ]

start_vmm vm --memory 8
status_of() {
	"$@" >/run/tool 2>&1 && echo 0 || echo $?
}
# shellcheck disable=SC2154 # set by start_vmm
{
	check attach-bad-setting [ "$(status_of kvm-invpolicy attach "$vm_PID" numa=off)" = 2 ]
	check attach-bad-setting-lists grep -q 'kvm.*skip' /run/tool
	check attach [ "$(status_of kvm-invpolicy attach "$vm_PID" numa=kvm)" = 0 ]
	check attach-twice [ "$(status_of kvm-invpolicy attach "$vm_PID")" = 9 ]
	check set-bad-setting [ "$(status_of kvm-invpolicy set "$vm_PID" numa=)" = 2 ]
	check set [ "$(status_of kvm-invpolicy set "$vm_PID" numa=skip)" = 0 ]
	check detach [ "$(status_of kvm-invpolicy detach "$vm_PID")" = 0 ]
	check detach-twice [ "$(status_of kvm-invpolicy detach "$vm_PID")" = 10 ]
	check unload-refused-while-attached \
		sh -c "kvm-invpolicy attach $vm_PID && ! rmmod kvm_invpolicy"
	check unload-refused-while-open \
		sh -c "kvm-invpolicy detach $vm_PID && exec 9<>/dev/kvm-invpolicy && ! rmmod kvm_invpolicy"
}
check no-such-process [ "$(status_of kvm-invpolicy attach 4000000)" = 7 ]
check no-vm [ "$(status_of kvm-invpolicy attach 1)" = 8 ]
check oracle stop_vmm vm
check unload rmmod kvm_invpolicy
check module-absent [ "$(status_of kvm-invpolicy status)" = 3 ]
