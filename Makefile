# SPDX-License-Identifier: GPL-2.0-only
# kvm_invpolicy. "make help" lists the targets.
SHELL := /bin/bash
BUILD := build

.PHONY: help
help: ## this list
	@echo "kvm_invpolicy $$(cat VERSION): an alternate invalidation policy for KVM"
	@echo
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16 | sed 's/^/  /'
	@echo
	@echo "As root on Debian 12 or 13; what is missing is installed with apt. Kernels are kept in"
	@echo "\$$XDG_CACHE_HOME or ~/.cache, products in $(BUILD)/."

.PHONY: demo
demo: ## a real guest under NUMA balancing: KVM alone and with the policy, side by side
	scripts/setup.sh build run dkms
	scripts/demo.sh

.PHONY: test
test: ## all tests: KUnit, and scenarios with real guests on the distribution's kernel
	scripts/test.sh

.PHONY: test-debug
test-debug: ## the scenarios on a kernel with KASAN, lockdep, kmemleak and friends
	scripts/test-debug.sh

.PHONY: test-arm64
test-arm64: ## KUnit and the scenarios on emulated arm64 CPUs of several kinds
	scripts/test-arm64.sh

.PHONY: mutants
mutants: ## break the project on purpose, and see that its tests notice (long)
	scripts/mutants.sh $(MUTANTS)

.PHONY: torture
torture: ## VMs and a host that do everything at once, at random: SECONDS=120 SEED=… KVM=patched
	scripts/torture.sh $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(if $(KVM),--kvm $(KVM))

.PHONY: builds
builds: ## KVM and the module compiled under other configurations and by clang
	scripts/builds.sh

.PHONY: peer
peer: ## QEMU runs a Linux guest with a policy: balloon, virtio-mem, save and restore
	scripts/peer.sh

.PHONY: selftests
selftests: ## KVM's own selftests, on stock KVM and with every VM attached, test by test (long)
	scripts/selftests.sh

.PHONY: check
check: ## static checks: checkpatch, sparse, W=1, kernel-doc, shellcheck, coccinelle
	scripts/check.sh

.PHONY: bench
bench: ## measurements: make bench BENCH=idle, numa, unmap or exit; rows in build/bench.json
	@[[ -x scripts/bench-$(BENCH).sh ]] || { echo "BENCH=$(BENCH) is no benchmark: choose idle, numa, unmap or exit" >&2; exit 2; }
	scripts/setup.sh build run bench
	scripts/bench-$(BENCH).sh

.PHONY: modules
modules: ## the policy module and the patched KVM for the installed headers, in build/kvm
	scripts/setup.sh build
	scripts/build-kvm.sh

.PHONY: tools
tools: ## the command kvm-invpolicy, in build/
	$(MAKE) -C tools OUT=$(CURDIR)/$(BUILD)

.PHONY: install
install: tools ## the command, its man page and completion (DESTDIR, PREFIX)
	$(MAKE) -C tools OUT=$(CURDIR)/$(BUILD) install

.PHONY: dkms-install
dkms-install: ## the modules on this host, through DKMS
	scripts/dkms-install.sh

.PHONY: dkms-uninstall
dkms-uninstall: ## take them out again; the stock KVM is found as before
	scripts/dkms-uninstall.sh

.PHONY: clean
clean: ## remove build/
	rm -rf $(BUILD)
