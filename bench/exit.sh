# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the death of a VMM costs, in each way and by each policy, in turns.
# kvm: patched
# timeout: 5400

# shellcheck source-path=SCRIPTDIR source=../tests/scenarios/lib.sh
. /lib/scenarios/lib.sh

# What it sets: ROUNDS, and SIZES in pages of 4 KiB.
# shellcheck source=/dev/null
. /etc/bench-settings

# The CPU that device interrupts do not go to.
CPU=1
CELLS=/run/cells.txt
GROUP=/sys/fs/cgroup/exit

# Those of the largest memory take long.
rounds_of() {
	if [ "$1" -gt 65536 ]; then echo 1; else echo "$ROUNDS"; fi
}

# measure POLICY BACKING WAY PAGES
measure() {
	_unmaps=$(unmap_events_total)
	_cell=$(taskset -c $CPU bench-exit "$@") || return
	echo "$_cell $(($(unmap_events_total) - _unmaps))" >>$CELLS
}

# in_turns BACKING WAY PAGES
in_turns() {
	_round=1
	while [ $_round -le "$(rounds_of "$3")" ]; do
		[ "$2" = teardown ] || measure stock "$@"
		measure fast "$@"
		_round=$((_round + 1))
	done
}

modprobe kvm_invpolicy
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p $GROUP
echo advise >/sys/kernel/mm/transparent_hugepage/shmem_enabled
: >$CELLS
for pages in $SIZES; do
	for backing in anon anon-thp memfd; do
		for way in munmap kill oom teardown; do
			note "$backing, $way with $pages pages"
			in_turns $backing $way "$pages"
		done
	done
done
result $CELLS
check measured [ -s $CELLS ]
