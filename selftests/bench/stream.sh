# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# Bandwidth, one session, from the client to a. Sourced by guest.sh.

perf_stream() { # WHO ENDPOINT SIZE [PREFIX]...
	local out before

	before=$(busy)
	out=$(of_client "${*:4} rchar-perf bandwidth $2 -s $3 -t $seconds -j")
	result stream "$3" "$1" MB/s "$(field MB/s <<<"$out")"
	cost stream "$3" "$1" $(($(busy) - before)) "$(field bytes <<<"$out")"
}

dd_stream() { # SIZE
	local start=${EPOCHREALTIME/./} n=$((67108864 / $1))

	dd if=/dev/rchar/dd-srv of=/dev/null bs=1M 2>/dev/null &
	on "$client" "dd if=/dev/zero of=/dev/rchar/dd-cli bs=$1 count=$n 2>/dev/null"
	wait $!
	result stream "$1" 'rchar, dd' MB/s $((67108864 / (${EPOCHREALTIME/./} - start)))
}

# perftest says MiB/s.
# shellcheck disable=SC2086 # no option is no word
perftest_stream() { # PROGRAM SIZE [OPTION]
	local n before

	n=$(times_of "$2")
	serve "$1" -s "$2" -n "$n" -F -d "$device" $3
	before=$(busy)
	result stream "$2" "$1${3:+ $3}" MB/s "$(of_client "$1 -s $2 -n $n -F -d $device $3 10.0.0.1" |
		awk -v s="$2" '$1 == s { printf "%.2f", $4 * 1.048576 }')"
	cost stream "$2" "$1${3:+ $3}" $(($(busy) - before)) $(($2 * n))
	end_server
}

# The last line ends with Gb/sec and usec/xfer.
rstream_stream() { # SIZE
	local n

	n=$(times_of "$1")
	serve rstream -p 7500 -S "$1" -C "$n" -T b
	result stream "$1" 'rstream (rsockets)' MB/s "$(of_client "rstream -p 7500 -s 10.0.0.1 -S $1 -C $n -T b" |
		awk 'END { if (NR) printf "%.2f", $(NF - 1) * 125 }')"
	end_server
}

iperf_stream() { # SIZE
	local out before

	serve iperf3 -s -1
	before=$(busy)
	out=$(of_client "iperf3 -c 10.0.0.1 -l $1 -t 1 -J" | tr -d ' \t\n' | grep -o '"sum_received":{[^}]*}')
	result stream "$1" 'TCP, iperf3' MB/s "$(field bits_per_second <<<"$out" | awk '{ printf "%.2f", $1 / 8e6 }')"
	cost stream "$1" 'TCP, iperf3' $(($(busy) - before)) "$(field bytes <<<"$out")"
	end_server
}

measure_stream() {
	local size

	for size in 1024 4096 16384 65536 262144 1048576; do
		perf_stream 'rchar stream' /dev/rchar/stream-cli $size
		perftest_stream ib_send_bw $size -e
		perf_stream 'rchar message' /dev/rchar/message-cli $size
		perftest_stream ib_write_bw $size ''
		rstream_stream $size
		iperf_stream $size
	done
	dd_stream 65536
	dd_stream 1048576
}
