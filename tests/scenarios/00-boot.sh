# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# The test machine is what the other scenarios rely on.
# kvm: stock patched

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

nested_paging() {
	[ "$(cat /sys/module/kvm_amd/parameters/npt)" = Y ]
}

# Taint O: built outside the kernel tree, as the patched modules are.
kvm_is_of_its_kind() {
	case "$(kvm_kind) $(cat /sys/module/kvm/taint)" in
	'patched '*O*) ;;
	'stock '*O*) return 1 ;;
	'stock '*) ;;
	*) return 1 ;;
	esac
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
