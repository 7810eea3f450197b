#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What goes wrong while streams and messages are on their way, every byte of which is
# checked: a bad network, links that break again and again, devices that go and come.
. ./ksft.sh

# Both at once, from b to a: bytes that follow from a seed, messages likewise.
traffic() { # BYTES MESSAGES
	rio read /dev/rchar/pipe 21 >/tmp/bytes &
	reader=$!
	rio receive /dev/rchar/msg 22 >/tmp/messages &
	receiver=$!
	on b rio write /dev/rchar/pipe 21 "$1" &
	writer=$!
	on b rio send /dev/rchar/msg 22 "$2" &
	sender=$!
}

on_its_way() { kill -0 "$reader" 2>/dev/null || kill -0 "$receiver" 2>/dev/null; }

# All of it arrived, and once.
arrived() { # BYTES MESSAGES
	wait "$writer"
	wait "$sender"
	wait "$reader"
	wait "$receiver"
	note "bytes $(cat /tmp/bytes) of $1, messages $(cat /tmp/messages) of $2"
	[ "$(cat /tmp/bytes)" = "$1" ] && [ "$(cat /tmp/messages)" = "$2" ]
}

numbers() { # of the link so far
	local key text=

	for key in connects failures replayed_frames; do
		text+="$key $(counter b 'rchar -j link' $key) "
	done
	note "${text}duplicate_frames $(counter a 'rchar -j link' duplicate_frames)"
}

channels_come_up() {
	rchar add pipe stream listen 10.0.0.1
	rchar add msg message listen 10.0.0.1
	on b rchar -w 60 add pipe stream connect 10.0.0.1
	on b rchar -w 60 add msg message connect 10.0.0.1
}

bad_network() { # NETEM...
	traffic 8388608 150
	tc qdisc replace dev net0 root netem "$@"
	on b tc qdisc replace dev net0 root netem "$@"
	arrived 8388608 150
	tc qdisc del dev net0 root
	on b tc qdisc del dev net0 root
	numbers
}

loss_loses_nothing() { bad_network loss 0.5%; }
duplication_repeats_nothing() { bad_network duplicate 10%; }
reordering_and_delay_keep_the_order() { bad_network delay 1ms reorder 80% 50%; }

# How much is in the way of a fault depends on how fast the machine is: more of the same,
# until there were enough faults.
links_reset_again_and_again() {
	local id n=0 round

	for round in 1 2 3 4 5; do
		[ $n -lt 5 ] || break
		traffic 134217728 1500
		id=$(rchar link | sed -n 's/: from.*//p')
		while on_its_way; do
			sleep 0.3
			rchar link reset "$id" 2>/dev/null || true
			n=$((n + 1))
		done
		arrived 134217728 1500
	done
	note "$n resets"
	[ $n -ge 1 ]
	numbers
}

devices_removed_again_and_again() {
	local n=0 round served sent

	for round in 1 2 3 4 5; do
		[ $n -lt 3 ] || break
		rio serve /dev/rchar/pipe 32 500 >/tmp/served &
		served=$!
		on b rio many /dev/rchar/pipe 32 500 1000000 >/tmp/sent &
		sent=$!
		while kill -0 $served 2>/dev/null; do
			sleep 0.5
			rdma link del rxe0
			rdma link add rxe0 type rxe netdev net0
			sleep 0.5
			on b 'rdma link del rxe0; rdma link add rxe0 type rxe netdev net0'
			n=$((n + 1))
		done
		wait $served
		wait $sent
		note "round $round: $(grep -c '^1000000$' /tmp/served) sessions of 32 whole"
		[ "$(grep -c '^1000000$' /tmp/served)" = 32 ]
	done
	note "$n removals at each side"
}

# A reset by one side, the device of the other gone at the same moment.
two_faults_at_once() {
	local n=0 id

	traffic 67108864 700
	while [ $n = 0 ] || on_its_way; do
		id=$(rchar link | sed -n 's/: from.*//p' | head -n1)
		rchar link reset "${id:-0}" 2>/dev/null &
		on b 'rdma link del rxe0; rdma link add rxe0 type rxe netdev net0'
		wait $! || true
		on b 'rchar link reset $(rchar link | sed -n "s/: to.*//p")' 2>/dev/null &
		rdma link del rxe0
		rdma link add rxe0 type rxe netdev net0
		wait $! || true
		n=$((n + 1))
		sleep 0.5
	done
	note "$n times"
	arrived 67108864 700
	numbers
}

plan 7
run channels_come_up
run loss_loses_nothing
run duplication_repeats_nothing
run reordering_and_delay_keep_the_order
run links_reset_again_and_again
run devices_removed_again_and_again
run two_faults_at_once
finish
