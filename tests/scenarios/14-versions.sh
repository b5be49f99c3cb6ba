# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# A KVM whose hooks have another version keeps the module out, in one line; observe_only
# leaves hooks alone.
# kvm: patched
# timeout: 120

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

HOOK_VERSION=/sys/module/kvm/parameters/invalidate_policy_version

status_of() {
	"$@" >/run/tool 2>&1 && echo 0 || echo $?
}

check hook-version-readable [ "$(cat $HOOK_VERSION)" -ge 1 ]

refuses_other_version() {
	! insmod /lib/other-version/kvm_invpolicy.ko 2>/run/refused &&
		dmesg | grep -q 'kvm_invpolicy: kvm has hook version 4, this module needs 99: '
}
if [ -e /lib/other-version/kvm_invpolicy.ko ]; then
	check other-version-refused refuses_other_version
else
	skip other-version-refused "no module of another version was built for this kernel"
fi

modprobe kvm_invpolicy observe_only=1
check observe-only-said sh -c "dmesg | grep -q 'observe mode: observe_only=1'"
start_vmm vm --memory 8
# shellcheck disable=SC2154 # set by start_vmm
check observe-only-attaches-nothing [ "$(status_of kvm-invpolicy attach "$vm_PID")" = 5 ]
check observe-only-no-auto-attach \
	sh -c '! echo 1 >/sys/module/kvm_invpolicy/parameters/auto_attach'
check oracle stop_vmm vm
rmmod kvm_invpolicy
