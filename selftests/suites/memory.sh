#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory channels between two machines: a exports, b imports. Programs of others.
. lib/ksft.sh

size=33554432
set_up=up

up() {
	on b vm-netem
	rchar add pool memory listen 10.0.0.1 size 32m
	on b rchar -w $limit add pool memory connect 10.0.0.1
	on b rchar show pool | grep -q 'state up'
	rchar show pool | grep -q 'size 32m access rw atomics sw'
}

# One engine: what was written is read again and compared by fio.
verified() { # ENGINE PATTERN
	local bs depth out

	for bs in 512 4k 64k 1m; do
		for depth in 1 8 64; do
			[ "$1" != psync ] || [ $depth = 1 ] || continue
			on b "cd /tmp && fio --name=v --filename=/dev/rchar/pool --size=$size --bs=$bs \
				--io_size=512k --rw=$2 --ioengine=$1 --iodepth=$depth --allow_file_create=0 \
				--fallocate=none --verify=crc32c --verify_fatal=1 --do_verify=1 \
				--randrepeat=0 --minimal >/tmp/fio 2>&1 || { cat /tmp/fio; exit 1; }"
		done
	done
}

fio_psync_random() { verified psync randwrite; }
fio_psync_sequential() { verified psync write; }
fio_libaio_random() { verified libaio randwrite; }
fio_libaio_sequential() { verified libaio write; }
fio_io_uring_random() { verified io_uring randwrite; }
fio_io_uring_sequential() { verified io_uring write; }

dd_cmp_hexdump() {
	local bytes

	bytes=$(stat -c %s /bin/busybox)
	on b 'dd if=/bin/busybox of=/dev/rchar/pool bs=100001 conv=notrunc,fsync 2>/dev/null'
	cmp -n "$bytes" /bin/busybox /dev/rchar/pool
	on b "cmp -n $bytes /bin/busybox /dev/rchar/pool"
	on b 'hexdump -C -n 16 -s 1 /dev/rchar/pool' | head -n1 | grep -q '45 4c 46'
	# Behind the end.
	expect_status 1 on b "dd if=/dev/zero of=/dev/rchar/pool bs=1M seek=31 count=2 conv=notrunc" 2>/dev/null
	on b "dd if=/dev/zero of=/dev/rchar/pool bs=1M seek=31 count=2 conv=notrunc" 2>&1 | grep -q 'No space left'
	[ "$(on b 'dd if=/dev/rchar/pool bs=1M skip=31 2>/dev/null | wc -c')" = 1048576 ]
}

# Python: mmap here, pread and pwrite there.
python_mmap_and_pread() {
	python3 programs/memory.py export >/tmp/py.out 2>&1 &
	local exporter=$!

	until_true grep -q ready /tmp/py.out
	on b python3 /root/programs/memory.py import
	wait $exporter || { cat /tmp/py.out; return 1; }
}

reads_are_one_sided() {
	[ -z "$(lacks)" ] || skip "as on this adapter, reads are calls ($(lacks) is 0)"
}

# RDMA did it, not the CPU of the exporter: it received no frame meanwhile but keepalives.
no_frames_for_bytes() {
	local before after

	reads_are_one_sided
	before=$(counter a 'rchar -j link' rx_frames)
	on b 'dd if=/dev/rchar/pool of=/dev/null bs=64k 2>/dev/null'
	after=$(counter a 'rchar -j link' rx_frames)
	note "$((after - before)) frames for 512 reads"
	[ $((after - before)) -lt 256 ]
}

writes() { # SECONDS [SIZE]: fio that verifies, in the background
	on b "cd /tmp && fio --name=w --filename=/dev/rchar/pool --size=${2:-$size} --bs=32k --rw=randwrite \
		--ioengine=libaio --iodepth=16 --allow_file_create=0 --fallocate=none --verify=crc32c \
		--verify_fatal=1 --time_based --runtime=$1 --minimal >/tmp/fio 2>&1 || { cat /tmp/fio; exit 1; }" &
	writer=$!
}

resets_lose_nothing() {
	local n=0 connects

	connects=$(counter b 'rchar -j link' connects)
	writes 6
	while kill -0 $writer 2>/dev/null; do
		# So often: something gets through in between.
		sleep 0.4
		rchar link reset "$(rchar link | sed -n 's/: from.*//p' | head -n1)" 2>/dev/null || true
		n=$((n + 1))
	done
	wait $writer
	connects=$(($(counter b 'rchar -j link' connects) - connects))
	note "$n resets, $connects connects"
	[ "$connects" -ge 3 ]
}

device_removals_lose_nothing() {
	local i

	writes 8
	for i in 1 2 3; do
		until_moving b pool tx_bytes "$writer"
		rdma-del
		rdma-add
		until_moving b pool tx_bytes "$writer"
		on b 'rdma-del; rdma-add'
	done
	wait $writer
	note "connects $(counter b 'rchar -j link' connects)"
	on b rchar -w $limit show pool
}

# One link carries memory, a stream and messages at the same time.
types_share_a_link() {
	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1
	writes 4
	rio read /dev/rchar/pipe 61 >/tmp/got &
	local reader=$!
	on b rio write /dev/rchar/pipe 61 16777216
	wait $reader
	wait $writer
	[ "$(cat /tmp/got)" = 16777216 ]
	[ "$(qps a)" = "$(on b cat /sys/module/rdma_char/parameters/lanes)" ]
	rchar del pipe
	on b rchar del pipe
}

# Who reads and writes is told when the region is another one.
region_goes_under_load() { # COMMAND that lets it go
	local ret=0

	writes 20
	until_moving b pool tx_bytes
	"$@"
	wait $writer || ret=$?
	[ $ret != 0 ]
	rchar add pool memory listen 10.0.0.1 size 32m
	on b rchar -w $limit show pool
	on b 'head -c 1000 /dev/rchar/pool | cmp -n 1000 - /dev/zero'
}

deleted_under_load() { region_goes_under_load rchar del pool; }

module_of_the_exporter_unloaded_under_load() {
	region_goes_under_load eval 'rmmod rdma_char; vm-load'
}

# The power of an importer goes: the region stays, and the next one may come.
importer_restarted_under_load() {
	printf kept | dd of=/dev/rchar/pool bs=1M seek=30 conv=notrunc 2>/dev/null
	writes 60 16m
	until_moving b pool tx_bytes
	vm-host restart b
	vm-up b
	on b rchar -w $limit add pool memory connect 10.0.0.1
	[ "$(on b 'dd if=/dev/rchar/pool bs=1M skip=30 count=1 2>/dev/null' | head -c 4)" = kept ]
}

a_large_region() {
	rchar add large memory listen 10.0.0.1 size 600m
	on b rchar -w $limit add large memory connect 10.0.0.1
	on b 'dd if=/bin/busybox of=/dev/rchar/large bs=1M seek=598 count=1 conv=notrunc,fsync 2>/dev/null'
	dd if=/dev/rchar/large bs=1M skip=598 count=1 2>/dev/null | cmp -n 1048576 - /bin/busybox
	rchar del large
	on b rchar del large
	expect_status 2 rchar add huge memory listen 10.0.0.1 size 100g
	rchar add huge memory listen 10.0.0.1 size 100g 2>&1 | grep -q 'not so much memory'
}

# It is more than half of the memory, and b has it open.
a_large_region_is_replaced() {
	local i importer size

	size=$(awk '$1 == "MemAvailable:" { print int($2 * 2 / 3) "k" }' /proc/meminfo)
	rchar add half memory listen 10.0.0.1 size "$size"
	expect_status 5 rchar add half memory listen 10.0.0.1 size "$size"
	rchar add --exist-ok half memory listen 10.0.0.1 size "$size"
	on b rchar -w $limit add half memory connect 10.0.0.1
	for i in 1 2 3; do
		on b 'exec 3<>/dev/rchar/half; echo >/tmp/opened; cat /dev/rchar/half >/dev/null || true' &
		importer=$!
		until_true on b '[ -e /tmp/opened ]'
		rchar del half
		rchar add half memory listen 10.0.0.1 size "$size"
		wait $importer
		on b rm /tmp/opened
	done
	rchar del half
	on b rchar del half
}

# The freezer waits for all programs, as for those that wait for another host: for a region, for the
# result of a call, and, as there are two at once, for the room to make a call.
a_host_suspends_while_programs_wait() {
	local fd key pid pids=()

	[ -e /sys/power/pm_test ] || skip "this kernel cannot suspend"
	key=$(rchar key gen)
	rchar key add k - <<<"$key"
	on b "echo $key | rchar key add k -"
	on b rchar add plain memory listen 10.0.0.2 size 8m recovery-timeout 300s
	on b rchar add sealed memory listen 10.0.0.2 size 8m keys k encrypt on recovery-timeout 300s
	rchar -w $limit add plain memory connect 10.0.0.2 recovery-timeout 300s
	rchar -w $limit add sealed memory connect 10.0.0.2 key k encrypt on recovery-timeout 300s
	exec 4</dev/rchar/plain 5</dev/rchar/sealed 6<&5
	for fd in 4 5; do dd bs=1 count=1 <&$fd >/tmp/read 2>/dev/null; done
	on b vm-netem loss 100%
	for fd in 4 5 6; do
		dd bs=1M count=1 <&$fd >/tmp/read.$fd 2>/dev/null &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do until_true grep -q '^State:.D' "/proc/$pid/status"; done
	echo 1 >/sys/module/suspend/parameters/pm_test_delay
	echo freezer >/sys/power/pm_test
	echo freeze >/sys/power/state
	echo none >/sys/power/pm_test
	# Who is killed, in the line or not, leaves the room for calls to the others.
	kill -9 "${pids[2]}"
	expect_status 137 wait "${pids[2]}"
	on b vm-netem
	wait "${pids[0]}"
	wait "${pids[1]}"
	dd bs=1M count=1 <&6 >/tmp/read.6 2>/dev/null
	for fd in 4 5 6; do head -c 1048576 /dev/zero | cmp - /tmp/read.$fd; done
	exec 4<&- 5<&- 6<&-
	rm /tmp/read*
	rchar del plain
	rchar del sealed
	rchar key del k
	on b 'rchar del plain; rchar del sealed; rchar key del k'
}

rchar_perf_measures() {
	local work

	for work in "bandwidth -s 512,4k,1m -t 0.2" "bandwidth -d 32 -s 4k -w -t 0.2" "bandwidth -q -s 64k -t 0.2" "latency -n 100" "latency -n 20 -s 64k -w"; do
		measured memory "$work" /dev/rchar/pool
	done
	[ "$(on b rchar-perf latency /dev/rchar/pool -n 7 -j | grep -o '"repeats":[0-9]*')" = '"repeats":7' ]
	on b rchar-perf open /dev/rchar/pool 2>&1 | grep -q 'is for stream and message channels'
	on b rchar-perf bandwidth /dev/rchar/pool -a 1 2>&1 | grep -q "'-a' is not an option of bandwidth of a memory channel"
}

# A file that another program opened, and the programs that use it are killed.
descriptors_are_inherited() {
	on b 'exec 3<>/dev/rchar/pool; dd if=/bin/busybox bs=1M >&3 2>/dev/null'
	cmp -n "$(stat -c %s /bin/busybox)" /bin/busybox /dev/rchar/pool
	on b 'for i in $(seq 10); do
		exec 3<>/dev/rchar/pool
		dd if=/dev/zero bs=1M count=32 >&3 2>/dev/null & one=$!
		dd bs=1M count=32 of=/dev/null <&3 2>/dev/null & two=$!
		# At another point of their work each time.
		sleep 0.0$i
		kill -9 $one $two
		wait $one $two
	done; exec 3>&-' || true
	until_true eval '[ "$(counter b "rchar -j show pool" pinned_bytes)" = 0 ]'
}

# The file lives on, in the shell that the programs have it from.
requests_of_the_killed_end_while_the_link_is_lost() {
	local round pid pids

	reads_are_one_sided
	on b rchar add kept memory listen 10.0.0.2 size 1m recovery-timeout 300s
	rchar -w $limit add kept memory connect 10.0.0.2 recovery-timeout 300s
	exec 4</dev/rchar/kept
	dd bs=1 count=1 <&4 >/tmp/read 2>/dev/null
	on b vm-netem loss 100%
	# The device has the first ones, or some of them. Nothing has the others but their queue.
	for round in sent unsent; do
		pids=()
		for _ in {1..8}; do
			dd bs=64k count=1 <&4 >/tmp/read.$round 2>/dev/null &
			pids+=($!)
		done
		until_true eval '[ "$(counter a "rchar -j show kept" pinned_bytes)" -ge 524288 ]'
		kill -9 "${pids[@]}"
		for pid in "${pids[@]}"; do expect_status 137 wait "$pid"; done
		until_true eval '[ "$(counter a "rchar -j show kept" pinned_bytes)" = 0 ]'
		until_true eval '[ "$(state kept)" != up ]'
	done
	on b vm-netem
	dd bs=64k count=1 <&4 >/tmp/read 2>/dev/null
	head -c 65536 /dev/zero | cmp - /tmp/read
	exec 4<&-
	rm /tmp/read*
	rchar del kept
	on b rchar del kept
}

# The network is slower than the programs, also on a busy host.
priority_is_a_share_of_the_link() {
	local name size=256k pids=()

	# 16 requests by calls end at about the same time, and their bytes count then.
	[ -z "$(lacks)" ] || size=32k

	on b vm-netem rate 10mbit limit 1000
	for name in much little; do
		on b rchar -w $limit add $name memory connect 10.0.0.1/pool
		on b "exec rchar-perf bandwidth /dev/rchar/$name -w -s $size -d 16 -t 600 >/tmp/$name" &
		pids+=($!)
	done
	until_true has_moved b much tx_bytes 1000000
	until_true has_moved b little tx_bytes 1000000
	priorities_count b tx_bytes
	for name in much little; do on b rchar del $name; done
	wait "${pids[@]}" || true
	on b vm-netem
	# What they wrote last may still be on its way, and would land in the region of the next test.
	until_true no_importers
}

no_importers() { ! rchar session | grep ': channel pool '; }

# As when the bounce buffers of the importer (swiotlb) are all in use.
operations_wait_for_dma_mappings() {
	local connects

	needs_test_build
	reads_are_one_sided
	connects=$(counter b 'rchar -j link' connects)
	on b 'dd if=/dev/urandom of=/dev/rchar/pool bs=64k count=1 conv=notrunc 2>/dev/null'
	on b "was=\$(cat $limits/direct_dma)
		stalls() { rchar -j link | grep -o '\"map_stalls\":[0-9]*' | cut -d: -f2; }
		before=\$(stalls)
		exec 3</dev/rchar/pool
		echo 0 >$limits/direct_dma
		echo 0 >$limits/bounces
		dd bs=64k count=1 <&3 2>/dev/null | sha256sum >/tmp/waited &
		until [ \$(stalls) -ge \$((before + 3)) ]; do :; done
		echo 4294967295 >$limits/bounces
		wait
		echo \$was >$limits/direct_dma"
	on b '[ "$(dd if=/dev/rchar/pool bs=64k count=1 2>/dev/null | sha256sum)" = "$(cat /tmp/waited)" ]'
	[ "$(counter b 'rchar -j link' connects)" = "$connects" ]
}

# Ten seconds without any mapping are an error of the call, not of the connection.
operations_end_without_dma_mappings() {
	needs_test_build
	reads_are_one_sided
	on b "was=\$(cat $limits/direct_dma)
		exec 3</dev/rchar/pool
		echo 0 >$limits/direct_dma
		echo 0 >$limits/bounces
		dd bs=64k count=1 <&3 2>/tmp/ended >/dev/null
		echo 4294967295 >$limits/bounces
		echo \$was >$limits/direct_dma
		grep -q 'Input/output error' /tmp/ended &&
			dd bs=64k count=1 <&3 >/dev/null"
}

sinks() { on b "sed -n 's/^sink //p' ${limits%/*}/objects"; }
no_sinks() { [ "$(sinks)" = 0 ]; }

# The limits of b's device count from its next connection on.
reconnect() {
	local before

	before=$(counter b 'rchar -j link' connects)
	reset_link b
	until_true connected_again "$before"
	until_true is_state pool up b
}

# As over iWARP: each READ registers its memory, however the program has laid it out. On an idle
# link no memory region is left.
reads_register_their_memory() {
	local reader n=0

	needs_test_build
	reads_are_one_sided
	on b "cat $limits/keyless_reads >/tmp/keyless; echo 0 >$limits/keyless_reads"
	reconnect
	on b python3 /root/programs/memory.py scatter &
	reader=$!
	until_true eval '[ "$(sinks)" -gt 1 ]'
	while kill -0 $reader 2>/dev/null && [ $n -lt 5 ]; do
		until_moving b pool rx_bytes $reader
		reset_link b || true	# it may be down
		n=$((n + 1))
	done
	wait $reader
	until_true no_sinks
	on b "cat /tmp/keyless >$limits/keyless_reads"
	reconnect
}

held_for_peers() { sed -n 's/^held //p' "${limits%/*}/objects"; }
importers_of_shared() { rchar session | grep -c ': channel shared ' || true; }
step_is() { [ "$(on b cat /tmp/step 2>/dev/null)" = "$1" ]; }
next_step() { on b rm /tmp/step; }

# However many of its programs have the region open, and when the first of them has gone. The last
# block of the region "shared" has 12 KiB: there is one for each time the region is registered.
programs_of_a_host_share_keys() {
	local before lanes

	needs_test_build
	reads_are_one_sided
	lanes=$(on b cat /sys/module/rdma_char/parameters/lanes)
	before=$(held_for_peers)
	rchar add shared memory listen 10.0.0.1 size $((size + 12288))
	on b rchar -w $limit add shared memory connect 10.0.0.1
	on b 'rm -f /tmp/step; exec python3 /root/programs/memory.py together' &
	until_true step_is opened
	[ "$(importers_of_shared)" = 16 ]
	[ "$(registered 12288)" = "$lanes" ]
	# One set of registrations is 0.7 MiB, and each importer another 0.05.
	[ $(($(held_for_peers) - before)) -lt $(((1 + lanes) << 20)) ]
	reset_link b
	next_step
	until_true step_is again
	[ "$(registered 12288)" = "$lanes" ]
	next_step
	until_true step_is one
	until_true eval '[ "$(importers_of_shared)" = 1 ]'
	[ "$(registered 12288)" = 1 ]
	next_step
	until_true step_is none
	until_true eval '[ "$(registered 12288)" = 0 ]'
	until_true eval '[ "$(held_for_peers)" -le "$before" ]'
	next_step
	wait
	on b rchar del shared
	rchar del shared
}

# Each of them may be the first, the last, or the one that registers.
importers_come_and_go_while_the_link_breaks() {
	local i readers

	reads_are_one_sided
	rchar add shared memory listen 10.0.0.1 size $((size + 12288))
	on b rchar -w $limit add shared memory connect 10.0.0.1 open-timeout 300s
	on b 'rm -f /tmp/stop /tmp/came
		for i in 1 2 3 4; do
			while [ ! -e /tmp/stop ]; do
				head -c 5000 /dev/rchar/shared | wc -c >>/tmp/came
			done &
		done
		wait' &
	readers=$!
	for i in 1 2 3 4 5; do
		until_moving b shared rx_bytes $readers
		reset_link b || true	# it may be down
	done
	on b touch /tmp/stop
	wait $readers
	[ "$(on b 'sort -u /tmp/came')" = 5000 ]
	note "$(on b 'wc -l </tmp/came') importers"
	until_true eval '[ "$(registered 12288)" = 0 ]'
	on b rchar del shared
	rchar del shared
}

plan 28
run up
run fio_psync_random
run fio_psync_sequential
run fio_libaio_random
run fio_libaio_sequential
run fio_io_uring_random
run fio_io_uring_sequential
run dd_cmp_hexdump
run python_mmap_and_pread
run descriptors_are_inherited
run requests_of_the_killed_end_while_the_link_is_lost
run no_frames_for_bytes
run rchar_perf_measures
run programs_of_a_host_share_keys
run importers_come_and_go_while_the_link_breaks
run reads_register_their_memory
run operations_wait_for_dma_mappings
run operations_end_without_dma_mappings
run resets_lose_nothing
run device_removals_lose_nothing
run types_share_a_link
run deleted_under_load
run module_of_the_exporter_unloaded_under_load
run a_large_region
run a_large_region_is_replaced
run a_host_suspends_while_programs_wait
run priority_is_a_share_of_the_link
run importer_restarted_under_load
finish
