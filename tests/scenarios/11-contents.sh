# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# With NUMA events elided, every other change of the host's mappings reaches the guest
# before the call that makes it returns.
# kvm: patched
# timeout: 420

# shellcheck source-path=SCRIPTDIR source=lib.sh
. /lib/scenarios/lib.sh

modprobe kvm_invpolicy
echo 40 >/proc/sys/vm/nr_hugepages
numa_on 32 300
for backing in anon anon-thp memfd hugetlb; do
	check_contents $backing numa_elided numa=skip
done
numa_off
echo 0 >/proc/sys/vm/nr_hugepages
