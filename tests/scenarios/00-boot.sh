# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# The test machine is what the other scenarios rely on.
# kvm: stock patched

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

# KVM for arm64 always has a second stage.
nested_paging() {
	[ "$(uname -m)" = aarch64 ] || [ "$(cat /sys/module/kvm_amd/parameters/npt)" = Y ]
}

kvm_is_of_its_kind() {
	if [ -e /sys/module/kvm/parameters/invalidate_policy_version ]; then
		[ "$(kvm_kind)" = patched ]
	else
		[ "$(kvm_kind)" = stock ]
	fi
}

guard_runs() {
	pidof vmm
}

check kvm-device [ -c /dev/kvm ]
check kvm-kind kvm_is_of_its_kind
check nested-paging nested_paging
check two-nodes [ -d /sys/devices/system/node/node1 ]
check four-cpus [ "$(nproc)" -eq 4 ]
check guard guard_runs
check numa-scan-settings [ -e /sys/kernel/debug/sched/numa_balancing/scan_size_mb ]
check unmap-events-counted unmap_events_total
