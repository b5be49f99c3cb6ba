# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# QEMU runs a Linux guest with a policy: balloon, virtio-mem, save and restore, and the guest
# finds its memory as it left it.
# kvm: patched
# timeout: 1500

# shellcheck source-path=SCRIPTDIR source=../scenarios/lib.sh
. /lib/scenarios/lib.sh

SERIAL=/run/serial
# Not beside the outputs that are read at the end: reading a pipe would wait.
MONITOR=/run/qemu/monitor
STATE=/tmp/state
QEMU_PID=

# start_qemu OPTION…
start_qemu() {
	mkdir -p /run/qemu
	rm -f $SERIAL $MONITOR.in $MONITOR.out
	mkfifo $MONITOR.in $MONITOR.out
	/usr/bin/qemu-system-x86_64 -accel kvm -cpu host -smp 2 -machine pc -m 384M,slots=1,maxmem=1G \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel /lib/peer/vmlinuz -initrd /lib/peer/initramfs.cpio.gz \
		-append "console=ttyS0 quiet panic=-1 memhp_default_state=online_movable" \
		-serial file:$SERIAL -chardev pipe,id=monitor,path=$MONITOR -mon chardev=monitor \
		-device virtio-balloon-pci,id=balloon \
		-object memory-backend-ram,id=more,size=256M \
		-device virtio-mem-pci,id=vmem,memdev=more,requested-size=0 \
		"$@" >/run/qemu.log 2>&1 3>&- 4>&- &
	QEMU_PID=$!
	VMMS="$VMMS $QEMU_PID"
	# An end that nobody has open would stop QEMU.
	exec 7<>$MONITOR.in
	cat $MONITOR.out >/run/monitor.log &
	VMMS="$VMMS $!"
}

monitor() {
	echo "$*" >&7
}

# last WORD: the number of its last line.
last() {
	sed -n "s/^$1 \([0-9]*\).*/\1/p" $SERIAL | tail -n 1
}

sweeps_beyond() {
	_sweep=$(last sweep)
	[ "${_sweep:--1}" -gt "$1" ]
}

booted() {
	sweeps_beyond 0 || ! kill -0 $QEMU_PID
}

sweeps_on() {
	wait_for 200 sweeps_beyond "$(last sweep)" && no_error
}

no_error() {
	! grep '^error' $SERIAL
}

memory_below() {
	[ "$(last memory)" -lt "$1" ]
}

memory_above() {
	[ "$(last memory)" -gt "$1" ]
}

saved() {
	monitor info migrate
	grep -q 'Migration status: completed' /run/monitor.log
}

restored() {
	monitor info status
	tr -d '\r' </run/monitor.log | grep -q 'VM status: paused$'
}

# changes_memory NAME TEST KIB COMMAND: by a command to QEMU, until the guest has it.
changes_memory() {
	_change=$1
	_test=$2
	_kib=$3
	shift 3
	monitor "$*"
	check "$_change" wait_for 200 "$_test" "$_kib"
	check "$_change-sweeps-on" sweeps_on
}

modprobe kvm_invpolicy auto_attach=1 unmap=coalesce other=coalesce coalesce_min_pages=1 exit=fast
numa_on 64 1000
start_qemu
for _minute in 1 2 3 4 5 6 7 8 9 10; do
	! wait_for 60 booted || break
	note "$(cat /run/qemu.log; tail -n 3 $SERIAL)"
done
if ! sweeps_beyond 0; then
	fail boots "$(tail -n 20 $SERIAL; cat /run/qemu.log)"
	exit 1
fi
ok boots
full=$(last memory)
note "a guest of $full KiB sweeps 48 MiB"
changes_memory inflated memory_below $((full - 40 * 1024)) balloon 320
changes_memory deflated memory_above $((full - 8 * 1024)) balloon 384
changes_memory plugged memory_above $((full + 100 * 1024)) qom-set vmem requested-size 128M
changes_memory unplugged memory_below $((full + 8 * 1024)) qom-set vmem requested-size 0
take_counters $QEMU_PID
note "$(cat /run/counters)"
check numa-seen [ "$(counter numa_elided)" -gt 0 ]
check coalesced [ "$(counter coalesced_events)" -gt 0 ]

# A guest that goes on writing would never be saved here.
monitor stop
sweep=$(last sweep)
monitor "migrate \"exec:cat >$STATE\""
check saved wait_for 300 saved
monitor quit
check saved-ends wait $QEMU_PID
start_qemu -incoming "exec:cat $STATE"
check restored-waits wait_for 300 restored
monitor cont
check restored wait_for 300 sweeps_beyond "$sweep"
check restored-sweeps-on sweeps_on
kvm-invpolicy teardown $QEMU_PID
kill -KILL $QEMU_PID
wait $QEMU_PID || true
check no-error no_error
exec 7>&-
