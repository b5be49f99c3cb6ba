#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The main job on a real guest: measures it under NUMA balancing with KVM alone and with
# the policy, prints a table and a verdict, and writes build/demo.json.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

RUN=$BUILD/demo
JSON=$BUILD/demo.json

build_initramfs() {
	echo demo >"$RUN/list"
	"$TOP/scripts/initramfs.sh" "$RUN/initramfs.cpio.gz" --modules-dir "$MODULES" \
		--file "$BUILD/vmm:/bin/vmm" \
		--file "$BUILD/static/kvm-invpolicy:/bin/kvm-invpolicy" \
		--file "$RUN/list:/etc/scenarios" \
		--file "$TOP/tests/scenarios/lib.sh:/lib/scenarios/lib.sh" \
		--file "$TOP/bench/demo.sh:/lib/scenarios/demo.sh"
}

# Only what the guest's scenario has to say.
progress() {
	sed -u -n -e 's/^# scenario .*//; s/^# output: //; s/^# //p' -e 's/^not ok/FAILED/p'
}

write_json() {
	jq -s --arg kernel "$("$TOP/scripts/kernel.sh" release)" '
		def median: sort | if length % 2 == 1 then .[length / 2 | floor]
			else (.[length / 2 - 1] + .[length / 2]) / 2 end;
		def rate(key): (.[key] / .seconds);
		def of(policy): map(select(.policy == policy));
		def summary: {
			windows: length,
			sweeps_per_second: (map(rate("sweeps")) | median),
			sweeps_per_second_min: (map(rate("sweeps")) | min),
			sweeps_per_second_max: (map(rate("sweeps")) | max),
			refaults_per_second: (map(rate("refaults")) | median),
			unmap_events_per_second: (map(rate("unmap_events")) | median),
			remote_tlb_flushes_per_second: (map(rate("remote_tlb_flushes")) | median),
			numa_pte_updates_per_second: (map(rate("numa_pte_updates")) | median),
			settle_seconds: (map(.settle_seconds) | median)
		};
		. as $windows |
		{ off: (of("off") | summary), kvm: (of("kvm") | summary), skip: (of("skip") | summary) } as $median |
		{ skip_vs_off: ($median.skip.sweeps_per_second / $median.off.sweeps_per_second),
		  skip_vs_kvm: ($median.skip.sweeps_per_second / $median.kvm.sweeps_per_second) } as $ratio |
		($windows | of("skip") | map(.unmap_events + .refaults) | add) as $disturbed |
		{ kernel: $kernel, windows: $windows, median: $median, ratio: $ratio,
		  verdict: (if $ratio.skip_vs_off >= 0.9 and $ratio.skip_vs_kvm >= 20 and $disturbed == 0
			    then "pass" else "fail" end) }
	' "$RUN/files/windows.jsonl" >"$JSON"
}

print_table() {
	jq -r '
		def row(name; key): [name, (.median.off, .median.kvm, .median.skip | .[key] * 10 | round / 10)];
		["per second, median", "balancing off", "on, KVM alone", "on, numa=skip"],
		row("guest sweeps over its memory"; "sweeps_per_second"),
		row("re-faults of the guest"; "refaults_per_second"),
		row("unmap events from balancing"; "unmap_events_per_second"),
		row("remote TLB flushes"; "remote_tlb_flushes_per_second"),
		row("pages the host protected"; "numa_pte_updates_per_second"),
		["seconds to settle", (.median.off, .median.kvm, .median.skip | .settle_seconds)]
		| @tsv' "$JSON" | awk -F '\t' '{ printf "  %-30s %14s %14s %14s\n", $1, $2, $3, $4 }'
}

print_verdict() {
	jq -r '
		"With KVM alone, NUMA balancing leaves the guest \(.median.kvm.sweeps_per_second /
			.median.off.sweeps_per_second * 1000 | round / 10) % of its speed.",
		"With numa=skip it has \(.ratio.skip_vs_off * 1000 | round / 10) %, \(.ratio.skip_vs_kvm |
			round) times as much; what is missing is the time of the host'"'"'s own scan.",
		"These are ratios of emulated CPUs, from \(.windows | length) interleaved windows in one boot of \(.kernel)."
	' "$JSON"
}

mkdir -p "$RUN"
MODULES=$("$TOP/scripts/dkms-modules.sh" "$RUN/modules")
build_user_space
build_initramfs
step "booting the distribution's kernel in QEMU: about 5 minutes of measurements"
status=0
"$TOP/scripts/boot.sh" --initrd "$RUN/initramfs.cpio.gz" --timeout 1200 --results "$RUN" \
	--append invp.kvm=patched | progress || status=$?
[[ $status == 0 && -s $RUN/files/windows.jsonl ]] ||
	die "the measurement did not come to its end: see $RUN/console.log and $RUN/verdict.tap"
write_json
echo
print_table
echo
print_verdict
echo
echo "windows, medians and ratios: ${JSON#"$TOP"/}"
if [[ $(jq -r .verdict "$JSON") == pass ]]; then
	echo "verdict: PASS (skip_vs_off >= 0.9, skip_vs_kvm >= 20, no unmap event and no re-fault with numa=skip)"
else
	echo "verdict: FAIL: wanted skip_vs_off >= 0.9, skip_vs_kvm >= 20, and no unmap event and no re-fault with numa=skip;" \
		"got $(jq -c .ratio "$JSON")"
	exit 1
fi
