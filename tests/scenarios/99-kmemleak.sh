# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the scenarios before this one allocated has been freed, or can still be reached.
# kvm: debug
# timeout: 120

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

KMEMLEAK=/sys/kernel/debug/kmemleak

# An object counts only when it is some seconds old and its contents did not change
# between two scans. A module that is gone leaves bare addresses in a trace: any leak fails.
find_leaks() {
	echo scan >$KMEMLEAK
	sleep 7
	echo scan >$KMEMLEAK
	cat $KMEMLEAK >/run/leaks
}

check scan find_leaks
check no-leak [ ! -s /run/leaks ]
[ ! -s /run/leaks ] || note "$(head -n 60 /run/leaks)"
result /run/leaks
