#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Encrypted links between two machines: a listens, b connects.
. lib/ksft.sh
. lib/keyed.sh

text='nobody else reads these words'

# encrypted NAME TYPE [LISTEN...] - a pair of channels with encryption
encrypted() {
	pair "$1" "$2" "keys kb encrypt on ${*:3}" "key kb encrypt on"
	until_true is_state "$1" up b
}

streams_are_encrypted() {
	encrypted s stream
	moves s read write 33554432
	rchar link | grep -q 'key kb encrypted$'
	rchar show s | grep -q 'keys kb encrypt on$'
	on b rchar -j link | grep -q '"encrypted":true'
	clean
}

messages_are_encrypted() {
	encrypted m message
	moves m receive send 300
	clean
}

# Reads, writes, atomics and rings, and not one registration of memory.
memory_is_encrypted() {
	encrypted r memory size 3m
	head -c 3145728 /dev/urandom >/tmp/random
	dd if=/tmp/random of=/dev/rchar/r bs=1M conv=notrunc 2>/dev/null
	[ "$(on b 'dd if=/dev/rchar/r bs=1M 2>/dev/null | md5sum')" = "$(md5sum </tmp/random)" ]
	on b 'dd if=/dev/zero of=/dev/rchar/r bs=1000 seek=1001 count=1500 conv=notrunc,fsync 2>/dev/null'
	dd if=/dev/zero of=/tmp/random bs=1000 seek=1001 count=1500 conv=notrunc 2>/dev/null
	cmp /tmp/random /dev/rchar/r
	measured memory 'latency -n 100' /dev/rchar/r
	# The exporter and the importer register nothing: the DMA region of soft-RoCE is not listed.
	on b 'exec 3<>/dev/rchar/r; until [ -e /tmp/go ]; do sleep 0.1; done' &
	local holder=$!
	until_true eval 'rchar session | grep -q "channel r .*key kb encrypted"'
	[ "$(rdma resource show mr | grep -c rkey || true)" = 0 ]
	[ "$(on b 'rdma resource show mr | grep -c rkey || true')" = 0 ]
	on b touch /tmp/go
	wait $holder
	on b rm -f /tmp/go
	clean
}

both_sides_must_agree() {
	pair s stream "keys kb encrypt on" "key kb"
	[ "$(opens s)" = EACCES ]
	until_true is_reason s encryption b
	rchar del s
	on b rchar del s
	pair s stream "keys kb" "key kb encrypt on"
	[ "$(opens s)" = EACCES ]
	until_true is_reason s encryption b
	# Another channel of that address encrypts, and lets the link come up.
	encrypted t stream
	[ "$(opens t)" = ok ]
	[ "$(opens s)" = EACCES ]
	is_reason s encryption b
	# One link with, one without encryption.
	on b rchar del s
	on b rchar add s stream connect 10.0.0.1 key kb
	until_true is_state s up b
	[ "$(opens s)" = ok ]
	[ "$(on b rchar link | grep -c 'key kb encrypted$')" = 1 ]
	[ "$(on b rchar link | grep -c 'key kb$')" = 1 ]
	clean
}

encryption_needs_a_key() {
	local out

	out=$(expect_status 2 rchar add s stream listen 10.0.0.1 encrypt on 2>&1)
	[[ "$out" == *"encryption needs a key"* ]]
	out=$(expect_status 2 rchar add s stream connect 10.0.0.2 encrypt on 2>&1)
	[[ "$out" == *"encryption needs a key"* ]]
	rchar add s stream listen 10.0.0.1 keys kb encrypt on
	out=$(expect_status 2 rchar set s keys none 2>&1)
	[[ "$out" == *"encryption needs a key"* ]]
	rchar show s | grep -q 'keys kb encrypt on$'
	out=$(expect_status 1 rchar set s encrypt off 2>&1)
	[[ "$out" == *"cannot be set"* ]]
	out=$(expect_status 1 rchar add t stream listen 10.0.0.1 keys kb encrypt maybe 2>&1)
	[[ "$out" == *"is not off or on"* ]]
	out=$(expect_status 2 rchar add r memory listen 10.0.0.1 size 64k keys kb encrypt on atomics hw 2>&1)
	[[ "$out" == *"with encryption, atomics are sw"* ]]
	clean
}

# From wire_begins to wire_ends, what crosses the network goes to /tmp/wire.
wire_begins() {
	: >/tmp/tcpdump
	tcpdump -Z root -i net0 -w /tmp/wire -U --immediate-mode udp >/tmp/tcpdump 2>&1 &
	dump=$!
	until_true grep -q 'listening on' /tmp/tcpdump || { cat /tmp/tcpdump; return 1; }
}

wire_ends() {
	# When this is there, so is all that was sent before.
	until_true eval 'on b "echo all of it >/dev/udp/10.0.0.1/9"; grep -q "all of it" /tmp/wire'
	kill "$dump"
	wait "$dump" || true
}

# on_wire SETTING... - which of stream, message, write and atomic put their bytes on the wire
on_wire() {
	local found='' reader type

	pair s stream "keys kb $*" "key kb $*"
	pair m message "keys kb $*" "key kb $*"
	pair r memory "keys kb $* size 64k" "key kb $*"
	until_true is_state s up b
	for type in s m; do
		wire_begins
		head -n 1 /dev/rchar/$type >/dev/null &
		reader=$!
		on b "echo '$text' >/dev/rchar/$type"
		wait $reader
		wire_ends
		! grep -q "$text" /tmp/wire || found+=$type
	done
	wire_begins
	on b "echo '$text' | dd of=/dev/rchar/r conv=notrunc,fsync 2>/dev/null"
	[ "$(head -c ${#text} /dev/rchar/r)" = "$text" ]
	wire_ends
	! grep -q "$text" /tmp/wire || found+=r
	wire_begins
	# The eight letters ATMWRDS! as a number.
	on b rio add /dev/rchar/r 4096 $((0x21534452574d5441))
	[ "$(dd if=/dev/rchar/r bs=8 skip=512 count=1 2>/dev/null)" = 'ATMWRDS!' ]
	wire_ends
	! grep -q 'ATMWRDS!' /tmp/wire || found+=a
	clean
	echo "$found" >/tmp/found
}

nobody_reads_the_wire() {
	on_wire
	[ "$(cat /tmp/found)" = smra ]
	on_wire encrypt on
	[ "$(cat /tmp/found)" = '' ]
}

encrypted_links_survive_loss() {
	encrypted s stream
	survives_loss s
	clean
}

# A key of a connection seals 65,536 frames; more of them cross in one.
keys_are_renewed_while_a_connection_lives() {
	encrypted m message window 1m
	rchar-perf serve /dev/rchar/m >/dev/null &
	local server=$! client frames
	on b 'exec rchar-perf bandwidth /dev/rchar/m -s 16 -t 6000 -j' >/dev/null &
	client=$!
	for ((frames = 5000; frames <= 70000; frames += 5000)); do
		until_true eval '[ "$(counter a "rchar -j link" rx_frames)" -gt '$frames' ]'
	done
	[ "$(counter a 'rchar -j link' connects)" = 1 ]
	[ "$(counter a 'rchar -j link' bad_frames)" = 0 ]
	on b 'kill $(pidof rchar-perf)' || true
	wait $client || true
	kill $server
	wait $server || true
	clean
}

# a_listens, b_connects - the channels of everything_goes_and_comes_back
a_listens() {
	rchar add s stream listen 10.0.0.1 keys kb encrypt on
	rchar add r memory listen 10.0.0.1 size 3m keys kb encrypt on
}

b_connects() {
	on b 'rchar add s stream connect 10.0.0.1 key kb encrypt on
		rchar add r memory connect 10.0.0.1 key kb encrypt on'
}

# Bytes of a stream, and reads and writes of a region, with pauses that leave the rest of the machine
# some time. Who loses a session begins another.
traffic_begins() {
	on b 'rm -f /tmp/stop
		again() { while [ ! -e /tmp/stop ]; do "$@" || true; sleep 0.3; done; }
		again rio write /dev/rchar/s 5 300000 &
		again rchar-perf bandwidth /dev/rchar/r -s 256k &
		again rchar-perf bandwidth /dev/rchar/r -s 256k -w &
		wait' >/dev/null 2>&1 &
	traffic=$!
}

reader_begins() {
	rm -f /tmp/stop
	while [ ! -e /tmp/stop ]; do cat /dev/rchar/s || sleep 0.05; done >/dev/null 2>&1 &
	reader=$!
}

reader_ends() {
	touch /tmp/stop
	until_true eval "pkill -x cat || true; ! kill -0 $reader"
	wait "$reader" || true
}

# Read from the region, written to it; received from the stream, sent into it.
bytes_of_b() {
	on b 'rchar -j stats r; rchar -j stats s' | grep -o '"[rt]x_bytes":[0-9]*' | cut -d: -f2
}

has_all_moved() {
	bytes_of_b | paste - /tmp/before | awk '
		NR != 3 && $1 <= $2 { stands = 1 }
		END { exit stands || NR != 4 }'
}

all_is_moving() {
	bytes_of_b >/tmp/before
	until_true has_all_moved
}

# On a kernel that can: one in so many mappings, posts and objects of connections fails. Quietly: a
# report of an injected fault looks like a kernel's complaint.
faults() { # INTERVAL; 0: no more
	local script="for f in /sys/kernel/debug/rdma_char/fail_*; do
		[ -d \$f ] || continue
		echo 0 >\$f/verbose; echo $1 >\$f/interval; echo -1 >\$f/times; echo $(($1 ? 100 : 0)) >\$f/probability
	done"

	eval "$script"
	on b "$script"
}

# a_unloads_and_loads - the module of who listens, while the other keeps sending
a_unloads_and_loads() {
	rmmod rdma_char
	vm-load
	rchar key add kb $dir/kb
	a_listens
}

# Devices, channels, the peer and the modules go while frames are being sealed, and while the other
# side goes, too. What is not freed, the unload at the end tells.
everything_goes_and_comes_back() {
	local traffic reader

	a_listens
	b_connects
	traffic_begins
	reader_begins
	faults 3000
	all_is_moving
	rdma-del
	rdma-add
	all_is_moving
	on b 'rdma-del; rdma-add'
	all_is_moving
	rchar del all
	a_listens
	all_is_moving
	on b rchar del all
	b_connects
	all_is_moving
	on b 'rdma-del; rdma-add' &
	rchar del all
	rdma-del
	rdma-add
	on b rchar del all
	a_listens
	wait $!
	b_connects
	faults 0
	all_is_moving
	vm-host restart b
	# Whoever waits for words of the machine that was, waits for ever.
	kill "$traffic"
	vm-up b
	on b "rchar key add kb - <<<$(cat $dir/kb)"
	b_connects
	traffic_begins
	all_is_moving
	reader_ends
	a_unloads_and_loads
	until_moving b r rx_bytes
	on b 'touch /tmp/stop; killall -9 rio rchar-perf; until rmmod rdma_char; do sleep 0.01; done'
	rmmod rdma_char
	wait "$traffic" || true
	vm-load
	on b vm-load
	keys_are_added
}

# Peers with the key that do not keep to the protocol: lines of its own.
hostile_peers_with_the_key_get_nowhere() {
	local with='keys kb encrypt on recovery-timeout 1ms'

	# shellcheck disable=SC2086 # words
	{
		rchar add guarded stream listen 10.0.0.1 $with
		rchar add region memory listen 10.0.0.1 size 64k $with
		rchar add fixed memory listen 10.0.0.1 size 64k access ro $with
	}
	rchar add plain stream listen 10.0.0.1 keys kb
	rchar add free memory listen 10.0.0.1 size 64k
	badseal 10.0.0.1 $dir/kb 2>&1 | tee /tmp/badseal >&9
	[ "${PIPESTATUS[0]}" = 0 ]
	clean
}

plan 11
run keys_are_added
run streams_are_encrypted
run messages_are_encrypted
run memory_is_encrypted
run both_sides_must_agree
run encryption_needs_a_key
run nobody_reads_the_wire
run encrypted_links_survive_loss
run keys_are_renewed_while_a_connection_lives
run everything_goes_and_comes_back
run hostile_peers_with_the_key_get_nowhere
finish
