# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Attach, update and detach a thousand times while NUMA scans, mprotect and munmap run:
# a memslot delete, which waits for KVM's begin and end counts to meet, still returns.
# kvm: patched
# timeout: 300

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

# For each of the two VMs.
ROUNDS=500

# Detach waits for grace periods: short ones make for more races.
short_grace_periods() {
	echo "$1" >/sys/kernel/rcu_expedited
}

# Ends when /run/changing has gone, or with the first error.
change_mappings() {
	while [ -e /run/changing ]; do
		ctl "$1" check-ro 128 64 && ctl "$1" munmap 256 64 &&
			ctl "$1" mprotect 512 256 ro && ctl "$1" mprotect 512 256 rw || return
		echo round
	done
}

changes_seen() {
	if wait "$changes" && grep -q '^round' "/run/$1.changes"; then
		return
	fi
	tail -n 1 "/run/$1.changes"
	return 1
}

slots_return() {
	timeout 60 vmm ctl "/run/$1.sock" slot cycle &&
		timeout 60 vmm ctl "/run/$1.sock" slot delete &&
		timeout 60 vmm ctl "/run/$1.sock" slot add
}

# churn NAME: the VM is called as its memory is backed.
churn() {
	start_vmm "$1" --memory 16 --vcpus 4 --backing "$1"
	touch /run/changing
	change_mappings "$1" >"/run/$1.changes" &
	changes=$!
	eval "check $1-churn invp-ioctl churn \$${1}_PID $ROUNDS"
	note "$1: $(cat /run/check)"
	rm /run/changing
	check "$1-changes-seen" changes_seen "$1"
	check "$1-slots-return" slots_return "$1"
	check "$1-contents" stop_vmm "$1"
	note "$1: $(grep -c '^round' "/run/$1.changes") rounds of changes"
}

modprobe kvm_invpolicy
numa_on 4 50
short_grace_periods 1
churn anon
churn memfd
short_grace_periods 0
