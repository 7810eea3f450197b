#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs of this host that take what they can get: their limits hold, and others notice
# nothing. One machine.
. ./ksft.sh
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
	local before after files error

	rdma-del
	before=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
	in_small greedy open /dev/rchar/out 12000 >/tmp/opened
	after=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
	read -r files error </tmp/opened
	note "opened $files files, then $error; $((before - after)) KiB are not free again yet"
	[ "$files" -gt 1000 ]
	rdma-add
	rchar -w 60 show out
	# Nobody heard of them.
	until_true eval '[ "$(sed -n "s/^session //p" /sys/kernel/debug/rdma_char/objects)" -lt 20 ]'
}

the_limit_of_locked_memory_holds_with_many_segments() {
	rm -f /tmp/link-is-down
	greedy pin /dev/rchar/far 64 1 >/tmp/pinned &
	until_true grep -q open /tmp/pinned
	link_goes_down
	wait $!
	rdma-add
	note "$(tail -n1 /tmp/pinned) pages of 64"
	[ "$(tail -n1 /tmp/pinned | cut -d' ' -f1)" -le 64 ]
}

the_limit_of_locked_memory_holds_with_many_threads() {
	rm -f /tmp/link-is-down
	greedy pin /dev/rchar/far 600 16 >/tmp/pinned &
	until_true grep -q open /tmp/pinned
	link_goes_down
	wait $!
	rdma-add
	note "$(tail -n1 /tmp/pinned) pages of 600"
	[ "$(tail -n1 /tmp/pinned | cut -d' ' -f1)" -le 600 ]
	# And it does not refuse what fits.
	[ "$(tail -n1 /tmp/pinned | cut -d' ' -f1)" -ge 257 ]
}

plan 4
run written_bytes_count_against_the_memory_cgroup
run opened_files_count_against_the_memory_cgroup
run the_limit_of_locked_memory_holds_with_many_segments
run the_limit_of_locked_memory_holds_with_many_threads
finish
