#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# KVM's own selftests, of the kernel's source, on stock KVM and with every VM attached, test by
# test.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$TOP/scripts/machine.sh"

FOLDER=$TOP/tests/selftests
OUT=$BUILD/selftests
# Each that is a machine of its own, then those of the second.
MODES=(stock unattached paced precise skip)

usage() {
	cat <<-'END'
	usage: selftests.sh [TEST…]
	  Builds the selftests of the kernel's source, and runs each one under stock KVM, and
	  under the patched one without a policy and with auto_attach=1 and numa=paced (with
	  unmap, other and exit as well), precise and skip. Prints a table of those that do not
	  pass, or are skipped, everywhere. Fails if one fails only with us.
	END
}

build_tests() {
	local source work

	source=$("$TOP/scripts/kernel.sh" source)
	work=$CACHE/selftests/${source##*/}
	TESTS=$work/out
	[[ ! -e $work/built ]] || return 0
	mkdir -p "$TESTS" "$work/headers"
	run_logged "preparing the kernel's headers" "$work/headers.log" \
		make -C "$source" O="$work/headers" ARCH=x86 headers
	# A test that cannot be built here is one less.
	run_logged "building KVM's selftests" "$work/build.log" \
		make -k -i -j"$(nproc)" -C "$source/tools/testing/selftests/kvm" OUTPUT="$TESTS" \
		ARCH=x86_64 KHDR_INCLUDES="-isystem $work/headers/usr/include" \
		LDFLAGS='-static -pthread -no-pie'
	touch "$work/built"
}

all_tests() {
	(cd "$TESTS" && find . -type f -perm /111 ! -name '*.so' ! -name '*.o' -printf '%P\n' | sort)
}

build_initramfs() {
	local options modules test

	mapfile -t options < <(program_options)
	if [[ $1 == stock ]]; then
		printf '%s\n' stock >"$OUT/modes"
	else
		modules=$(module_options patched)
		mapfile -t -O "${#options[@]}" options <<<"$modules"
		printf '%s\n' "${MODES[@]:1}" >"$OUT/modes"
	fi
	for test in "${SELECTED[@]}"; do
		strip -o "$OUT/bin/${test//\//-}" "$TESTS/$test"
		options+=(--file "$OUT/bin/${test//\//-}:/lib/selftests/$test")
	done
	printf '%s\n' "${SELECTED[@]}" >"$OUT/tests"
	"$TOP/scripts/initramfs.sh" "$OUT/initramfs.cpio.gz" "${options[@]}" \
		--file "$FOLDER/selftests.sh:/lib/scenarios/selftests.sh" \
		--file "$FOLDER/arguments:/etc/arguments" \
		--file "$OUT/modes:/etc/modes" --file "$OUT/tests:/etc/tests" \
		--file "$OUT/list:/etc/scenarios"
}

run() {
	build_initramfs "$1"
	step "booting a machine with $1 KVM for ${#SELECTED[@]} selftests"
	"$TOP/scripts/boot.sh" --initrd "$OUT/initramfs.cpio.gz" --results "$OUT/$1" --timeout 7200 \
		--append "invp.kvm=$1" || die "the selftests did not come to their end: see $OUT/$1/console.log"
	cat "$OUT/$1/files/selftests.txt" >>"$OUT/results"
}

# A line for each test: those alike are counted only.
print_table() {
	awk -v modes="${MODES[*]}" '
		function line(name,    i, text) {
			text = sprintf("  %-42s", name)
			for (i = 1; i <= n; i++)
				text = text sprintf(" %-10s", result[name, mode[i]])
			print text
		}
		BEGIN {
			n = split(modes, mode, " ")
			for (i = 1; i <= n; i++)
				result["test", mode[i]] = mode[i]
			line("test")
		}
		{ result[$1, $2] = $3; if (!seen[$1]++) name[++tests] = $1 }
		END {
			for (t = 1; t <= tests; t++) {
				alike = worse = 0
				for (i = 1; i <= n; i++) {
					is = result[name[t], mode[i]]
					alike += is == "pass"
					worse += result[name[t], "stock"] == "pass" && is != "pass"
				}
				if (alike == n)
					passed++
				else
					line(name[t])
				bad += worse > 0
			}
			printf "%d selftests pass everywhere\n", passed
			printf "%d passed, %d failed\n", tests - bad, bad
			exit (bad > 0)
		}' "$OUT/results"
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
-*) usage >&2; exit 2 ;;
esac
build_for patched
build_tests
SELECTED=("$@")
((${#SELECTED[@]})) || mapfile -t SELECTED < <(all_tests | grep -v -x -F -f <(sed '/^#/d' "$FOLDER/left-out"))
for test in "${SELECTED[@]}"; do
	need_file "$TESTS/$test" "name one of: $(all_tests | xargs)"
done
mkdir -p "$OUT/bin"
echo selftests >"$OUT/list"
: >"$OUT/results"
run stock
run patched
print_table
