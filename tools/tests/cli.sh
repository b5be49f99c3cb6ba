#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the command does on a host without the module. Usage: cli.sh [PATH-OF-KVM-INVPOLICY]
# As root it also fakes /sys/module and /dev in mount namespaces of its own.
set -euo pipefail

tool=$(realpath "${1:-build/kvm-invpolicy}")
top=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
number=0 passed=0 failed=0

result() { # OK NAME [WHY]
	number=$((number + 1))
	if [[ $1 == ok ]]; then
		passed=$((passed + 1))
		echo "ok $number - $2"
	else
		failed=$((failed + 1))
		echo "not ok $number - $2"
		echo "# ${3//$'\n'/$'\n'# }"
	fi
}

skip() { # NAME WHY
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

run() { # COMMAND…: leaves $code, $out, $err
	code=0
	"$@" >"$scratch/out" 2>"$scratch/err" || code=$?
	out=$(<"$scratch/out")
	err=$(<"$scratch/err")
}

# One line on stderr that begins with the name and has a remedy after the last ": ".
fails() { # NAME CODE PATTERN COMMAND…
	local name=$1 want=$2 pattern=$3
	shift 3
	run "$@"
	if [[ $code == "$want" && $err == "kvm-invpolicy: "*": "* && $err != *$'\n'* &&
		$err == *"$pattern"* ]]; then
		result ok "$name"
	else
		result bad "$name" "exit $code, wanted $want and '$pattern'"$'\n'"$err"
	fi
}

prints() { # NAME CODE TEXT COMMAND…: stdout is exactly TEXT
	local name=$1 want=$2 text=$3
	shift 3
	run "$@"
	if [[ $code == "$want" && $out == "$text" ]]; then
		result ok "$name"
	else
		result bad "$name" "exit $code, wanted $want; difference:"$'\n'"$(diff <(echo "$text") <(echo "$out"))"
	fi
}

# Runs COMMAND where /sys/module is $scratch/module and /dev is $scratch/dev.
elsewhere() { # COMMAND…
	# shellcheck disable=SC2016 # $0 and $@ belong to the inner shell
	unshare --mount bash -c 'mount --bind "$0/module" /sys/module && mount --bind "$0/dev" /dev && exec "$@"' \
		"$scratch" "$@"
}

nobody() { # COMMAND…
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

fake_host() {
	rm -rf "${scratch:?}/module" "${scratch:?}/dev"
	mkdir -p "$scratch/module/kvm/parameters" "$scratch/dev"
	chmod 755 "$scratch"
}

fake_module() {
	mkdir -p "$scratch/module/kvm_invpolicy/parameters"
	echo 9.9.9 >"$scratch/module/kvm_invpolicy/version"
}

help_text() {
	cat <<-'END'
	Usage: kvm-invpolicy [COMMAND]

	Chooses how KVM reacts when the host changes the mappings of a VM's memory.

	Commands (without one: status):
	  status [--json]                      what is loaded, the defaults and the attached VMs
	  features [--json]                    which settings this kernel and module can do, and why not
	  list [--json]                        the attached VMs
	  attach PID [SETTING...]              give every VM of a process a policy
	  detach PID                           give every VM of a process back to KVM's own behaviour
	  set PID SETTING...                   change the policy of the attached VMs of a process
	  teardown PID                         end the attached VMs of a process for good, so that their memory goes fast
	  stat PID [--json]                    what the attached VMs of a process counted since attach
	  observe PID [--seconds N] [--json]   count what a policy would spare a process; changes nothing

	Settings: see attach --help

	Options:
	  --help     this text; after a command: what that command takes
	  --version  the versions of this tool and of the loaded module

	Exit codes, JSON keys and examples: man 8 kvm-invpolicy
	END
}

test_help() {
	local command
	prints "help" 0 "$(help_text)" "$tool" --help
	for command in status features list attach detach set teardown stat observe; do
		run "$tool" "$command" --help
		if [[ $code == 0 && $out == "Usage: kvm-invpolicy $command"* && -z $err ]]; then
			result ok "$command --help"
		else
			result bad "$command --help" "exit $code"$'\n'"$out$err"
		fi
	done
	prints "attach --help names the consequence of numa=skip" 0 \
		"                        the placement of guest memory no longer follows guest accesses" \
		sh -c "'$tool' attach --help | grep placement"
	prints "attach --help says what coalesce_min_pages is" 0 \
		"  coalesce_min_pages=N  leave events of fewer pages to KVM, 1 to 1048576" \
		sh -c "'$tool' attach --help | grep coalesce_min_pages"
}

test_usage() {
	local choices="use numa=kvm|skip|precise|paced, numa_pace_mbps=1..65536,"
	choices+=" unmap=kvm|coalesce, other=kvm|coalesce, coalesce_min_pages=1..1048576 or exit=kvm|fast"
	local pid seconds rate pages setting
	fails "unknown command" 2 "--help" "$tool" frobnicate
	fails "unknown option" 2 "use 'kvm-invpolicy status [--json]'" "$tool" status --verbose
	fails "--json where nothing is read" 2 "use 'kvm-invpolicy attach PID" "$tool" attach $$ --json
	fails "second PID" 2 "does not take '2'" "$tool" attach $$ 2
	fails "no PID" 2 "needs a PID" "$tool" stat
	for pid in x 0 +1 1x 99999999999 ""; do
		fails "bad PID '$pid'" 2 "bad PID '$pid'" "$tool" stat "$pid"
	done
	fails "bad value lists the good ones" 2 "$choices" "$tool" attach $$ numa=fast
	fails "bad key lists the good ones" 2 "$choices" "$tool" set $$ speed=1
	fails "empty value lists the good ones" 2 "$choices" "$tool" attach $$ numa=
	fails "set without setting" 2 "$choices" "$tool" set $$
	for rate in 0 -1 +1 65537 99999999999 1.5 64M x ""; do
		fails "bad numa_pace_mbps=$rate lists the good ones" 2 "$choices" \
			"$tool" attach $$ numa=paced "numa_pace_mbps=$rate"
	done
	for pages in 0 -1 +1 1048577 99999999999 2M x ""; do
		fails "bad coalesce_min_pages=$pages lists the good ones" 2 "$choices" \
			"$tool" attach $$ unmap=coalesce "coalesce_min_pages=$pages"
	done
	for setting in unmap=skip unmap=coalesced unmap= other=paced other=Coalesce exit=skip exit= \
		unmap_other=kvm coalesce=1; do
		fails "bad setting $setting lists the good ones" 2 "$choices" "$tool" set $$ $setting
	done
	for seconds in 0 -5 x 1.5 86401; do
		fails "bad --seconds $seconds" 2 "from 1 to 86400" "$tool" observe $$ --seconds "$seconds"
	done
	fails "--seconds without number" 2 "from 1 to 86400" "$tool" observe $$ --seconds
	fails "output cannot be written" 1 "cannot write the output" sh -c "'$tool' --help >/dev/full"
}

test_process() {
	local command gone setting
	sleep 0 &
	gone=$!
	wait "$gone"
	for command in attach detach teardown stat observe; do
		fails "$command: no such process" 7 "no process $gone" "$tool" "$command" "$gone"
		fails "$command: process without VM" 8 "has no VM" "$tool" "$command" $$
	done
	for setting in numa=kvm numa=skip numa=precise numa=paced numa_pace_mbps=1 numa_pace_mbps=65536 \
		unmap=kvm unmap=coalesce other=kvm other=coalesce \
		coalesce_min_pages=1 coalesce_min_pages=1048576 exit=kvm exit=fast; do
		fails "set $setting: process without VM" 8 "has no VM" "$tool" set $$ $setting
	done
	fails "attach with two settings: process without VM" 8 "has no VM" \
		"$tool" attach $$ numa=paced numa_pace_mbps=32
	fails "attach with every setting: process without VM" 8 "has no VM" "$tool" attach $$ \
		numa=skip numa_pace_mbps=1 unmap=coalesce other=coalesce coalesce_min_pages=16 \
		exit=fast
	if [[ $EUID == 0 ]]; then
		fails "process of somebody else" 12 "run as root" nobody "$tool" stat $$
	else
		fails "process of somebody else" 12 "run as root" "$tool" stat 1
	fi
}

test_absent() {
	if [[ -e /sys/module/kvm_invpolicy ]]; then
		skip "module absent" "the module is loaded"
		return
	fi
	fails "list without module" 3 "modprobe kvm_invpolicy" "$tool" list
	fails "status without module" 3 "modprobe kvm_invpolicy" "$tool" status
	fails "bare call without module" 3 "modprobe kvm_invpolicy" "$tool"
	fails "features without module" 3 "modprobe kvm_invpolicy" "$tool" features --json
	prints "--version without module" 0 \
		"kvm-invpolicy $(<"$top/VERSION")"$'\n'"module kvm_invpolicy not loaded" "$tool" --version
}

test_faked_host() {
	if ! unshare --mount true 2>/dev/null; then
		skip "faked hosts" "needs root, for mount namespaces"
		return
	fi
	fake_host
	fails "kvm without hooks, no module" 3 "modprobe" elsewhere "$tool" status
	fake_host
	echo 4 >"$scratch/module/kvm/parameters/invalidate_policy_version"
	fails "kvm with our hooks, no module" 3 "modprobe" elsewhere "$tool" status
	echo 7 >"$scratch/module/kvm/parameters/invalidate_policy_version"
	fails "kvm with other hooks" 6 "hook version 7, kvm_invpolicy needs version 4: build" elsewhere "$tool"
	fails "list on kvm with other hooks" 6 "from the same tree" elsewhere "$tool" list
	fake_host
	fake_module
	fails "module without device" 3 "/dev/kvm-invpolicy is missing" elsewhere "$tool" list
	install -m 600 /dev/null "$scratch/dev/kvm-invpolicy"
	fails "device unreadable" 4 "udev rule" elsewhere setpriv --reuid=65534 --clear-groups "$tool" status
	fails "device of something else" 1 "same version" elsewhere "$tool" list
	prints "--version with module" 0 \
		"kvm-invpolicy $(<"$top/VERSION")"$'\n'"module kvm_invpolicy 9.9.9" elsewhere "$tool" --version
	printf 'a"b\\c\001' >"$scratch/module/kvm_invpolicy/parameters/odd"
	run elsewhere "$tool" status --json
	if [[ $out == *'"odd":"a\"b\\c\u0001"'* ]]; then
		result ok "JSON strings are escaped"
	else
		result bad "JSON strings are escaped" "$out"
	fi
}

test_json() {
	local command
	if ! command -v jq >/dev/null; then
		skip "JSON is valid" "jq is not installed"
		return
	fi
	for command in status features; do
		run "$tool" "$command" --json
		if jq -es 'length == 1 and (.[0] | type) == "object"' <<<"$out" >/dev/null 2>&1; then
			result ok "$command --json is one object"
		else
			result bad "$command --json is one object" "$out"
		fi
	done
}

# What bash offers for the last of WORDS.
completions() { # WORDS…
	PATH=$(dirname "$tool"):$PATH bash -c '
		compopt() { :; }
		. "$0"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_kvm_invpolicy
		echo "${COMPREPLY[*]}"' "$top/tools/kvm-invpolicy.bash-completion" "$@"
}

test_completion() {
	local numa="numa=kvm numa=skip numa=precise numa=paced numa_pace_mbps="
	local flush="unmap=kvm unmap=coalesce other=kvm other=coalesce coalesce_min_pages= exit=kvm exit=fast"
	if [[ ${tool##*/} != kvm-invpolicy ]]; then
		skip "completion" "it calls kvm-invpolicy, not ${tool##*/}"
		return
	fi
	prints "completion of a setting" 0 "$numa" completions kvm-invpolicy set 1 numa
	prints "completion of another setting" 0 "other=kvm other=coalesce" \
		completions kvm-invpolicy set 1 o
	prints "completion of a number's setting" 0 "coalesce_min_pages=" \
		completions kvm-invpolicy attach 1 numa=skip c
	prints "completion of the value of a setting" 0 "precise paced" \
		completions kvm-invpolicy set 1 numa = p
	prints "completion offers all that attach takes" 0 "$numa $flush --help" \
		completions kvm-invpolicy attach 1 ""
}

test_help
test_usage
test_process
test_absent
test_faked_host
test_json
test_completion
echo "1..$number"
echo "$passed passed, $failed failed"
((failed == 0))
