#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Channels inside network namespaces, where soft-RoCE works in them: two hosts, h1 and h2, in one
# kernel, each with an end of a veth pair and a soft-RoCE device on it. One machine.
. lib/ksft.sh
set_up=hosts_are_made

# In Linux 6.1 the sockets of soft-RoCE are in the first namespace, whatever its interface is. 12B7 is
# UDP port 4791.
soft_roce_works_in_namespaces() { ip netns exec h1 grep -qi ':12B7 ' /proc/net/udp; }

# make_pair NUMBER - hosts h<NUMBER> and h<NUMBER+1>, always with the same addresses
make_pair() {
	local first=$1 second=$(($1 + 1)) i

	ip netns add "h$first"
	ip netns add "h$second"
	ip link add "v$first" netns "h$first" type veth peer name "v$second" netns "h$second"
	for i in "$first" "$second"; do
		ip -n "h$i" address add "10.9.0.$((i - first + 1))/24" dev "v$i"
		ip -n "h$i" link set lo up
		ip -n "h$i" link set "v$i" up
	done
	for i in "$first" "$second"; do
		ip netns exec "h$i" rdma link add "rdma$i" type rxe netdev "v$i"
		until_true eval "ip netns exec h$i rdma link show rdma$i/1 | grep -q 'state ACTIVE'"
	done
}

# 'del all' is of one namespace.
clean() {
	local name

	rchar del all
	for name in $(ip netns list | cut -d' ' -f1); do rchar -n "$name" del all; done
}

hosts_are_made() {
	local h

	clean
	for h in h1 h2 h3 h4; do ip netns del $h 2>/dev/null || true; done
	until_true eval '! rdma link | grep rdma[1-4]/'
	make_pair 1
}

need() { soft_roce_works_in_namespaces || skip "soft-RoCE of Linux $(uname -r) works in the first network namespace only"; }

# moves FROM TO - bytes, from one device to another
moves() {
	local reader sum

	sha256sum <"/dev/rchar/$2" >/tmp/sum &
	reader=$!
	head -c 3000000 /dev/urandom >/tmp/bytes
	dd if=/tmp/bytes of="/dev/rchar/$1" bs=64k status=none
	sum=$(sha256sum </tmp/bytes)
	wait $reader
	[ "$(cat /tmp/sum)" = "$sum" ]
}

add_pair() { # NUMBER IN OUT
	rchar -n "h$1" add "$2" stream listen 10.9.0.1
	rchar -n "h$(($1 + 1))" -w $limit add "$3" stream connect "10.9.0.1/$2"
}

all_types_work_between_namespaces() {
	need
	add_pair 1 in out
	moves out in
	moves in out
	rchar -n h1 add letters message listen 10.9.0.1
	rchar -n h2 -w $limit add letter message connect 10.9.0.1/letters
	head -c 5 </dev/rchar/letters >/tmp/letter &
	printf hello >/dev/rchar/letter
	wait $!
	[ "$(cat /tmp/letter)" = hello ]
	rchar -n h1 add region memory listen 10.9.0.1 size 1m access rw
	rchar -n h2 -w $limit add far memory connect 10.9.0.1/region
	head -c 1048576 /dev/urandom >/tmp/bytes
	dd if=/tmp/bytes of=/dev/rchar/far bs=128k conv=notrunc status=none
	cmp /tmp/bytes /dev/rchar/region
	rchar -n h2 key add mine - <<<"$(rchar key gen)"
	[ -z "$(rchar -n h1 key)" ]
	rchar -n h2 key del mine
	clean
}

each_namespace_sees_its_own() {
	local id

	need
	add_pair 1 in out
	[ "$(rchar -n h1 -j | grep -o '"name":"[^"]*"')" = '"name":"in"' ]
	[ "$(rchar -n h2 -j | grep -o '"name":"[^"]*"')" = '"name":"out"' ]
	[ -z "$(rchar)$(rchar link)" ]
	[ "$(rchar -n h1 -j link | grep -c '"initiator":false')" = 1 ]
	[ "$(rchar -n h2 -j link | grep -c '"initiator":true')" = 1 ]
	# Another namespace cannot reset the link, nor change or take the name.
	id=$(rchar -n h2 link | sed -n 's/: to.*//p')
	expect_status 6 rchar link reset "$id"
	expect_status 6 rchar -n h1 set out window 2m
	expect_status 5 rchar add out stream listen 10.0.0.1
	[ "$(counter a 'rchar -n h2 -j link' failures)" = 0 ]
	rchar -n h1 del all
	[ "$(rchar -n h2 -j | grep -c '"name":"out"')" = 1 ]
	clean
}

check_looks_into_the_namespace() {
	need
	rchar -n h1 add in stream listen 10.9.0.1
	rchar -n h2 -w $limit check 10.9.0.1/in >/tmp/check
	cat /tmp/check
	grep -q '^ok     mtu        MTU 1500 of v2: ' /tmp/check
	grep -q '^ok     address    10.9.0.2 is that of rdma2 port 1 (v2), ' /tmp/check
	# And the first namespace does not.
	expect_status 7 rchar check 10.9.0.1/in
	clean
}

the_node_works_from_any_namespace() {
	need
	add_pair 1 in out
	ip netns add empty
	ip netns exec empty sh -c 'echo across >/dev/rchar/out' &
	[ "$(timeout $limit cat /dev/rchar/in)" = across ]
	wait $!
	ip netns del empty
	clean
}

# Addresses and ports are those of a namespace; so are the links, and what peers may hold. Only the
# RDMA CM of Linux looks at neither: when a neighbour of one namespace becomes known, it tells the
# connections to that address on an interface of that number in others that their peer is unreachable
# (cma_netevent_callback()). They connect again, and nothing is lost.
equal_addresses_do_not_meet() {
	need
	make_pair 3
	add_pair 1 in out
	add_pair 3 in3 out3
	moves out in
	moves out3 in3
	until_true eval 'rchar -n h4 check 10.9.0.1/in | grep "^not ok channel    no-channel"'
	clean
	ip netns del h3
	ip netns del h4
}

a_device_that_goes_and_comes_back_loses_nothing() {
	local reader sum

	need
	add_pair 1 in out
	sha256sum <"/dev/rchar/in" >/tmp/sum &
	reader=$!
	head -c 30000000 /dev/urandom >/tmp/bytes
	dd if=/tmp/bytes of=/dev/rchar/out bs=64k status=none &
	until_true eval '[ "$(counter a "rchar -n h1 -j stats in" rx_bytes)" -gt 0 ]'
	rdma link del rdma1
	until_true eval 'rchar -n h1 -j link | grep -q "\"reason\":\"device-removed\""'
	ip netns exec h1 rdma link add rdma1 type rxe netdev v1
	wait $!
	sum=$(sha256sum </tmp/bytes)
	wait $reader
	[ "$(cat /tmp/sum)" = "$sum" ]
	clean
}

# Channels hold their namespace, with what is in it: the sessions go on.
sessions_outlive_the_name_of_their_namespace() {
	need
	add_pair 1 in out
	ip netns del h1
	ip netns del h2
	moves out in
	rchar del in
	rchar del out
	until_true eval '! rdma link | grep "rdma[12]/"'
	make_pair 1
}

plan 7
run all_types_work_between_namespaces
run each_namespace_sees_its_own
run check_looks_into_the_namespace
run the_node_works_from_any_namespace
run equal_addresses_do_not_meet
run a_device_that_goes_and_comes_back_loses_nothing
run sessions_outlive_the_name_of_their_namespace
finish
