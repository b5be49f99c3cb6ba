#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Has QEMU run a Linux guest on the patched KVM of the test machine, with a policy.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$TOP/scripts/machine.sh"

FOLDER=$TOP/tests/peer
OUT=$BUILD/peer

build_guest() {
	gcc -std=gnu11 -Wall -Wextra -O2 -static -D_GNU_SOURCE -o "$OUT/memcheck" "$FOLDER/memcheck.c"
	"$TOP/scripts/initramfs.sh" "$OUT/guest.cpio.gz" --module virtio_balloon --module virtio_mem \
		--file "$FOLDER/guest-init:/init" --file "$OUT/memcheck:/bin/memcheck"
}

build_initramfs() {
	local options modules file

	mapfile -t options < <(program_options)
	modules=$(module_options patched)
	mapfile -t -O "${#options[@]}" options <<<"$modules"
	for file in /usr/share/seabios/bios-256k.bin /usr/share/qemu/kvmvapic.bin \
		/usr/share/qemu/linuxboot_dma.bin; do
		options+=(--file "$file:$file")
	done
	echo peer >"$OUT/list"
	"$TOP/scripts/initramfs.sh" "$OUT/initramfs.cpio.gz" "${options[@]}" \
		--file "$(command -v qemu-system-x86_64):/usr/bin/qemu-system-x86_64" \
		--file "$("$TOP/scripts/kernel.sh" image):/lib/peer/vmlinuz" \
		--file "$OUT/guest.cpio.gz:/lib/peer/initramfs.cpio.gz" \
		--file "$OUT/list:/etc/scenarios" \
		--file "$FOLDER/peer.sh:/lib/scenarios/peer.sh"
}

(($# == 0)) || die "peer.sh takes no argument"
build_for patched
mkdir -p "$OUT"
build_guest
build_initramfs
step "booting a machine in which QEMU runs a Linux guest"
status=0
"$TOP/scripts/boot.sh" --initrd "$OUT/initramfs.cpio.gz" --results "$OUT/run" --timeout 1800 \
	--append invp.kvm=patched || status=$?
passed=$(grep -c '^ok ' "$OUT/run/verdict.tap" || true)
failed=$(grep -c '^not ok ' "$OUT/run/verdict.tap" || true)
((status == 0 || failed)) || failed=1
printf '%d passed, %d failed\n' "$passed" "$failed"
exit "$status"
