# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# Bandwidth of one session over paths of different length, from the client to a. Sourced by
# guest.sh.

# netem delays each direction by half.
set_path() { # ROUND-TRIP-MS
	local host half

	half=$(awk -v ms="$1" 'BEGIN { print ms / 2 "ms" }')
	for host in $(vm-hosts); do
		on "$host" tc qdisc replace dev net0 root netem delay "$half" limit 100000
	done
	# A lane measures its round trip with its first frames. The setting makes a link of its own.
	on "$client" "rchar del --if-exists far-cli
		rchar -w 10 add far-cli stream connect 10.0.0.1/far-srv keepalive 30s >/dev/null"
}

delay_perf() { # ROW SIZE WHO ENDPOINT
	result delay "$1" "$3" MB/s "$(of_client "rchar-perf bandwidth $4 -s $2 -t $bulk_seconds -j" |
		field MB/s)"
}

# What the device has on its way at most.
delay_perftest() { # ROW SIZE
	local n=$((134217728 / $2))

	serve ib_send_bw -e -s "$2" -n $n -F -d "$device"
	result delay "$1" 'ib_send_bw -e' MB/s "$(of_client "ib_send_bw -e -s $2 -n $n -F -d $device 10.0.0.1" |
		awk -v s="$2" '$1 == s { printf "%.2f", $4 * 1.048576 }')"
	end_server
}

measure_delay() {
	local ms size row bulk_seconds=3 host

	if [ ! -e /dev/rchar/far-srv ]; then
		rchar add far-srv stream listen 10.0.0.1
		rchar-perf serve /dev/rchar/far-srv &
	fi
	for ms in 0 1 5 20; do
		set_path $ms
		for size in 65536 1048576; do
			row="$((size / 1024)) KiB, round trip $ms ms more"
			delay_perf "$row" $size 'rchar stream' /dev/rchar/far-cli
			delay_perf "$row" $size TCP tcp:10.0.0.1:7000
			delay_perftest "$row" $size
		done
	done
	for host in $(vm-hosts); do
		on "$host" tc qdisc del dev net0 root
	done
}
