#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs and uninstalls with DKMS in private trees: the machine's own stay as they are.
set -euo pipefail
# shellcheck source=scripts/dkms-lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/dkms-lib.sh"

MACHINE_TREES=("$DKMS_TREE" "$SOURCE_TREE" "$INSTALL_TREE" /etc/dkms /var/cache)
BASE=$BUILD/dkms-test
PASSED=0
FAILED=0

# check NAME COMMAND…: the test passes if the command succeeds. set -e does not hold in it.
check() {
	local name=$1 output

	shift
	if output=$("$@" 2>&1); then
		PASSED=$((PASSED + 1))
		printf 'ok - %s\n' "$name"
	else
		FAILED=$((FAILED + 1))
		printf 'not ok - %s\n' "$name"
		printf '# %s\n' "${output//$'\n'/$'\n# '}"
	fi
}

same() {
	[[ $1 == "$2" ]] || { printf 'have: %s\nwant: %s\n' "$1" "$2"; false; }
}

says() {
	local pattern=$1 output

	shift
	output=$("$@" 2>&1) || true
	grep -E -- "$pattern" <<<"$output" || { printf '%s\nhas no: %s\n' "$output" "$pattern"; false; }
}

machine_state() {
	find "${MACHINE_TREES[@]}" -maxdepth 2 -printf '%p %T@\n' | sort
}

# The part of a kernel source that DKMS builds from, to be spoilt.
fake_source() {
	local target=$1

	mkdir -p "$target"
	(cd "$REAL_SOURCE" && cp -r --parents -t "$target" Makefile scripts arch/x86/Makefile* \
		arch/x86/kvm virt/kvm include/linux/kvm_host.h)
}

choose() {
	printf '%s\n' "$@" >"$INVP_DKMS_CONF"
}

why_not() {
	"$TOP/scripts/dkms-source.sh" "${1:-$RELEASE}" "${2:-x86_64}" "$HEADERS"
}

install() {
	"$TOP/scripts/dkms-install.sh"
}

uninstall() {
	"$TOP/scripts/dkms-uninstall.sh"
}

# What a package hook runs: no HOME, no terminal.
autoinstall() {
	mkdir -p "$DKMS_TREE" && copy_source && run_dkms add "$PACKAGE/$VERSION" &&
		env -u HOME dkms autoinstall -k "$RELEASE" --no-depmod --dkmstree "$DKMS_TREE" \
			--sourcetree "$SOURCE_TREE" --installtree "$INSTALL_TREE" </dev/null &&
		update_dependencies "$RELEASE"
}

installed_modules() {
	find "$INSTALL_TREE/$RELEASE/updates" -type f -printf '%f\n' 2>/dev/null |
		sed 's/\.ko.*//' | LC_ALL=C sort | xargs
}

found_below() {
	local folder=$1 name

	shift
	for name in "$@"; do
		[[ $(module_path "$RELEASE" "$name") == "$INSTALL_TREE/$RELEASE/$folder/"* ]] ||
			{ printf '%s is found in %s\n' "$name" "$(module_path "$RELEASE" "$name")"; return 1; }
	done
}

version_of() {
	modinfo -F version "$(module_path "$RELEASE" "$1")"
}

log_names_reason() {
	says "^KVM is not patched: .*$1" cat "$(make_log "$RELEASE")"
}

nothing_left() {
	same "$(find "$DKMS_TREE" "$SOURCE_TREE" "$KVM_CACHE" "$INSTALL_TREE/$RELEASE/updates" \
		-mindepth 1 -maxdepth 2 2>/dev/null)" "" &&
		! grep updates/ "$INSTALL_TREE/$RELEASE/modules.dep"
}

# with_packages HEADERS SOURCE COMMAND…: dpkg-query answers with these two states.
with_packages() {
	local stubs=$BASE/stubs

	mkdir -p "$stubs"
	cat >"$stubs/dpkg-query" <<-END
		#!/bin/sh
		case \$4 in linux-headers-*) echo "$1" ;; *) echo "$2" ;; esac
	END
	chmod +x "$stubs/dpkg-query"
	shift 2
	PATH=$stubs:$PATH "$@"
}

test_refusals() {
	check "another architecture is named" says 'no module on aarch64' why_not "$RELEASE" aarch64
	check "a kernel line without patch is named" says 'no patch for Linux 6.1: ' why_not 6.1.0-9-amd64
	check "headers without a package are named" \
		says 'apt-get install linux-headers-6.12.0-none$' why_not 6.12.0-none
	check "a missing kernel source is named" with_packages 'installed 6.12.7-1' '' \
		says 'source-6.12 is not installed but .* is 6.12.7-1: apt-get install linux-source-6.12=6.12.7-1' why_not
	check "another kernel source is named" with_packages 'installed 6.12.7-1' 'installed 6.12.6-1' \
		says 'source-6.12 is 6.12.6-1 but .* is 6.12.7-1: apt-get install linux-source-6.12=6.12.7-1' why_not
	check "packages that apt has only unpacked count" \
		with_packages 'half-configured 6.12.7-1' 'unpacked 6.12.6-1' \
		says 'source-6.12 is 6.12.6-1 but .* is 6.12.7-1' why_not
	choose INVP_PATCH_KVM=maybe
	check "a bad choice is named" says 'INVP_PATCH_KVM=maybe: give yes or no' why_not
	choose
	fake_source "$BASE/unpatchable"
	: >"$BASE/unpatchable/virt/kvm/kvm_main.c"
	export KERNEL_SOURCE=$BASE/unpatchable
	check "a source that the patch does not fit is named" says 'does not apply to .*/unpatchable' why_not
	unset KERNEL_SOURCE
}

test_stub() {
	local copy=$SOURCE_TREE/stub

	mkdir -p "$copy"
	source_files | (cd "$TOP" && xargs -0 cp --parents -t "$copy")
	echo '#error this kernel is too old' >>"$copy/module/main.c"
	check "where the policy module does not build, a stub does" \
		says '^kvm_invpolicy is a stub' "$copy/scripts/dkms-build.sh" "$RELEASE" aarch64 "$HEADERS"
	check "the stub is in place of the module" \
		says stub modinfo -F description "$copy/built/kvm_invpolicy.ko"
	rm -rf "$copy"
}

test_opt_out() {
	choose INVP_PATCH_KVM=no
	check "INVP_PATCH_KVM=no installs" install
	check "INVP_PATCH_KVM=no gives the policy module alone" same "$(installed_modules)" kvm_invpolicy
	check "depmod finds the stock kvm beside it" found_below kernel kvm kvm-amd kvm-intel
	check "make.log says why" log_names_reason 'says INVP_PATCH_KVM=no'
	rm "$DKMS_TREE/$PACKAGE/$VERSION/$RELEASE"/*/module/*
	check "installing again repairs a broken build" install
	check "and gives the same" same "$(installed_modules)" kvm_invpolicy
	choose
}

test_install() {
	check "installing over the opt-out patches KVM" install
	check "four modules are in updates/dkms" \
		same "$(installed_modules)" "kvm kvm-amd kvm-intel kvm_invpolicy"
	check "depmod finds all of them there" found_below updates/dkms kvm_invpolicy kvm kvm-amd kvm-intel
	check "the policy module needs the patched kvm" \
		says '^updates/dkms/kvm_invpolicy\.ko.*: updates/dkms/kvm\.ko' cat "$INSTALL_TREE/$RELEASE/modules.dep"
	check "dkms did not keep the stock modules" \
		same "$(grep -c 'will not replace' "$BUILD/dkms-install.log")" 0
	check "dkms has nothing to warn of" same \
		"$(run_dkms status 2>/dev/null)" "$PACKAGE/$VERSION, $RELEASE, $(uname -m): installed"
	for name in kvm kvm-amd kvm-intel; do
		check "$name has a version" same "$(version_of $name)" "$RELEASE+invpolicy$VERSION"
	done
	check "the policy module has its version" same "$(version_of kvm_invpolicy)" "$VERSION"
	check "the source has no tests and no build products" same \
		"$(find "$SOURCE_TREE" -name tests -o -name '*.o' -o -name '*.ko' -o -name '*.mod*')" ""
}

# Everything that spoke for the patched KVM goes away between install and uninstall.
test_sticky_uninstall() {
	choose INVP_PATCH_KVM=no
	rm -rf "$KVM_CACHE" "$SOURCE_TREE/$PACKAGE-$VERSION"
	check "uninstall removes what was installed, not what would be" \
		env KERNEL_SOURCE="$BASE/none" "$TOP/scripts/dkms-uninstall.sh"
	check "nothing of ours is left" nothing_left
	check "depmod finds the stock kvm again" found_below kernel kvm kvm-amd kvm-intel
	check "uninstalling once more says that there is nothing" says 'not installed' uninstall
	choose
}

test_mismatch() {
	local version

	fake_source "$BASE/other"
	sed -i 's/^SUBLEVEL = .*/SUBLEVEL = 1/' "$BASE/other/Makefile"
	version=$(cut -d+ -f1 <<<"$RELEASE")
	export KERNEL_SOURCE=$BASE/other
	check "a package hook installs beside another kernel source" autoinstall
	check "another kernel source gives the policy module alone" same "$(installed_modules)" kvm_invpolicy
	check "make.log names both versions and the package" \
		log_names_reason "is 6.12.1 but .* $version: .* linux-source-6.12"
	unset KERNEL_SOURCE
	check "and it is uninstalled, though the source matches now" uninstall
	check "nothing of it is left" nothing_left
}

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
	echo "usage: dkms.sh"
	exit
fi
[[ $(id -u) == 0 ]] || die "dkms installs only as root: run this as root"
"$TOP/scripts/setup.sh" dkms
RELEASE=$("$TOP/scripts/kernel.sh" release)
HEADERS=$("$TOP/scripts/kernel.sh" headers)
REAL_SOURCE=$("$TOP/scripts/kernel.sh" source)
MACHINE_BEFORE=$(machine_state)
export XDG_CACHE_HOME=$BASE/cache
KVM_CACHE=$XDG_CACHE_HOME/kvm_invpolicy/dkms
use_private_tree "$BASE" "$RELEASE"
for name in refusals stub opt_out install sticky_uninstall mismatch; do
	"test_$name"
done
check "the machine's own trees are as before" same "$(machine_state)" "$MACHINE_BEFORE"
rm -rf "$BASE"
printf '1..%d\n%d passed, %d failed\n' $((PASSED + FAILED)) "$PASSED" "$FAILED"
((FAILED == 0))
