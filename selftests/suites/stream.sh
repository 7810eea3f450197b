#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bytes through stream channels between two machines: a listens, b connects.
#
# stream.sh [PART]: a slow kernel moves one PART-th of the bytes.
. lib/ksft.sh
part=${1:-1}
set_up=link_comes_up

transfer() { # bytes seed direction [channel]
	local device=/dev/rchar/${4:-pipe} got reader

	if [ "$3" = b-to-a ]; then
		rio read "$device" "$2" >"/tmp/got.$2" &
		reader=$!
		on b rio write "$device" "$2" "$1"
	else
		on b rio read "$device" "$2" >"/tmp/got.$2" &
		reader=$!
		rio write "$device" "$2" "$1"
	fi
	wait "$reader"
	got=$(cat "/tmp/got.$2")
	[ "$got" = "$1" ] || { echo "sent $1, received $got"; return 1; }
}

link_comes_up() {
	on b vm-netem
	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1
	is_state pipe listening
	is_state pipe up b
}

link_local_addresses_connect() {
	local addr

	addr=$(ip -o -6 addr show dev net0 scope link | awk '{ sub("/.*", "", $4); print $4 }')
	rchar add ll stream listen "[$addr%net0]"
	on b rchar -w $limit add ll stream connect "'[$addr%net0]'"
	[ "$(on b rio open /dev/rchar/ll rw)" = ok ]
	on b rchar del ll
	rchar del ll
}

sizes_around_borders() {
	local n seed=100

	for n in 0 1 4095 4096 4097 16383 16384 16385 1048576; do
		transfer $n $((seed++)) b-to-a
		transfer $n $((seed++)) a-to-b
	done
}

random_pieces_256_mib() { transfer $((268435456 / part)) 7 b-to-a; }

both_directions_at_once() {
	rio duplex /dev/rchar/pipe 40 $((33554432 / part)) &
	local here=$!
	on b rio duplex /dev/rchar/pipe 41 $((33554432 / part))
	wait $here
}

sixty_four_sessions_one_queue_pair() {
	local there

	on b rio many /dev/rchar/pipe 64 1000 300000 >/tmp/sent &
	there=$!
	# All are open at once: they wait for open() here.
	until_true eval '[ "$(counter a "rchar -j" waiting)" = 64 ]'
	[ "$(qps a)" = 1 ] && [ "$(qps b)" = 1 ] || { echo "queue pairs: a $(qps a), b $(qps b)"; return 1; }
	rio serve /dev/rchar/pipe 64 1000 >/tmp/served
	wait $there
	[ "$(grep -c '^300000$' /tmp/served)" = 64 ]
	[ "$(qps a)" = 1 ]
	[ "$(qps b)" = 1 ]
}

ten_reopenings_no_new_connection() {
	local i before after

	before=$(counter b 'rchar -j link' connects)
	for i in 1 2 3 4 5 6 7 8 9 10; do
		transfer 1000 "$i" b-to-a
	done
	after=$(counter b 'rchar -j link' connects)
	[ "$before" = "$after" ] || { echo "connects: $before, then $after"; return 1; }
}

cat_and_sha256() {
	sha256sum </dev/rchar/pipe >/tmp/sum &
	local here=$!
	on b 'cat /bin/busybox /bin/bash >/dev/rchar/pipe'
	wait $here
	[ "$(cut -d' ' -f1 /tmp/sum)" = "$(cat /bin/busybox /bin/bash | sha256sum | cut -d' ' -f1)" ]
}

ipv6() {
	rchar add six stream listen '[fd00::1]:7472'
	on b rchar -w $limit add six stream connect '[fd00::1]:7472'
	cat /dev/rchar/six >/tmp/six &
	local here=$!
	on b 'cat /bin/bash >/dev/rchar/six'
	wait $here
	cmp /tmp/six /bin/bash
	rchar del six
	on b rchar del six
}

remote_name_and_from_address() {
	rchar add inbox stream listen 10.0.0.1
	on b rchar -w $limit add outbox stream connect 10.0.0.1:7471/inbox from 10.0.0.2
	cat /dev/rchar/inbox >/tmp/inbox &
	local here=$!
	on b 'echo hello there >/dev/rchar/outbox'
	wait $here
	[ "$(cat /tmp/inbox)" = "hello there" ]
	rchar del inbox
	on b rchar del outbox
}

has_counters() { [ -e /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts ] || skip "this device counts no packets"; }

rdma_carried_it() {
	has_counters
	local path=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts before after

	before=$(on b cat $path)
	transfer 8388608 77 b-to-a
	after=$(on b cat $path)
	# 8 MiB in packets of at most 4096 bytes.
	[ $((after - before)) -ge 2048 ] || { echo "only $((after - before)) RDMA packets"; return 1; }
}

no_credit_was_ever_missed() {
	has_counters
	# Test builds do not retry a receiver that is not ready: it would have broken the link.
	[ "$(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_rnr_err)" = 0 ]
	[ "$(on b cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_rnr_err)" = 0 ]
	[ "$(counter b 'rchar -j link' connects)" -le 2 ]
}

# All that it does, over both types.
rchar_perf_measures() {
	local type work

	for type in stream message; do
		rchar add perf-srv $type listen 10.0.0.1
		on b rchar -w $limit add perf $type connect 10.0.0.1/perf-srv
		rchar-perf serve /dev/rchar/perf-srv &
		for work in "bandwidth -s 1,4k,1m -t 0.2" "latency -s 64,64k -n 20" "open -n 10" "sessions -c 1,40 -t 0.2"; do
			measured $type "$work" /dev/rchar/perf
		done
		[ $type = stream ] ||
			on b 'rchar-perf bandwidth /dev/rchar/perf -s 2m 2>&1' | grep -q 'write: Message too long'
		kill $!
		wait $! || true
		rchar del perf-srv
		on b rchar del perf
	done
}

# Both directions of a channel are busy until the lane has as many buffers as it may.
grown_by() { # CHANNEL SEED [BUFFERS]
	local here

	rio duplex "/dev/rchar/$1" "$2" 33554432 &
	here=$!
	on b rio duplex "/dev/rchar/$1" $(($2 + 1)) 33554432 &
	until_true has_buffers "${3:-32}"
	wait $!
	wait $here
}

# What an idle lane would give back some time, the shrinker asks for at once: no timer of this link
# fires within the test.
memory_pressure_takes_idle_buffers_back() {
	rchar add tight stream listen 10.0.0.1
	with_keepalive 250 on b rchar -w $limit add tight stream connect 10.0.0.1 keepalive 250s
	on b rchar -j link | grep -q '"keepalive_ms":250000'
	grown_by tight 54
	has_buffers 32
	until_true pressure_gives_back 8
	transfer 65536 56 b-to-a tight
	on b rchar del tight
	rchar del tight
}

pressure_gives_back() { # NUMBER
	echo 2 >/proc/sys/vm/drop_caches
	has_buffers "$1"
}

# A channel that b writes to and a reads from, until endless_end
endless_begin() { # CHANNEL LISTEN-SETTINGS CONNECT-SETTINGS
	# shellcheck disable=SC2086 # words
	rchar add "$1" stream listen 10.0.0.1 $2
	# shellcheck disable=SC2086
	on b rchar -w $limit add "$1" stream connect 10.0.0.1 rendezvous-min 0 $3
	cat "/dev/rchar/$1" >/dev/null &
	on b "cat /dev/zero >/dev/rchar/$1" &
	endless+=($!)
	is_moving "$1"
}

endless_end() { # CHANNEL...
	local name

	for name; do
		on b rchar del "$name"
		rchar del "$name"
	done
	wait "${endless[@]}" || true
	endless=()
}

window_of() { rchar -j session | number_of channel "$1" rx_window_bytes; } # CHANNEL, of one session
has_grown() { [ "$(window_of "$1")" -ge "$2" ]; } # CHANNEL BYTES

# A new link, which learns of the path's round trip.
a_window_grows_as_the_path_needs() {
	long_path 50ms
	endless_begin grows 'window 64k window-max 4m' 'keepalive 249s window-max 4m'
	endless_begin stays 'window 64k' 'keepalive 249s window-max 4m'
	until_true has_grown grows 262144
	[ "$(window_of grows)" -le 4194304 ]
	[ "$(window_of stays)" = 65536 ]
	endless_end grows stays
	network_as_before
}

# 16 writes of 64 KiB in one session, and then, with another setting, 16 more.
a_write_is_cut_into_frames() {
	local frames sum reader

	rchar add cut stream listen 10.0.0.1
	on b rchar -w $limit add cut stream connect 10.0.0.1 frame 4k
	# That of the test before may not be gone.
	until_true eval '[ "$(on b rchar link | grep -c ": to")" = 1 ]'
	sha256sum </dev/rchar/cut >/tmp/cut.sum &
	reader=$!
	read -r -a frames < <(on b 'head -c 1048576 /dev/urandom >/tmp/cut
		frames() { rchar -j link | grep -o "\"tx_frames\":[0-9]*" | cut -d: -f2; }
		writes() { dd if=/tmp/cut bs=64k conv=fsync >&3 2>/dev/null; }
		exec 3>/dev/rchar/cut
		before=$(frames)
		writes
		short=$(frames)
		rchar set cut frame 64k
		writes
		echo $((short - before)) $(($(frames) - short))')
	wait $reader
	sum=$(on b 'cat /tmp/cut /tmp/cut | sha256sum')
	[ "$(cut -d' ' -f1 /tmp/cut.sum)" = "${sum%% *}" ]
	# Others of the link may send a few of their own.
	[ "${frames[0]}" -ge 256 ] && [ "${frames[1]}" -lt 128 ] || { echo "frames: ${frames[*]}"; return 1; }
	on b rchar del cut
	rchar del cut
}

# The network is slower than the programs, also on a busy host.
priority_is_a_share_of_the_link() {
	[ "${VM_RDMA:-}" != siw ] || skip "soft-iWARP completes a send that TCP has taken: frames wait there, in their order"
	on b vm-netem rate 10mbit limit 1000
	endless_begin much '' ''
	endless_begin little '' ''
	priorities_count a rx_bytes
	endless_end much little
	on b vm-netem
}

# small_beside SESSIONS SIZE BYTES - so many sessions write pieces of that size, and another one sends
# 64 bytes there and back: $bytes of the others arrive meanwhile, and $read of their writes were read.
# A round trip is longer where the program of the small messages waits for a processor of a busy host,
# so there are several tries until it is less than BYTES.
small_beside() {
	local i name programs=()

	for name in large small; do
		rchar add $name stream listen 10.0.0.1
		on b rchar -w $limit add $name stream connect 10.0.0.1
		rchar-perf serve /dev/rchar/$name &
		programs+=($!)
	done
	on b "for ((i = 0; i < $1; i++)); do rchar-perf bandwidth /dev/rchar/large -s $2 -t 600 >/dev/null & done; wait" &
	programs+=($!)
	until_true has_moved a large rx_bytes $((16 << 20))
	read=$(counter b 'rchar -j stats large' rendezvous_sent)
	on b rchar-perf latency /dev/rchar/small -s 64 -n 1000000 >/dev/null &
	programs+=($!)
	until_true has_moved a small rx_bytes 6400
	for ((i = 0; i < 40; i++)); do
		in_the_time_of a rx_bytes small $((20 * 64)) large
		bytes=$((moved[1] * 64 / moved[0]))
		[ "$bytes" -ge "$3" ] || break
	done
	read=$(($(counter b 'rchar -j stats large' rendezvous_sent) - read))
	note "$bytes bytes of large writes arrive during a round trip; $read writes were read"
	for name in large small; do
		on b rchar del $name
		rchar del $name
	done
	wait "${programs[@]}" || true
}

# Large writes of eight sessions are read from their memory: without anybody else on the link, a lane
# has 16 READs of up to 256 KiB at the peer, whose device answers the frames behind them after those:
# some 3 MB for each round trip.
small_messages_do_not_wait_for_large_writes() {
	local bytes read

	small_beside 8 1m 1500000
	[ "$read" -gt 0 ] || skip 'this device copies large writes'
	[ "$bytes" -lt 1500000 ]
}

# Without small messages, dynamic queue limits let three frames and more into the send queue. The network
# is slower than the programs, also on a busy host.
small_messages_do_not_wait_for_large_frames() {
	local bytes read

	[ "${VM_RDMA:-}" != siw ] || skip "soft-iWARP completes a send that TCP has taken: frames wait there, in their order"
	on b vm-netem rate 40mbit limit 1000
	small_beside 1 64k 170000
	on b vm-netem
	[ "$bytes" -lt 170000 ]
}

most_buffers() { rchar -j link -d | grep -o '"depth":[0-9]*' | cut -d: -f2 | sort -n | tail -n1; }
frames_sent() { counter a 'rchar -j link' tx_frames; }
has_buffers() { [ "$(most_buffers)" = "$1" ]; } # NUMBER

# The devices of every transport, also those whose GIDs are no addresses.
check_finds_the_way() {
	rchar add way stream listen 10.0.0.1
	on b rchar -w $limit check 10.0.0.1/way
	rchar del way
}

# An idle lane has 8 small buffers, a busy one up to 32 large ones. What the peer sends while they
# change arrives; so does a frame that needs a large buffer where there are small ones only.
receive_buffers_follow_use() {
	local here before

	rchar add grow stream listen 10.0.0.1
	on b rchar -w $limit add grow stream connect 10.0.0.1
	until_true has_buffers 8
	grown_by grow 50
	until_true has_buffers 8
	transfer 1000 52 b-to-a grow
	has_buffers 8
	transfer 65536 53 b-to-a grow
	until_true has_buffers 8
	# Many small frames want more buffers, and need no large ones. Both ends are silent after them,
	# but for what gives the large ones back.
	rchar add burst message listen 10.0.0.1
	on b rchar -w $limit add burst message connect 10.0.0.1
	rchar-perf serve /dev/rchar/burst &
	here=$!
	on b 'for i in 1 2 3 4; do
		rchar-perf bandwidth /dev/rchar/burst -s 64 -t 0.5 >/dev/null &
	done; wait'
	kill $here
	wait $here || true
	before=$(frames_sent)
	until_true has_buffers 8
	note "$(($(frames_sent) - before)) frames from there to few buffers"
	[ $(($(frames_sent) - before)) -lt 500 ]
	on b rchar del burst
	on b rchar del grow
	rchar del burst
	rchar del grow
}

depth() { # FRAMES: of lanes that connect from now on
	local host

	for host in a b; do
		on $host "echo $1 >/sys/module/rdma_char/parameters/depth"
	done
}

depth_bounds_the_receive_buffers() {
	depth 128
	rchar add deep stream listen 10.0.0.1 window 16m
	on b rchar -w $limit add deep stream connect 10.0.0.1 keepalive 247s window 16m
	grown_by deep 60 128
	on b rchar del deep
	until_true has_buffers 8
	depth 8
	on b rchar -w $limit add deep stream connect 10.0.0.1 keepalive 246s window 16m
	grown_by deep 62 8
	[ "$(most_buffers)" = 8 ]
	depth 32
	expect_status 1 depth 7 2>/dev/null
	expect_status 1 depth 129 2>/dev/null
	[ "$(cat /sys/module/rdma_char/parameters/depth)" = 32 ]
	on b rchar del deep
	rchar del deep
}

# As when the bounce buffers of a host (swiotlb) are all in use.
frames_wait_for_dma_mappings() {
	local connects stalls

	needs_test_build
	[ "$(cat $limits/max_send_sge)" != 1 ] || skip 'as on this adapter, frames are small'
	rchar add poor stream listen 10.0.0.1
	on b rchar -w $limit add poor stream connect 10.0.0.1 rendezvous-min 0
	connects=$(counter b 'rchar -j link' connects)
	stalls=$(counter b 'rchar -j link' map_stalls)
	no_mappings b
	start_transfer b poor
	until_true stalled b "$stalls"
	mappings_return b
	wait $writer
	wait $reader
	[ "$(cat /tmp/got)" = $transfer_bytes ]
	[ "$(counter b 'rchar -j link' connects)" = "$connects" ]
	on b rchar del poor
	rchar del poor
}

plan 24
run link_comes_up
run link_local_addresses_connect
run sizes_around_borders
run random_pieces_256_mib
run both_directions_at_once
run sixty_four_sessions_one_queue_pair
run ten_reopenings_no_new_connection
run cat_and_sha256
run ipv6
run remote_name_and_from_address
run rdma_carried_it
run no_credit_was_ever_missed
run rchar_perf_measures
run check_finds_the_way
run receive_buffers_follow_use
run memory_pressure_takes_idle_buffers_back
run depth_bounds_the_receive_buffers
run a_window_grows_as_the_path_needs
run a_write_is_cut_into_frames
run priority_is_a_share_of_the_link
run small_messages_do_not_wait_for_large_writes
run small_messages_do_not_wait_for_large_frames
run frames_wait_for_dma_mappings
delete_all() { rchar del all; on b rchar del all; [ -z "$(rchar)" ] && [ -z "$(on b rchar)" ]; }
run delete_all
finish
