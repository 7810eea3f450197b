#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Traffic of every kind between two machines, and all of its packets in /root/save: what
# 'selftests/fuzz.d/mkcorpus' makes the inputs of fuzzcodec from.
. lib/ksft.sh

mkdir -p /root/save
tcpdump -Z root -i net0 -U -w /root/save/roce.pcap udp port 4791 2>/tmp/tcpdump &
dump=$!
until_true test -s /root/save/roce.pcap || cat /tmp/tcpdump

channels_of_every_type() {
	rchar add s stream listen 10.0.0.1
	rchar add m message listen 10.0.0.1
	rchar add r memory listen 10.0.0.1 size 100001
	rchar add ro memory listen 10.0.0.1 size 5m access ro
	on b rchar -w 60 add s stream connect 10.0.0.1
	on b rchar add m message connect 10.0.0.1 max-message 300000
	on b rchar add r memory connect 10.0.0.1
	on b rchar add ro memory connect 10.0.0.1
	on b rchar add none stream connect 10.0.0.1
	on b rchar add other message connect 10.0.0.1/s
}

bytes_both_ways() {
	rio duplex /dev/rchar/s 40 300000 &
	on b rio duplex /dev/rchar/s 41 300000
	wait $!
}

messages_of_several_fragments() {
	rio receive /dev/rchar/m 7 &
	on b rio send /dev/rchar/m 7 12
	wait $!
}

# STOP, by who reads no more; RESET, by who deletes.
early_ends() {
	on b 'cat /bin/busybox >/dev/rchar/s' 2>/dev/null &
	head -c 10 /dev/rchar/s | wc -c
	wait $! || true
	# Has it open for so long, and writes nothing.
	on b 'sleep 5 >/dev/rchar/s' &
	until_true eval '[ "$(counter a "rchar -j" waiting)" = 1 ]'
	rchar del s
	wait $!
}

regions() {
	on b dd if=/bin/busybox of=/dev/rchar/r bs=50000 count=2 conv=notrunc,fsync
	on b dd if=/dev/rchar/ro of=/dev/null bs=1M count=2
	on b 'echo x >/dev/rchar/ro' && return 1 || true
}

refused() {
	on b cat /dev/rchar/none && return 1
	on b cat /dev/rchar/other && return 1 || true
}

reset_and_idle() {
	rchar link reset "$(rchar link | sed -n 's/: from.*//p')"
	until_true is_state r up b
	# Long enough for a PING and its answer.
	sleep 7
}

plan 7
run channels_of_every_type
run bytes_both_ways
run messages_of_several_fragments
run regions
run refused
run early_ends
run reset_and_idle
kill $dump
wait $dump
finish
