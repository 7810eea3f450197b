#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs of this host that take what they can get: their limits hold, and others notice
# nothing. One machine.
. lib/ksft.sh
set_up=channels_come_up

channels_come_up() {
	rchar add big stream listen 10.0.0.1 window 256m
	rchar -w 60 add out stream connect 10.0.0.1/big window 256m recovery-timeout 600s linger 1s
	rchar add pool memory listen 10.0.0.1 size 1m
	rchar -w 60 add far memory connect 10.0.0.1/pool recovery-timeout 600s
	[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 none /sys/fs/cgroup
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p /sys/fs/cgroup/small
	echo 64M >/sys/fs/cgroup/small/memory.max
}

# COMMAND... - in a memory cgroup of 64 MiB
in_small() { (echo $BASHPID >/sys/fs/cgroup/small/cgroup.procs && exec "$@"); }

killed_in_small() { sed -n 's/^oom_kill //p' /sys/fs/cgroup/small/memory.events; }

# Whoever waits for it sees that the link is down.
link_goes_down() {
	rdma-del
	touch /tmp/link-is-down
}

written_bytes_count_against_the_memory_cgroup() {
	local bytes error

	rm -f /tmp/link-is-down /tmp/held
	rio hold /dev/rchar/big rw /tmp/held >/dev/null 2>&1 &
	in_small greedy write /dev/rchar/out 200000000 >/tmp/wrote &
	until_true grep -q open /tmp/wrote
	until_true test -e /tmp/held
	link_goes_down
	wait $!
	read -r bytes error <<<"$(tail -n1 /tmp/wrote)"
	note "wrote $bytes bytes, then $error"
	[ "$error" = ENOMEM ]
	[ "$bytes" -gt 10000000 ]
	[ "$bytes" -lt 67108864 ]
	[ "$(killed_in_small)" = 0 ]
	rdma-add
	rchar -w 60 show out
	killall rio
}

opened_files_count_against_the_memory_cgroup() {
	local files error bytes

	rdma-del
	mkdir -p /sys/fs/cgroup/files
	(echo $BASHPID >/sys/fs/cgroup/files/cgroup.procs && exec greedy open /dev/rchar/out 12000) >/tmp/opened
	read -r files error </tmp/opened
	bytes=$(cat /sys/fs/cgroup/files/memory.peak)
	note "opened $files files, then $error; they cost $bytes bytes"
	[ "$files" = 12000 ]
	# The file itself is a quarter of a KiB.
	[ "$bytes" -gt $((files * 1024)) ]
	rdma-add
	rchar -w 60 show out
	# Nobody heard of them.
	until_true eval '[ "$(sed -n "s/^session //p" /sys/kernel/debug/rdma_char/objects)" -lt 20 ]'
}

# Of its channels a host shares the places of each, not of all together.
an_empty_backlog_has_room_whatever_waits_elsewhere() {
	local i

	for i in 1 2 3 4 5; do
		rchar add "one$i" stream listen 10.0.0.1 backlog 1
		rchar -w $limit add "to$i" stream connect "10.0.0.1/one$i"
		rm -f "/tmp/held$i"
		rio hold "/dev/rchar/to$i" rw "/tmp/held$i" >/dev/null 2>&1 &
	done
	for i in 1 2 3 4 5; do
		until_true test -e "/tmp/held$i"
		rchar show "one$i" | grep -q 'waiting 1'
	done
	killall rio
	for i in 1 2 3 4 5; do
		rchar del "to$i"
		rchar del "one$i"
	done
}

sessions_of_files_that_are_closed_again_are_few() {
	local mute files error sessions

	badbudget 10.0.0.1 mute >/tmp/mute &
	mute=$!
	rchar -w $limit add mute stream connect 10.0.0.1:7999/x
	read -r files error < <(greedy cycle /dev/rchar/mute 20000)
	sessions=$(sed -n 's/^session //p' /sys/kernel/debug/rdma_char/objects)
	note "$files files, then $error; $sessions sessions are left"
	[ "$files" = 20000 ]
	[ "$sessions" -lt 500 ]
	rchar del mute
	wait $mute
}

# What only administrators may know of a link.
secrets() { grep -cE '"(wire_id|epoch|qpn)":' || true; }

others_see_no_numbers_of_the_wire() {
	local events

	[ "$(rchar -j link | grep -o '"qpn":' | wc -l)" -ge 1 ]
	greedy nobody rchar -j link >/tmp/links
	grep -q '"frame_size_bytes":' /tmp/links
	[ "$(secrets </tmp/links)" = 0 ]
	for what in show session version; do
		greedy nobody rchar -j $what >/tmp/told
		[ -s /tmp/told ]
		[ "$(secrets </tmp/told)" = 0 ]
	done
	# Nor does an event tell them.
	greedy nobody rchar -j -w 600 monitor >/tmp/events &
	events=$!
	until_true eval 'rchar add ear stream listen 10.0.0.1; rchar del ear; [ -s /tmp/events ]'
	rchar link reset "$(rchar -j link | grep -o '"link":"[0-9]*"' | head -n1 | tr -dc 0-9)"
	until_true grep -q '"event":"link-state".*"up"' /tmp/events
	kill $events
	wait $events || true
	[ "$(secrets </tmp/events)" = 0 ]
}

# pins_at_most PAGES THREADS - with the link down; leaves what was pinned in /tmp/pinned
pins_at_most() {
	rm -f /tmp/link-is-down
	rchar -w $limit show far >/dev/null
	greedy pin /dev/rchar/far "$1" "$2" >/tmp/pinned &
	until_true grep -q open /tmp/pinned
	link_goes_down
	wait $!
	rdma-add
	note "$(tail -n1 /tmp/pinned) pages of $1"
	[ "$(tail -n1 /tmp/pinned | cut -d' ' -f1)" -le "$1" ]
}

the_limit_of_locked_memory_holds_with_many_segments() {
	peers_get_keys
	pins_at_most 64 1
}

the_limit_of_locked_memory_holds_with_many_threads() {
	peers_get_keys # else READs pin nothing
	pins_at_most 600 16
	# And it does not refuse what fits.
	[ "$(tail -n1 /tmp/pinned | cut -d' ' -f1)" -ge 257 ]
}

# However many there are.
the_name_that_a_peer_asks_for_is_found_at_once() {
	local i walked

	for ((i = 0; i < 200; i++)); do
		rchar add "many$i" stream listen 10.0.0.1
	done
	rchar -w 60 add last stream connect 10.0.0.1/many0
	rio write /dev/rchar/last 7 1000 &
	rio read /dev/rchar/many0 7
	wait $!
	walked=$(cat /sys/kernel/debug/rdma_char/longest_walk)
	note "$walked of 200"
	[ "$walked" -gt 0 ]
	[ "$walked" -lt 20 ]
	rchar del all
}

# A device that is removed while the core arms the completion queues that its lanes shared.
no_completion_queue_is_freed_while_it_is_armed() {
	local i before

	rchar add inner stream listen 10.0.0.1
	rchar -w 60 add outer stream connect 10.0.0.1/inner
	insmod /root/slow_cq.ko
	for ((i = 0; i < 12; i++)); do
		before=$(slow_cq destroyed)
		rdma-del
		[ "$(slow_cq destroyed)" -ge $((before + 2)) ]
		rdma-add
		rchar -w 60 show outer >/dev/null
	done
	note "$(slow_cq slowed) calls were slow"
	[ "$(slow_cq slowed)" -gt 24 ]
	[ "$(slow_cq destroyed_while_slow)" = 0 ]
	rmmod slow_cq
	rchar del outer
	rchar del inner
}

slow_cq() { cat "/sys/module/slow_cq/parameters/$1"; }

plan 9
run written_bytes_count_against_the_memory_cgroup
run opened_files_count_against_the_memory_cgroup
run an_empty_backlog_has_room_whatever_waits_elsewhere
run sessions_of_files_that_are_closed_again_are_few
run others_see_no_numbers_of_the_wire
run the_limit_of_locked_memory_holds_with_many_segments
run the_limit_of_locked_memory_holds_with_many_threads
run the_name_that_a_peer_asks_for_is_found_at_once
run no_completion_queue_is_freed_while_it_is_armed
finish
