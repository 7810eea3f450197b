# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# Many sessions at once, one thread writes 16 KiB to each in turn, until all has arrived.
# Sourced by guest.sh; one machine with itself, so memory is that of both ends.

slab() { awk '/^Slab:/ { print $2 * 1024 }' /proc/meminfo; }
qps() { rdma resource show qp | grep 'type RC' | grep -cF "comm $1"; }

# While the rest runs: the most queue pairs there were of that owner.
watch_qps() { # OWNER
	local most=0 n

	while [ ! -e /tmp/qps.stop ]; do
		n=$(qps "$1")
		[ "$n" -le "$most" ] || most=$n
		echo "$most" >/tmp/qps
		sleep 0.3
	done
}

many() { # WHO SESSIONS COMMAND...
	local who=$1 n=$2 out owner=rchar-perf

	shift 2
	[[ $who != rchar* ]] || owner='[rdma_char]'
	rm -f /tmp/qps.stop
	watch_qps "$owner" &
	out=$(timeout 90 "$@")
	touch /tmp/qps.stop
	wait $!
	[ -n "$out" ] || { note "$who: no $n sessions"; return 1; }
	result scale "$n sessions" "$who" MB/s "$(field MB/s <<<"$out")"
	result scale "$n sessions" "$who" 'open all, ms' "$(field open_all_ms <<<"$out")"
	result scale "$n sessions" "$who" 'bytes/session' "$(field memory_per_session <<<"$out")"
	result scale "$n sessions" "$who" 'queue pairs' "$(cat /tmp/qps)"
}

# As far as they go: with more than that many sessions it is not tried again.
rsockets_most=10000
many_rsockets() { # SESSIONS
	local server

	[ "$1" -le $rsockets_most ] || return 0
	"${rsockets[@]}" rchar-perf serve tcp:10.0.0.1:7002 2>/dev/null &
	server=$!
	sleep 0.5
	many rsockets "$1" "${rsockets[@]}" rchar-perf sessions tcp:10.0.0.1:7002 -c "$1" -s 16k -t "$seconds" -j ||
		rsockets_most=$(($1 - 1))
	kill -9 $server
	wait $server 2>/dev/null
}

measure_scale() {
	local n

	for n in 1 16 256 1000 10000; do
		many 'rchar stream' $n rchar-perf sessions /dev/rchar/many-cli -c $n -s 16k -t "$seconds" -j
		many_rsockets $n
		many TCP $n rchar-perf sessions tcp:10.0.0.1:7001 -c $n -s 16k -t "$seconds" -j
	done
}
