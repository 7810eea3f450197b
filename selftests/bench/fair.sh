# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# There and back while other sessions of the same link send bulk data. Sourced by guest.sh.

# A write of 1 MiB by one of 16 sessions takes over half a second.
bulk_seconds=15

# start_bulk SESSIONS SIZE ENDPOINT - at the client, where the result of each goes to /tmp/bulk. The
# programs start up to a quarter of a second apart, and count at the same time.
start_bulk() {
	on "$client" "rm -rf /tmp/bulk; mkdir /tmp/bulk
		at=\$((\$(date +%s) + 2 + $1 / 4))
		for ((i = 0; i < $1; i++)); do
			timeout 90 rchar-perf bandwidth $3 -s $2 -t $bulk_seconds -a \$at -j >/tmp/bulk/\$i 2>&1 </dev/null &
		done
		while [ \$(date +%s) -lt \$at ]; do sleep 0.1; done"
}

end_bulk() { # ROW WHO SESSIONS
	on "$client" "for ((i = 0; i < 400; i++)); do
			[ \$(cat /tmp/bulk/* | grep -c MB/s) -lt $3 ] || break
			sleep 0.1
		done
		cat /tmp/bulk/*" |
		grep -o '"MB/s":[0-9.]*' | cut -d: -f2 |
		awk -v row="$1" -v who="$2" '
			{ sum += $1; if (NR == 1 || $1 < low) low = $1; if ($1 > high) high = $1 }
			END {
				if (!NR) exit
				printf "@\tfair\t%s\t%s\tbulk MB/s\t%.2f\n", row, who, sum
				if (NR > 1 && high) printf "@\tfair\t%s\t%s\tslowest of fastest\t%.2f\n", row, who, low / high
			}'
}

fair_latency() { # ROW WHO ENDPOINT TIMES
	local out

	out=$(of_client "rchar-perf latency $3 -s 64 -n $4 -j")
	result fair "$1" "$2" us "$(field p50 <<<"$out")"
	result fair "$1" "$2" 'p99 us' "$(field p99 <<<"$out")"
}

fair_beside() { # SESSIONS SIZE WHO BULK-ENDPOINT ENDPOINT
	local row="beside $1 of $2"

	start_bulk "$1" "$2" "$4"
	fair_latency "$row" "$3" "$5" 60
	end_bulk "$row" "$3" "$1"
}

measure_fair() {
	local who

	for who in 'rchar stream' 'rchar stream, frame 16k' TCP; do
		local bulk=/dev/rchar/many-cli one=/dev/rchar/stream-cli

		[ "$who" != TCP ] || { bulk=tcp:10.0.0.1:7001 one=tcp:10.0.0.1:7000; }
		[[ $who != *frame* ]] || of_client rchar set many-cli frame 16k
		fair_latency alone "$who" $one 300
		fair_beside 1 64k "$who" $bulk $one
		fair_beside 16 1m "$who" $bulk $one
	done
	of_client rchar set many-cli frame 64k
}
