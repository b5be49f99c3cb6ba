# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# numa=precise: guest memory follows the guest, its contents stay right, and pages that
# cannot move cost it nothing.
# kvm: patched
# timeout: 720

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

modprobe kvm_invpolicy
numa_on 32 500
check_migration numa=precise
for backing in anon memfd; do
	check_pinned $backing numa=precise
done
for backing in anon anon-thp memfd; do
	check_contents $backing numa_pages_unmapped numa=precise
done
numa_off
