# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# VMs come, are changed and go, all at random, beside a host that moves their memory.
# kvm: patched

# shellcheck source-path=SCRIPTDIR source=../scenarios/lib.sh
. /lib/scenarios/lib.sh

LANES='vm0 vm1 vm2 host'
HUGE_PAGES=72

none_attached() {
	[ "$(kvm-invpolicy list --json | json_get id)" = "" ]
}

mkdir -p /run/torture /sys/fs/cgroup/torture
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
echo +memory >/sys/fs/cgroup/torture/cgroup.subtree_control
swap_on 256
echo advise >/sys/kernel/mm/transparent_hugepage/shmem_enabled
echo $HUGE_PAGES >/proc/sys/vm/nr_hugepages
modprobe kvm_invpolicy
lanes=
for lane in $LANES; do
	sh /lib/scenarios/lane.sh "$lane" &
	lanes="$lanes $!"
done
# shellcheck disable=SC2086 # words
wait $lanes || true
numa_off
echo 0 >/sys/kernel/mm/ksm/run
echo madvise >/sys/kernel/mm/transparent_hugepage/enabled
check all-vms-gone wait_for 30 none_attached
check no-zombies wait_for 10 no_zombie
echo 0 >/proc/sys/vm/nr_hugepages
check swap-off swap_off
for lane in vm0 vm1 vm2; do
	[ ! -e /sys/fs/cgroup/torture/$lane ] ||
		check $lane-memory-given-back wait_for 20 rmdir /sys/fs/cgroup/torture/$lane
done
