#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory that is not there, and devices that refuse, on a kernel that injects faults. One
# machine with itself. First every allocation of every operation fails once (failnth.c);
# then one in a hundred, in whichever context, of those made for the module.
. lib/ksft.sh
shopt -s nullglob

debugfs=/sys/kernel/debug
set_attr() { # FOLDER KEY=VALUE...
	local dir=$1 word

	shift
	for word in "$@"; do
		[ ! -e "$dir/${word%%=*}" ] || echo "${word#*=}" >"$dir/${word%%=*}"
	done
}

many=1000000
# What is quiet stays so: a report of an injected fault looks like a kernel's complaint.
quiet_faults() {
	local fault

	for fault in "$debugfs"/{failslab,fail_page_alloc,fail_usercopy} "$debugfs"/rdma_char/fail_*; do
		set_attr "$fault" verbose=0 ignore-gfp-wait=N ignore-gfp-highmem=N min-order=0 times=$many
	done
}
set_up=quiet_faults

# A program with tests of its own. Each of them is left out when others are asked for.
every_allocation_fails_once() {
	rchar add srv stream listen 10.0.0.1 window 256k
	rchar -w $limit add cli stream connect 10.0.0.1/srv window 256k rendezvous-min 64k
	rchar add msrv message listen 10.0.0.1 window 64k max-message 32k
	rchar -w $limit add mcli message connect 10.0.0.1/msrv window 64k max-message 32k
	rchar add here memory listen 10.0.0.1 size 1m
	rchar -w $limit add there memory connect 10.0.0.1/here
	rchar key gen | rchar key add sealed
	rchar add esrv stream listen 10.0.0.1 window 256k keys sealed encrypt on
	rchar -w $limit add ecli stream connect 10.0.0.1/esrv window 256k key sealed encrypt on
	rchar add ehere memory listen 10.0.0.1 size 1m keys sealed encrypt on
	rchar -w $limit add ethere memory connect 10.0.0.1/ehere key sealed encrypt on
	failnth | tee /tmp/failnth
	failnth_ret=${PIPESTATUS[0]}
	ksft_n=$(grep -cE '^(not )?ok' /tmp/failnth)
	ksft_failed=$(grep -c '^not ok' /tmp/failnth)
	[ "$failnth_ret" = 0 ] || [ "$ksft_failed" != 0 ] || ksft_failed=1
	rchar del all
	rchar key del sealed
}

quiet_faults
[ -n "${VM_TEST:-}" ] || every_allocation_fails_once

# Only allocations with a function of the module in their stack, and none of the RDMA
# stack: soft-RoCE in 6.1 does not survive them itself (rxe_create_qp() cleans up timers
# that it has not set up yet). fail_verbs stands for those.
faults_of_the_module() { # FAULT PERCENT
	local start size ib ends siw='' end

	start=$(cat /sys/module/rdma_char/sections/.text)
	size=$(awk '$1 == "rdma_char" { print $2 }' /proc/modules)
	# Linked in this order: ib_core begins, siw ends. What is cold is far behind.
	ib=$(awk '$3 == "ib_pack" { print $1 }' /proc/kallsyms)
	ends=$(sort /proc/kallsyms | awk 'last && $3 !~ /^siw_/ { print $1 } { last = $3 ~ /^siw_/ }')
	for end in $ends; do
		[ $((0x$end - 0x$ib)) -lt 0 ] || [ $((0x$end - 0x$ib)) -gt $((4 << 20)) ] || siw=$end
	done
	set_attr "$debugfs/$1" "require-start=$start" "require-end=$(printf '%#x' $((start + size)))" \
		reject-start="0x$ib" reject-end="0x$siw" stacktrace-depth=32 probability="$2"
}

# Ends them; there must have been some.
no_faults() {
	local fault n=0

	for fault in "$debugfs"/{failslab,fail_page_alloc} "$debugfs"/rdma_char/fail_*; do
		echo 0 >"$fault/probability"
		n=$((n + many - $(cat "$fault/times")))
		echo $many >"$fault/times"
	done
	note "$n faults"
	[ $n -gt 0 ]
}

# Pieces of a file through a region and back, each tried until it goes.
pieces() { # NUMBER
	local i

	for i in $(seq 0 $(($1 - 1))); do
		until dd if=/bin/busybox of=/dev/rchar/there bs=30000 skip="$i" seek="$i" count=1 conv=notrunc 2>/dev/null; do :; done
		until dd if=/dev/rchar/there of=/tmp/piece bs=30000 skip="$i" count=1 2>/dev/null; do :; done
		dd if=/bin/busybox bs=30000 skip="$i" count=1 2>/dev/null | cmp - /tmp/piece || return 1
	done
}

# Everything at once: bytes, messages, sessions, memory, each of them checked.
export RIO_PATIENT=1
everything() { # COMMAND that begins the faults...
	local jobs=() job bytes=8388608 fine=1

	rchar add pipe stream listen 10.0.0.1
	rchar -w $limit add to-pipe stream connect 10.0.0.1/pipe
	rchar add msg message listen 10.0.0.1
	rchar -w $limit add to-msg message connect 10.0.0.1/msg
	rchar add many stream listen 10.0.0.1
	rchar -w $limit add to-many stream connect 10.0.0.1/many
	rchar add here memory listen 10.0.0.1 size 1m
	rchar -w $limit add there memory connect 10.0.0.1/here
	"$@"
	rio read /dev/rchar/pipe 51 >/tmp/bytes & jobs+=($!)
	rio write /dev/rchar/to-pipe 51 $bytes & jobs+=($!)
	rio receive /dev/rchar/msg 52 >/tmp/messages & jobs+=($!)
	rio send /dev/rchar/to-msg 52 200 & jobs+=($!)
	rio serve /dev/rchar/many 16 53 >/tmp/served & jobs+=($!)
	rio many /dev/rchar/to-many 16 53 100000 >/dev/null & jobs+=($!)
	pieces 20 & jobs+=($!)
	for job in "${jobs[@]}"; do
		wait "$job" || fine=0
	done
	no_faults
	note "bytes $(cat /tmp/bytes), messages $(cat /tmp/messages), sessions $(grep -c '^100000$' /tmp/served), connects $(counter a 'rchar -j link' connects), failures $(counter a 'rchar -j link' failures)"
	rchar del all
	[ $fine = 1 ]
	[ "$(cat /tmp/bytes)" = $bytes ]
	[ "$(cat /tmp/messages)" = 200 ]
	[ "$(grep -c '^100000$' /tmp/served)" = 16 ]
}

slab_fails_one_in_a_hundred() { everything faults_of_the_module failslab 1; }
pages_fail_one_in_a_hundred() { everything faults_of_the_module fail_page_alloc 1; }

inject() { # FAULT PERCENT [EACH]: of each so many. A connection makes 1024 mappings
	set_attr $debugfs/rdma_char/"$1" interval="${3:-1}" probability="$2"
}
queue_pairs_fail_at_random() { everything inject fail_qp 2; }
posting_sends_fails_at_random() { everything inject fail_post_send 1; }
posting_receives_fails_at_random() { everything inject fail_post_recv 5 5; }
mappings_fail_at_random() { everything inject fail_map 100 1100; }
verbs_fail_at_random() { everything eval 'inject fail_verbs 5; inject fail_qp 1'; }

times_failed() { echo $((many - $(cat "$debugfs/rdma_char/$1/times"))); } # FAULT

# Where a READ registers its memory, as over iWARP, it waits for a memory region: until there is one,
# or its device, its peer or its channel is gone.
reads_wait_for_memory_regions() {
	local way reader

	for way in memory device peer channel; do
		rchar add here memory listen 10.0.0.1 size 1m
		dd if=/bin/busybox of=/dev/rchar/here bs=30000 count=1 conv=notrunc 2>/dev/null
		echo 0 >$limits/keyless_reads
		rchar -w $limit add there memory connect 10.0.0.1/here
		# The exporter registers its region for this session.
		exec 9</dev/rchar/there
		inject fail_verbs 100
		dd of=/tmp/piece bs=30000 count=1 <&9 2>/tmp/words &
		reader=$!
		until_true eval '[ "$(times_failed fail_verbs)" -ge 3 ]'
		kill -0 $reader
		[ "$way" != device ] || rdma-del
		[ "$way" != peer ] || rchar del here
		[ "$way" != channel ] || rchar del there
		case $way in
		peer|channel)
			expect_status 1 wait $reader
			no_faults
			cat /tmp/words ;;
		*)
			no_faults
			[ "$way" != device ] || rdma-add
			wait $reader
			cmp -n 30000 /bin/busybox /tmp/piece ;;
		esac
		exec 9<&-
		echo 4294967295 >$limits/keyless_reads
		rchar del all
		until_true grep -qx 'sink 0' "$debugfs/rdma_char/objects"
	done
}

# What of a chain the device has taken is not freed before the connection is drained, though the only
# session that used it ends meanwhile.
registrations_are_taken_in_part() {
	local slow=$debugfs/rdma_char/delay_register reader

	rchar add here memory listen 10.0.0.1 size 16m
	dd if=/bin/busybox of=/dev/rchar/here bs=30000 count=1 conv=notrunc 2>/dev/null
	rchar -w $limit add there memory connect 10.0.0.1/here
	# While the exporter registers, the reader is killed.
	echo 300000 >"$slow"
	inject fail_post_part 100
	dd if=/dev/rchar/there of=/tmp/piece bs=30000 count=1 2>/dev/null &
	reader=$!
	until_true grep -qx 'delayed 1' "$debugfs/rdma_char/objects"
	kill $reader
	expect_status 143 wait $reader
	until_true eval '[ "$(times_failed fail_post_part)" -ge 1 ]'
	no_faults
	echo 0 >"$slow"
	until_true grep -qx 'grant 0' "$debugfs/rdma_char/objects"
	dd if=/dev/rchar/there of=/tmp/piece bs=30000 count=1 2>/dev/null
	cmp -n 30000 /bin/busybox /tmp/piece
	rchar del all
}

# Either it is there and works, or the tool says why not and it is not there.
channels_come_and_go_without_memory() {
	local i made=0

	faults_of_the_module failslab 5
	for i in $(seq 25); do
		if rchar add come stream listen 10.0.0.1:7480 2>/tmp/words; then
			made=$((made + 1))
		else
			grep -qE 'memory|buffer|node could not be made' /tmp/words ||
				{ cat /tmp/words; return 1; }
		fi
		rchar add go stream connect 10.0.0.1:7480/come 2>/dev/null || true
		rchar del come 2>/dev/null || true
		rchar del go 2>/dev/null || true
	done
	no_faults
	note "$made of 25 added"
	# What only the answer failed of is still there.
	rchar del come 2>/dev/null || true
	rchar del go 2>/dev/null || true
	[ -z "$(rchar)" ]
	[ $made -lt 25 ]
}

# What could not be made when the device came is made later.
device_comes_back_without_memory() {
	local i

	rchar add back stream listen 10.0.0.1
	rchar add there stream connect 10.0.0.1/back
	faults_of_the_module failslab 10
	for i in 1 2 3 4 5; do
		rdma-del
		rdma-add
		# For what did not find memory to be tried again, and to fail again.
		sleep 0.5
	done
	no_faults
	# A device that the module could not take note of at all: only a new one helps.
	rdma-del
	rdma-add
	rchar -w $limit show there
	echo alive >/dev/rchar/there
	[ "$(cat /dev/rchar/back)" = alive ]
	rchar del all
}

run slab_fails_one_in_a_hundred
run pages_fail_one_in_a_hundred
run queue_pairs_fail_at_random
run posting_sends_fails_at_random
run posting_receives_fails_at_random
run mappings_fail_at_random
run verbs_fail_at_random
run reads_wait_for_memory_regions
run registrations_are_taken_in_part
run channels_come_and_go_without_memory
run device_comes_back_without_memory
echo "1..$ksft_n"
finish
