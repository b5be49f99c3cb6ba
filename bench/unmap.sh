# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What it costs to take memory away from a VM, by KVM alone and otherwise, in turns.
# kvm: patched
# timeout: 5400

# shellcheck source-path=SCRIPTDIR source=../tests/scenarios/lib.sh
. /lib/scenarios/lib.sh

# What it sets: ROUNDS, SIZES in pages of 4 KiB, and CONTENDED, y or n.
# shellcheck source=/dev/null
. /etc/bench-settings

# The CPU that device interrupts do not go to.
CPU=1
CELLS=/run/cells.txt

# The counts are exact: what takes long is not repeated.
rounds_of() {
	if [ "$1" -gt 512 ]; then echo 1; else echo "$ROUNDS"; fi
}

# Each operation by KVM alone and coalesced; and what VMMs do last, also in a VM that was
# torn down, and without one.
policies_of() {
	case $1 in
	munmap) echo stock coalesce retired host ;;
	teardown) echo retired ;;
	*) echo stock coalesce ;;
	esac
}

measure() {
	_round=1
	while [ $_round -le "$(rounds_of "$3")" ]; do
		# shellcheck disable=SC2086 # words
		for _policy in $(policies_of $2); do
			taskset -c $CPU bench-unmap $_policy "$1" "$2" "$3" >>$CELLS
		done
		_round=$((_round + 1))
	done
}

# At least one huge page.
sizes_of() {
	for _pages in $SIZES; do
		case $1,$_pages in
		*-thp,1 | *-thp,16) ;;
		*) echo "$_pages" ;;
		esac
	done
}

modprobe kvm_invpolicy
echo advise >/sys/kernel/mm/transparent_hugepage/shmem_enabled
: >$CELLS
for backing in anon anon-thp memfd memfd-thp; do
	for pages in $(sizes_of $backing); do
		note "$backing, munmap of $pages pages"
		measure $backing munmap "$pages"
		measure $backing teardown "$pages"
		[ "$CONTENDED" = n ] || measure $backing munmap-contended "$pages"
	done
	for operation in mapfixed dontneed punch; do
		case $backing,$operation in
		anon*,punch) ;;
		*) measure $backing $operation 512 ;;
		esac
	done
done
result $CELLS
check measured [ -s $CELLS ]
