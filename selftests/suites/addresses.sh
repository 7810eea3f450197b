#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Addresses: several on an interface, the wildcard, VLANs, bonds, and addresses that move to another
# interface or another RDMA device. Two machines.
. lib/ksft.sh
set_up=clean
transfer_bytes=$((16 << 20))

both() { # COMMAND with N for the number of the host
	eval "${1//N/1}"
	on b "${1//N/2}"
}

clean() { both 'rchar del all'; }

# connects CHANNEL TO - adds the channel at b, and waits for its link
connects() { on b rchar -w $limit add "$1" stream connect "$2"; }

# moves_while_open CHANNEL COMMAND... - what is written before and after the command arrives, although
# the connection of before cannot go on
moves_while_open() {
	local channel=$1 before reader

	shift
	on b "cat </dev/rchar/$channel >/tmp/got" &
	reader=$!
	exec 8>"/dev/rchar/$channel"
	echo before >&8
	until_true on b grep -q before /tmp/got
	before=$(counter b 'rchar -j link' connects)
	"$@"
	echo after >&8
	exec 8>&-
	wait $reader
	[ "$(on b cat /tmp/got)" = $'before\nafter' ]
	[ "$(counter b 'rchar -j link' connects)" -gt "$before" ]
}

interface_bytes() { cat "/sys/class/net/$1/statistics/rx_bytes"; }

several_addresses_of_an_interface() {
	both 'ip address add 10.0.0.5N/24 dev net0; ip address add fd00::5N/64 dev net0 nodad'
	rchar add first stream listen 10.0.0.1
	rchar add second stream listen 10.0.0.51
	rchar add sixth stream listen '[fd00::51]'
	connects first 10.0.0.1
	connects second 10.0.0.51
	connects sixth '[fd00::51]'
	connects third '10.0.0.51/second from 10.0.0.52'
	rchar link | grep -q 'from 10\.0\.0\.52:.* local 10\.0\.0\.51:'
	# A channel is at its address alone.
	expect_status 7 on b rchar check -w $limit 10.0.0.1/second >/tmp/check
	grep -q '^not ok channel    no-channel' /tmp/check
	clean
	both 'ip address del 10.0.0.5N/24 dev net0; ip address del fd00::5N/64 dev net0'
}

the_wildcard_listens_at_all_addresses() {
	both 'ip address add 10.0.0.5N/24 dev net0'
	rchar add all4 stream listen 0.0.0.0
	rchar add all6 stream listen '[::]:7472'
	connects one 10.0.0.1/all4
	connects other 10.0.0.51/all4
	connects six '[fd00::1]:7472/all6'
	# At an address that comes later, too.
	ip address add 10.0.0.61/24 dev net0
	connects later 10.0.0.61/all4
	clean
	ip address del 10.0.0.61/24 dev net0
	both 'ip address del 10.0.0.5N/24 dev net0'
}

add_vlan() { both 'ip link add link net0 name net0.7 type vlan id 7 && ip link set net0.7 up && ip address add 10.7.0.N/24 dev net0.7'; }
del_vlan() { both 'ip link del net0.7'; }

a_vlan_carries_the_link() {
	local before

	add_vlan
	rchar add tagged stream listen 10.7.0.1
	connects tagged 10.7.0.1
	on b rchar check -w $limit 10.7.0.1/tagged | grep -q 'net0\.7'
	before=$(interface_bytes net0.7)
	start_transfer b tagged
	end_transfer
	[ $(($(interface_bytes net0.7) - before)) -gt $transfer_bytes ]
	clean
	del_vlan
}

# The same device has both interfaces, so the address keeps its device and gets another GID.
an_address_moves_to_another_interface() {
	add_vlan
	both 'ip address add 10.8.0.N/24 dev net0'
	rchar add moving stream listen 10.8.0.1
	connects moving 10.8.0.1
	moves_while_open moving \
		both 'ip address del 10.8.0.N/24 dev net0; ip address add 10.8.0.N/24 dev net0.7'
	clean
	del_vlan
}

# From net0 to the network of the bench, on which each host then has a device, too.
an_address_moves_to_another_device() {
	both 'rdma link add rdma7 type $VM_RDMA netdev ctl2; ip address add 10.9.0.N/24 dev net0'
	rchar add moving stream listen 10.9.0.1
	connects moving 10.9.0.1
	moves_while_open moving \
		both 'ip address del 10.9.0.N/24 dev net0; ip address add 10.9.0.N/24 dev ctl2'
	on b rchar -d link >/tmp/link
	cat /tmp/link
	grep -q 'device rdma7/1' /tmp/link
	clean
	both 'rdma link del rdma7; ip address del 10.9.0.N/24 dev ctl2'
}

# Two devices of the exporter execute operations that are not atomic with each other's.
atomics_of_a_second_device_are_refused() {
	peers_get_keys
	both 'rdma link add rdma7 type $VM_RDMA netdev ctl2; ip address add 10.9.0.N/24 dev ctl2'
	rchar add word memory listen 0.0.0.0 size 1m atomics hw
	on b rchar -w $limit add one memory connect 10.0.0.1/word
	on b rchar -w $limit add other memory connect 10.9.0.1/word
	on b 'exec 3<>/dev/rchar/one
		! (: <>/dev/rchar/other) 2>/tmp/why && grep "not supported" /tmp/why'
	on b rchar show other | grep no-atomics
	# Whichever is first. Its device lets go when the last of its sessions has ended.
	until_true on b '(: <>/dev/rchar/other)'
	on b 'exec 3<>/dev/rchar/other 4<>/dev/rchar/other
		! (: <>/dev/rchar/one) 2>/dev/null || exit 1
		exec 3<&-
		! (: <>/dev/rchar/one) 2>/dev/null'
	# A session whose link is lost keeps its place.
	on b 'exec 3<>/dev/rchar/other
		rchar link reset $(rchar link | sed -n "s/: to 10\.9\.0\.1:.*//p")
		! (: <>/dev/rchar/one) 2>/dev/null || exit 1
		[ $(head -c 8 <&3 | wc -c) = 8 ]'
	until_true on b '(: <>/dev/rchar/one)'
	# The kernel is one.
	rchar del word
	rchar add word memory listen 0.0.0.0 size 1m
	until_true on b '(: <>/dev/rchar/one)'
	until_true on b '(exec 3<>/dev/rchar/one; : <>/dev/rchar/other)'
	clean
	both 'rdma link del rdma7; ip address del 10.9.0.N/24 dev ctl2'
}

# Two links move one after the other, and the device of the first is not that of the second meanwhile.
atomics_move_with_the_address() {
	local reader

	peers_get_keys
	both 'rdma link add rdma7 type $VM_RDMA netdev ctl2; ip address add 10.9.0.N/24 dev net0'
	rchar add word memory listen 10.9.0.1 size 1m atomics hw
	on b rchar -w $limit add one memory connect 10.9.0.1/word
	on b rchar -w $limit add two memory connect 10.9.0.1/word keepalive 6s
	on b 'rm -f /tmp/opened /tmp/moved
		exec 3<>/dev/rchar/one 4<>/dev/rchar/two
		touch /tmp/opened
		until [ -e /tmp/moved ]; do sleep 0.1; done
		[ $(head -c 8 <&3 | wc -c) = 8 ] && [ $(head -c 8 <&4 | wc -c) = 8 ]' &
	reader=$!
	until_true on b '[ -e /tmp/opened ]'
	both 'ip address del 10.9.0.N/24 dev net0; ip address add 10.9.0.N/24 dev ctl2'
	until_true eval '[ $(on b rchar -d link | grep -c "device rdma7/1") = 2 ]'
	on b touch /tmp/moved
	wait $reader
	clean
	both 'rdma link del rdma7; ip address del 10.9.0.N/24 dev ctl2'
}

# net0 below a bond, which has the RDMA device and the addresses. The other port leads nowhere.
add_bond() {
	both 'rdma-del
		ip link add bond7 type bond mode active-backup miimon 20 fail_over_mac active
		ip link add nowhere type veth peer name nothing
		ip link set nothing up
		ip link set net0 down
		ip link set net0 master bond7
		ip link set nowhere master bond7
		ip link set bond7 mtu 9000 up
		ip link set bond7 type bond active_slave net0
		ip address add 10.6.0.N/24 dev bond7
		rdma link add rdma6 type $VM_RDMA netdev bond7'
}

del_bond() {
	both 'rdma link del rdma6
		ip link set net0 nomaster
		ip link del bond7
		ip link del nowhere
		vm-net net0
		rdma-add'
}

a_bond_carries_the_link_and_fails_over() {
	add_bond
	rchar add bonded stream listen 10.6.0.1
	connects bonded 10.6.0.1
	start_transfer b bonded
	is_moving bonded
	# To the port that leads nowhere, and back.
	on b ip link set bond7 type bond active_slave nowhere
	on b ip link set bond7 type bond active_slave net0
	end_transfer
	clean
	del_bond
}

plan 8
run several_addresses_of_an_interface
run the_wildcard_listens_at_all_addresses
run a_vlan_carries_the_link
run an_address_moves_to_another_interface
run an_address_moves_to_another_device
run atomics_of_a_second_device_are_refused
run atomics_move_with_the_address
run a_bond_carries_the_link_and_fails_over
finish
