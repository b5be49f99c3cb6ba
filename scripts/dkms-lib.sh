# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Helpers shared by the scripts that drive DKMS; to be sourced.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

unset MAKEFLAGS MAKELEVEL
PACKAGE=kvm_invpolicy
VERSION=$(<"$TOP/VERSION")
DKMS_TREE=${DKMS_TREE:-/var/lib/dkms}
SOURCE_TREE=${SOURCE_TREE:-/usr/src}
INSTALL_TREE=${INSTALL_TREE:-/lib/modules}
ROOT=${INSTALL_TREE%/lib/modules}
KVM_CACHE=${XDG_CACHE_HOME:-/var/cache}/kvm_invpolicy/dkms
export PACKAGE VERSION KVM_CACHE

tree_usage() {
	cat <<-'END'
	  Variables: DKMS_TREE, SOURCE_TREE, INSTALL_TREE (…/lib/modules) for a private tree.
	END
}

check_trees() {
	[[ $(id -u) == 0 ]] || die "only root may change kernel modules: run this as root"
	[[ $INSTALL_TREE == */lib/modules ]] ||
		die "INSTALL_TREE is $INSTALL_TREE: give a folder that ends with /lib/modules"
}

run_dkms() {
	dkms "$@" --no-depmod --dkmstree "$DKMS_TREE" --sourcetree "$SOURCE_TREE" \
		--installtree "$INSTALL_TREE"
}

# dkms itself runs depmod on the machine's own modules, whatever the tree.
update_dependencies() {
	depmod -b "${ROOT:-/}" "$1"
}

module_path() {
	{ modinfo -b "${ROOT:-/}" -k "$1" -n "$2" 2>/dev/null || true; } | sed 's,^//,/,'
}

make_log() {
	find "$DKMS_TREE/$PACKAGE/$VERSION/$1" -name make.log
}

added_versions() {
	[[ ! -d $DKMS_TREE/$PACKAGE ]] ||
		find "$DKMS_TREE/$PACKAGE" -mindepth 2 -maxdepth 2 -name source -printf '%P\n' |
		sed 's,/source$,,'
}

# What DKMS builds from, and nothing else: no tests, no build products.
source_files() (
	cd "$TOP" || exit
	find LICENSE VERSION dkms.conf patches module scripts/dkms-stub \
		scripts/{lib,kernel,kvm-tree,dkms-source,dkms-build}.sh -type f \
		\( ! -path '*/dkms-stub/*' ! -path 'module/*' -o -name Kbuild \
		   -o -name '*.[ch]' ! -name '*.mod.c' \) \
		-print0 | sort -z
)

copy_source() {
	local target=$SOURCE_TREE/$PACKAGE-$VERSION

	rm -rf "$target"
	mkdir -p "$target"
	source_files | (cd "$TOP" && xargs -0 cp --parents -t "$target")
}

# DKMS reads dkms.conf to remove, too.
restore_source() {
	local version=$1

	[[ ! -e $SOURCE_TREE/$PACKAGE-$version/dkms.conf ]] || return 0
	[[ $version == "$VERSION" ]] ||
		die "$SOURCE_TREE/$PACKAGE-$version is missing, and DKMS needs it to remove that" \
			"version: check out version $version and run make dkms-uninstall there"
	copy_source
}

# use_private_tree BASE RELEASE: from here on the machine's own trees, signing key and
# /etc/dkms are left alone. The stock kvm is a copy: dkms looks through no link.
use_private_tree() {
	local base=$1 release=$2 stock

	stock=$(KERNEL_RELEASE=$release "$TOP/scripts/kernel.sh" modules)
	export DKMS_TREE=$base/dkms SOURCE_TREE=$base/src INSTALL_TREE=$base/lib/modules
	export mok_signing_key=$base/mok.key mok_certificate=$base/mok.pub
	export INVP_DKMS_CONF=$base/kvm_invpolicy.conf KERNEL_RELEASE=$release
	ROOT=$base
	rm -rf "$base"
	mkdir -p "$INSTALL_TREE/$release"
	(cd "$stock" && cp -r --parents -t "$INSTALL_TREE/$release" \
		modules.{builtin,builtin.modinfo,order} kernel/arch/x86/kvm kernel/virt)
	update_dependencies "$release"
}
