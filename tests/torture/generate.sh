#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Prints the steps of a torture run, a line each: the lane that takes the step, and the step.
# The same seed gives the same steps on every host.
#
#	generate.sh SEED STEPS
#
# STEPS for each of the lanes vm0, vm1 and vm2, which have a VM each, and host. Each step can
# be left out without making another one wrong.
set -euo pipefail

PAGES=4096
# Never zero, from which xorshift does not come away.
STATE=$(($1 ^ 0x2545f4914f6cdd1d))
STEPS=$2

# random N: sets R to one of 0 … N-1 (xorshift64).
random() {
	((STATE ^= STATE << 13, STATE ^= (STATE >> 7) & 0x01ffffffffffffff, STATE ^= STATE << 17))
	R=$(((STATE & 0x7fffffffffffffff) % $1))
}

# pick WORD…: sets PICKED to one of them.
pick() {
	random $#
	shift "$R"
	PICKED=$1
}

# Small ones, and large ones that mostly are whole huge pages: about a mapping that is cut
# elsewhere the host sends events of its own, which hide that an operation's own was missed.
pick_range() {
	local count first

	if [[ $BACKING == hugetlb ]]; then
		random 8
		RANGE="$((R * 512)) 512"
		return
	fi
	pick 1 7 64 300 512 512 1024
	count=$PICKED
	random $((PAGES - count + 1))
	first=$R
	random 4
	((count < 512 || R == 0)) || first=$((first & ~511))
	RANGE="$first $count"
}

pick_settings() {
	pick kvm skip precise paced paced
	SETTINGS="numa=$PICKED"
	pick 4 64 1024
	SETTINGS+=" numa_pace_mbps=$PICKED"
	pick kvm coalesce
	SETTINGS+=" unmap=$PICKED"
	pick kvm coalesce
	SETTINGS+=" other=$PICKED"
	pick 1 16 600
	SETTINGS+=" coalesce_min_pages=$PICKED"
	pick kvm fast
	SETTINGS+=" exit=$PICKED"
}

start() {
	local more=

	pick anon anon-thp memfd hugetlb anon anon-thp memfd
	BACKING=$PICKED
	random 6
	case $R,$BACKING in
	0,*) more=' --keep-fd-in-child' ;;
	1,*) more=' --share-memory' ;;
	2,anon*) more=' --mergeable' ;;
	esac
	echo "$1 start --memory 16 --backing $BACKING$more"
	random 60
	LEFT=$((R + 5))
}

operation() {
	local words='munmap mapfixed mremap check-ro stamp' name

	case $BACKING in
	anon*) words+=' dontneed dontneed uffd-wp uffd-missing migrate pageout collapse fork' ;;
	memfd) words+=' punch punch dontneed uffd-wp migrate pageout collapse hammer' ;;
	hugetlb) words+=' punch punch' ;;
	esac
	# shellcheck disable=SC2086 # words
	pick $words
	name=$PICKED
	pick_range
	OPERATION="$name $RANGE"
	case $name in
	fork) OPERATION=fork ;;
	migrate) random 2; OPERATION+=" $R" ;;
	# All vCPUs write to a few pages; it takes seconds.
	hammer) OPERATION="hammer ${RANGE% *} 1" ;;
	esac
}

vm_step() {
	random 20
	case $R in
	0 | 1) pick_settings; echo "$1 attach $SETTINGS" ;;
	2) pick_settings; echo "$1 set $SETTINGS" ;;
	3) echo "$1 detach" ;;
	# Only who runs can hammer.
	4) operation; echo "$1 paused ${OPERATION/#hammer*/verify}" ;;
	5) operation; echo "$1 logged $OPERATION" ;;
	6) pick_range; echo "$1 pinned $RANGE" ;;
	7) pick_range; pick none ro; echo "$1 blocked $RANGE $PICKED" ;;
	8) pick slots "ctl slot cycle" "ctl verify" "ctl split" "ctl placement"; echo "$1 $PICKED" ;;
	9) pick 1,2 3,4 1,2,3,4 none; echo "$1 ctl pin $PICKED" ;;
	10) pick on off; echo "$1 ctl mbind $PICKED" ;;
	*) operation; echo "$1 ctl $OPERATION" ;;
	esac
}

end() {
	pick quit quit kill kill-discarding kill-unmapping teardown oom
	echo "$1 end $PICKED"
}

vm_lane() {
	local i

	LEFT=0
	for ((i = 0; i < STEPS; i++)); do
		if ((LEFT == 0)); then
			((i == 0)) || end "$1"
			start "$1"
		else
			vm_step "$1"
			LEFT=$((LEFT - 1))
		fi
	done
}

host_step() {
	random 12
	case $R in
	0 | 1) pick "64 1000" "16 200" "4 50" "256 500"; echo "host numa-on $PICKED" ;;
	2) echo host numa-off ;;
	3 | 4) pick 2 8 24; echo "host reclaim ${PICKED}M" ;;
	5) echo host compact ;;
	6) echo host drop-caches ;;
	7) pick vm0 vm1 vm2; echo "host soft-dirty $PICKED" ;;
	8) pick always madvise never; echo "host thp $PICKED" ;;
	9) pick_settings; pick 0 1; echo "host reload $SETTINGS auto_attach=$PICKED" ;;
	10) pick 0 1; echo "host ksm $PICKED" ;;
	11) pick vm0 vm1 vm2; echo "host observe $PICKED" ;;
	esac
}

host_lane() {
	local i

	BACKING=
	for ((i = 0; i < STEPS; i++)); do
		host_step
	done
}

for lane in vm0 vm1 vm2; do
	vm_lane $lane
done
host_lane
