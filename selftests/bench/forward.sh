# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# Programs that know only sockets: one TCP connection of them, directly, through forwarders, and as
# SMC. Sourced by guest.sh.

prepare_forward() {
	local host

	rchar add forward-srv stream listen 10.0.0.1
	on "$client" "rchar -w 10 add forward-cli stream connect 10.0.0.1/forward-srv" >/dev/null
	rchar-forward /dev/rchar/forward-srv tcp:127.0.0.1:7000 &
	on "$client" "rchar-forward tcp:127.0.0.1:8000 /dev/rchar/forward-cli >/dev/null 2>&1 </dev/null &"
	rchar-perf serve tcp:127.0.0.1:7000 &
	socat TCP-LISTEN:8101,fork,reuseaddr TCP:127.0.0.1:7000 &
	on "$client" "socat TCP-LISTEN:8001,fork,reuseaddr TCP:10.0.0.1:8101 >/dev/null 2>&1 </dev/null &"
	for host in $(vm-hosts); do
		on "$host" "modprobe smc && smcpnet net0 $device" || note "no SMC on $host"
	done
	env LD_PRELOAD=/usr/lib/smc.so rchar-perf serve tcp:10.0.0.1:7004 &
	sleep 0.5
}

packets_of() { cat "/sys/class/infiniband/$device/ports/1/hw_counters/$1"; }

# forward_of WHO ENDPOINT [WORD...] - the words stand before the client's program
forward_of() {
	local who=$1 endpoint=$2 size out before

	shift 2
	for size in 65536 1048576; do
		before=$(packets_of rcvd_pkts)
		out=$(of_client "$* rchar-perf bandwidth $endpoint -s $size -t $seconds -j" | field MB/s)
		# SMC falls back to TCP where it cannot do better, which is not what is measured.
		# Its version 1 wants GIDs of RoCE v1, which soft-RoCE does not have.
		if [ "$who" = SMC-R ] && [ $(($(packets_of rcvd_pkts) - before)) -lt 100 ]; then
			note "SMC fell back to TCP"
			return
		fi
		result forward "one connection, writes of $((size / 1024)) KiB" "$who" MB/s "$out"
	done
	out=$(of_client "$* rchar-perf latency $endpoint -s 64 -n $((repeats / 2)) -j")
	result forward '64 bytes there and back' "$who" us "$(field p50 <<<"$out")"
}

measure_forward() {
	forward_of 'plain TCP' tcp:10.0.0.1:7001
	forward_of rchar-forward tcp:127.0.0.1:8000
	forward_of socat tcp:127.0.0.1:8001
	forward_of SMC-R tcp:10.0.0.1:7004 env LD_PRELOAD=/usr/lib/smc.so
	forward_of 'rchar stream' /dev/rchar/stream-cli
}
