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

MODES="kvm, skip, precise or paced"
RATES="1 to 65536"
FLUSHES="kvm or coalesce"
PAGES="1 to 1048576"
EXITS="kvm or fast"

for value in kv skipp off 1 SKIP precis paced1; do
	check "load-numa-$value" refused_at_load "numa=$value" "numa=$value is no setting: use $MODES"
done
for value in 0 65537 -1 4294967297 64M 1.5 fast ''; do
	check "load-numa_pace_mbps-$value" refused_at_load "numa_pace_mbps=$value" \
		"numa_pace_mbps=$value is no setting: use $RATES"
done
for parameter in unmap other; do
	for value in kv coalesced skip 1 ''; do
		check "load-$parameter-$value" refused_at_load "$parameter=$value" \
			"$parameter=$value is no setting: use $FLUSHES"
	done
done
for value in 0 1048577 -1 4294967297 2M x ''; do
	check "load-coalesce_min_pages-$value" refused_at_load "coalesce_min_pages=$value" \
		"coalesce_min_pages=$value is no setting: use $PAGES"
done
for value in kv faster skip 1 ''; do
	check "load-exit-$value" refused_at_load "exit=$value" "exit=$value is no setting: use $EXITS"
done
check load-auto_attach refused_at_load auto_attach=maybe "auto_attach=maybe is no setting: use 0 or 1"
check load-observe_only refused_at_load observe_only=2 "observe_only=2 is no setting: use 0 or 1"

check load-defaults modprobe kvm_invpolicy
check numa-default [ "$(cat $PARAMETERS/numa)" = paced ]
rmmod kvm_invpolicy
check load-good modprobe kvm_invpolicy numa=kvm auto_attach=0
check numa-readable [ "$(cat $PARAMETERS/numa)" = kvm ]
for value in x kvm,skip ' '; do
	check "sysfs-numa-'$value'" refused_in_sysfs numa "$value" "numa=$value is no setting: use $MODES"
done
check exit-default [ "$(cat $PARAMETERS/exit)" = kvm ]
check sysfs-exit refused_in_sysfs exit quick "exit=quick is no setting: use $EXITS"
check exit-unchanged [ "$(cat $PARAMETERS/exit)" = kvm ]
check numa_pace_mbps-default [ "$(cat $PARAMETERS/numa_pace_mbps)" = 256 ]
for value in 00 70000 x '1 2'; do
	check "sysfs-numa_pace_mbps-'$value'" refused_in_sysfs numa_pace_mbps "$value" \
		"numa_pace_mbps=$value is no setting: use $RATES"
done
check numa_pace_mbps-unchanged [ "$(cat $PARAMETERS/numa_pace_mbps)" = 256 ]
for parameter in unmap other; do
	check "$parameter-default" [ "$(cat $PARAMETERS/$parameter)" = kvm ]
	for value in x kvm,coalesce ' '; do
		check "sysfs-$parameter-'$value'" refused_in_sysfs $parameter "$value" \
			"$parameter=$value is no setting: use $FLUSHES"
	done
	check "$parameter-unchanged" [ "$(cat $PARAMETERS/$parameter)" = kvm ]
done
check coalesce_min_pages-default [ "$(cat $PARAMETERS/coalesce_min_pages)" = 16 ]
for value in 00 1048577 x '1 2'; do
	check "sysfs-coalesce_min_pages-'$value'" refused_in_sysfs coalesce_min_pages "$value" \
		"coalesce_min_pages=$value is no setting: use $PAGES"
done
check coalesce_min_pages-unchanged [ "$(cat $PARAMETERS/coalesce_min_pages)" = 16 ]
check sysfs-auto_attach refused_in_sysfs auto_attach 7 "auto_attach=7 is no setting: use 0 or 1"
check sysfs-observe_only sh -c "! echo 1 >$PARAMETERS/observe_only"
check numa-unchanged [ "$(cat $PARAMETERS/numa)" = kvm ]
takes() {
	echo "$2" >"$PARAMETERS/$1" && [ "$(cat "$PARAMETERS/$1")" = "$2" ]
}
for value in precise paced kvm skip; do
	check "sysfs-numa-$value" takes numa $value
done
for value in 1 65536 48; do
	check "sysfs-numa_pace_mbps-$value" takes numa_pace_mbps $value
done
for value in coalesce kvm; do
	check "sysfs-unmap-$value" takes unmap $value
	check "sysfs-other-$value" takes other $value
done
for value in 1 1048576 24; do
	check "sysfs-coalesce_min_pages-$value" takes coalesce_min_pages $value
done

start_vmm vm --memory 8
status_of() {
	"$@" >/run/tool 2>&1 && echo 0 || echo $?
}
says() { # PATTERN COMMAND…
	_pattern=$1
	shift
	"$@" | grep -e "$_pattern"
}
stat_of() {
	kvm-invpolicy stat "$1" --json | json_get "$2"
}
# sets COMMAND PID MODE RATE SETTING…: the module says afterwards what it was told.
sets() {
	_command=$1 _pid=$2 _mode=$3 _rate=$4
	shift 4
	[ "$(status_of kvm-invpolicy "$_command" "$_pid" "$@")" = 0 ] &&
		[ "$(stat_of "$_pid" numa)" = "$_mode" ] &&
		[ "$(stat_of "$_pid" numa_pace_mbps)" = "$_rate" ]
}
# coalesces COMMAND PID UNMAP OTHER PAGES SETTING…: the same for these three.
coalesces() {
	_command=$1 _pid=$2 _unmap=$3 _other=$4 _pages=$5
	shift 5
	[ "$(status_of kvm-invpolicy "$_command" "$_pid" "$@")" = 0 ] &&
		[ "$(stat_of "$_pid" unmap)" = "$_unmap" ] &&
		[ "$(stat_of "$_pid" other)" = "$_other" ] &&
		[ "$(stat_of "$_pid" coalesce_min_pages)" = "$_pages" ]
}
check features-modes says '^numa=paced  *yes' kvm-invpolicy features
check features-rate says '^numa_pace_mbps is 1 to 65536 MiB per second, 48 by default$' kvm-invpolicy features
check features-flushes says '^unmap=coalesce  *yes' kvm-invpolicy features
check features-pages says '^coalesce_min_pages is 1 to 1048576 pages, 24 by default$' kvm-invpolicy features
check status-default says '^defaults  *numa=skip numa_pace_mbps=48 unmap=kvm other=kvm coalesce_min_pages=24 exit=kvm$' \
	kvm-invpolicy status
# shellcheck disable=SC2154 # set by start_vmm
{
	check attach-bad-setting [ "$(status_of kvm-invpolicy attach "$vm_PID" numa=off)" = 2 ]
	check attach-bad-setting-lists grep -q 'kvm|skip|precise|paced' /run/tool
	check attach-bad-flush [ "$(status_of kvm-invpolicy attach "$vm_PID" unmap=skip)" = 2 ]
	check attach-bad-flush-lists grep -q 'unmap=kvm|coalesce, other=kvm|coalesce, ' /run/tool
	check attach [ "$(status_of kvm-invpolicy attach "$vm_PID" numa=kvm)" = 0 ]
	check attach-twice [ "$(status_of kvm-invpolicy attach "$vm_PID")" = 9 ]
	check set-bad-setting [ "$(status_of kvm-invpolicy set "$vm_PID" numa=)" = 2 ]
	check set [ "$(status_of kvm-invpolicy set "$vm_PID" numa=skip)" = 0 ]
	check detach [ "$(status_of kvm-invpolicy detach "$vm_PID")" = 0 ]
	check detach-twice [ "$(status_of kvm-invpolicy detach "$vm_PID")" = 10 ]

	# The rate comes from the parameter until it is set, and stays while the mode changes.
	check attach-precise sets attach "$vm_PID" precise 48 numa=precise
	check detach-precise [ "$(status_of kvm-invpolicy detach "$vm_PID")" = 0 ]
	check attach-paced sets attach "$vm_PID" paced 32 numa=paced numa_pace_mbps=32
	check set-kvm-from-paced sets set "$vm_PID" kvm 32 numa=kvm
	check set-precise-from-kvm sets set "$vm_PID" precise 32 numa=precise
	check set-skip-from-precise sets set "$vm_PID" skip 32 numa=skip
	check set-rate-alone sets set "$vm_PID" skip 65536 numa_pace_mbps=65536
	check set-rate-says-no-effect grep -q 'no effect before numa=paced' /run/tool
	check set-paced-from-skip sets set "$vm_PID" paced 65536 numa=paced
	check set-precise-from-paced sets set "$vm_PID" precise 65536 numa=precise
	check set-paced-from-precise sets set "$vm_PID" paced 7 numa_pace_mbps=7 numa=paced
	check list-says-rate says '  numa=paced numa_pace_mbps=7$' kvm-invpolicy list
	check stat-says-rate says 'attached, numa=paced numa_pace_mbps=7$' kvm-invpolicy stat "$vm_PID"
	check stat-shows-flushes says '^flushes made  *[0-9]' kvm-invpolicy stat "$vm_PID"
	check stat-shows-worker says '^rounds of the worker  *[0-9]' kvm-invpolicy stat "$vm_PID"
	check set-bad-rate [ "$(status_of kvm-invpolicy set "$vm_PID" numa_pace_mbps=0)" = 2 ]
	check set-bad-rate-lists grep -q 'numa_pace_mbps=1..65536' /run/tool
	check detach-paced [ "$(status_of kvm-invpolicy detach "$vm_PID")" = 0 ]
	check attach-default-mode sets attach "$vm_PID" skip 48
	check detach-default-mode [ "$(status_of kvm-invpolicy detach "$vm_PID")" = 0 ]
	check stat-hides-what-skip-has-not sh -c "kvm-invpolicy attach $vm_PID numa=skip &&
		! kvm-invpolicy stat $vm_PID | grep flushes && kvm-invpolicy detach $vm_PID"

	check attach-coalesce coalesces attach "$vm_PID" coalesce kvm 24 unmap=coalesce
	check set-other coalesces set "$vm_PID" coalesce coalesce 24 other=coalesce
	check list-says-coalesce says '  numa=skip unmap=coalesce other=coalesce coalesce_min_pages=24$' \
		kvm-invpolicy list
	check set-unmap-kvm coalesces set "$vm_PID" kvm coalesce 24 unmap=kvm
	check set-pages-alone coalesces set "$vm_PID" kvm coalesce 1 coalesce_min_pages=1
	check set-pages-has-effect sh -c '! grep "no effect" /run/tool'
	check stat-shows-coalesced says '^events coalesced  *[0-9]' kvm-invpolicy stat "$vm_PID"
	check set-all coalesces set "$vm_PID" kvm kvm 1048576 \
		coalesce_min_pages=1048576 unmap=kvm other=kvm
	check set-pages-says-no-effect grep -q 'no effect before unmap=coalesce or other=coalesce' /run/tool
	check detach-coalesce [ "$(status_of kvm-invpolicy detach "$vm_PID")" = 0 ]
	check attach-default-flush coalesces attach "$vm_PID" kvm kvm 24
	check detach-default-flush [ "$(status_of kvm-invpolicy detach "$vm_PID")" = 0 ]
	check attach-exit sets attach "$vm_PID" skip 48 exit=fast
	check list-says-exit says '  numa=skip exit=fast$' kvm-invpolicy list
	check set-exit-kvm sets set "$vm_PID" skip 48 exit=kvm
	check stat-exit-kvm [ "$(stat_of "$vm_PID" exit)" = kvm ]
	check detach-exit [ "$(status_of kvm-invpolicy detach "$vm_PID")" = 0 ]

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
