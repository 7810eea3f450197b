#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs in machine a: script.sh HOSTS ROUNDS. The client is the last machine.
hosts=$1 rounds=$2
client=a
[ "$hosts" = 1 ] || client=b

rchar add srv stream listen 10.0.0.1
on $client rchar -w 10 add cli stream connect 10.0.0.1/srv

declare -A values
note() { values[$1]+=" $2"; }

stream() {
	local start us mib=128

	dd if=/dev/rchar/srv of=/dev/null bs=1M 2>/dev/null &
	local reader=$!
	start=${EPOCHREALTIME/./}
	on $client "dd if=/dev/zero of=/dev/rchar/cli bs=64k count=$((mib * 16)) 2>/dev/null"
	wait $reader
	us=$((${EPOCHREALTIME/./} - start))
	note "stream, 64 KiB writes, MB/s" $(((mib << 20) / us))
}

send_bw() {
	ib_send_bw -s 65536 -n 1000 -e -F -d rxe0 >/tmp/bw.log 2>&1 &
	local server=$!
	sleep 0.7
	note "ib_send_bw -s 65536 -e, MB/s" "$(on $client ib_send_bw -s 65536 -n 1000 -e -F -d rxe0 10.0.0.1 |
		awk '/^ 65536/ { print int($4 * 1.048576) }')"
	wait $server
}

rstream_bw() {
	rstream -p 7500 -S 65536 -C 1000 -T b >/tmp/rs.log 2>&1 &
	local server=$!
	sleep 0.7
	# The last line ends with Gb/sec and usec/xfer.
	note "rstream -S 65536 -T b, MB/s" "$(on $client rstream -p 7500 -s 10.0.0.1 -S 65536 -C 1000 -T b |
		awk 'END { print int($(NF - 1) * 125) }')"
	wait $server
}

latency() {
	pingpong echo /dev/rchar/srv &
	local server=$!
	note "64 bytes there and back, us" "$(on $client pingpong ping /dev/rchar/cli 64 2000)"
	wait $server
}

send_lat() {
	ib_send_lat -s 64 -n 2000 -e -F -d rxe0 >/tmp/lat.log 2>&1 &
	local server=$!
	sleep 0.7
	# It prints half a round trip.
	note "ib_send_lat -s 64 -e, x 2, us" "$(on $client ib_send_lat -s 64 -n 2000 -e -F -d rxe0 10.0.0.1 |
		awk '/^ 64/ { print int($5 * 2) }')"
	wait $server
}

opens() {
	pingpong accept /dev/rchar/srv 200 &
	local server=$!
	note "open() of a connected channel, us" "$(on $client pingpong open /dev/rchar/cli 200)"
	wait $server
}

for ((i = 0; i < rounds; i++)); do
	stream; send_bw; rstream_bw; latency; send_lat; opens
done
for key in "${!values[@]}"; do
	# shellcheck disable=SC2086
	printf '%s\n' ${values[$key]} | sort -n | awk -v key="$key" '
		{ v[NR] = $1 } END { printf "%-36s median %6d  min %6d  max %6d  (%d rounds)\n",
		key, v[int((NR + 1) / 2)], v[1], v[NR], NR }'
done | sort
