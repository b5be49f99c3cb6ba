# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The kinds of test machine: stock, patched, debug and arm64:CPU; to be sourced after lib.sh.

DEBUG_WORDS='panic_on_warn=1 page_poison=1 watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=240'
# How much longer than on x86 and a kernel without checkers things may take.
SLOWDOWN=1
export SLOWDOWN

known_kind() {
	[[ $1 == stock || $1 == patched || $1 == debug ]]
}

is_arm64() {
	[[ $1 == arm64:?* ]]
}

# Debug and arm64 machines boot alone, with a kernel of our own.
prepare_kind() {
	case $1 in
	debug) SLOWDOWN=4; use_built_kernel debug ;;
	arm64:*) SLOWDOWN=3; set_architecture arm64; use_built_kernel arm64 ;;
	esac
}

# build_for KIND: installs and builds all that its machine is made of.
build_for() {
	if is_arm64 "$1"; then
		"$TOP/scripts/setup.sh" arm64
	else
		"$TOP/scripts/setup.sh" build run
	fi
	[[ $1 != patched ]] || "$TOP/scripts/build-kvm.sh"
	prepare_kind "$1"
	build_user_space
}

# boot_options KIND: of boot.sh; the last one is the words of the command line.
boot_options() {
	case $1 in
	debug) printf '%s\n' --memory 4096 --append "invp.kvm=patched invp.slowdown=$SLOWDOWN $DEBUG_WORDS" ;;
	arm64:*) printf '%s\n' --arm64 "${1#arm64:}" --append "invp.kvm=patched invp.slowdown=$SLOWDOWN" ;;
	*) printf '%s\n' --append "invp.kvm=$1" ;;
	esac
}

# program_options: of initramfs.sh, for what every machine has.
program_options() {
	printf '%s\n' --arch "$ARCHITECTURE" \
		--file "$PRODUCTS/vmm:/bin/vmm" \
		--file "$PRODUCTS/static/kvm-invpolicy:/bin/kvm-invpolicy" \
		--file "$TOP/tests/scenarios/lib.sh:/lib/scenarios/lib.sh"
}

# module_options KIND: of initramfs.sh, where a policy can be attached.
module_options() {
	local name

	if [[ $1 == patched ]]; then
		for name in kvm kvm-amd kvm-intel kvm_invpolicy; do
			need_file "$BUILD/kvm/$name.ko" "run make modules"
		done
		printf '%s\n' --modules-dir "$BUILD/kvm"
	else
		printf '%s\n' --modules-dir "$KERNEL_ROOT/policy"
	fi
}
