#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A peer that makes this host hold as much as it can, beside honest traffic of another one.
. lib/ksft.sh

rchar add bmsg message listen 10.0.0.1 window 4m max-message 2m backlog 1
rchar add bstream stream listen 10.0.0.1 backlog 1000
rchar add bsink stream listen 10.0.0.1 window 64k
rchar add bregion memory listen 10.0.0.1 size 32m
# Another address is another peer.
ip -6 addr add fd00::99/64 dev net0 nodad
rchar add few stream listen '[fd00::1]' backlog 8
rchar add pool memory listen '[fd00::1]' size 1m
rchar add honest stream listen '[fd00::1]' linger 1s
rchar -w 60 add good stream connect '[fd00::1]/honest' linger 1s
rio read /dev/rchar/honest 61 >/tmp/got &
reader=$!
(rio write /dev/rchar/good 61 100000000000 2>/dev/null; true) &
writer=$!

# Its results, numbered on.
results_of() { # PROGRAM ARGUMENT...
	"$@" | awk -v n="$ksft_n" '/^(not )?ok / { sub(/ok [0-9]+/, "ok " ++n) } { print; fflush() }' |
		tee -a /tmp/results
	[ "${PIPESTATUS[0]}" = 0 ] || ksft_failed=1
	ksft_n=$(grep -c '^\(not \)\?ok' /tmp/results)
}

rchar add hoard memory connect 10.0.0.1:7999/x
results_of badexport 10.0.0.1 hoard
rchar del hoard
results_of badbudget 10.0.0.1
results_of badbudget fd00::1 pool

honest_traffic_was_not_touched() {
	rchar -j stats honest | grep -q '"resets":0'
	kill -0 $reader
	note "$(counter a 'rchar -j stats honest' rx_bytes) honest bytes"
}

one_peer_leaves_sessions_of_others_room() { badbudget fd00::1 few; }

nothing_is_held_for_a_peer_that_is_gone() {
	rchar del all
	wait $reader $writer || true
	until_true eval '[ "$(sed -n "s/^held //p" /sys/kernel/debug/rdma_char/objects)" = 0 ]'
	until_true eval '[ "$(sed -n "s/^link //p" /sys/kernel/debug/rdma_char/objects)" = 0 ]'
}

# While it goes on. The second one has room for what the first one left, and no more.
both_budgets_are_what_the_administrator_sets() {
	local parameters=/sys/module/rdma_char/parameters

	rchar add bstream stream listen 10.0.0.1 backlog 1000
	echo 8 >$parameters/host_memory
	badbudget 10.0.0.1 backlog
	echo 0 >$parameters/host_memory
	echo 16 >$parameters/peer_memory
	badbudget 10.0.0.1 backlog
	echo 48 >$parameters/peer_memory
	rchar del all
}

answers_to_others_have_room() {
	rchar add bstream stream listen 10.0.0.1 backlog 1000
	rchar add few stream listen '[fd00::1]' backlog 8
	echo 4 >/sys/module/rdma_char/parameters/host_memory
	badbudget 10.0.0.1 answers
	echo 0 >/sys/module/rdma_char/parameters/host_memory
	rchar del all
}

# The peer has no room for their RESETs.
sessions_that_end_here_are_held_for_the_peer() {
	rchar add bregion memory listen 10.0.0.1 size 1m
	echo 2 >/sys/module/rdma_char/parameters/peer_memory
	badbudget 10.0.0.1 ended-here
	echo 48 >/sys/module/rdma_char/parameters/peer_memory
	rchar del all
}

# A program that answers the peer, and does not wait until it has taken the answer.
what_closed_files_leave_is_bounded() {
	rchar add bserve stream listen 10.0.0.1 window 64k backlog 1000 linger 300s \
		recovery-timeout 2s
	echo 1 >/sys/module/rdma_char/parameters/peer_memory
	badbudget 10.0.0.1 linger
	echo 48 >/sys/module/rdma_char/parameters/peer_memory
	echo 8 >/sys/module/rdma_char/parameters/host_memory
	badbudget 10.0.0.1 linger-payload
	echo 0 >/sys/module/rdma_char/parameters/host_memory
	rchar del all
	until_true grep -qx 'lingering 0' /sys/kernel/debug/rdma_char/objects
}

# Its registrations are more than the peer may hold.
the_first_import_leaves_the_peer_its_budget() {
	local connects

	echo 1 >/sys/module/rdma_char/parameters/peer_memory
	rchar add large memory listen 10.0.0.1 size 64m
	rchar -w $limit add near memory connect 10.0.0.1/large
	connects=$(counter a 'rchar -j link' connects)
	dd if=/bin/busybox of=/dev/rchar/near bs=64k conv=notrunc,fsync 2>/dev/null
	cmp -n "$(stat -c %s /bin/busybox)" /bin/busybox /dev/rchar/large
	[ "$(counter a 'rchar -j link' connects)" = "$connects" ]
	exec 9</dev/rchar/near
	[ "$(sed -n "s/^held //p" /sys/kernel/debug/rdma_char/objects)" -gt 1048576 ]
	exec 9<&-
	echo 48 >/sys/module/rdma_char/parameters/peer_memory
	rchar del all
	until_true eval '[ "$(sed -n "s/^held //p" /sys/kernel/debug/rdma_char/objects)" = 0 ]'
}

# Registering for one of them lasts. The others are more than the module has threads for that.
importers_of_one_peer_do_not_delay_those_of_others() {
	local slow=/sys/kernel/debug/rdma_char/delay_register fd fds=() i

	rchar add crowd memory listen 10.0.0.1 size 1m backlog 1000
	rchar add calm memory listen '[fd00::1]' size 1m
	echo still here >/dev/rchar/calm
	rchar -w $limit add many memory connect 10.0.0.1/crowd
	rchar -w $limit add one memory connect '[fd00::1]/calm'
	for i in $(seq 600); do
		exec {fd}</dev/rchar/many
		fds+=("$fd")
	done
	head -c 1 /dev/rchar/many >/dev/null
	# All of them need keys of the next connection.
	echo $((limit * 2000000)) >$slow
	rchar link reset "$(rchar link | sed -n 's/: to 10\.0\.0\.1:.*//p')"
	until_true grep -qx 'delayed 1' /sys/kernel/debug/rdma_char/objects
	echo 1 >$slow # for all others
	[ "$(head -n 1 /dev/rchar/one)" = 'still here' ]
	grep -qx 'delayed 1' /sys/kernel/debug/rdma_char/objects
	echo 0 >$slow
	for fd in "${fds[@]}"; do exec {fd}<&-; done
	rchar del all
	until_true eval '[ -z "$(rchar link)" ]'
}

# Others took all that peers may hold.
host_is_full() {
	rchar add large memory listen 10.0.0.1 size 64m
	rchar -w $limit add near memory connect 10.0.0.1/large
	exec 9</dev/rchar/near
	[ "$(sed -n "s/^held //p" /sys/kernel/debug/rdma_char/objects)" -gt 1048576 ]
	echo 1 >/sys/module/rdma_char/parameters/host_memory
}

host_has_room() {
	echo 0 >/sys/module/rdma_char/parameters/host_memory
	exec 9<&-
	rchar del all
	until_true eval '[ -z "$(rchar link)" ]'
}

answers_have_room_when_the_host_is_full() {
	local connects

	host_is_full
	connects=$(counter a 'rchar -j link' connects)
	rchar -w $limit add late stream connect 10.0.0.1/nosuch
	expect_status 1 cat /dev/rchar/late 2>/tmp/words
	grep -q 'Connection refused' /tmp/words
	[ "$(counter a 'rchar -j link' connects)" = "$connects" ]
	host_has_room
}

closing_loses_nothing_when_the_host_is_full() {
	local i

	host_is_full
	rchar add server stream listen 10.0.0.1
	rchar -w $limit add client stream connect 10.0.0.1/server
	for i in 1 2 3 4 5; do
		rio write /dev/rchar/server $i 200000 &
		rio read /dev/rchar/client $i
		wait $!
	done
	[ "$(counter a 'rchar -j stats client' resets)" = 0 ]
	host_has_room
}

run one_peer_leaves_sessions_of_others_room
run honest_traffic_was_not_touched
run nothing_is_held_for_a_peer_that_is_gone
run both_budgets_are_what_the_administrator_sets
run answers_to_others_have_room
run sessions_that_end_here_are_held_for_the_peer
run what_closed_files_leave_is_bounded
run importers_of_one_peer_do_not_delay_those_of_others
run answers_have_room_when_the_host_is_full
run closing_loses_nothing_when_the_host_is_full
run the_first_import_leaves_the_peer_its_budget
echo "1..$ksft_n"
finish
