# SPDX-License-Identifier: GPL-2.0
# The targets of the project. 'make help' lists all targets.
VERSION := $(shell cat VERSION)
PREFIX  ?= /usr
DESTDIR ?=
SBINDIR ?= $(PREFIX)/sbin
UNITDIR ?= $(PREFIX)/lib/systemd/system
UDEVDIR ?= $(PREFIX)/lib/udev/rules.d
ZSHDIR  ?= site-functions
DKMSDIR  = $(DESTDIR)/usr/src/rdma_char-$(VERSION)
BUILD   := build
# Tests have a time limit, and what they need may have to be installed first.
STARTED := $(shell date +%s)

# The kernel to build for: KDIR=/path/to/build-tree or KERNEL=version. The default is the running
# kernel if its build tree is installed, else the newest installed Debian kernel.
NEWEST_KERNEL = $(shell ls -d /lib/modules/*[0-9]-amd64/build 2>/dev/null | cut -d/ -f4 | sort -V | tail -n1)
RUNNING_KERNEL := $(shell uname -r)
KERNEL  ?= $(if $(wildcard /lib/modules/$(RUNNING_KERNEL)/build),$(RUNNING_KERNEL),$(NEWEST_KERNEL))
# Virtual machines boot the newest Debian kernel of which image and headers are installed, and not
# that of a cloud, which has no soft-RoCE.
TEST_KERNEL = $(shell for k in $$(ls /lib/modules | grep '[0-9]-amd64$$' | sort -rV); do \
	[ ! -e /lib/modules/$$k/build ] || [ ! -e /boot/vmlinuz-$$k ] || { echo $$k; break; }; done)
ifeq ($(origin KERNEL),file)
demo check check-quick check-static soak shell bench: export KERNEL = $(TEST_KERNEL)
endif
KDIR    ?= /lib/modules/$(KERNEL)/build
# The RDMA stack: that of the kernel (none), or that of a vendor: a folder with its headers and its
# Module.symvers. The default is what stands where the vendors put it, if KERNEL loads their ib_core.
# Asked once, and only by who builds the module.
IB_CORE  = $(eval IB_CORE := $(if $(filter file,$(origin KDIR))$(filter-out file,$(origin KERNEL)),$(shell \
	PATH=$$PATH:/sbin modinfo -k $(KERNEL) -n ib_core 2>/dev/null)))$(IB_CORE)
IB_CORE_OF_VENDOR = $(filter /%,$(if $(findstring /$(KERNEL)/kernel/,$(IB_CORE)),,$(IB_CORE)))
OFED_DIRS = /usr/src/ofa_kernel/$(shell uname -m)/$(KERNEL) /usr/src/ofa_kernel/default
OFED    ?= $(if $(IB_CORE_OF_VENDOR),$(firstword $(patsubst %/Module.symvers,%,$(wildcard $(OFED_DIRS:=/Module.symvers)))))
OFED_USED = $(filter-out none,$(OFED))
# y: a test build with extra checks, fault injection and debug messages. A test build does not
# retry a SEND when the peer has no receive buffer, so a miscounted credit breaks the connection.
DEBUG   ?= n
# The folder of the module: the benchmark has another one.
MODULE  ?= $(CURDIR)

.PHONY: help
help: ## this list
	@echo "rdma_char $(VERSION): RDMA as a file"
	@echo
	@sed -n 's/^\([a-z._-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "%-28s %s\n", $$1, $$2 }'
	@echo
	@echo "  KERNEL=$(KERNEL)  KDIR=$(KDIR)  PREFIX=$(PREFIX)  DESTDIR=$(DESTDIR)"

.PHONY: deps
deps: ## install what building and testing need (Debian packages, as root)
	@./selftests/deps

.PHONY: deps-build
deps-build: ## install what building alone needs, for hosts that use it
	@./selftests/deps --build

.PHONY: module
module: ## build the kernel module rdma_char.ko (KERNEL=, KDIR=, OFED=, DEBUG=y)
	@[ -e "$(KDIR)/Makefile" ] || { echo "no kernel headers at $(KDIR): install linux-headers-$(KERNEL), or 'make deps'" >&2; exit 1; }
	@[ -n "$(OFED)" ] || [ -z "$(IB_CORE_OF_VENDOR)" ] || { echo "Linux $(KERNEL) loads the RDMA stack of a vendor, $(IB_CORE_OF_VENDOR): OFED=FOLDER builds for it, OFED=none for that of the kernel; see Documentation/hardware.rst" >&2; exit 1; }
	@for f in $(if $(OFED_USED),include/rdma/ib_verbs.h Module.symvers); do \
		[ -e "$(OFED)/$$f" ] || { echo "OFED=$(OFED): no $$f there" >&2; exit 1; }; \
	done
	$(MAKE) -C $(KDIR) M=$(MODULE) RCHAR_DEBUG=$(DEBUG) OFED=$(OFED_USED) \
		$(if $(OFED_USED),KBUILD_EXTRA_SYMBOLS=$(OFED)/Module.symvers) modules

.PHONY: tools
tools: ## build the tools: rchar, rchar-perf, rchar-forward, rchar-exec
	@$(MAKE) -C tools O=$(CURDIR)/$(BUILD)/tools

.PHONY: demo
demo: deps ## two virtual machines, a real file through two devices, and the proof
	@mkdir -p $(BUILD)
	@$(MAKE) -j$$(nproc) --no-print-directory module tools >$(BUILD)/demo.log 2>&1 || { cat $(BUILD)/demo.log; exit 1; }
	@./selftests/demo/demo

.PHONY: check
check: deps ## the tests
	@CHECK_SINCE=$(STARTED) ./selftests/check

.PHONY: check-quick
check-quick: deps ## all tests but those under the debug kernel
	@CHECK_SINCE=$(STARTED) ./selftests/check --quick

.PHONY: check-static
check-static: ## only the checks that boot nothing
	@./selftests/check --static

.PHONY: fuzz
fuzz: deps ## inputs at random, a minute of each kind
	@./selftests/fuzz

.PHONY: soak
soak: deps ## the fuzzers for MINUTES=60, and the suites that check has no time for
	@MINUTES=$(or $(MINUTES),60) ./selftests/soak

.PHONY: shell
shell: deps module tools ## two joined virtual machines, module loaded, for you to try things in
	@./selftests/vm/shell

.PHONY: bench
bench: deps module tools ## beside every peer, into Documentation/performance (an hour)
	@./selftests/bench/bench

.PHONY: install
install: install-tools ## install-tools, and the module for KERNEL
	@[ -e rdma_char.ko ] || { echo "no module is built: 'make module' first" >&2; exit 1; }
	@[ -n "$(DESTDIR)" ] || [ "$(KERNEL)" = "$(RUNNING_KERNEL)" ] || \
		echo "note: the module is for Linux $(KERNEL), and $(RUNNING_KERNEL) runs" >&2
	install -D -m 644 rdma_char.ko $(DESTDIR)/lib/modules/$(KERNEL)/updates/rdma_char.ko
	[ -n "$(DESTDIR)" ] || depmod -a $(KERNEL)

# What a host needs beside the module: MODE, where it is, and the folder it goes to.
INSTALLED = \
	755:$(BUILD)/tools/rchar:$(SBINDIR) \
	755:$(BUILD)/tools/rchar-perf:$(PREFIX)/bin \
	755:$(BUILD)/tools/rchar-forward:$(PREFIX)/bin \
	755:$(BUILD)/tools/rchar-exec:$(PREFIX)/bin \
	644:Documentation/rchar.8:$(PREFIX)/share/man/man8 \
	644:Documentation/rchar.conf.5:$(PREFIX)/share/man/man5 \
	644:Documentation/rchar-perf.1:$(PREFIX)/share/man/man1 \
	644:Documentation/rchar-forward.1:$(PREFIX)/share/man/man1 \
	644:Documentation/rchar-exec.1:$(PREFIX)/share/man/man1 \
	644:tools/systemd/rchar.service:$(UNITDIR) \
	644:tools/systemd/rchar-forward@.service:$(UNITDIR) \
	644:tools/systemd/rchar-exec@.service:$(UNITDIR) \
	644:tools/systemd/rchar-metrics.service:$(UNITDIR) \
	644:tools/systemd/rchar-metrics.timer:$(UNITDIR) \
	644:tools/udev/60-rchar.rules:$(UDEVDIR) \
	644:tools/completion/rchar:$(PREFIX)/share/bash-completion/completions \
	644:tools/completion/_rchar:$(PREFIX)/share/zsh/$(ZSHDIR) \
	644:Documentation/netlink/specs/rdma_char.yaml:$(PREFIX)/share/rdma_char/netlink/specs \
	644:tools/grafana/rdma_char.json:$(PREFIX)/share/rdma_char/grafana \
	644:kmod/uapi/linux/rdma_char.h:$(PREFIX)/include/linux

.PHONY: install-tools
install-tools: ## install tools, unit, completion and manual pages under DESTDIR (as root)
	@[ -e $(BUILD)/tools/rchar ] || { echo "no tools are built: 'make tools' first" >&2; exit 1; }
	@for i in $(INSTALLED); do \
		from=$${i#*:}; from=$${from%%:*}; to=$(DESTDIR)$${i##*:}; \
		echo "install $$from $$to"; \
		install -D -m $${i%%:*} -t $$to $$from || exit 1; \
	done
	@sed -i 's|/usr/sbin/rchar|$(SBINDIR)/rchar|; s|/usr/bin/rchar|$(PREFIX)/bin/rchar|' $(DESTDIR)$(UNITDIR)/rchar*.service
	@sed -i '/^\.TH/s/"rdma_char"/"rdma_char $(VERSION)"/' $(DESTDIR)$(PREFIX)/share/man/man?/rchar*.[158]

.PHONY: install-dkms
install-dkms: ## install the source of the module for DKMS under DESTDIR (as root)
	@# Not objects of an earlier build.
	@find Kbuild Makefile VERSION kmod -type f ! -name '*.o' ! -name '.*' ! -name '*.o.d' | \
		while read -r f; do install -D -m 644 $$f $(DKMSDIR)/$$f || exit 1; done
	@sed 's/#MODULE_VERSION#/$(VERSION)/' dkms.conf >$(DKMSDIR)/dkms.conf
	@echo "installed $(DKMSDIR)"

.PHONY: uninstall
uninstall: ## undo 'make install'
	rm -f $(DESTDIR)/lib/modules/$(KERNEL)/updates/rdma_char.ko
	@for i in $(INSTALLED); do \
		file=$${i#*:}; file=$(DESTDIR)$${i##*:}/$$(basename $${file%%:*}); \
		echo "rm $$file"; rm -f $$file; \
	done
	[ -n "$(DESTDIR)" ] || depmod -a $(KERNEL)

# What of the tree belongs to it, and not what was built in it.
SOURCES_LIST = if [ -e .git ]; then git ls-files --cached --others --exclude-standard; \
	else find . -type f ! -path './build/*' ! -name '*.o' ! -name '*.ko' ! -name '*.mod*' ! -name '.*.cmd'; fi
DIST ?= $(BUILD)/rdma-char-$(VERSION).tar.gz
VERSION_DATE = $(shell sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)

.PHONY: version-date
version-date: # for rpm/make-packages
	@echo '$(VERSION_DATE)'

.PHONY: dist
dist: ## the sources as an archive, the same bytes each time, into build or DIST=
	@mkdir -p $(dir $(DIST))
	@list=$$($(SOURCES_LIST)) && [ -n "$$list" ] && printf '%s\n' "$$list" | \
		tar --files-from=- --sort=name --owner=0 --group=0 --numeric-owner \
		--mtime='$(VERSION_DATE)' --mode=u=rwX,go=rX --transform='s|^\(\./\)\{0,1\}|rdma-char-$(VERSION)/|' \
		--use-compress-program='gzip -n' --create --file=$(DIST)

.PHONY: deb
deb: ## build the Debian packages, into build/deb
	@./debian/make-packages

.PHONY: rpm
rpm: ## build the RPM packages, into build/rpm
	@./rpm/make-packages

.PHONY: format
format: ## format all C and C++ files (clang-format 14)
	@./selftests/format

.PHONY: compile_commands.json
compile_commands.json: module ## how each file is compiled, for clangd and other editors
	@./selftests/compile-commands $(KDIR)

.PHONY: clean
clean: ## remove what was built here (the cache of test machines stays)
	-[ ! -e "$(KDIR)/Makefile" ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean
	rm -rf $(BUILD) compile_commands.json
