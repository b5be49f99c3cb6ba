# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Takes the steps of one lane, until there are no more, time is up, or something is wrong.
#
#	lane.sh LANE

# shellcheck source-path=SCRIPTDIR source=../scenarios/lib.sh
. /lib/scenarios/lib.sh
# shellcheck source=/dev/null
. /etc/torture.settings

LANE=$1
GROUP=/sys/fs/cgroup/torture/$LANE
RUN=/run/torture
# The process of the VM, and others that have its VM or its memory.
PID=
OTHERS=

# wrong NAME TEXT: all lanes stop.
wrong() {
	[ -e $RUN/stop ] || fail "$LANE-$1" "step $number: $step: $2"
	touch $RUN/stop
	exit 1
}

# Codes of kvm-invpolicy that a step must be ready for: the module is not loaded, as the
# host's lane changes it, or the VM has a policy already, or none.
policy() {
	_code=0
	kvm-invpolicy "$@" >$RUN/"$LANE".policy 2>&1 || _code=$?
	case $_code in
	0 | 3 | 9 | 10) return $_code ;;
	esac
	wrong "policy" "kvm-invpolicy $*: status $_code: $(cat $RUN/"$LANE".policy)"
}

vm() {
	ctl "$LANE" "$@" >$RUN/"$LANE".reply 2>&1 ||
		wrong "$1" "$*: $(cat $RUN/"$LANE".reply)"
}

# What is charged to a group stays there: the VMM starts in its own.
start() {
	mkdir -p "$GROUP"
	echo max >"$GROUP/memory.max"
	echo max >"$GROUP/memory.swap.max"
	echo $$ >"$GROUP/cgroup.procs"
	start_vmm "$LANE" --vcpus 2 "$@" || wrong start "$*"
	echo $$ >/sys/fs/cgroup/cgroup.procs
	eval "PID=\$${LANE}_PID"
	echo "$PID" >$RUN/"$LANE".pid
	ctl "$LANE" stat >$RUN/"$LANE".reply
	OTHERS="$(json_get keeper_pid <$RUN/"$LANE".reply) $(json_get sharer_pid <$RUN/"$LANE".reply)"
}

# The VM is seen off by what holds it: a file or a mapping that others have.
gone() {
	wait "$PID" 2>/dev/null || true
	for _other in $OTHERS; do
		kill -KILL "$_other" 2>/dev/null || true
	done
	PID=
	rm -f $RUN/"$LANE".pid
}

# The oracle's verdict is in the status of a VMM that ends by itself.
quit() {
	_found=$(ctl "$LANE" stat)
	ctl "$LANE" quit >/dev/null || wrong quit "the VMM is gone: $(tail -n 3 /run/"$LANE".out)"
	wait "$PID" || wrong oracle "$_found"
	gone
}

# kill_while COMMAND: at some moment of the steps that take all memory away.
kill_while() {
	ctl "$LANE" split >/dev/null
	ctl "$LANE" "$1" >/dev/null 2>&1 &
	_taking=$!
	sleep 0.0$((number % 10))
	kill -KILL "$PID"
	wait $_taking 2>/dev/null || true
	gone
}

kill_by_oom() {
	echo 0 >"$GROUP/memory.swap.max"
	echo 2M >"$GROUP/memory.max" 2>/dev/null &
	_limit=$!
	_tries=0
	while kill -0 "$PID" 2>/dev/null && [ $_tries -lt 50 ]; do
		sleep 0.2
		_tries=$((_tries + 1))
	done
	# Huge pages are not charged to the group: there was no need to kill it.
	kill -KILL "$PID" 2>/dev/null || true
	wait $_limit 2>/dev/null || true
	gone
}

ended() {
	[ "$(ctl "$LANE" stat | json_get ended)" -eq 2 ]
}

tear_down() {
	policy attach "$PID" || true
	if ! policy teardown "$PID"; then
		quit
		return
	fi
	wait_for 60 ended || wrong teardown "vCPUs run on: $(ctl "$LANE" stat)"
	vm verify
	vm discard-all
	vm unmap-all
	quit
}

end() {
	case $1 in
	quit) quit ;;
	kill) kill -KILL "$PID"; gone ;;
	kill-discarding) kill_while discard-all ;;
	kill-unmapping) kill_while unmap-all ;;
	oom) kill_by_oom ;;
	teardown) tear_down ;;
	esac
}

vm_step() {
	[ -n "$PID" ] || [ "$1" = start ] || return 0
	case $1 in
	start) [ -z "$PID" ] || quit; shift; start "$@" ;;
	end) end "$2" ;;
	attach | set) _verb=$1; shift; policy "$_verb" "$PID" "$@" || true ;;
	detach) policy detach "$PID" || true ;;
	paused) shift; vm pause; vm "$@"; vm resume ;;
	logged) shift; vm dirty-log on; vm "$@"; vm dirty-log get; vm dirty-log off ;;
	pinned) shift; vm io-buffer on; vm io-check "$@"; vm io-buffer off ;;
	blocked) vm mprotect "$2" "$3" "$4"; sleep 0.1; vm mprotect "$2" "$3" rw ;;
	slots) vm slot delete; vm slot add ;;
	ctl) shift; vm "$@" ;;
	*) wrong step "unknown step $1" ;;
	esac
}

reload() {
	rmmod kvm_invpolicy 2>/dev/null || true
	[ -e /sys/module/kvm_invpolicy ] || modprobe kvm_invpolicy "$@" ||
		wrong reload "modprobe kvm_invpolicy $*"
}

# process NAME: of a lane's VM, if there is one now.
process() {
	cat $RUN/"$1".pid 2>/dev/null || true
}

# What the host asks for may just be impossible, and processes may be gone.
host_step() {
	case $1 in
	numa-on) numa_on "$2" "$3" ;;
	numa-off) numa_off ;;
	reclaim) echo "$2" >/sys/fs/cgroup/torture/memory.reclaim 2>/dev/null || true ;;
	compact) echo 1 >/proc/sys/vm/compact_memory ;;
	drop-caches) echo 3 >/proc/sys/vm/drop_caches ;;
	soft-dirty) echo 4 >/proc/"$(process "$2")"/clear_refs 2>/dev/null || true ;;
	thp) echo "$2" >/sys/kernel/mm/transparent_hugepage/enabled ;;
	ksm) echo "$2" >/sys/kernel/mm/ksm/run ;;
	reload) shift; reload "$@" ;;
	observe) kvm-invpolicy observe "$(process "$2")" --seconds 1 >/dev/null 2>&1 || true ;;
	*) wrong step "unknown step $1" ;;
	esac
}

take_step() {
	if [ "$LANE" = host ]; then
		host_step "$@"
		# It is to disturb the others, not to be all that happens.
		sleep 0.3
	else
		vm_step "$@"
	fi
}

leave() {
	for _other in $PID $OTHERS; do
		kill -KILL "$_other" 2>/dev/null || true
	done
}

trap leave EXIT
sed -n "s/^$LANE //p" /etc/torture >$RUN/"$LANE".steps
deadline=$(($(date +%s) + SECONDS_TO_RUN))
number=0
while read -r step; do
	if [ -e $RUN/stop ] || [ "$(date +%s)" -ge $deadline ]; then
		break
	fi
	number=$((number + 1))
	echo "step $LANE $number" >&4
	# shellcheck disable=SC2086 # words
	take_step $step
done <$RUN/"$LANE".steps
step='(the end)'
[ -z "$PID" ] || quit
[ -e $RUN/stop ] || ok "$LANE"
note "$LANE: $number steps"
