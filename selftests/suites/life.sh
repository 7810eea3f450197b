#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How channels and links begin, fail, recover and end. Two machines.
#
# life.sh [PART]: a slow kernel moves one PART-th of the bytes, and does again and again
# what is done again and again but some times.
. lib/ksft.sh
part=${1:-1}
transfer_bytes=$((67108864 / part))
times() { echo $(($1 / part > 5 ? $1 / part : 5)); }

network_as_before

clean() { rchar del all; on b rchar del all; }

connect_before_the_listener_exists() {
	on b rchar add early stream connect 10.0.0.1
	until_true is_reason early not-listening b
	[[ $(state early b) =~ ^(retrying|connecting)$ ]]
	rchar add early stream listen 10.0.0.1
	on b rchar -w $limit show early
	clean
}

connect_long_before_the_listener_exists() {
	on b rchar add early stream connect 10.0.0.1
	# Until the pause between attempts has grown to seconds.
	until_true eval '[ "$(counter b "rchar -j link" attempts)" -ge 6 ]'
	rchar add early stream listen 10.0.0.1
	on b rchar -w $limit show early
	on b 'echo hello >/dev/rchar/early'
	[ "$(cat /dev/rchar/early)" = hello ]
	clean
}

wrong_name_is_refused_with_a_reason() {
	rchar add right stream listen 10.0.0.1
	on b rchar -w $limit add wrong stream connect 10.0.0.1
	[ "$(on b rio open /dev/rchar/wrong rw)" = ECONNREFUSED ]
	is_reason wrong no-channel b
	on b rchar show wrong | grep -q 'the peer has no channel of that name'
	[ "$(counter b 'rchar -j stats' open_errors)" = 1 ]
	clean
}

wrong_port_times_out_with_a_reason() {
	rchar add right stream listen 10.0.0.1
	on b rchar add right stream connect 10.0.0.1:7000 open-timeout 300ms
	[ "$(on b rio open /dev/rchar/right rw)" = ETIMEDOUT ]
	until_true is_reason right not-listening b
	clean
}

unreachable_address_times_out_with_a_reason() {
	on b rchar add far stream connect 10.0.0.77 open-timeout 300ms
	[ "$(on b rio open /dev/rchar/far rw)" = ETIMEDOUT ]
	until_true eval 'is_reason far address b || is_reason far unreachable b'
	expect_status 4 on b rchar -w 1 show far
	clean
}

listen_waits_for_its_address() {
	rchar add later stream listen 10.0.0.50
	is_state later waiting
	is_reason later no-device
	ip addr add 10.0.0.50/24 dev net0
	until_true is_state later listening
	on b rchar -w $limit add later stream connect 10.0.0.50
	rchar del later
	on b rchar del later
	ip addr del 10.0.0.50/24 dev net0
}

# limit_of HOST LIMIT VALUE - what the module believes of the device of new connections
limit_of() { on "$1" "echo $3 >/sys/kernel/debug/rdma_char/limits/$2"; }

a_device_that_cannot_connect_is_named() {
	local attribute

	rchar add s stream listen 10.0.0.1
	for attribute in max_send_sge max_recv_sge max_qp_wr max_cqe; do
		limit_of b $attribute 0
		on b rchar add s stream connect 10.0.0.1 open-timeout 300ms
		until_true is_reason s device-limits b
		on b rchar show s | grep -q "dmesg"
		# The kernel prints ten such lines in five seconds.
		until_true on b "dmesg | grep -q 'rxe0: no connection: $attribute is 0, and at least [0-9]* is needed'"
		[ "$(on b rio open /dev/rchar/s rw)" = ETIMEDOUT ]
		limit_of b $attribute 4294967295
		until_true is_state s up b
		on b rchar del s
	done
	clean
}

# The link, and what else uses it, goes on: on the next connection the device would refuse it again.
a_refused_registration_ends_only_its_session() {
	peers_get_keys
	limit_of a reg_atomic 0
	rchar add s stream listen 10.0.0.1
	rchar add m memory listen 10.0.0.1 size 1m atomics hw
	on b rchar add s stream connect 10.0.0.1
	on b rchar add m memory connect 10.0.0.1
	until_true is_state s up b
	until_true is_state m up b
	expect_status 1 on b 'dd if=/dev/rchar/m of=/dev/null bs=4k count=1 2>&1' | tee /tmp/words
	grep -q 'Connection reset by peer' /tmp/words
	dmesg | grep 'rxe0: refuses to register memory with access'
	on b 'head -c 300000 /bin/busybox >/dev/rchar/s' &
	[ "$(head -c 300000 /dev/rchar/s | md5sum)" = "$(head -c 300000 /bin/busybox | md5sum)" ]
	wait $!
	[ "$(counter b 'rchar -j link' connects)" = 1 ]
	limit_of a reg_atomic 4294967295
	on b 'dd if=/dev/rchar/m of=/dev/null bs=4k count=1'
	clean
}

frames_are_of() { # SIZE
	on b rchar link | grep -q "frame $1 "
}

# A link moves to a device that takes, or sends, smaller frames: a new epoch. And back: the same.
a_link_follows_what_its_device_can_do() {
	local host

	rchar add s stream listen 10.0.0.1
	on b rchar add s stream connect 10.0.0.1
	until_true is_state s up b
	for host in a b; do
		frames_are_of 64k
		limit_of $host max_recv_sge 3
		reset_link b
		until_true frames_are_of 32k
		on b 'head -c 300000 /bin/busybox >/dev/rchar/s' &
		[ "$(head -c 300000 /dev/rchar/s | md5sum)" = "$(head -c 300000 /bin/busybox | md5sum)" ]
		wait $!
		limit_of $host max_recv_sge 4294967295
		reset_link b
		until_true frames_are_of 64k
	done
	clean
}

many_channels_share_one_link() {
	local i

	for i in 1 2 3 4 5; do
		rchar add "c$i" stream listen 10.0.0.1
		on b rchar -w $limit add "c$i" stream connect 10.0.0.1
	done
	[ "$(on b rchar -j link | grep -o '"link":' | wc -l)" = 1 ]
	clean
}

nr_lanes() { on "$1" rchar link | grep -c '^ *lane ' || true; }

# Also after a reset, and a link that exists keeps its number. Each session stays on one.
a_link_has_the_lanes_that_were_asked_for() {
	local before lanes=/sys/module/rdma_char/parameters/lanes n

	before=$(on b cat $lanes)
	for n in 0 17 x; do
		! on b "echo $n >$lanes" || return 1
	done
	on b "echo 4 >$lanes"
	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1
	on b "echo $before >$lanes"
	[ "$(nr_lanes b)" = 4 ]
	until_true eval '[ "$(qps b)" = 4 ]'
	until_true eval '[ "$(nr_lanes a)" = 4 ]'
	rio serve /dev/rchar/pipe 8 500 >/tmp/served &
	on b rio many /dev/rchar/pipe 8 500 100000
	wait $!
	reset_link b
	until_true eval '[ "$(counter b "rchar -j link" connects)" -ge 2 ]'
	[ "$(nr_lanes b)" = 4 ]
	clean
}

# Links of one lane each, whatever the parameter says: the bounds count lanes. Channels whose
# settings differ do not share a link.
links_to_one_peer() { # NUMBER [ADDRESS]
	on b "for ((i = 1; i <= $1; i++)); do
		echo add c\$i stream connect ${2:-10.0.0.1}/many lanes 1 tos \$i
	done >/tmp/many.conf; rchar apply /tmp/many.conf" >/dev/null
}

# Of 16 handshakes at once none is refused, and no more begin.
many_links_connect_in_turns() {
	local parameters=/sys/module/rdma_char/parameters

	echo 100 >$parameters/peer_lanes
	echo 100 >$parameters/host_lanes
	rchar add many stream listen 10.0.0.1
	links_to_one_peer 60
	until_true eval '[ "$(on b rchar -j link | grep -o "\"state\":\"up\"" | wc -l)" = 60 ]' ||
		{ on b rchar link; rchar link; return 1; }
	on b rchar -j link | grep -o '"reason":"[a-z-]*"' | sort -u >/tmp/reasons
	! grep busy /tmp/reasons || return 1
	clean
	echo 64 >$parameters/peer_lanes
	echo 0 >$parameters/host_lanes
}

# Nobody answers, so some attempts are under way and the other links wait. The device goes, or
# channels of both kinds, or the module with all.
links_that_wait_for_their_turn_end() {
	local i

	for i in 1 2 3; do
		links_to_one_peer 40 10.0.0.77
		until_true eval 'on b rchar -j link | grep "\"state\":\"connecting\""'
		case $i in
		1) on b 'rdma-del; rdma-add' ;;
		2) on b 'for ((i = 1; i <= 40; i += 2)); do rchar del c$i; done' ;;
		3) on b rmmod rdma_char ;;
		esac
		[ $i = 3 ] || on b rchar del all
	done
	on b vm-load
}

peer_lanes_bound_what_an_address_may_have() {
	local parameters=/sys/module/rdma_char/parameters

	echo 3 >$parameters/peer_lanes
	rchar add many stream listen 10.0.0.1
	links_to_one_peer 4
	until_true eval '[ "$(on b rchar -j link | grep -o "\"reason\":\"busy\"" | wc -l)" = 1 ]'
	[ "$(rchar -j link | grep -o '"initiator":false' | wc -l)" = 3 ]
	echo 64 >$parameters/peer_lanes
	until_true eval '[ "$(on b rchar -j link | grep -o "\"state\":\"up\"" | wc -l)" = 4 ]'
	clean
}

a_link_is_as_its_channels_want() {
	local i

	for i in 1 2 3; do
		rchar add "c$i" stream listen 10.0.0.1
	done
	on b rchar -w $limit add c1 stream connect 10.0.0.1 lanes 2 keepalive 1s tos 104
	on b rchar -w $limit add c2 stream connect 10.0.0.1 lanes 2 keepalive 700ms tos 104
	[ "$(on b rchar -j link | grep -o '"link":' | wc -l)" = 1 ]
	[ "$(nr_lanes b)" = 2 ]
	[ "$(counter b 'rchar -j link' keepalive_ms)" = 1000 ]
	[ "$(counter b 'rchar -j link' tos)" = 104 ]
	until_true eval '[ "$(counter a "rchar -j link" keepalive_ms)" = 1000 ]'
	on b rchar -w $limit add c3 stream connect 10.0.0.1
	[ "$(on b rchar -j link | grep -o '"link":' | wc -l)" = 2 ]
	until_true eval '[ "$(nr_lanes b)" = $((2 + $(on b cat /sys/module/rdma_char/parameters/lanes))) ]'
	clean
}

# add_dummy NUMBER - an interface dummyN with the address 10.N.0.1, and a device devN on it
add_dummy() {
	ip link add "dummy$1" type dummy
	ip link set "dummy$1" mtu 9000 up
	ip addr add "10.$1.0.1/24" dev "dummy$1"
	rdma link add "dev$1" type "$VM_RDMA" netdev "dummy$1"
}

del_dummy() { # NUMBER
	rdma link del "dev$1"
	ip link del "dummy$1"
}

# A port of its own, as no packet says that it is down: both ends are here.
a_port_that_goes_down_is_noticed_at_once() {
	local parameter=/sys/module/rdma_char/parameters/keepalive told lanes

	lanes=$(cat /sys/module/rdma_char/parameters/lanes)
	told=$(dmesg | grep -c 'down, port-down' || true)
	! echo 0 >$parameter || return 1
	! echo 251 >$parameter || return 1
	add_dummy 7
	rchar add here stream listen 10.7.0.1
	# The keepalive does not notice before the test ends.
	with_keepalive 250 rchar -w $limit add there stream connect 10.7.0.1/here
	[ "$(rchar -j link | grep -o '"keepalive_ms":250000' | wc -l)" = 2 ]
	cat /dev/rchar/here >/tmp/got &
	reader=$!
	exec 8>/dev/rchar/there
	echo before >&8
	# Soft-RoCE that cannot send something breaks the connection by itself.
	until_true grep -q before /tmp/got
	until_true eval '[ "$(rchar -j link | grep -o "\"unacked_frames\":0" | wc -l)" = $((2 * lanes)) ]'
	ip link set dummy7 down
	# The log, as the reason of the link is soon that of the next attempt.
	until_true eval '[ "$(dmesg | grep -c "down, port-down")" -ge $((told + 2)) ]'
	# Soft-RoCE of some kernels needs a new device then.
	del_dummy 7
	add_dummy 7
	echo after >&8
	exec 8>&-
	wait $reader
	[ "$(cat /tmp/got)" = $'before\nafter' ]
	clean
	del_dummy 7
}

link_reset_in_the_middle_loses_nothing() {
	local i id

	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1
	start_transfer b pipe
	# That of the test before may not be gone.
	until_true eval '[ "$(rchar link | grep -c ": from")" = 1 ]'
	id=$(rchar link | sed -n 's/: from.*//p')
	for i in 1 2 3 4 5; do
		until_moving a pipe rx_bytes "$reader"
		rchar link reset "$id" 2>/dev/null || true
	done
	end_transfer
	# At the side that calls: the other one's link goes when nobody uses it.
	[ "$(counter b 'rchar -j link' connects)" -ge 2 ]
	clean
}

close_survives_a_link_reset() {
	rchar add pipe stream listen 10.0.0.1 window 4m
	# The default linger may be over before a slow machine is connected again, and the default keepalive
	# before the reset: what is written to a link that is down is not sent twice.
	with_keepalive 250 on b rchar -w $limit add pipe stream connect 10.0.0.1 \
		window 4m linger 300s keepalive 250s
	on b rchar -j link | grep -q '"keepalive_ms":250000'
	# Written and closed while nothing gets through; then the connection breaks.
	open_before_the_outage 'head -c 1000000 /bin/busybox >&3'
	wait $!
	reset_link b
	network_as_before
	cat /dev/rchar/pipe >/tmp/got
	[ "$(stat -c %s /tmp/got)" = 1000000 ]
	cmp -n 1000000 /tmp/got /bin/busybox
	[ "$(counter b 'rchar -j link' replayed_frames)" -gt 0 ]
	clean
}

device_removed_and_back_loses_nothing() {
	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1
	start_transfer b pipe
	until_moving a pipe rx_bytes "$reader"
	on b 'rdma-del; rdma-add'
	until_moving a pipe rx_bytes "$reader"
	rdma-del
	rdma-add
	end_transfer
	clean
}

# Readers, writers, openers and pollers, at both sides, while both devices go and come:
# nobody notices, and then everybody gets what they waited for.
blocked_callers_survive_device_removal() {
	local start

	rchar add pipe stream listen 10.0.0.1
	rchar add full stream listen 10.0.0.1
	rchar add shut stream listen 10.0.0.1
	rchar add polled stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1
	on b rchar -w $limit add full stream connect 10.0.0.1
	on b rchar -w $limit add polled stream connect 10.0.0.1
	# A reader at each side of one session, a writer without a reader, an opener that
	# nobody calls, a poller.
	on b 'rm -f /tmp/pipe; mkfifo /tmp/pipe; exec 3<>/dev/rchar/pipe; cat <&3 & cat /tmp/pipe >&3; wait' >/tmp/b-read &
	bash -c 'exec 3<>/dev/rchar/pipe; touch /tmp/a-open; head -n1 <&3; echo from a >&3' >/tmp/a-read &
	on b 'rio write /dev/rchar/full 31 4000000; echo written' >/tmp/b-wrote &
	cat /dev/rchar/shut >/tmp/a-opened &
	rio poll /dev/rchar/polled /tmp/a-polls >/tmp/a-polled &
	until_true test -e /tmp/a-open
	until_true test -e /tmp/a-polls
	until_true eval '[ "$(counter a "rchar -j stats full" rx_bytes)" -gt 1000000 ]'
	start=${EPOCHREALTIME/./}
	on b rdma-del
	rdma-del
	note "both removed in $(((${EPOCHREALTIME/./} - start) / 1000)) ms"
	[ ! -s /tmp/a-read ]
	[ ! -s /tmp/b-wrote ]
	[ ! -s /tmp/a-opened ]
	[ ! -s /tmp/a-polled ]
	rdma-add
	on b rdma-add
	on b rchar -w $limit show pipe
	[ "$(rio read /dev/rchar/full 31)" = 4000000 ]
	on b 'echo from b >/tmp/pipe'
	on b 'echo polled >/dev/rchar/polled'
	on b rchar -w $limit add shut stream connect 10.0.0.1
	on b 'echo opened >/dev/rchar/shut'
	wait
	[ "$(cat /tmp/a-read)" = "from b" ]
	[ "$(cat /tmp/b-read)" = "from a" ]
	[ "$(cat /tmp/b-wrote)" = written ]
	[ "$(cat /tmp/a-opened)" = opened ]
	[ "$(cat /tmp/a-polled)" = 7 ]
	clean
}

# Can anybody connect over such a device after it could not send a MAD? The queue pair for MADs of
# soft-RoCE is deaf then. Another program is asked, with an interface of its own. Sets $survived.
survives_an_unsent_mad() {
	local server client

	add_dummy 8
	ip neigh add 10.8.0.2 lladdr 52:54:00:08:00:02 dev dummy8 nud permanent
	rping -s -P -a 10.8.0.1 &
	server=$!
	until_true rping -c -C 1 -a 10.8.0.1
	# Nobody answers this one. When it dies, the CM says so, and cannot.
	rping -c -C 1 -a 10.8.0.2 &
	client=$!
	until_true eval "rdma resource show cm_id dev dev8 | grep -q 'state CONNECT .*dst-addr 10.8.0.2'"
	ip link set dummy8 down
	kill -9 $client
	wait $client || true
	ip link set dummy8 up
	timeout $((10 * ${VM_PATIENCE:-1})) rping -c -C 1 -a 10.8.0.1 && survived=yes || survived=no
	kill $server
	wait $server || true
	del_dummy 8
}

# A fault in the middle of 64 MiB.
transfer_over() { # COMMAND THAT BREAKS AND MENDS, on b
	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1
	start_transfer b pipe
	is_moving pipe
	on b "$1"
	end_transfer
	note "connects $(counter b 'rchar -j link' connects), failures $(counter b 'rchar -j link' failures)"
	clean
}

interface_down_and_up_loses_nothing() {
	survives_an_unsent_mad
	[ "$survived" = yes ] || skip "the device's queue pair for MADs does not survive it"
	# Down for a second: longer than a packet is on its way.
	transfer_over 'ip link set net0 down; sleep 1; ip link set net0 up; ip -6 addr add fd00::2/64 dev net0 nodad'
}

device_module_unloaded_and_back_loses_nothing() {
	local driver=$VM_RDMA

	[ "$driver" != rxe ] || driver=rdma_rxe
	on b grep -q "^$driver " /proc/modules || skip "the driver is built into this kernel"
	transfer_over "rmmod $driver && modprobe $driver && rdma-add"
}

# The interface of the device itself goes. One machine, so that it may.
interface_deleted_and_back_loses_nothing() {
	add_dummy 7
	rchar add here stream listen 10.7.0.1
	rchar -w $limit add there stream connect 10.7.0.1/here
	start_transfer a here there
	is_moving here
	ip link del dummy7
	until_true is_state here waiting
	add_dummy 7
	end_transfer
	clean
	ip link del dummy7
}

address_removed_and_back_loses_nothing() {
	# Gone for longer than the first attempts to connect again.
	transfer_over 'ip addr del 10.0.0.2/24 dev net0; sleep 3; ip addr add 10.0.0.2/24 dev net0'
}

tool_killed_half_way() {
	local i

	for i in $(seq "$(times 30)"); do
		rchar -w $limit add half stream connect 10.0.0.1:9 &
		# At another point of its work each time.
		sleep 0.0$((i % 10))
		kill -9 $! || true
		wait $! || true
		rchar del half 2>/dev/null || true
	done
	[ -z "$(rchar)" ]
	rchar add half stream listen 10.0.0.1
	rchar del half
}

# The channel keeps its namespace, and the first namespace can still delete it.
namespace_deleted_with_a_channel_in_it() {
	ip netns add gone
	# Goes when the namespace of its other end does.
	ip link add outside type veth peer name inside netns gone
	rchar -n gone add lost stream listen 10.0.0.1
	rchar -n gone add lost2 stream connect 10.0.0.1
	expect_status 5 rchar add lost stream listen 10.0.0.1 2>&1 | grep -q 'in another network namespace'
	ip netns del gone
	[ -z "$(rchar)" ]
	# It does not go, however long one waits; if it did, it would within this.
	sleep 1
	ip link show outside
	rchar del lost
	rchar del lost2
	until_true eval '! ip link show outside'
}

peer_module_gone_and_back() {
	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1
	rmmod rdma_char
	until_true is_state pipe retrying b
	vm-load
	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit show pipe
	on b 'echo again >/dev/rchar/pipe'
	[ "$(cat /dev/rchar/pipe)" = again ]
	clean
}

peer_restart_resets_open_sessions() {
	local holder

	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1
	on b 'cat /dev/rchar/pipe; echo "cat $?"' >/tmp/out 2>&1 &
	holder=$!
	until_true eval 'rchar session | grep -q "state waiting"'
	rmmod rdma_char
	vm-load
	rchar add pipe stream listen 10.0.0.1
	wait $holder
	grep -q 'Connection reset' /tmp/out
	clean
}

# Nothing gets through. Not by taking the interface down: soft-RoCE then fails to send a MAD,
# which leaves its GSI queue pair deaf, and nobody can connect any more (6.1, 6.12 and 7.3).
outage() { network loss 100%; }

a_long_path_is_known() {
	local host lanes

	long_path 50ms
	rchar add far stream listen 10.0.0.1
	on b rchar -w $limit add far stream connect 10.0.0.1
	lanes=$(on b cat /sys/module/rdma_char/parameters/lanes)
	for host in a b; do
		until_true eval '[ "$(counter $host "rchar -j link" rtt_ns)" -ge 100000000 ]'
		# And each end reads as much at once as the other answers.
		until_true eval '[ "$(counter $host "rchar -j link" reads)" = $((16 * lanes)) ]'
	done
	network_as_before
	clean
}

large_writes_over_a_long_path_are_copied() {
	local sum sent begun

	long_path 50ms
	rchar add far stream listen 10.0.0.1
	on b rchar -w $limit add far stream connect 10.0.0.1
	until_true eval '[ "$(counter b "rchar -j link" rtt_ns)" -ge 100000000 ]'
	sha256sum </dev/rchar/far >/tmp/sum &
	reader=$!
	begun=$SECONDS
	sum=$(on b 'head -c 8388608 /dev/urandom >/tmp/bytes
		dd if=/tmp/bytes of=/dev/rchar/far bs=1M 2>/dev/null; sha256sum </tmp/bytes')
	wait $reader
	[ "$(cat /tmp/sum)" = "$sum" ]
	# Only the first one finds out; another one tries again every ten seconds.
	sent=$(counter b 'rchar -j stats' rendezvous_sent)
	[ "$sent" -ge 1 ]
	[ "$sent" -le $((1 + (SECONDS - begun) / 10)) ]
	network_as_before
	clean
}

# On b: open, tell, wait until told, then do the rest; nothing gets through by then.
open_before_the_outage() { # COMMAND
	rm -f /tmp/out
	on b rm -f /tmp/open /tmp/go
	on b "exec 3<>/dev/rchar/pipe && touch /tmp/open; until [ -e /tmp/go ]; do sleep 0.1; done; $1" >/tmp/out 2>&1 &
	until_true on b test -e /tmp/open
	outage
	on b touch /tmp/go
}

# The pipe of the next tests; b watches its sessions.
watched_pipe() { # SETTING...
	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1 "$@"
	on b 'rchar -j monitor >/tmp/watched 2>&1 & echo $! >/tmp/monitor.pid'
	# Until it is there to hear them.
	until_true on b 'rchar add ear stream listen 10.0.0.2; rchar del ear; [ -s /tmp/watched ]'
}

saw_reason() {
	until_true on b "grep -q '\"reason\":\"$1\"' /tmp/watched"
	on b 'kill $(cat /tmp/monitor.pid)'
}

linger_bounds_what_close_leaves() {
	watched_pipe linger 1s
	open_before_the_outage 'echo too late >&3'
	wait $!
	saw_reason linger
	network_as_before
	clean
}

recovery_timeout_ends_sessions() {
	watched_pipe recovery-timeout 1s
	open_before_the_outage 'cat <&3'
	# First the silence has to be noticed.
	wait $! || true
	grep -q 'Connection reset' /tmp/out
	saw_reason recovery-timeout
	network_as_before
	# And the link comes back for the next one.
	on b rchar -w $limit show pipe
	on b 'echo afterwards >/dev/rchar/pipe'
	[ "$(cat /dev/rchar/pipe)" = afterwards ]
	clean
}

fsync_fails_when_the_session_ends_first() {
	watched_pipe
	open_before_the_outage 'echo lost | dd conv=fsync >&3 2>/dev/null; echo "dd $?"'
	# Not before: the bytes are nowhere yet. It would not take this long to say so.
	sleep 1
	[ ! -s /tmp/out ]
	on b 'rchar session kill $(rchar session | sed -n "s/: channel.*//p")'
	wait $! || true
	grep -q 'dd 1' /tmp/out
	network_as_before
	clean
}

# In bytes of the program, whatever the window counts for a message.
ended_sessions_tell_what_was_not_delivered() {
	rchar add pipe message listen 10.0.0.1
	on b rchar -w $limit add pipe message connect 10.0.0.1
	open_before_the_outage 'for i in 0 1 2 3 4 5 6 7 8 9; do printf x >&3; done; touch /tmp/written
		until grep -q "rchar-state.*dead" /proc/$$/fdinfo/3; do sleep 0.1; done
		grep rchar-tx-unacked /proc/$$/fdinfo/3'
	until_true on b test -e /tmp/written
	on b 'rchar session kill $(rchar session | sed -n "s/: channel.*//p")'
	wait $! || true
	grep -qx "rchar-tx-unacked:.10" /tmp/out
	on b rm /tmp/written
	network_as_before
	clean
}

# A peer that takes a frame now and then makes registering as slow as it likes.
slow=/sys/kernel/debug/rdma_char/delay_register

connected_again() { [ "$(counter b 'rchar -j link' connects)" -gt "$1" ]; } # CONNECTS-BEFORE

registers_slowly() { # SIZE MICROSECONDS - the region "slow" for b; each batch takes so long
	rchar add slow memory listen 10.0.0.1 size "$1"
	on b rchar -w $limit add slow memory connect 10.0.0.1
	echo "$2" >$slow
	on b 'head -c 1 /dev/rchar/slow >/tmp/got 2>&1 &' &
	# Registering is under way.
	until_true grep -qx 'delayed 1' /sys/kernel/debug/rdma_char/objects
}

slow_registrations_hold_nobody_up() {
	local connects

	peers_get_keys
	rchar add other memory listen 10.0.0.1 size 64m
	rchar add third stream listen 10.0.0.1
	registers_slowly 64m 4200000
	connects=$(counter b 'rchar -j link' connects)
	# Deleting another region does not wait for it.
	rchar del other
	[ "$(counter b 'rchar -j link' connects)" = "$connects" ]
	# Nor does that region's, and nobody else has waited: the connection stays.
	rchar del slow
	[ "$(counter b 'rchar -j link' connects)" = "$connects" ]
	echo 0 >$slow
	wait $! || true
	clean
}

# Each is late by less than what fails a connection.
many_slow_registrations_hold_nobody_up() {
	local connects i

	peers_get_keys
	rchar add other memory listen 10.0.0.1 size 64m
	for i in 1 2 3 4 5 6 7; do
		rchar add slow$i memory listen 10.0.0.1 size 1m
		on b rchar -w $limit add slow$i memory connect 10.0.0.1
	done
	registers_slowly 1m 4200000
	connects=$(counter b 'rchar -j link' connects)
	on b 'for i in 1 2 3 4 5 6 7; do head -c 1 /dev/rchar/slow$i >/dev/null 2>&1 & done' &
	until_true connected_again "$connects"
	echo 1 >$slow
	rchar del slow
	rchar del other
	echo 0 >$slow
	wait
	clean
}

# Of sessions with the same keys, the one that began to register them is killed meanwhile. Where the
# link has two lanes, every other session has the lane of the first one.
the_next_session_goes_on_registering() {
	local first

	peers_get_keys
	registers_slowly 64m $((500000 * ${VM_PATIENCE:-1}))
	first=$(rchar session | sed -n 's/: channel slow .*//p')
	on b 'for i in 1 2; do head -c 1 /dev/rchar/slow | wc -c & done >/tmp/others; wait' &
	until_true eval '[ "$(rchar session | grep -c ": channel slow ")" = 3 ]'
	rchar session kill "$first"
	echo 0 >$slow
	wait
	[ "$(on b sort -u /tmp/others)" = 1 ]
	[ "$(on b grep -c 1 /tmp/others)" = 2 ]
	until_true on b grep -q ^head: /tmp/got
	clean
}

# What ends the three sessions ends their keys, which one of them is registering.
shared_keys_are_freed() {
	local way kind

	peers_get_keys
	for way in device peer channel module all; do
		registers_slowly 64m $((300000 * ${VM_PATIENCE:-1}))
		# Nothing here waits for what runs on b, whose power may go.
		on b 'for i in 1 2; do head -c 1 /dev/rchar/slow >/dev/null 2>&1 & done'
		until_true eval '[ "$(rchar session | grep -c ": channel slow ")" = 3 ]'
		case $way in
		device) rdma-del; rdma-add ;;
		peer) vm-host restart b; vm-up b ;;
		channel) rchar del slow ;;
		module) rmmod rdma_char; vm-load ;;
		all)
			on b 'rdma-del; rdma-add' &
			rchar del slow &
			rdma-del
			wait
			rmmod rdma_char
			rdma-add
			vm-load
			;;
		esac
		echo 0 >$slow
		rchar del --if-exists slow
		on b rchar del --if-exists slow
		for kind in grant export region session lane; do
			until_true grep -qx "$kind 0" ${slow%/*}/objects
		done
	done
	clean
}

# Its region has 12 KiB, as no other.
imports_denied() {
	on b 'sleep 1000 </dev/rchar/denied >/dev/null 2>&1 & echo $! >>/tmp/importers' &
	until_true eval '[ "$(registered 12288)" = 1 ]'
}

# Another export of the same lane is being registered meanwhile, slowly.
a_denied_peer_has_no_access_when_set_returns() {
	local session

	peers_get_keys
	rchar add denied memory listen 10.0.0.1 size 12k
	on b rchar -w $limit add denied memory connect 10.0.0.1
	imports_denied
	registers_slowly 64m 1000000
	rchar set denied allow 10.0.0.9/32
	[ "$(registered 12288)" = 0 ]
	rchar set denied allow any
	imports_denied
	session=$(rchar session | sed -n 's/: channel denied .*//p')
	rchar session kill "$session"
	[ "$(registered 12288)" = 0 ]
	echo 0 >$slow
	on b 'kill $(cat /tmp/importers); rm /tmp/importers'
	wait
	clean
}

# The keys of a region are void before 'del' returns, which its peer can make slow.
deleting_a_channel_holds_no_other_up() {
	local del mon

	peers_get_keys
	rm -f /tmp/deleted
	rchar -j monitor >/tmp/events &
	mon=$!
	until_true eval 'rchar add ear stream listen 10.0.0.1:7555; rchar del ear; [ -s /tmp/events ]'
	# The export exists before its registration has read the delay.
	registers_slowly 1m $((limit * 2000000))
	(rchar del slow; touch /tmp/deleted) &
	del=$!
	# Its name is free at once; all the rest is still to come.
	until_true timeout 60 rchar add slow stream listen 10.0.0.1
	timeout 60 rchar set slow window 128k
	timeout 60 rchar show slow
	[ ! -e /tmp/deleted ]
	echo 0 >$slow
	wait $del
	# And who listens sees it go before the other one comes.
	until_true grep -q '"event":"channel-del","name":"slow"' /tmp/events
	kill $mon
	wait
	[[ $(grep '"event":"channel-\(new\|del\)","name":"slow"' /tmp/events | tail -n 1) = *channel-new* ]]
	clean
}

monitor_tells_each_change() {
	local mon e

	on b "rchar -j -w $((2 * limit)) monitor" >/tmp/events &
	mon=$!
	# Until it is there to hear them.
	until_true eval 'on b "rchar add ear stream listen 10.0.0.2; rchar del ear"; [ -s /tmp/events ]'
	# A port of its own, so that no link is up before.
	on b rchar add ev stream connect 10.0.0.1:7555
	rchar add ev stream listen 10.0.0.1:7555
	on b rchar -w $limit show ev
	on b 'echo x >/dev/rchar/ev'
	on b rchar set ev window 128k
	on b rchar del ev
	until_true grep -q '"event":"channel-del","name":"ev"' /tmp/events
	on b killall rchar || true
	wait $mon || true
	for e in channel-new channel-state link-state session-state channel-set channel-del; do
		grep -q "\"event\":\"$e\"" /tmp/events || { echo "no $e"; cat /tmp/events; return 1; }
	done
	clean
}

exit_codes() {
	expect_status 1 rchar frobnicate
	expect_status 1 rchar add x stream
	expect_status 6 rchar del nosuch
	expect_status 2 rchar add 'a/b' stream listen 10.0.0.1
	expect_status 2 rchar add m memory listen 10.0.0.1
	expect_status 6 rchar link show 99
	expect_status 6 rchar session show 99
	expect_status 6 rchar session show 99/1
	expect_status 4 rchar -w 1 add t stream connect 10.0.0.1:9
	rchar del t
	rmmod rdma_char
	expect_status 3 rchar show
	rchar -j version | grep -q '"module":null'
	vm-load
}

node_has_mode_uid_gid() {
	rchar add node stream listen 10.0.0.1 mode 0640 uid 65534 gid 119
	[ "$(stat -c '%a %u %g %F' /dev/rchar/node)" = "640 65534 119 character special file" ]
	rchar del node
	[ ! -e /dev/rchar/node ]
	rchar add node stream listen 10.0.0.1 mode 0 uid 65534
	[ "$(stat -c '%a %u' /dev/rchar/node)" = "0 65534" ]
	rchar del node
	rchar add node stream listen 10.0.0.1
	[ "$(stat -c '%a %u' /dev/rchar/node)" = "600 0" ]
	rchar del node
}

rmmod_is_refused_while_a_file_is_open() {
	local holder

	rchar add busy stream listen 10.0.0.1
	on b rchar -w $limit add busy stream connect 10.0.0.1
	on b 'rio hold /dev/rchar/busy rw /tmp/held >/dev/null 2>&1 & echo $!' >/tmp/pid
	rio hold /dev/rchar/busy rw /tmp/held >/dev/null 2>&1 &
	holder=$!
	until_true test -e /tmp/held
	expect_status 1 rmmod rdma_char
	kill $holder
	wait $holder || true
	until_true rmmod rdma_char
	# What 'rchar check' says of a host without the module.
	expect_status 7 rchar check 2>&1 | grep -q '^not ok module     rdma_char is not built for kernel '
	echo 'updates/rdma_char.ko:' >>"/lib/modules/$(uname -r)/modules.dep"
	expect_status 7 rchar check 2>&1 | grep -q -- '-> modprobe rdma_char$'
	sed -i '/^updates.rdma_char/d' "/lib/modules/$(uname -r)/modules.dep"
	vm-load
	on b 'killall rio' || true
	clean
}

rmmod_under_traffic_of_the_peer() {
	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1 recovery-timeout 1s
	# The peer writes into the backlog; nobody has the device open here.
	on b 'for i in 1 2 3 4; do cat /bin/busybox >/dev/rchar/pipe & done; wait' >/dev/null 2>&1 &
	local writer=$!
	until_true eval '[ "$(counter a "rchar -j stats" rx_bytes)" -gt 0 ]'
	rmmod rdma_char
	vm-load
	wait $writer || true
	clean
}

load_and_unload_again_and_again() {
	local i

	for i in $(seq "$(times 50)"); do
		rmmod rdma_char
		vm-load
		rchar add loop stream listen 10.0.0.1
		[ $((i % 5)) != 0 ] || {
			rchar -w $limit add back stream connect 10.0.0.1/loop
			echo "$i" >/dev/rchar/back
			[ "$(cat /dev/rchar/loop)" = "$i" ]
		}
	done
	clean
}

holds_no() { # KIND..., on b
	local kind

	for kind; do
		on b grep -qx "'$kind 0'" /sys/kernel/debug/rdma_char/objects || return
	done
}

# A frame that waits for a mapping is in no queue of the device. Whatever ends its lane frees it.
what_waits_for_a_mapping_is_freed() {
	local way writer stalls

	needs_test_build
	for way in reset peer device channel module; do
		rchar add poor stream listen 10.0.0.1
		on b rchar -w $limit add poor stream connect 10.0.0.1 rendezvous-min 0 linger 0s
		stalls=$(counter b 'rchar -j link' map_stalls)
		no_mappings b
		cat /dev/rchar/poor >/dev/null &
		on b 'cat /dev/zero >/dev/rchar/poor & echo $! >/tmp/writer; wait' 2>/dev/null &
		writer=$!
		until_true stalled b "$stalls"
		case $way in
		reset) reset_link b ;;
		peer) rdma-del; rdma-add ;;
		device) on b 'rdma-del; rdma-add' ;;
		channel) on b rchar del poor ;;
		esac
		# For the next connection, too, there is no mapping of a large frame.
		on b 'kill $(cat /tmp/writer)' 2>/dev/null || true
		wait $writer || true
		[ $way != module ] || on b rmmod rdma_char
		[ $way = module ] || on b rchar del --if-exists poor
		rchar del poor
		wait || true
		[ $way != module ] || on b vm-load
		until_true holds_no link lane session txbuf bounce
		[ $way = module ] || mappings_return b
	done
}

# Without the device's index, and without completion queues: the core keeps those that it shares.
resources() { rdma resource show | sed 's/^[0-9]*//; s/ cq [0-9]*//; s/ctx.*//'; }
completion_queues() { rdma resource show | grep -o ' cq [0-9]*'; }

nothing_is_left_behind() {
	rmmod rdma_char
	on b rmmod rdma_char
	# Disconnected cm_ids wait out the CM's timewait.
	until_true eval 'resources | cmp - /tmp/resources'
	# With its device, also what the core shared.
	rdma-del
	rdma-add
	until_true eval 'completion_queues | cmp - /tmp/completion_queues'
	resources | cmp - /tmp/resources
	vm-load
	on b vm-load
	resources | cmp - /tmp/resources
	[ ! -e /dev/rchar ] || [ -z "$(ls /dev/rchar)" ]
}

plan 48
rmmod rdma_char
resources >/tmp/resources
completion_queues >/tmp/completion_queues
vm-load
run connect_before_the_listener_exists
run connect_long_before_the_listener_exists
run wrong_name_is_refused_with_a_reason
run wrong_port_times_out_with_a_reason
run unreachable_address_times_out_with_a_reason
run listen_waits_for_its_address
run a_device_that_cannot_connect_is_named
run a_refused_registration_ends_only_its_session
run a_link_follows_what_its_device_can_do
run many_channels_share_one_link
run a_link_has_the_lanes_that_were_asked_for
run many_links_connect_in_turns
run links_that_wait_for_their_turn_end
run peer_lanes_bound_what_an_address_may_have
run a_link_is_as_its_channels_want
run link_reset_in_the_middle_loses_nothing
run close_survives_a_link_reset
run device_removed_and_back_loses_nothing
run blocked_callers_survive_device_removal
run interface_down_and_up_loses_nothing
run a_long_path_is_known
run large_writes_over_a_long_path_are_copied
run a_port_that_goes_down_is_noticed_at_once
run device_module_unloaded_and_back_loses_nothing
run address_removed_and_back_loses_nothing
run interface_deleted_and_back_loses_nothing
run tool_killed_half_way
run namespace_deleted_with_a_channel_in_it
run peer_module_gone_and_back
run peer_restart_resets_open_sessions
run linger_bounds_what_close_leaves
run recovery_timeout_ends_sessions
run fsync_fails_when_the_session_ends_first
run ended_sessions_tell_what_was_not_delivered
run slow_registrations_hold_nobody_up
run many_slow_registrations_hold_nobody_up
run the_next_session_goes_on_registering
run shared_keys_are_freed
run a_denied_peer_has_no_access_when_set_returns
run deleting_a_channel_holds_no_other_up
run monitor_tells_each_change
run exit_codes
run node_has_mode_uid_gid
run rmmod_is_refused_while_a_file_is_open
run rmmod_under_traffic_of_the_peer
run what_waits_for_a_mapping_is_freed
run load_and_unload_again_and_again
run nothing_is_left_behind
finish
