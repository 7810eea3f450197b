#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Other compilers and other machines (selftests/arch/list): the module builds for each without a
# warning, and the unit tests run on some in an emulator. No machine boots.
cd "$(dirname "$0")/.." || exit
. lib/ksft.sh
top=$(cd .. && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
machines() { :; }
source_tree() { # of the module, in $work
	mkdir -p "$work/module"
	(cd "$top" && tar -c --exclude='*.o' --exclude='*.ko' --exclude='.*.cmd' VERSION Kbuild Makefile kmod tools) |
		tar -C "$work/module" -x
}
set_up=source_tree

line_of() { grep "^$1 " arch/list; } # NAME

# module NAME [MAKE-WORD]... - builds it, and fails for a warning or a function that only user space has
module() {
	local -a words
	local out=$work/module.log

	read -ra words <<<"$(arch/tree "$1")"
	make "${words[@]}" M="$work/module" clean >/dev/null
	make "${words[@]}" M="$work/module" W=1 KBUILD_MODPOST_WARN=1 RCHAR_WERROR=y "${@:2}" modules >"$out" 2>&1 || { tail -n 30 "$out"; return 1; }
	# Without the kernel's symbols all are undefined; these the compiler made up.
	if grep -E 'warning: |"__([a-z]*di3|bad_.*)".*undefined' "$out"; then return 1; fi
	[ -s "$work/module/rdma_char.ko" ]
}

builds_for() { # NAME
	module "$1"
	module "$1" RCHAR_DEBUG=y C=1 CF=-D__CHECK_ENDIAN__
	grep -q CHECK "$work/module.log"
}
module_for_arm64() { builds_for arm64; }
module_for_arm64_with_64k_pages() { builds_for arm64-64k; }
module_for_ppc64le_with_64k_pages() { builds_for ppc64le; }
module_for_s390x() { builds_for s390x; }
module_for_i386() { builds_for i386; }

module_by_clang() {
	builds_for x86-clang
	readelf -p .comment "$work/module/kmod/main.o" | grep -c clang >/dev/null
}
module_by_clang_for_arm64() { builds_for arm64-clang; }

tools_by_clang() {
	make -C "$work/module/tools" CXX=clang++ O="$work/tools" >"$work/tools.log" 2>&1 || { tail -n 30 "$work/tools.log"; return 1; }
	readelf -p .comment "$work/tools/rchar" | grep -c clang >/dev/null
	"$work/tools/rchar" -V
}

# A folder as vendors make it, of the kernel's headers with a larger structure and of other versions.
vendor_tree() { # KDIR FOLDER
	local verbs

	verbs=$(find -L "$1"/include "$1"/../linux-headers-*-common/include -path '*/rdma/ib_verbs.h' 2>/dev/null | head -n 1)
	mkdir -p "$2/include"
	cp -r "${verbs%/*}" "$2/include/"
	sed -i 's/^struct ib_pd {$/&\n\tu64 of_the_vendor[64];/' "$2/include/rdma/ib_verbs.h"
	awk -F'\t' -v OFS='\t' '$3 ~ "drivers/infiniband/core/" { $1 = "0x0badcafe"; $3 = "/vendor/" $3; print }' \
		"$1/Module.symvers" >"$2/Module.symvers"
}

module_for_a_vendors_rdma_stack() {
	local kernel vendor=$work/vendor ko=$work/module/rdma_char.ko of=/lib/modules/1.2.3/updates/ib_core.ko

	kernel=$(newest_headers)
	[ -n "$kernel" ] || skip "no kernel headers here"
	vendor_tree "/lib/modules/$kernel/build" "$vendor"
	cd "$top"
	make KERNEL="$kernel" MODULE="$work/module" OFED="$vendor" module >"$work/module.log" 2>&1 || {
		tail -n 30 "$work/module.log"
		return 1
	}
	# Its versions for what is its own, and its headers alone.
	modprobe --dump-modversions "$ko" >"$work/versions"
	grep -qE '^0x0badcafe[[:space:]]+__ib_alloc_pd$' "$work/versions"
	grep -E '[[:space:]]kfree$' "$work/versions" | grep -vc ^0x0badcafe >/dev/null
	grep -o '[^ ]*/rdma/ib_verbs.h' "$work/module/kmod/link/.lane.o.cmd" | sort -u >"$work/headers"
	[ "$(sed 's/^\$(wildcard //' "$work/headers")" = "$vendor/include/rdma/ib_verbs.h" ] || { cat "$work/headers"; return 1; }
	# What stands in its place is said.
	make -n KERNEL="$kernel" IB_CORE="$of" OFED=none module >/dev/null
	expect_status 2 make KERNEL="$kernel" IB_CORE="$of" module 2>"$work/words"
	grep -q "^Linux $kernel loads the RDMA stack of a vendor, $of: OFED=FOLDER builds for it" "$work/words"
	expect_status 2 make KERNEL="$kernel" OFED="$work" module 2>"$work/words"
	grep -qx "OFED=$work: no include/rdma/ib_verbs.h there" "$work/words"
}

# unit NAME - the unit tests on that machine
unit() {
	local name=$1 prefix debian emulator libraries lib

	read -r _ _ prefix debian emulator _ <<<"$(line_of "$name")"
	libraries=$(arch/libraries "$debian" libb2-1 libb2-dev nettle-dev libnettle8 libhogweed6 libgmp10 libgomp1)
	lib=$libraries/usr/lib/$prefix
	"$prefix-gcc" -O1 -g -Wall -Wextra -Werror -Wno-sign-compare -Iunit/include -I"$top/kmod" \
		-I"$libraries/usr/include" -I"$libraries/usr/include/$prefix" -o "$work/unit" unit/unit.c \
		"$top"/kmod/proto/*.c "$top/kmod/base/backoff.c" \
		-L"$lib" -lb2 -lhogweed -lnettle -Wl,-rpath-link,"$lib"
	"$emulator" -L "/usr/$prefix" -E "LD_LIBRARY_PATH=$lib" "$work/unit" >"$work/unit.tap" || { grep -v '^ok' "$work/unit.tap"; return 1; }
	note "$(grep -c '^ok ' "$work/unit.tap") unit tests"
	[ "1..$(grep -c '^ok ' "$work/unit.tap")" = "$(grep '^1\.\.' "$work/unit.tap")" ]
}
unit_tests_on_arm64() { unit arm64; }
unit_tests_on_s390x_which_is_big_endian() { unit s390x; }

plan 11
run module_for_arm64
run module_for_arm64_with_64k_pages
run module_for_ppc64le_with_64k_pages
run module_for_s390x
run module_for_i386
run module_by_clang
run module_by_clang_for_arm64
run tools_by_clang
run module_for_a_vendors_rdma_stack
run unit_tests_on_arm64
run unit_tests_on_s390x_which_is_big_endian
finish
