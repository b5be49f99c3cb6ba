# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Beside a KVM without hooks the module observes, says so, and attaches nothing.
# kvm: stock
# timeout: 180

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

status_of() {
	"$@" >/run/tool 2>&1 && echo 0 || echo $?
}

check module-absent [ "$(status_of kvm-invpolicy features)" = 3 ]
dmesg -c >/dev/null
modprobe kvm_invpolicy
check says-so-once [ "$(dmesg | grep -c 'kvm_invpolicy: .*observe mode')" -eq 1 ]
check status [ "$(status_of kvm-invpolicy status)" = 0 ]

start_vmm vm --memory 32
# shellcheck disable=SC2154 # set by start_vmm
pid=$vm_PID
check attach-refused [ "$(status_of kvm-invpolicy attach "$pid")" = 5 ]

observe() {
	kvm-invpolicy observe "$pid" --seconds "$1" --json >/run/observed
}

observed() {
	json_get "$1" </run/observed
}

numa_off
observe 2
check quiet-without-balancing [ "$(observed numa_events)" -eq 0 ]

# The tracepoint in KVM counts the same events as the module.
numa_on 16 300
before=$(unmap_events "$pid")
observe 8
after=$(unmap_events "$pid")
note "numa_events $(observed numa_events), guest pages $(observed numa_guest_pages), KVM unmaps $((after - before))"
check numa-events-counted [ "$(observed numa_events)" -gt 0 ]
check not-more-than-kvm-saw [ "$(observed numa_events)" -le "$((after - before))" ]
check guest-pages-counted [ "$(observed numa_guest_pages)" -gt 0 ]
check guest-pages-within-bytes \
	[ "$(($(observed numa_guest_pages) * 4096))" -le "$(observed numa_bytes)" ]
numa_off

change_mappings() {
	sleep 1
	ctl vm munmap 100 64
	ctl vm dontneed 200 64
	ctl vm check-ro 300 64
	ctl vm mremap 400 64
}
change_mappings &
observe 6
wait $!
check unmap-counted [ "$(observed unmap_events)" -ge 1 ]
check others-counted [ "$(observed other_events)" -ge 3 ]
check no-numa-confused [ "$(observed numa_events)" -eq 0 ]

die_meanwhile() {
	sleep 2
	kill -KILL "$pid"
}
die_meanwhile &
observe 20
check end-of-process-seen [ "$(observed ended)" = true ]
check exit-counted [ "$(observed exit_events)" -ge 1 ]
check unload wait_for 5 rmmod kvm_invpolicy
