#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# worst.sh ROUNDS REPEATS - round trips of an honest session of machine a with itself beside the
# worst that machine b and programs of a do, and the most that a held for anybody meanwhile.
# Lines for report.py.
client=a
# shellcheck source=/dev/null
. bench/lib.sh
rounds=${1:-3} repeats=${2:-3000}

rchar add honest-srv stream listen '[fd00::1]'
rchar -w 60 add honest stream connect '[fd00::1]/honest-srv' >/dev/null
rchar-perf serve /dev/rchar/honest-srv &
# What badbudget wants; made anew before each row, so that nothing is left of the last one.
victims() {
	rchar add bmsg message listen 10.0.0.1 window 4m max-message 2m backlog 1
	rchar add bstream stream listen 10.0.0.1 backlog 1000
	rchar add pool memory listen 10.0.0.1 size 32m
}
victims
# For programs of a: to b, over another link than the honest session's.
on b rchar add sink-srv stream listen 10.0.0.2 window 256m backlog 4096
on b rchar add far-srv memory listen 10.0.0.2 size 64m
rchar -w 60 add sink stream connect 10.0.0.2/sink-srv window 256m >/dev/null
rchar -w 60 add far memory connect 10.0.0.2/far-srv >/dev/null
on b "rchar-perf serve /dev/rchar/sink-srv >/dev/null 2>&1 </dev/null &"
touch /tmp/link-is-down		# greedy waits for that before it starts
ulimit -n 20000
until [ -e /dev/rchar/honest ] && [ -e /dev/rchar/far ]; do sleep 0.1; done

held_kib() { rchar -j version | awk -F '"peer_memory_bytes":' '{ print int($2 / 1024) }'; }

# The most that was held at any time, until the file goes away.
watch_held() { # FILE
	local now most=0

	while [ -e "$1" ]; do
		now=$(held_kib)
		[ "$now" -le "$most" ] || most=$now
		sleep 0.2
	done
	echo "$most" >"$1.most"
}

# Once more, and again, until the file goes away.
again() { # FILE COMMAND...
	while [ -e "$1" ]; do
		("${@:2}") >/dev/null 2>&1 </dev/null || sleep 0.1
	done
}

beside() { # ROW COMMAND...
	local out watcher culprit

	touch /tmp/beside
	watch_held /tmp/beside &
	watcher=$!
	if [ $# -gt 1 ]; then
		again /tmp/beside "${@:2}" &
		culprit=$!
		sleep 3
	fi
	out=$(rchar-perf latency /dev/rchar/honest -n "$repeats" -j)
	result worst "$1" 'round trip' 'p50 us' "$(field p50 <<<"$out")"
	result worst "$1" 'round trip' 'p99 us' "$(field p99 <<<"$out")"
	rm -f /tmp/beside
	if [ $# -gt 1 ]; then
		# What one round of it still does ends by itself or is ended.
		killall -q -9 greedy rchar-perf.worst badhere
		on b "killall -q -9 badbudget badpeer badkeys rchar-perf; true"
		on b "rchar-perf serve /dev/rchar/sink-srv >/dev/null 2>&1 </dev/null &"
		wait "$culprit" 2>/dev/null
	fi
	wait "$watcher"
	result worst "$1" 'all held' KiB "$(cat /tmp/beside.most)"
	for name in bmsg bstream pool; do rchar del $name; done
	victims
}

cp "$(command -v rchar-perf)" /usr/bin/rchar-perf.worst
spin() { local end=$((SECONDS + 2)); while [ $SECONDS -lt $end ]; do :; done; }

uname -r | sed 's/^/#\tkernel /'
for ((round = 0; round < rounds; round++)); do
	beside 'nothing'
	beside 'a busy loop' spin
	for test in half-open partial unanswered open-reset backlog links pool; do
		beside "peer: $test" on b badbudget 10.0.0.1 $test
	done
	beside 'program: writes without an end' rchar-perf.worst bandwidth /dev/rchar/sink -t 5 -s 1m
	beside 'program: fills a window of 256 MiB' greedy write /dev/rchar/sink 1000000000
	beside 'program: 12,000 files' greedy open /dev/rchar/sink 12000
	beside 'program: 4,096 requests at once' rchar-perf.worst bandwidth /dev/rchar/far -d 4096 -s 64 -t 5
done
killall -9 rchar-perf
# Its server would keep the module of b from being unloaded.
on b 'killall -q -9 rchar-perf; true'
wait 2>/dev/null
