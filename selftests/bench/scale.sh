# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# Many sessions at once, one thread writes 16 KiB to each in turn, until all has arrived.
# Sourced by guest.sh; one machine with itself, so memory is that of both ends. Whoever
# cannot serve so many in 90 s is not asked again.

# Queue pairs of the links, as the RDMA core shows them.
qps() {
	rdma resource show qp | sed -n 's/.* lqpn \([0-9]*\) .*type RC .*/\1/p' |
		grep -cxFf <(rchar -j link | grep -o '"qpn":[0-9]*' | cut -d: -f2)
}

# While the rest runs: the most there were.
watch_qps() {
	local most=0 n

	while [ ! -e /tmp/qps.stop ]; do
		n=$(qps)
		[ "$n" -le "$most" ] || most=$n
		echo "$most" >/tmp/qps
		sleep 0.3
	done
}

declare -A gave_up=()	# sessions that were too many, by who

too_many() { [ "$2" -ge "${gave_up[$1]:-1000000}" ]; } # WHO SESSIONS

many() { # WHO SESSIONS COMMAND...
	local who=$1 n=$2 out

	shift 2
	! too_many "$who" "$n" || return 0
	rm -f /tmp/qps.stop
	watch_qps &
	out=$(timeout 90 "$@")
	touch /tmp/qps.stop
	wait $!
	[ -n "$out" ] || { note "$who: no $n sessions"; gave_up[$who]=$n; return 0; }
	result scale "$n sessions" "$who" MB/s "$(field MB/s <<<"$out")"
	result scale "$n sessions" "$who" 'open all, ms' "$(field open_all_ms <<<"$out")"
	result scale "$n sessions" "$who" 'bytes/session' "$(field memory_per_session <<<"$out")"
	[[ $who != rchar* ]] || result scale "$n sessions" "$who" 'queue pairs' "$(cat /tmp/qps)"
}

# A server for each: one whose accept() has stalled serves nobody any more.
many_rsockets() { # SESSIONS
	local server

	! too_many rsockets "$1" || return 0
	"${rsockets[@]}" rchar-perf serve tcp:10.0.0.1:7004 -T 2>/dev/null &
	server=$!
	sleep 0.5
	many rsockets "$1" "${rsockets[@]}" rchar-perf sessions tcp:10.0.0.1:7004 -c "$1" \
		-s 16k -t "$seconds" -j
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
