# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# VMs die in every way while memory is short and another VM runs: what they had is given back
# each time, and nobody is left.
# kvm: patched
# timeout: 1500

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

GROUPS_OF_ALL=/sys/fs/cgroup/all
VICTIM=$GROUPS_OF_ALL/victim
# Of 24 MiB that the VMs have, as often as it can be had.
RECLAIM=4M
# The kernel's bookkeeping of a group.
REST_KIB=512

ROUNDS=$(sed -n 's/.*invp\.rounds=\([0-9]*\).*/\1/p' /proc/cmdline)
ROUNDS=${ROUNDS:-1}

# start_in GROUP NAME OPTION…: what is charged to a group stays there.
start_in() {
	echo $$ >"$1/cgroup.procs"
	shift
	_status=0
	start_vmm "$@" || _status=$?
	echo $$ >/sys/fs/cgroup/cgroup.procs
	return $_status
}

# Without swap nothing can be reclaimed of private memory.
end_by_oom() {
	echo 0 >$VICTIM/memory.swap.max
	echo 1M >$VICTIM/memory.max &
	_limit=$!
	# shellcheck disable=SC2154 # set by start_vmm
	wait "$victim_PID" 2>/dev/null || true
	wait $_limit
}

end_by_kill_while_discarding() {
	ctl victim split >/dev/null
	ctl victim discard-all >/dev/null 2>&1 &
	_discard=$!
	sleep 0.0$((round % 10))
	kill -KILL "$victim_PID"
	wait "$victim_PID" $_discard 2>/dev/null || true
}

# end WAY
end() {
	case $1 in
	kill) kill -KILL "$victim_PID"; wait "$victim_PID" 2>/dev/null || true ;;
	kill-while-discarding) end_by_kill_while_discarding ;;
	oom) end_by_oom ;;
	unmap) ctl victim unmap-all && stop_vmm victim ;;
	teardown) kvm-invpolicy teardown "$victim_PID" && ctl victim verify && ctl victim unmap-all &&
		stop_vmm victim ;;
	esac
}

# KVM's page tables are the kernel's. What the group has is no measure: CPUs keep a reserve of it.
remaining_kib() {
	awk '$1 == "anon" || $1 == "file" || $1 == "kernel" { sum += $2 }
		END { print int(sum / 1024) }' $VICTIM/memory.stat
}

given_back() {
	[ "$(remaining_kib)" -le $REST_KIB ] &&
		[ "$(kvm-invpolicy list --json | grep -c '"id"')" -eq 1 ]
}

# A limit would do the same, but for a guest whose pages are always young: the kernel gives up
# there, and kills somebody.
reclaim_for_ever() {
	while :; do
		echo $RECLAIM >$GROUPS_OF_ALL/memory.reclaim 2>/dev/null || true
		sleep 0.1
	done
}

was_reclaimed() {
	[ "$(vmstat pswpout)" -gt "$swapped" ]
}

# one_round WAY BACKING
one_round() {
	mkdir $VICTIM || return
	start_in $VICTIM victim --memory 8 --vcpus 2 --backing "$2" || return
	# shellcheck disable=SC2154 # set by start_vmm
	kvm-invpolicy attach "$victim_PID" exit=fast || return
	wait_for 120 swept_twice victim || return
	end "$1" || return
	if ! wait_for 30 given_back; then
		echo "$(remaining_kib) KiB of the VM remain"
		return 1
	fi
	wait_for 10 rmdir $VICTIM
}

# rounds WAY
rounds() {
	round=0
	while [ $round -lt "$ROUNDS" ]; do
		case $((round % 3)) in
		0) _backing=anon ;;
		1) _backing=memfd ;;
		2) _backing=anon-thp ;;
		esac
		one_round "$1" "$_backing" || {
			echo "round $round, $_backing"
			return 1
		}
		round=$((round + 1))
	done
}

modprobe kvm_invpolicy
swap_on 128
swapped=$(vmstat pswpout)
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p $GROUPS_OF_ALL/neighbour
echo +memory >$GROUPS_OF_ALL/cgroup.subtree_control
start_in $GROUPS_OF_ALL/neighbour neighbour --memory 16 --vcpus 2
# shellcheck disable=SC2154 # set by start_vmm
kvm-invpolicy attach "$neighbour_PID"
reclaim_for_ever &
reclaimer=$!
for way in unmap kill kill-while-discarding oom teardown; do
	check "$ROUNDS-times-$way" rounds $way
done
kill $reclaimer
note "$(vmstat pswpout) pages swapped out, $(vmstat pswpin) in"
check memory-was-short was_reclaimed
check no-zombie wait_for 10 no_zombie
check neighbour-unharmed stop_vmm neighbour
rmdir $GROUPS_OF_ALL/neighbour
check group-given-back wait_for 20 rmdir $GROUPS_OF_ALL
check swap-off swap_off
