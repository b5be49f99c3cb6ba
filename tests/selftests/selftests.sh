# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Runs each of KVM's selftests in every mode, and says what became of it.
# kvm: stock patched
# timeout: 7000

# shellcheck source-path=SCRIPTDIR source=../scenarios/lib.sh
. /lib/scenarios/lib.sh

RESULTS=/run/selftests.txt
SECONDS_EACH=90
# What kselftest takes for a test that cannot run here.
SKIPPED=4

load() {
	[ ! -e /sys/module/kvm_invpolicy ] || wait_for 20 rmmod kvm_invpolicy
	case $1 in
	stock | unattached) ;;
	paced) modprobe kvm_invpolicy auto_attach=1 numa=paced unmap=coalesce other=coalesce \
		coalesce_min_pages=1 exit=fast ;;
	*) modprobe kvm_invpolicy auto_attach=1 numa="$1" ;;
	esac
}

outcome() {
	case $1 in
	0) echo pass ;;
	"$SKIPPED") echo skip ;;
	124 | 137 | 143) echo timeout ;;
	*) echo "fail-$1" ;;
	esac
}

# run TEST MODE
run() {
	_status=0
	# shellcheck disable=SC2046 # words
	timeout -s KILL $SECONDS_EACH /lib/selftests/"$1" \
		$(awk -v test="$1" '$1 == test { $1 = ""; print }' /etc/arguments) \
		>/run/selftest.log 2>&1 </dev/null || _status=$?
	_outcome=$(outcome $_status)
	echo "$1 $2 $_outcome" >>$RESULTS
	note "$1 $2: $_outcome"
	case $_outcome in
	fail* | timeout) note "$(tail -n 8 /run/selftest.log)" ;;
	esac
}

: >$RESULTS
echo 64 >/proc/sys/vm/nr_hugepages
numa_on 64 1000
while read -r mode; do
	load "$mode"
	while read -r test; do
		run "$test" "$mode"
	done </etc/tests
done </etc/modes
echo 0 >/proc/sys/vm/nr_hugepages
result $RESULTS
check ran [ -s $RESULTS ]
