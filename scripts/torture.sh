#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs VMs and a host that do everything at once, at random from a seed; what fails is shrunk to
# a short script.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$TOP/scripts/machine.sh"

FOLDER=$TOP/tests/torture
OUT=$BUILD/torture
# More than a lane takes in a second.
STEPS_PER_SECOND=20
# To boot, to end the VMs, and to give all memory back.
EXTRA_SECONDS=300

KIND=patched
SECONDS_TO_RUN=120
SEED=
SCRIPT=
SHRINK_SECONDS=600

usage() {
	cat <<-'END'
	usage: torture.sh [--kvm patched|debug|arm64:CPU] [--seconds N] [--seed S]
	                  [--script FILE] [--shrink SECONDS]
	  --seconds N   how long (120)
	  --seed S      take the steps of this seed; without it one is drawn, and printed
	  --script FILE take these steps, such as a failed run has left
	  --shrink N    look for a shorter script that fails in the same way for N seconds
	                (600); 0 does not look
	  The steps of the run are in build/torture/script, those of a failed one in
	  build/torture/failing, shorter the longer it was shrunk.
	END
}

need_number() {
	[[ $2 =~ ^[0-9]{1,18}$ ]] || die "$1 '$2': give a number"
}

parse_arguments() {
	while (($#)); do
		case $1 in
		-h | --help) usage; exit 0 ;;
		--kvm | --seconds | --seed | --script | --shrink)
			(($# > 1)) || { usage >&2; exit 2; } ;;
		*) usage >&2; exit 2 ;;
		esac
		case $1 in
		--kvm) KIND=$2 ;;
		--seconds) need_number "$1" "$2"; SECONDS_TO_RUN=$2 ;;
		--seed) need_number "$1" "$2"; SEED=$2 ;;
		--script) need_file "$2" "name a file of steps"; SCRIPT=$2 ;;
		--shrink) need_number "$1" "$2"; SHRINK_SECONDS=$2 ;;
		esac
		shift 2
	done
	[[ $KIND == patched || $KIND == debug ]] || is_arm64 "$KIND" ||
		die "--kvm $KIND: give patched, debug or arm64:CPU"
}

prepare() {
	build_for "$KIND"
	mkdir -p "$OUT"
	echo "SECONDS_TO_RUN=$SECONDS_TO_RUN" >"$OUT/settings"
	echo torture >"$OUT/list"
}

build_initramfs() {
	local options modules

	mapfile -t options < <(program_options)
	modules=$(module_options "$KIND")
	mapfile -t -O "${#options[@]}" options <<<"$modules"
	printf '# timeout: %d\n' $((SECONDS_TO_RUN / SLOWDOWN + EXTRA_SECONDS)) |
		cat "$FOLDER/torture.sh" - >"$OUT/torture.sh"
	"$TOP/scripts/initramfs.sh" "$OUT/initramfs.cpio.gz" "${options[@]}" \
		--file "$OUT/torture.sh:/lib/scenarios/torture.sh" \
		--file "$FOLDER/lane.sh:/lib/scenarios/lane.sh" \
		--file "$OUT/list:/etc/scenarios" --file "$OUT/settings:/etc/torture.settings" \
		--file "$1:/etc/torture"
}

# run SCRIPT: false if something was found.
run() {
	local options status=0

	build_initramfs "$1"
	mapfile -t options < <(boot_options "$KIND")
	"$TOP/scripts/boot.sh" --initrd "$OUT/initramfs.cpio.gz" --results "$OUT/run" \
		--timeout $((SECONDS_TO_RUN + EXTRA_SECONDS * SLOWDOWN)) "${options[@]}" || status=$?
	((status == 0 || status == 1 || status == 3)) || exit "$status"
	return "$status"
}

# What failed, without the words that differ from run to run.
signature() {
	sed -n 's/^not ok - \([^ ]*\).*/\1/p' "$OUT/run/verdict.tap" | head -n 1
	grep -m 1 -o -h -E -f "$TOP/tests/init/fault-patterns" "$OUT/run/console.log" || true
}

# Of SCRIPT, the steps that were taken.
taken() {
	awk 'NR == FNR { if ($1 == "step") last[$2] = $3; next }
		++count[$1] <= last[$1]' "$OUT/run/results.raw" "$1"
}

# fails_alike SCRIPT
fails_alike() {
	step "shrinking: $(wc -l <"$1") steps, $((END - SECONDS)) s left"
	! run "$1" >"$OUT/shrink.log" 2>&1 && [[ $(signature) == "$SIGNATURE" ]]
}

# Leaves out ever smaller parts of the failing script, as long as it fails without them.
shrink() {
	local parts=2 total part first last

	END=$((SECONDS + SHRINK_SECONDS))
	while ((SECONDS < END)); do
		total=$(wc -l <"$OUT/failing")
		((parts <= total)) || return 0
		for ((part = 0; part < parts && SECONDS < END; part++)); do
			first=$((total * part / parts + 1))
			last=$((total * (part + 1) / parts))
			sed "$first,${last}d" "$OUT/failing" >"$OUT/candidate"
			[[ -s $OUT/candidate ]] || continue
			if fails_alike "$OUT/candidate"; then
				taken "$OUT/candidate" >"$OUT/failing"
				break
			fi
		done
		# All parts were needed: take smaller ones.
		((part < parts)) || parts=$((parts * 2))
	done
}

parse_arguments "$@"
prepare
if [[ -n $SCRIPT ]]; then
	cp "$SCRIPT" "$OUT/script"
else
	[[ -n $SEED ]] || SEED=$((RANDOM << 15 | RANDOM))
	"$FOLDER/generate.sh" "$SEED" $((SECONDS_TO_RUN * STEPS_PER_SECOND)) >"$OUT/script"
fi
step "torture of $KIND KVM for $SECONDS_TO_RUN s${SEED:+, seed $SEED}"
if run "$OUT/script"; then
	echo "$(taken "$OUT/script" | wc -l) steps${SEED:+ of seed $SEED} in $SECONDS_TO_RUN s, nothing found"
	echo "1 passed, 0 failed"
	exit 0
fi
SIGNATURE=$(signature)
taken "$OUT/script" >"$OUT/failing"
mkdir -p "$OUT/found"
cp "$OUT/run"/{console.log,verdict.tap} "$OUT/found"
step "found${SEED:+ with seed $SEED}: ${SIGNATURE//$'\n'/, }"
shrink
step "$(wc -l <"$OUT/failing") steps that fail are in ${OUT#"$TOP"/}/failing, the logs of the first run in ${OUT#"$TOP"/}/found"
echo "again: scripts/torture.sh --kvm $KIND --seconds $SECONDS_TO_RUN --script ${OUT#"$TOP"/}/failing"
echo "0 passed, 1 failed"
exit 1
