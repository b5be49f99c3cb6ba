#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds a kernel with the KUnit suites and runs them in QEMU.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The suites' folder in the kernel tree.
FOLDER=lib/kvm_invpolicy
BOOT_SECONDS=300

usage() {
	cat <<-'END'
	usage: kunit.sh [--arch x86|arm64] [SUITE[.TEST]]
	  Runs all KUnit suites, or those that a glob such as kvm_invpolicy_reason.* names.
	  Kernel tree and build are kept in the cache: only what changed is built again.
	END
}

# One run at a time: another would change the tree under this one's build.
lock_work_folder() {
	mkdir -p "$WORK"
	exec 9>"$WORK/lock"
	flock --nonblock 9 || {
		step "waiting for another kunit.sh that uses $WORK"
		flock 9
	}
}

# Hard links where possible: no file of this tree may be written in place.
link_kernel_tree() {
	rsync -a --link-dest="$SOURCE" --exclude=/.git --exclude="/$FOLDER" \
		--exclude=/lib/Kconfig.debug --exclude=/lib/Makefile "$SOURCE/" "$TREE/"
}

# Unchanged files keep their time, changed ones get the present: make goes by that.
copy_changed() {
	rsync -rlc --delete "$@"
}

copy_suites() {
	local stage=$WORK/stage

	rm -rf "$stage"
	mkdir -p "$stage"
	cp -r "$TOP/module/." "$stage"
	cp -r "$TOP/kunit/." "$stage"
	copy_changed "$stage/" "$TREE/$FOLDER/"
}

add_line() {
	local file=$1 line=$2

	{ cat "$SOURCE/$file"; printf '%s\n' "$line"; } >"$WORK/edited"
	copy_changed "$WORK/edited" "$TREE/$file"
}

prepare_tree() {
	step "linking the kernel tree to $TREE"
	link_kernel_tree
	copy_suites
	add_line lib/Kconfig.debug "source \"$FOLDER/Kconfig\""
	add_line lib/Makefile "obj-\$(CONFIG_KVM_INVPOLICY_KUNIT_TEST) += ${FOLDER##*/}/"
}

kunit() {
	local command=$1

	shift
	env -u MAKEFLAGS -u MAKELEVEL "$TREE/tools/testing/kunit/kunit.py" "$command" \
		--arch="${ARCHITECTURE/x86/x86_64}" ${CROSS_COMPILE:+"--cross_compile=$CROSS_COMPILE"} \
		--kunitconfig="$TREE/$FOLDER" --kunitconfig="$TREE/$FOLDER/$ARCHITECTURE.config" \
		--build_dir="$WORK/build" "$@"
}

build_kernel() {
	run_logged "building the KUnit kernel (about 7 minutes the first time)" \
		"$WORK/build.log" kunit build --jobs="$(nproc)" 9>&-
}

# Emulated CPUs that run in turns do not suffer from the emulator's fault with
# kernel text that is patched while another CPU runs it.
run_kernel() {
	local status=0

	kunit exec --timeout="$BOOT_SECONDS" \
		--qemu_args='-smp 2 -accel tcg,thread=single' "$@" |
		tee "$WORK/result.log" || status=$?
	grep -q '] Testing complete' "$WORK/result.log" ||
		die "the KUnit kernel came to no result (status $status): see $WORK/build/test.log"
}

count_of() {
	local sum=0 kind number

	for kind in "$@"; do
		number=$(sed -n "s/.*Testing complete.*[ ,]$kind: \([0-9]*\).*/\1/p" "$WORK/result.log")
		sum=$((sum + ${number:-0}))
	done
	printf '%d\n' "$sum"
}

# A suite can pass and still have upset the kernel, lockdep above all.
kernel_faults() {
	grep -E -f "$TOP/tests/init/fault-patterns" "$WORK/build/test.log" || true
}

report() {
	local passed failed skipped faults

	passed=$(count_of passed)
	failed=$(count_of failed crashed errors)
	skipped=$(count_of skipped)
	faults=$(kernel_faults)
	if [[ -n $faults ]]; then
		printf 'kernel log, whole in %s:\n%s\n' "$WORK/build/test.log" "$faults"
		failed=$((failed + 1))
	fi
	((skipped == 0)) || printf '# %d skipped\n' "$skipped"
	printf '%d passed, %d failed\n' "$passed" "$failed"
	((failed == 0 && passed > 0))
}

if [[ ${1:-} == --arch ]]; then
	set_architecture "${2:-}"
	shift 2
fi
case ${1:-} in
-h | --help) usage; exit 0 ;;
-*) usage >&2; exit 2 ;;
esac
(($# <= 1)) || { usage >&2; exit 2; }
for command in rsync python3 gcc make bc flex bison; do
	need_command "$command" kunit
done
for command in "$QEMU" "${CROSS_COMPILE}gcc"; do
	need_command "$command" "$RUN_GROUP"
done
SOURCE=$("$TOP/scripts/kernel.sh" source)
WORK=$CACHE/kunit/${SOURCE##*/}
[[ $ARCHITECTURE == x86 ]] || WORK+=-$ARCHITECTURE
TREE=$WORK/tree
lock_work_folder
prepare_tree
build_kernel
run_kernel "$@"
report
