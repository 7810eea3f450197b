# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# There and back, and opening. Sourced by guest.sh. Peers that give half a round trip are
# counted twice.

perf_latency() { # WHO ENDPOINT SIZE [PREFIX]...
	local out before

	before=$(busy)
	out=$(of_client "${*:4} rchar-perf latency $2 -s $3 -n $repeats -j")
	result latency "$3" "$1" us "$(field p50 <<<"$out")"
	result latency "$3" "$1" 'p99 us' "$(field p99 <<<"$out")"
	result latency "$3" "$1" 'CPU us/op' $((($(busy) - before) * 1000 / repeats))
}

send_latency() { # SIZE
	local out ms

	serve ib_send_lat -s "$1" -n "$repeats" -e -F -d "$device"
	ms=$(busy)
	out=$(of_client "ib_send_lat -s $1 -n $repeats -e -F -d $device 10.0.0.1" | grep "^ *$1 ")
	ms=$(($(busy) - ms))
	end_server
	[ -n "$out" ] || return
	result latency "$1" 'ib_send_lat -e' us "$(awk '{ print $5 * 2 }' <<<"$out")"
	result latency "$1" 'ib_send_lat -e' 'p99 us' "$(awk '{ print $8 * 2 }' <<<"$out")"
	result latency "$1" 'ib_send_lat -e' 'CPU us/op' $((ms * 1000 / repeats))
}

rstream_latency() { # SIZE
	serve rstream -p 7500 -S "$1" -C 1 -I "$repeats" -T b
	result latency "$1" 'rstream (rsockets)' us "$(of_client "rstream -p 7500 -s 10.0.0.1 -S $1 -C 1 -I $repeats -T b" |
		awk 'END { if (NR) print $NF * 2 }')"
	end_server
}

qperf_latency() { # SIZE TEST WHO OPTION
	result latency "$1" "$3" us "$(of_client "qperf 10.0.0.1 -m $1 -t $qperf_seconds $4 $2" |
		awk '/latency/ { print $3 * ($4 == "ms" ? 2000 : 2) }')"
}

rds_latency() { # SIZE
	[ "$hosts" = 2 ] || return	# else it does not use RDMA
	serve rds serve 10.0.0.1 7600 "$1" "$repeats"
	result latency "$1" 'RDS' us "$(of_client "rds ping 10.0.0.2 10.0.0.1 7600 $1 $repeats")"
	end_server
}

measure_latency() {
	local size

	qperf >/dev/null 2>&1 &
	local qperf=$!
	for size in 64 1024 4096; do
		perf_latency 'rchar stream' /dev/rchar/stream-cli $size
		send_latency $size
		perf_latency 'rchar message' /dev/rchar/message-cli $size
		rstream_latency $size
		perf_latency 'TCP' tcp:10.0.0.1:7000 $size
		qperf_latency $size tcp_lat 'TCP, qperf' ''
		qperf_latency $size rc_lat 'RC, qperf' '-cm 1'
		[ "$rds" = 0 ] || rds_latency $size
	done
	kill $qperf
	wait $qperf 2>/dev/null
}

perf_open() { # WHO ENDPOINT [PREFIX]...
	local out

	out=$(of_client "${*:3} rchar-perf open $2 -n 100 -j")
	result open 'open() or connect' "$1" us "$(median_of open_us <<<"$out")"
	result open 'and the first byte of an answer' "$1" us "$(median_of first_byte_us <<<"$out")"
}

# All its steps of one connection, from the resolve to the established state.
cmtime_open() {
	serve cmtime
	result open 'open() or connect' 'rdma_cm, cmtime' us "$(of_client 'cmtime -s 10.0.0.1 -c 20' |
		awk -F: '/^(create id|resolve addr|resolve route|create qp|connect) *:/ {
			n = split($2, f, " "); s += f[n] } END { if (s) print s }')"
	end_server
}

measure_open() {
	perf_open 'rchar stream' /dev/rchar/stream-cli
	perf_open 'TCP' tcp:10.0.0.1:7000
	perf_open 'rsockets' tcp:10.0.0.1:7003 "${rsockets[@]}"
	cmtime_open
}
