#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2207
# idle.sh SESSIONS SECONDS - what sessions and links cost while nothing happens. One machine
# connected to itself: each session counts twice, once for each end. Lines for report.py.
. bench/lib.sh
sessions=${1:-1000} seconds=${2:-60}

kernel_memory() { # bytes of slab objects and of all memory in use
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 1
	awk '/^Slab:/ { slab = $2 } /^MemTotal:/ { t = $2 } /^MemFree:/ { f = $2 }
		END { print slab * 1024, (t - f) * 1024 }' /proc/meminfo
}

cpu() { # CPU time not idle, in ticks of 10 ms; context switches; interrupts
	awk '/^cpu / { busy = $2 + $3 + $4 + $7 + $8 } /^ctxt/ { c = $2 } /^intr/ { i = $2 }
		END { print busy, c, i }' /proc/stat
}

idle() { # WORDS
	local before after

	before=($(cpu))
	sleep "$seconds"
	after=($(cpu))
	result idle "$1, $seconds s" rchar 'CPU ms' $(((after[0] - before[0]) * 10))
	result idle "$1, $seconds s" rchar 'context switches' $((after[1] - before[1]))
	result idle "$1, $seconds s" rchar interrupts $((after[2] - before[2]))
}

sent() { # frames, by both ends
	rchar -j link | grep -o '"tx_frames":[0-9]*' | cut -d: -f2 | awk '{ s += $1 } END { print s }'
}

rchar add srv stream listen 10.0.0.1 window 1m backlog $((2 * sessions))
ulimit -n $((2 * sessions + 100))
idle "no link"
rchar -w 60 add cli stream connect 10.0.0.1/srv window 1m >/dev/null
frames=$(sent)
idle "one link, no session"
result idle "one link, no session, $seconds s" rchar 'frames, both ends' $(($(sent) - frames))

before=($(kernel_memory))
start=${EPOCHREALTIME/./}
for ((i = 0; i < sessions; i++)); do
	exec {c}<>/dev/rchar/cli
	exec {s}<>/dev/rchar/srv
done
took=$((${EPOCHREALTIME/./} - start))
after=($(kernel_memory))
row="$sessions sessions"
result idle "$row" rchar 'opened by a shell, ms' $((took / 1000))
result idle "$row" rchar 'slab of each end and its file, bytes' $(((after[0] - before[0]) / sessions / 2))
result idle "$row" rchar 'memory in all of each end, bytes' $(((after[1] - before[1]) / sessions / 2))
result idle "$row" rchar 'queue pairs, both ends' "$(rdma resource show qp | grep -c 'type RC')"
idle "$row"

# A reader that sleeps: its writer fills the window.
before=($(kernel_memory))
head -c 4000000 /dev/zero >&"$c" &
sleep 2
after=($(kernel_memory))
row="one sleeping reader, window 1m"
result idle "$row" rchar 'bytes held' "$(rchar -j session | grep -o '"rx_memory_bytes":[1-9][0-9]*' | cut -d: -f2)"
result idle "$row" rchar 'memory in use, bytes more' $((after[1] - before[1]))
kill %1
