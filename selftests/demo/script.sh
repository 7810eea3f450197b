#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs in machine a. Every command that is shown is what is run.
set -eu
bytes=$(stat -c %s /root/file)

at() { # HOST COMMAND - show it as a person would type it, and run it
	echo "host-$1# $2"
	on "$1" "$2"
}

say() { printf '\n%s\n' "$*"; }

packets() { on "$1" cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts; }
tcp_segments() { on "$1" "awk '/^Tcp:/ && \$11 ~ /^[0-9]/ { print \$11 }' /proc/net/snmp"; }
rdma_packets() { on "$1" cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts; }
frames() { on "$1" rchar -j link | grep -o '"tx_frames":[0-9]*' | cut -d: -f2 | awk '{ s += $1 } END { print s }'; }
received() { on "$1" rchar -j show "$2" | grep -o '"rx_bytes":[0-9]*' | cut -d: -f2; }

progress() { # HOST CHANNEL BASE
	local now last=-1

	while sleep 0.4; do
		now=$((($(received "$1" "$2") - $3) * 100 / bytes))
		[ "$now" = "$last" ] || printf '    %3d %%\n' "$now"
		last=$now
		[ "$now" -lt 100 ] || break
	done
}

send() { # FROM CHANNEL TO CHANNEL
	local from=$1 out=$2 to=$3 in=$4 before f0 start us sent base

	before=$(packets "$from")
	base=$(received "$to" "$in")
	f0=$(frames "$from")
	echo "host-$to\$ cat /dev/rchar/$in > copy"
	on "$to" "cat /dev/rchar/$in > /tmp/copy" &
	local reader=$!
	echo "host-$from\$ cat file > /dev/rchar/$out"
	progress "$to" "$in" "$base" &
	local bar=$!
	start=${EPOCHREALTIME/./}
	on "$from" "cat /root/file > /dev/rchar/$out"
	wait $reader
	us=$((${EPOCHREALTIME/./} - start))
	wait $bar
	sent=$(on "$from" sha256sum /root/file | cut -d' ' -f1)
	echo "host-$from\$ sha256sum file    $sent"
	echo "host-$to\$ sha256sum copy    $(on "$to" sha256sum /tmp/copy | cut -d' ' -f1)"
	[ "$(on "$to" sha256sum /tmp/copy | cut -d' ' -f1)" = "$sent" ] || { echo "THE COPY DIFFERS"; exit 1; }
	local n=$(($(packets "$from") - before))
	echo "The same, byte for byte: $bytes bytes in $((us / 1000)) ms, $((bytes / us)) MB/s,"
	echo "in $(($(frames "$from") - f0)) frames, $n packets of host-$from's RDMA device ($((bytes / n)) bytes each)."
	on "$to" rm /tmp/copy
}

say "Two hosts, each with an RDMA device:"
at a 'rdma link'
at b 'rdma link'

say "Two channels, one each way; the link between the hosts comes up by itself:"
at a 'rchar add inbox stream listen 10.0.0.1'
at b 'rchar -w 20 add outbox stream connect 10.0.0.1/inbox'
at b 'rchar add letters stream listen 10.0.0.2'
at a 'rchar -w 20 add letters stream connect 10.0.0.2'
tcp0=$(tcp_segments b)
rdma0=$(rdma_packets b)

say "From b to a:"
send b outbox a inbox
say "From a to b:"
send a letters b letters

say "What the hosts say of it:"
at a 'rchar'
at b 'rchar'
at b 'rchar link'

say "RDMA carried it. Since the channels were made host-b's TCP received $(($(tcp_segments b) - tcp0)) segments"
echo "(this script's own commands, over another cable); its RDMA device received $(($(rdma_packets b) - rdma0)) packets."
