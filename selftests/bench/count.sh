#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# count.sh - runs where the clock counts instructions (vm/run --count): what an operation
# takes, both ends, kernel and program together. It is the same each time. Lines for
# report.py.
. bench/lib.sh
device=rxe0

count() { # ROW WHO MICROSECONDS
	result count "$1" "$2" 'instructions' "$(awk -v us="$3" 'BEGIN { if (us) printf "%.0f", us * 1000 }')"
}

# Microseconds for each block.
rchar_bandwidth() { # NAME SIZE [OPTION]...
	local name=$1 size=$2

	shift 2
	rchar-perf bandwidth "/dev/rchar/$name" -s "$size" -t 0.2 -j "$@" | field MB/s | awk -v s="$size" '{ print s / $1 }'
}

perftest_bandwidth() { # PROGRAM SIZE [OPTION]...
	serve "$@" -n 600 -F -d $device
	"$@" -n 600 -F -d $device 10.0.0.1 | awk -v s="$3" '$1 == s { print s / ($4 * 1.048576) }'
	end_server
}

# TCP through WireGuard, between two network namespaces.
start_wireguard() {
	local secret=/tmp/wg0 peer=/tmp/wg1

	modprobe -a -q wireguard veth
	(umask 077; wg genkey >$secret; wg genkey >$peer)
	ip netns add w
	ip link add v0 type veth peer name v1 netns w
	ip addr add 192.168.77.1/24 dev v0
	ip -n w addr add 192.168.77.2/24 dev v1
	ip link set v0 up
	ip -n w link set v1 up
	ip link add wg0 type wireguard
	ip -n w link add wg0 type wireguard
	wg set wg0 private-key $secret listen-port 51820 peer "$(wg pubkey <$peer)" \
		allowed-ips 10.9.0.2/32 endpoint 192.168.77.2:51820
	ip netns exec w wg set wg0 private-key $peer listen-port 51820 \
		peer "$(wg pubkey <$secret)" allowed-ips 10.9.0.1/32 endpoint 192.168.77.1:51820
	ip addr add 10.9.0.1/24 dev wg0
	ip -n w addr add 10.9.0.2/24 dev wg0
	ip link set wg0 up
	ip -n w link set wg0 up
	ip netns exec w rchar-perf serve tcp:10.9.0.2:7000 &
}

tcp_bandwidth() { # ENDPOINT SIZE
	rchar-perf bandwidth "$1" -s "$2" -t 0.2 -j | field MB/s | awk -v s="$2" '{ print s / $1 }'
}

rchar key gen | rchar key add k
rchar add esrv stream listen 10.0.0.1 keys k encrypt on
rchar -w 10 add ecli stream connect 10.0.0.1/esrv key k encrypt on >/dev/null
rchar add epool memory listen 10.0.0.1 size 64m keys k encrypt on
rchar -w 10 add emem memory connect 10.0.0.1/epool key k encrypt on >/dev/null
rchar-perf serve /dev/rchar/esrv &
start_wireguard
rchar add srv stream listen 10.0.0.1
rchar -w 10 add cli stream connect 10.0.0.1/srv >/dev/null
rchar add pool memory listen 10.0.0.1 size 64m
rchar -w 10 add mem memory connect 10.0.0.1/pool >/dev/null
rchar-perf serve /dev/rchar/srv &
rchar-perf serve tcp:10.0.0.1:7000 &
sleep 0.5
for size in 1024 65536 1048576; do
	count "stream, $size bytes" 'rchar stream' "$(rchar_bandwidth cli $size)"
	count "stream, $size bytes" 'ib_send_bw -e' "$(perftest_bandwidth ib_send_bw -s $size -e)"
	count "stream, $size bytes" 'ib_write_bw' "$(perftest_bandwidth ib_write_bw -s $size)"
	count "stream, $size bytes" 'rchar stream, encrypted' "$(rchar_bandwidth ecli $size)"
	count "stream, $size bytes" 'TCP' "$(tcp_bandwidth tcp:10.0.0.1:7000 $size)"
	count "stream, $size bytes" 'TCP, WireGuard' "$(tcp_bandwidth tcp:10.9.0.2:7000 $size)"
done
count '64 bytes there and back' 'rchar stream' "$(rchar-perf latency /dev/rchar/cli -n 200 -j | field p50)"
count '64 bytes there and back' 'TCP' "$(rchar-perf latency tcp:10.0.0.1:7000 -n 200 -j | field p50)"
count '64 bytes there and back' 'rchar stream, encrypted' "$(rchar-perf latency /dev/rchar/ecli -n 200 -j | field p50)"
count '64 bytes there and back' 'TCP, WireGuard' "$(rchar-perf latency tcp:10.9.0.2:7000 -n 200 -j | field p50)"
serve ib_send_lat -s 64 -n 200 -e -F -d $device
count '64 bytes there and back' 'ib_send_lat -e' "$(ib_send_lat -s 64 -n 200 -e -F -d $device 10.0.0.1 | awk '/^ *64 / { print $5 * 2 }')"
end_server
count 'open() until it is open' 'rchar stream' "$(rchar-perf open /dev/rchar/cli -n 100 -j | grep -o '"open_us":{[^}]*}' | field p50)"
for depth in 1 32; do
	count "read 4096 bytes, depth $depth" 'rchar memory' "$(rchar_bandwidth mem 4096 -d $depth)"
	count "read 4096 bytes, depth $depth" 'rchar memory, encrypted' "$(rchar_bandwidth emem 4096 -d $depth)"
	count "read 4096 bytes, depth $depth" 'ib_read_bw' "$(perftest_bandwidth ib_read_bw -s 4096 -t $depth)"
	count "write 4096 bytes, depth $depth" 'rchar memory' "$(rchar_bandwidth mem 4096 -d $depth -w)"
	count "write 4096 bytes, depth $depth" 'rchar memory, encrypted' "$(rchar_bandwidth emem 4096 -d $depth -w)"
	count "write 4096 bytes, depth $depth" 'ib_write_bw' "$(perftest_bandwidth ib_write_bw -s 4096 -t $depth)"
done
killall -9 rchar-perf
wait 2>/dev/null
