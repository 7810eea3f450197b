#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What goes wrong while streams and messages are on their way, every byte of which is
# checked: a bad network, links that break again and again, devices that go and come.
#
# faults.sh [PART]: a slow kernel moves one PART-th of the bytes.
. lib/ksft.sh
part=${1:-1}
set_up=channels_come_up

# Both at once, from b to a: bytes that follow from a seed, messages likewise. Messages from a to b
# are in front of READs of the bytes, which thus wait in their queue, too.
traffic() { # BYTES MESSAGES
	rio read /dev/rchar/pipe 21 >/tmp/bytes &
	reader=$!
	rio receive /dev/rchar/msg 22 >/tmp/messages &
	receiver=$!
	on b rio write /dev/rchar/pipe 21 "$1" &
	writer=$!
	on b rio send /dev/rchar/msg 22 "$2" &
	sender=$!
	on b rio receive /dev/rchar/back 23 >/tmp/back &
	back_receiver=$!
	rio send /dev/rchar/back 23 "$2" &
	back_sender=$!
}

on_its_way() { kill -0 "$reader" 2>/dev/null || kill -0 "$receiver" 2>/dev/null; }

# All of it arrived, and once.
arrived() { # BYTES MESSAGES
	wait "$writer"
	wait "$sender"
	wait "$reader"
	wait "$receiver"
	wait "$back_sender"
	wait "$back_receiver"
	note "bytes $(cat /tmp/bytes) of $1, messages $(cat /tmp/messages) and $(cat /tmp/back) of $2"
	[ "$(cat /tmp/bytes)" = "$1" ]
	[ "$(cat /tmp/messages)" = "$2" ]
	[ "$(cat /tmp/back)" = "$2" ]
}

numbers() { # of the link so far
	local key text=

	for key in connects failures replayed_frames; do
		text+="$key $(counter b 'rchar -j link' $key) "
	done
	note "${text}duplicate_frames $(counter a 'rchar -j link' duplicate_frames)"
}

channels_come_up() {
	# The defaults may be over before a slow machine has connected again, or has sent what
	# was closed.
	local patient=(recovery-timeout 600s linger 600s)

	network_as_before
	rchar add pipe stream listen 10.0.0.1 "${patient[@]}"
	rchar add msg message listen 10.0.0.1 "${patient[@]}"
	rchar add back message listen 10.0.0.1 "${patient[@]}"
	on b rchar -w $limit add pipe stream connect 10.0.0.1 open-timeout 600s "${patient[@]}"
	on b rchar -w $limit add msg message connect 10.0.0.1 open-timeout 600s "${patient[@]}"
	on b rchar -w $limit add back message connect 10.0.0.1 open-timeout 600s "${patient[@]}"
}

bad_network() { # NETEM...
	traffic 8388608 150
	network "$@"
	arrived 8388608 150
	network_as_before
	numbers
}

# Both hosts ask for memory again and again, until memory_suffices.
memory_is_short() {
	local host

	short=()
	for host in a b; do
		on $host 'touch /tmp/short
			while [ -e /tmp/short ]; do echo 2 >/proc/sys/vm/drop_caches; sleep 0.05; done' &
		short+=($!)
	done
}

memory_suffices() {
	rm /tmp/short
	on b rm /tmp/short
	wait "${short[@]}"
}

loss_loses_nothing() { bad_network loss 0.5%; }
duplication_repeats_nothing() { bad_network duplicate 10%; }
reordering_and_delay_keep_the_order() { bad_network delay 1ms reorder 80% 50%; }

links_reset_again_and_again() {
	local connects n=0 round

	connects=$(counter b 'rchar -j link' connects)
	# A fast machine is soon done.
	for round in 1 2 3 4 5; do
		[ $n -lt 5 ] || break
		traffic $((268435456 / part)) $((2500 / part))
		while on_its_way; do
			# So often: something gets through in between.
			sleep 0.3
			! rchar link reset "$(rchar link | sed -n 's/: from.*//p')" 2>/dev/null || n=$((n + 1))
		done
		arrived $((268435456 / part)) $((2500 / part))
		note "round $round: $n resets"
	done
	numbers
	[ "$(counter b 'rchar -j link' connects)" -gt "$connects" ]
}

# A machine that stands still for longer than the keepalive allows, and goes on as if
# nothing had been.
peer_paused_past_the_keepalive() {
	local bytes

	bytes=$(counter a 'rchar -j stats pipe' rx_bytes)
	traffic $((268435456 / part)) 100
	until_true eval '[ "$(counter a "rchar -j stats pipe" rx_bytes)" -gt $((bytes + 1000000)) ]'
	vm-host pause b 24
	until_true eval 'rchar -j link | grep -q "\"reason\":\"\(keepalive\|qp-error\)"'
	note "noticed: $(rchar -j link | grep -o '"reason":"[^"]*"')"
	arrived $((268435456 / part)) 100
	numbers
}

# How long until bytes pass again.
recovers() { # CHANNEL
	local start=${EPOCHREALTIME/./}

	on b "rchar -w $limit show $1" >/dev/null
	on b "echo alive >/dev/rchar/$1"
	[ "$(head -n1 "/dev/rchar/$1")" = alive ]
	note "recovered in $(((${EPOCHREALTIME/./} - start) / 1000)) ms"
}

# The power goes; the machine comes back with the same addresses and knows nothing.
# Who is called waits for the recovery-timeout: the one that calls may still come back.
calling_peer_restarted() {
	local reader bytes ret=0

	rchar set pipe recovery-timeout 3s
	bytes=$(counter a 'rchar -j stats pipe' rx_bytes)
	rio read /dev/rchar/pipe 23 >/tmp/bytes 2>/tmp/err &
	reader=$!
	on b 'rio write /dev/rchar/pipe 23 100000000000' &
	until_true eval '[ "$(counter a "rchar -j stats pipe" rx_bytes)" -gt $((bytes + 1000000)) ]'
	vm-host restart b
	vm-up b
	wait $reader || ret=$?
	[ $ret = 1 ]
	grep -q 'Connection reset' /tmp/err
	on b rchar add pipe stream connect 10.0.0.1
	on b rchar add msg message connect 10.0.0.1
	recovers pipe
}

# Who calls learns at once that the other side has forgotten.
called_peer_restarted() {
	local writer ret=0

	on b rchar add there stream listen 10.0.0.2
	rchar -w $limit add there stream connect 10.0.0.2
	on b 'rio read /dev/rchar/there 24 >/dev/null' &
	rio write /dev/rchar/there 24 100000000000 2>/tmp/err &
	writer=$!
	until_true eval '[ "$(counter a "rchar -j stats there" tx_bytes)" -gt 1000000 ]'
	vm-host restart b
	vm-up b
	on b rchar add there stream listen 10.0.0.2
	wait $writer || ret=$?
	[ $ret = 1 ]
	grep -q 'Connection reset' /tmp/err
	on b 'cat /dev/rchar/there >/tmp/there' &
	echo alive >/dev/rchar/there
	until_true on b grep -q alive /tmp/there
	rchar del there
	on b rchar del there
	on b rchar add pipe stream connect 10.0.0.1
	on b rchar add msg message connect 10.0.0.1
	recovers pipe
}

# The module of the host that is called goes and comes, while the other keeps sending.
unload_again_and_again_under_traffic() {
	local i traffic reader

	memory_is_short
	# An unload may end any of them, the last one too: its status says nothing.
	on b 'rm -f /tmp/stop
		while [ ! -e /tmp/stop ]; do cat /bin/busybox >/dev/rchar/pipe; done; true' >/dev/null 2>&1 &
	traffic=$!
	for i in 1 2 3 4 5 6 7 8; do
		until_true eval '[ "$(counter a "rchar -j stats pipe" rx_bytes)" -gt 0 ]'
		rmmod rdma_char
		vm-load
		rchar add pipe stream listen 10.0.0.1
	done
	memory_suffices
	on b touch /tmp/stop
	# Its writer may wait for a reader: until the channel is deleted there is always one.
	while cat /dev/rchar/pipe; do :; done >/dev/null 2>&1 &
	reader=$!
	wait $traffic
	rchar del pipe
	wait $reader || true
	rchar add pipe stream listen 10.0.0.1
	rchar add msg message listen 10.0.0.1
	recovers pipe
}

devices_removed_again_and_again() {
	local i n=0 round served sent

	memory_is_short
	for round in 1 2 3 4 5; do
		[ $n -lt 3 ] || break
		rio serve /dev/rchar/pipe 32 500 >/tmp/served &
		served=$!
		on b rio many /dev/rchar/pipe 32 500 1000000 >/tmp/sent &
		sent=$!
		for i in 1 2 3; do
			kill -0 $served 2>/dev/null || break
			# So often, whether the links have come back by then or not.
			sleep 0.5
			rdma-del
			rdma-add
			sleep 0.5
			on b 'rdma-del; rdma-add'
			n=$((n + 1))
		done
		wait $served
		wait $sent
		note "round $round: $(grep -c '^1000000$' /tmp/served) sessions of 32 whole"
		[ "$(grep -c '^1000000$' /tmp/served)" = 32 ]
	done
	memory_suffices
	note "$n removals at each side"
}

# A reset by one side, the device of the other gone at the same moment.
two_faults_at_once() {
	local n=0 id

	traffic $((67108864 / part)) $((700 / part))
	while [ $n = 0 ] || on_its_way; do
		id=$(rchar link | sed -n 's/: from.*//p' | head -n1)
		rchar link reset "${id:-0}" 2>/dev/null &
		on b 'rdma-del; rdma-add'
		wait $! || true
		reset_link b 2>/dev/null &
		rdma-del
		rdma-add
		wait $! || true
		n=$((n + 1))
		# So often: bytes and messages both get on in between.
		sleep 0.5
	done
	note "$n times"
	arrived $((67108864 / part)) $((700 / part))
	numbers
}

plan 11
run channels_come_up
run loss_loses_nothing
run duplication_repeats_nothing
run reordering_and_delay_keep_the_order
run links_reset_again_and_again
run devices_removed_again_and_again
run two_faults_at_once
run peer_paused_past_the_keepalive
run calling_peer_restarted
run called_peer_restarted
run unload_again_and_again_under_traffic
finish
