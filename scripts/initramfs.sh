#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the initramfs of the test machine; needs no root.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
	cat <<-'END'
	usage: initramfs.sh OUT.cpio.gz [--arch x86|arm64] [--modules-dir DIR] [--module NAME]…
	                    [--file SRC:DST]…
	  --modules-dir DIR   DIR/*.ko take the place of the kernel's modules of the same name
	  --module NAME       one more module of the kernel, with its dependencies
	  --file SRC:DST      one more file; programs bring their shared libraries
	END
}

OUT=
MODULES_DIR=
MODULES=(zram)
FILES=()

parse_arguments() {
	while (($#)); do
		case $1 in
		--arch) set_architecture "${2:?--arch needs an architecture}"; shift 2 ;;
		--modules-dir) MODULES_DIR=${2:?--modules-dir needs a folder}; shift 2 ;;
		--module) MODULES+=("${2:?--module needs a name}"); shift 2 ;;
		--file) FILES+=("${2:?--file needs SRC:DST}"); shift 2 ;;
		-h | --help) usage; exit 0 ;;
		-*) usage >&2; exit 2 ;;
		*) [[ -z $OUT ]] || { usage >&2; exit 2; }; OUT=$1; shift ;;
		esac
	done
	[[ -n $OUT ]] || { usage >&2; exit 2; }
	# arm64 has KVM in the kernel.
	[[ $ARCHITECTURE == arm64 ]] || MODULES+=(irqbypass kvm kvm-amd kvm-intel)
}

find_busybox() {
	local busybox

	if [[ $ARCHITECTURE == arm64 ]]; then
		"$TOP/scripts/arm64-busybox.sh"
		return
	fi
	need_command busybox run
	busybox=$(command -v busybox)
	! ldd "$busybox" >/dev/null 2>&1 ||
		die "$busybox is not static: apt-get install busybox-static"
	printf '%s\n' "$busybox"
}

# Its init has it make links for the rest: one of another architecture cannot be run here.
install_busybox() {
	local busybox

	busybox=$(find_busybox)
	install -D "$busybox" "$STAGE/bin/busybox"
	ln -s busybox "$STAGE/bin/sh"
}

# Prints a module's path below the modules folder, then its dependencies'.
paths_of_module() {
	awk -v name="${1//-/_}" '
		{
			path = $1
			sub(/:$/, "", path)
			base = path
			sub(/.*\//, "", base)
			sub(/\.ko.*/, "", base)
			gsub(/-/, "_", base)
		}
		base == name {
			print path
			for (i = 2; i <= NF; i++)
				print $i
			found = 1
		}
		END { exit !found }' "$STOCK/modules.dep"
}

install_stock_module() {
	local path=$1 target=$STAGE/lib/modules/$RELEASE/${1%%.ko*}.ko

	[[ ! -e $target ]] || return 0
	mkdir -p "${target%/*}"
	case $path in
	*.ko) cp "$STOCK/$path" "$target" ;;
	*.xz) xz -dc "$STOCK/$path" >"$target" ;;
	*.zst) zstd -qdc "$STOCK/$path" >"$target" ;;
	*.gz) gzip -dc "$STOCK/$path" >"$target" ;;
	*) die "$STOCK/$path: unknown compression" ;;
	esac
}

install_stock_modules() {
	local name paths path

	for name in "${MODULES[@]}"; do
		paths=$(paths_of_module "$name") ||
			die "kernel $RELEASE has no module $name: see $STOCK/modules.dep"
		for path in $paths; do
			install_stock_module "$path"
		done
	done
}

install_built_modules() {
	local built name

	for built in "$MODULES_DIR"/*.ko; do
		need_file "$built" "run make modules"
		name=${built##*/}
		find "$STAGE/lib/modules" -name "$name" -delete
		install -D -m 644 "$built" "$STAGE/lib/modules/$RELEASE/updates/$name"
		"${CROSS_COMPILE}strip" --strip-debug "$STAGE/lib/modules/$RELEASE/updates/$name"
	done
}

install_libraries() {
	local library

	for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*' || true); do
		install -D "$library" "$STAGE$library"
	done
}

install_files() {
	local entry source target

	for entry in "${FILES[@]}"; do
		source=${entry%%:*}
		target=$STAGE/${entry#*:}
		need_file "$source" "make test builds it"
		mkdir -p "${target%/*}"
		rm -f "$target"
		cp -L "$source" "$target"
		install_libraries "$source"
	done
}

write_archive() {
	mkdir -p "$(dirname "$OUT")"
	(cd "$STAGE" && find . -print0 | sort -z |
		cpio --quiet --null -o -H newc -R 0:0) | gzip -1 >"$OUT.partial"
	mv "$OUT.partial" "$OUT"
}

parse_arguments "$@"
need_command cpio run
need_command depmod run
need_command "${CROSS_COMPILE}strip" "$RUN_GROUP"
RELEASE=$("$TOP/scripts/kernel.sh" release)
STOCK=$("$TOP/scripts/kernel.sh" modules)
STAGE=$(mktemp -d)
trap 'rm -rf "$STAGE"' EXIT

mkdir -p "$STAGE"/{dev,proc,sys,tmp,run,root,etc}
ln -s bin "$STAGE/sbin"
install_busybox
install -m 755 "$TOP/tests/init/init" "$STAGE/init"
install -m 644 "$TOP/tests/init/fault-patterns" "$STAGE/etc/fault-patterns"
install_stock_modules
cp "$STOCK"/modules.{order,builtin,builtin.modinfo} "$STAGE/lib/modules/$RELEASE/"
[[ -z $MODULES_DIR ]] || install_built_modules
install_files
depmod -b "$STAGE" "$RELEASE"
write_archive
