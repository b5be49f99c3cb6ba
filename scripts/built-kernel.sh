#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds a kernel of our own, with the companion patch in it, and the policy module for it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
	cat <<-'END'
	usage: built-kernel.sh debug|arm64|tree
	  debug   with the contract checker and the kernel's own checkers
	  arm64   small, for the emulated arm64 machines, built by a cross compiler
	  Prints the folder of the kernel, kept in the cache, with
	    boot/          its image
	    lib/modules/   its modules, KVM's among them
	    policy/        the policy module built for it
	  tree    prints a source tree with the patch for both architectures, not configured
	END
}

choose_kernel() {
	KIND=$1
	SERIES=(series series.arm64)
	case $KIND in
	debug) SERIES+=(series.debug); set_architecture x86; IMAGE=bzImage ;;
	arm64) set_architecture arm64; IMAGE=Image ;;
	tree) ;;
	*) usage >&2; exit 2 ;;
	esac
	CONFIG=$TOP/scripts/$KIND.config
}

# One run at a time: another would change the tree under this one's build.
lock_work_folder() {
	mkdir -p "$WORK"
	exec 9>"$WORK/lock"
	flock --nonblock 9 || {
		step "waiting for another built-kernel.sh that uses $WORK"
		flock 9
	}
}

find_patches() {
	local version line folder

	version=$(make -s --no-print-directory -C "$SOURCE" kernelversion)
	line=$(cut -d. -f1,2 <<<"$version")
	folder=$TOP/patches/linux-$line
	need_file "$folder/series" "$SOURCE is of a line without a patch: set KERNEL_SOURCE"
	cat "${SERIES[@]/#/$folder/}" | sed "s|^|$folder/|"
}

# The files that a patch changes, now or in an earlier run, are copies in the tree:
# a hard-linked file must not be written.
list_patched_files() {
	touch "$WORK/patched"
	{ cat "$WORK/patched"; sed -n 's|^+++ b/\([^\t]*\).*|\1|p' "${PATCHES[@]}"; } |
		sort -u -o "$WORK/patched"
}

patch_copies() {
	local stage=$1 file

	rm -rf "$stage"
	mkdir -p "$stage"
	while read -r file; do
		[[ ! -e $SOURCE/$file ]] || install -D -m 644 "$SOURCE/$file" "$stage/$file"
	done <"$WORK/patched"
	for file in "${PATCHES[@]}"; do
		patch --directory="$stage" --strip=1 --forward --fuzz=0 --silent --input="$file" ||
			die "$file does not apply to $SOURCE: this kernel source is not supported"
	done
}

# Files that did not change keep their time: make goes by that.
lay_out_tree() {
	list_patched_files
	patch_copies "$WORK/stage"
	step "linking the kernel tree to $TREE"
	rsync -a --delete --link-dest="$SOURCE" --exclude=/.git \
		--exclude-from=<(sed 's|^|/|' "$WORK/patched") "$SOURCE/" "$TREE/"
	rsync -rc "$WORK/stage/" "$TREE/"
}

kbuild() {
	env -u MAKEFLAGS -u MAKELEVEL make -C "$TREE" O="$WORK/build" \
		ARCH="$ARCHITECTURE" CROSS_COMPILE="$CROSS_COMPILE" "$@"
}

# kbuild drops in silence what lacks a dependency.
configure() {
	local lost

	run_logged "configuring" "$WORK/config.log" \
		kbuild KCONFIG_ALLCONFIG="$CONFIG" allnoconfig 9>&-
	lost=$(grep '^CONFIG_' "$CONFIG" | grep -vxFf "$WORK/build/.config" || true)
	[[ -z $lost ]] ||
		die "${CONFIG#"$TOP"/}:" "$lost" "is lost in $WORK/build/.config: add what it depends on"
}

install_kernel() {
	local release

	release=$(<"$WORK/build/include/config/kernel.release")
	rm -rf "${WORK:?}"/{boot,lib}
	install -D "$WORK/build/arch/$ARCHITECTURE/boot/$IMAGE" "$WORK/boot/vmlinuz-$release"
	kbuild -s INSTALL_MOD_PATH="$WORK" modules_install >&2
}

build_kernel() {
	local key

	key=$(cat "${PATCHES[@]}" "$CONFIG" "$0" | sha256sum)
	[[ $(cat "$WORK/built" 2>/dev/null) != "$key" ]] || return 0
	rm -f "$WORK/built"
	lay_out_tree
	configure
	run_logged "building the $KIND kernel (many minutes the first time)" \
		"$WORK/build.log" kbuild -j"$(nproc)" "$IMAGE" modules 9>&-
	install_kernel
	printf '%s\n' "$key" >"$WORK/built"
}

build_policy() {
	rsync -rc --delete --exclude='*.o' --exclude='.*' --exclude='*.ko' --exclude='*.mod*' \
		--exclude='[Mm]odule*.*' "$TOP/module" "$TOP/VERSION" "$WORK/policy-tree/"
	run_logged "building the policy module for it" "$WORK/policy.log" \
		kbuild M="$WORK/policy-tree/module" -j"$(nproc)" modules 9>&-
	install -D -t "$WORK/policy" "$WORK/policy-tree/module/kvm_invpolicy.ko"
}

case ${1:-} in -h | --help) usage; exit 0 ;; esac
(($# == 1)) || { usage >&2; exit 2; }
choose_kernel "$1"
for command in rsync gcc make bc flex bison patch; do
	need_command "$command" build
done
[[ -z $CROSS_COMPILE ]] || need_command "${CROSS_COMPILE}gcc" arm64
SOURCE=$("$TOP/scripts/kernel.sh" source)
WORK=$CACHE/$KIND/${SOURCE##*/}
TREE=$WORK/tree
mapfile -t PATCHES < <(find_patches)
((${#PATCHES[@]})) || exit 1
lock_work_folder
if [[ $KIND == tree ]]; then
	lay_out_tree
	printf '%s\n' "$TREE"
	exit
fi
build_kernel
build_policy
printf '%s\n' "$WORK"
