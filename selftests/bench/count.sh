#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# count.sh - runs where the clock counts instructions (vm/run --count): what an operation
# takes, both ends, kernel and program together. It is the same each time. Lines for
# report.py.
. bench/lib.sh
. bench/counted.sh
device=rxe0

perftest_bandwidth() { # PROGRAM SIZE [OPTION]...
	serve "$@" -n 600 -F -d $device
	"$@" -n 600 -F -d $device 10.0.0.1 | awk -v s="$3" '$1 == s { print s / ($4 * 1.048576) }'
	end_server
}

# A row of ours. FUNCTION tells the microseconds; it runs once more to be sampled.
ours() { # ROW WHO FUNCTION [ARG]...
	local row=$1 who=$2 us

	shift 2
	us=$("$@")
	count "$row" "$who" "$us"
	run=$sampled "$@" >/dev/null
	inside "$row" "$who" "$us"
}

rchar add srv stream listen 10.0.0.1
rchar -w 10 add cli stream connect 10.0.0.1/srv >/dev/null
rchar add pool memory listen 10.0.0.1 size 64m
rchar -w 10 add mem memory connect 10.0.0.1/pool >/dev/null
rchar-perf serve /dev/rchar/srv &
rchar-perf serve tcp:10.0.0.1:7000 &
sleep 0.5
for size in 1024 65536 1048576; do
	ours "stream, $size bytes" 'rchar stream' bandwidth /dev/rchar/cli $size
	count "stream, $size bytes" 'ib_send_bw -e' "$(perftest_bandwidth ib_send_bw -s $size -e)"
	count "stream, $size bytes" 'ib_write_bw' "$(perftest_bandwidth ib_write_bw -s $size)"
	count "stream, $size bytes" 'TCP' "$(bandwidth tcp:10.0.0.1:7000 $size)"
done
ours '64 bytes there and back' 'rchar stream' round_trip /dev/rchar/cli
count '64 bytes there and back' 'TCP' "$(round_trip tcp:10.0.0.1:7000)"
serve ib_send_lat -s 64 -n 200 -e -F -d $device
count '64 bytes there and back' 'ib_send_lat -e' "$(ib_send_lat -s 64 -n 200 -e -F -d $device 10.0.0.1 | awk '/^ *64 / { print $5 * 2 }')"
end_server
ours 'open() until it is open' 'rchar stream' opening /dev/rchar/cli
for depth in 1 32; do
	ours "read 4096 bytes, depth $depth" 'rchar memory' bandwidth /dev/rchar/mem 4096 -d $depth
	count "read 4096 bytes, depth $depth" 'ib_read_bw' "$(perftest_bandwidth ib_read_bw -s 4096 -t $depth)"
	ours "write 4096 bytes, depth $depth" 'rchar memory' bandwidth /dev/rchar/mem 4096 -d $depth -w
	count "write 4096 bytes, depth $depth" 'ib_write_bw' "$(perftest_bandwidth ib_write_bw -s 4096 -t $depth)"
done
killall -9 rchar-perf
wait 2>/dev/null
