#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The sources, the documents, and what compilers say. No machine. 'selftests/check' has built module
# and tools before; what was said then, and the status, is in build/logs.
cd "$(dirname "$0")/../.." || exit
. selftests/lib/ksft.sh
logs=build/logs
machines() { :; }

built() { cat "$logs/$1.log"; [ "$(cat "$logs/$1.status")" = 0 ]; } # WHAT

module_builds_without_warnings() { built module; }

sparse_is_clean() {
	grep -q CHECK "$logs/module.log" || { echo "sparse did not run"; return 1; }
	expect_status 1 grep -E 'warning|error' "$logs/module.log"
}

# All warnings are errors, always.
tool_builds_without_warnings() { built tools; }

uapi_header_stands_alone() {
	local header='#include <linux/rdma_char.h>'

	gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -Ikmod/uapi -fsyntax-only -x c - <<<"$header"
	g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Ikmod/uapi -fsyntax-only -x c++ - <<<"$header"
}

shellcheck_is_clean() {
	local scripts

	mapfile -t scripts < <(grep -lE '^#!/bin/(ba)?sh' -r selftests .ci debian rpm)
	shellcheck -x -P selftests "${scripts[@]}" selftests/lib/*.sh selftests/bench/*.sh \
		tools/completion/rchar
}

# What these ignore, and why: codespell.ignore has a test's torn and wrong words, and the name
# of a variable; checkpatch explains its exceptions.
spelling_is_right() {
	codespell -q 2 -I selftests/codespell.ignore -S '*.svg,*.o,*.ko,*/corpus' \
		./*.md Kbuild MAINTAINERS Makefile debian rpm dkms.conf kmod tools selftests Documentation
}

kernel_doc_is_clean() {
	local scripts

	scripts=$(selftests/kernel-scripts)
	find kmod -name '*.[ch]' -print0 | xargs -0 "$scripts/kernel-doc" -none -Werror
}

checkpatch_is_clean() { selftests/checkpatch; }

clang_format_is_clean() { selftests/format --dry-run -Werror; }

no_version_tests_outside_compat() {
	expect_status 1 grep -rnE 'LINUX_VERSION_CODE|KERNEL_VERSION' kmod --include='*.[ch]'
}

# Each test of the contract stands behind a promise, and each name behind one is a test.
every_promise_has_its_test() {
	local doc contract scripts

	doc=$(grep -oE '\[[a-z0-9_]+\]$' Documentation/uapi.rst | tr -d '[]' | sort)
	contract=$(sed -n 's/^TEST(\([a-z0-9_]*\))$/\1/p' selftests/contract/*.c | sort)
	scripts=$(sed -n 's/^run \([a-z0-9_]*\)$/\1/p' selftests/suites/*.sh | sort)
	[ -n "$doc" ]
	[ -z "$(uniq -d <<<"$doc")" ]
	# One that is written in another way would not be found.
	! grep -nE '\<TEST *\(' selftests/contract/*.[ch] | grep -vE '\.c:[0-9]+:TEST\([a-z0-9_]+\)$' || return 1
	diff <(comm -23 <(echo "$doc") <(echo "$scripts")) <(echo "$contract")
}

layers_hold() { python3 selftests/layers.py kmod; }

static_functions_have_names_of_their_own() { python3 selftests/names.py kmod; }

spec_matches_header() {
	python3 selftests/spec.py Documentation/netlink/specs/rdma_char.yaml \
		kmod/uapi/linux/rdma_char.h kmod/proto/names.h
}

# What the module sends and the tool does not decode would be missing from all output.
tool_reads_every_attribute() {
	local header tool

	header=$(grep -oE '^\sRCHAR_A_[A-Z_]+' kmod/uapi/linux/rdma_char.h | tr -d '\t' |
		grep -v '_PAD$' | grep -v _KEY_SECRET | sort) # which nobody is told
	tool=$(grep -ohE 'RCHAR_A_[A-Z_]+, ("|&)' tools/rchar/decode.cc tools/rchar/stats.hh |
		cut -d, -f1 | sort)
	diff <(echo "$header") <(echo "$tool")
}

# Scripts read them by the manual page.
every_json_key_is_documented() { python3 selftests/jsonkeys.py .; }

# The unit tests and the document have what another implementation computes.
test_vectors_are_right() {
	# Debian's own has the cryptography that was installed.
	/usr/bin/python3 selftests/vectors.py | diff - selftests/unit/vectors.h
	/usr/bin/python3 selftests/vectors.py Documentation/protocol.rst
}

documents_are_well_formed() { selftests/rst.py Documentation/*.rst Documentation/performance/*.rst; }

manual_pages_are_well_formed() {
	local page out

	for page in Documentation/*.[158]; do
		out=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z \
			"$page" 2>&1 >/dev/null)
		[ -z "$out" ] || { echo "$page: $out"; return 1; }
	done
}

# What 'make install-tools' installs, 'make uninstall' removes; and the unit is one that systemd
# understands, with a program that is there.
installed_files_are_right() {
	local root=$PWD/build/install out t

	rm -rf "$root"
	make -s install-tools DESTDIR="$root"
	make -s install-tools DESTDIR="$root" PREFIX=/opt/rchar
	t=$root/opt/rchar/lib/systemd/system/rchar.service
	grep -q '^ExecStart=/opt/rchar/sbin/rchar ' "$t"
	# The units that every unit wants.
	for t in sysinit basic shutdown timers; do
		echo '[Unit]' >"$root/usr/lib/systemd/system/$t.target"
	done
	mkdir -p "$root"/etc/rchar/{forward,exec}
	touch "$root"/etc/rchar/{forward,exec}/x
	out=$(systemd-analyze verify --man=no --root="$root" rchar.service rchar-forward@x.service \
		rchar-exec@x.service rchar-metrics.service rchar-metrics.timer 2>&1) || { echo "$out"; return 1; }
	[ -z "$out" ] || { echo "$out"; return 1; }
	rm -r "$root/etc/rchar"
	rm "$root"/usr/lib/systemd/system/*.target
	make -s uninstall DESTDIR="$root"
	make -s uninstall DESTDIR="$root" PREFIX=/opt/rchar
	out=$(find "$root" -type f)
	[ -z "$out" ] || { echo "not removed: $out"; return 1; }
}

files_and_functions_stay_small() {
	local big

	big=$(wc -l kmod/*.c kmod/*/*.c tools/*/*.cc | awk '$2 != "total" && $1 > 900 { print }')
	[ -z "$big" ] || { echo "$big"; return 1; }
	# Function bodies between braces in column 0.
	awk 'FNR == 1 { start = 0 } /^{/ { start = FNR } /^}/ && start {
		if (FNR - start > 80) { print FILENAME ":" start ": " FNR - start " lines"; bad = 1 }
		start = 0 } END { exit bad }' kmod/*.c kmod/*/*.c tools/*/*.cc
}

plan 21
run module_builds_without_warnings
run sparse_is_clean
run tool_builds_without_warnings
run uapi_header_stands_alone
run shellcheck_is_clean
run spelling_is_right
run kernel_doc_is_clean
run checkpatch_is_clean
run clang_format_is_clean
run no_version_tests_outside_compat
run every_promise_has_its_test
run layers_hold
run static_functions_have_names_of_their_own
run spec_matches_header
run tool_reads_every_attribute
run every_json_key_is_documented
run test_vectors_are_right
run documents_are_well_formed
run manual_pages_are_well_formed
run installed_files_are_right
run files_and_functions_stay_small
finish
