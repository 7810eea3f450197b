#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# links.sh LINKS ROUNDS - what idle links cost, and how long they take to come up. One machine
# connected to itself: each link counts twice, once for each end. Lines for report.py.
# shellcheck source=/dev/null
. bench/lib.sh
links=${1:-60} rounds=${2:-5}

memory() { # KiB: slab, and the queues of the device, which soft-RoCE has in vmalloc
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 1
	awk '/^Slab:/ { s = $2 } /^VmallocUsed:/ { v = $2 } END { print s, v }' /proc/meminfo
}

buffers() { rchar -j link | grep -o '"depth":[0-9]*' | cut -d: -f2 | sort -n | tail -n1; }

wait_up() { # LINKS
	local i

	for ((i = 0; i < 600; i++)); do
		[ "$(rchar -j link | grep -o '"initiator":true,[^[]*"state":"up"' | wc -l)" -lt "$1" ] || break
		sleep 0.05
	done
}

ms_since() { echo $(((${EPOCHREALTIME/./} - $1) / 1000)); }

row="$links links"
uname -r | sed 's/^/#\tkernel /'
# Each to a port of its own: as many as one address may have.
for ((i = 0; i < links; i++)); do
	rchar add "s$i" stream listen 10.0.0.1:$((8000 + i))
done
for ((round = 0; round < rounds; round++)); do
	read -r -a before < <(memory)
	start=${EPOCHREALTIME/./}
	for ((i = 0; i < links; i++)); do
		rchar add "c$i" stream connect "10.0.0.1:$((8000 + i))/s$i" >/dev/null
	done
	wait_up "$links"
	result links "$row" rchar 'all up, ms' "$(ms_since "$start")"
	read -r -a after < <(memory)
	result links "$row" rchar 'objects and buffers of each end, KiB' \
		$(((after[0] - before[0]) / links / 2 + $(buffers) * 4))
	result links "$row" rchar 'queues of soft-RoCE of each end, KiB' $(((after[1] - before[1]) / links / 2))
	result links "$row" rchar 'receive buffers of each end, of 4 KiB' "$(buffers)"
	for ((i = 0; i < links; i++)); do
		rchar del "c$i"
	done
done
