#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots the test machine in QEMU and judges its run.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
	cat <<-'END'
	usage: boot.sh --initrd FILE [--timeout SECONDS] [--memory MIB] [--results DIR] [--append WORDS]
	               [--plugin FILE,ARGUMENT…] [--arm64 CPU]
	  Verdicts go to stdout as they come. DIR (default build/run) receives
	  console.log, verdict.tap, qemu.log and files/, what the scenarios sent.
	  A plugin is loaded into QEMU, as its option -plugin says. --arm64 boots an arm64
	  machine whose CPUs are of that kind: neoverse-n1, cortex-a72, max and others.
	  Exit status: 0 all passed; 1 a test failed; 3 the run itself failed.
	END
}

INITRD=
TIMEOUT=600
MEMORY=3072
RESULTS=$BUILD/run
APPEND=
PLUGIN=()
MACHINE=(-cpu "EPYC,+svm")
CONSOLE=ttyS0

# KVM needs EL2, which is not there by default.
use_arm64() {
	set_architecture arm64
	MACHINE=(-machine "virt,virtualization=on,gic-version=3" -cpu "$1")
	CONSOLE=ttyAMA0
}

parse_arguments() {
	while (($#)); do
		case $1 in
		--initrd) INITRD=${2:?--initrd needs a file}; shift 2 ;;
		--timeout) TIMEOUT=${2:?--timeout needs seconds}; shift 2 ;;
		--memory) MEMORY=${2:?--memory needs MiB}; shift 2 ;;
		--results) RESULTS=${2:?--results needs a folder}; shift 2 ;;
		--append) APPEND=${2:?--append needs words}; shift 2 ;;
		--plugin) PLUGIN=(-plugin "${2:?--plugin needs a file}"); shift 2 ;;
		--arm64) use_arm64 "${2:?--arm64 needs a CPU}"; shift 2 ;;
		-h | --help) usage; exit 0 ;;
		*) usage >&2; exit 2 ;;
		esac
	done
	[[ -n $INITRD ]] || { usage >&2; exit 2; }
	need_file "$INITRD" "build one with scripts/initramfs.sh"
}

command_line() {
	# Half a minute without progress is nothing unusual for an emulated CPU.
	printf '%s ' console=$CONSOLE panic=-1 oops=panic log_buf_len=4M \
		numa_balancing=disable watchdog_thresh=30 \
		rcupdate.rcu_cpu_stall_timeout=60 "$APPEND"
}

# TCG everywhere, also where KVM could be had: one machine for all. CPU 0 runs no guest, see
# tests/init/init; each node has two CPUs for them.
start_qemu() {
	local node_size=$((MEMORY / 2))

	timeout --kill-after=10 "$TIMEOUT" "$QEMU" \
		-accel tcg,thread=multi "${MACHINE[@]}" -smp 5,sockets=5 \
		-m "$MEMORY" \
		-object "memory-backend-ram,size=${node_size}M,id=m0" \
		-object "memory-backend-ram,size=${node_size}M,id=m1" \
		-numa node,nodeid=0,cpus=0-2,memdev=m0 \
		-numa node,nodeid=1,cpus=3-4,memdev=m1 \
		-nodefaults -no-user-config -display none -no-reboot "${PLUGIN[@]}" \
		-serial "file:$RESULTS/console.log" \
		-device virtio-serial-pci \
		-chardev "file,id=verdict,path=$RESULTS/verdict.tap" \
		-device virtserialport,chardev=verdict,name=invp.verdict \
		-chardev "file,id=results,path=$RESULTS/results.raw" \
		-device virtserialport,chardev=results,name=invp.results \
		-kernel "$KERNEL" -initrd "$INITRD" -append "$(command_line)" \
		>"$RESULTS/qemu.log" 2>&1 &
	MACHINE_PID=$!
}

stop_qemu() {
	[[ -z ${MACHINE_PID:-} ]] || kill "$MACHINE_PID" 2>/dev/null || true
}

run_machine() {
	local stream

	rm -rf "$RESULTS"/{console.log,verdict.tap,qemu.log,results.raw,files}
	mkdir -p "$RESULTS/files"
	: >"$RESULTS/verdict.tap"
	QEMU_STATUS=0
	start_qemu
	tail -s 0.2 -n +1 -f --pid="$MACHINE_PID" "$RESULTS/verdict.tap" &
	stream=$!
	wait "$MACHINE_PID" || QEMU_STATUS=$?
	MACHINE_PID=
	wait "$stream" || true
}

unpack_results() {
	awk -v folder="$RESULTS/files" '
		/^file / { out = folder "/" $2; decode = "base64 -d >\"" out "\""; next }
		/^\.$/ { close(decode); next }
		decode { print | decode }' "$RESULTS/results.raw"
}

first_fault() {
	grep -m 1 -E -f "$TOP/tests/init/fault-patterns" "$RESULTS/console.log" || true
}

seen() {
	grep -q -E "$1" "$RESULTS/verdict.tap"
}

# Text that was just patched traps on a CPU that still ran the old text: the emulator's
# fault, not the kernel's.
emulator_fault() {
	! seen '^end$' && [[ $(first_fault) == *"Oops: int3:"* ]]
}

missing_gates() {
	seen '^ready$' || printf '"ready" '
	seen '^(ok|not ok) ' || printf '"a verdict" '
	seen '^end$' || printf '"end" '
}

explain_failed_run() {
	local missing=$1 reason="the machine stopped by itself (QEMU status $QEMU_STATUS)"

	[[ $QEMU_STATUS != 124 && $QEMU_STATUS != 137 ]] || reason="no end after $TIMEOUT s"
	grep -v "TCG doesn't support requested feature" "$RESULTS/qemu.log" >&2 || true
	[[ ! -e $RESULTS/console.log ]] || tail -n 70 "$RESULTS/console.log" >&2
	printf '%s: error: %s, without %s: see %s\n' "${0##*/}" "$reason" \
		"${missing% }" "$RESULTS/console.log" >&2
}

judge() {
	local missing

	missing=$(missing_gates)
	if [[ -n $missing ]]; then
		explain_failed_run "$missing"
		return 3
	fi
	! seen '^not ok '
}

parse_arguments "$@"
need_command "$QEMU" "$RUN_GROUP"
KERNEL=$("$TOP/scripts/kernel.sh" image)
trap stop_qemu EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
rm -f "$RESULTS/console-emulator.log"
for repeats_left in 2 1 0; do
	run_machine
	if ((repeats_left == 0)) || ! emulator_fault; then
		break
	fi
	mv "$RESULTS/console.log" "$RESULTS/console-emulator.log"
	printf '# repeated, %d left: a fault of the emulator (Oops: int3)\n' $((repeats_left - 1))
done
unpack_results
judge
