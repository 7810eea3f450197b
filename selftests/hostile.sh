#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A peer that breaks the protocol in every way, while honest traffic goes on beside it
# to the same listener.
. ./ksft.sh

rchar add victim stream listen 10.0.0.1 window 64k
rchar add mvictim message listen 10.0.0.1 window 64k max-message 32k
rchar add honest stream listen 10.0.0.1
rchar -w 60 add good stream connect 10.0.0.1/honest
(while :; do cat /bin/busybox; done) >/dev/rchar/good 2>/dev/null &
traffic=$!
(
	rm -f /tmp/broken
	# Whole copies of one file, as long as the writer goes on.
	size=$(stat -c %s /bin/busybox)
	want=$(sha256sum </bin/busybox)
	while got=$(dd bs="$size" count=1 iflag=fullblock 2>/dev/null | sha256sum) && [ ! -e /tmp/stop ]; do
		[ "$got" = "$want" ] || touch /tmp/broken
		echo . >>/tmp/copies
	done
) </dev/rchar/honest &
reader=$!

badpeer 10.0.0.1 victim mvictim
ret=$?
touch /tmp/stop
wait $reader
kill $traffic 2>/dev/null

honest_traffic_was_not_touched() {
	[ ! -e /tmp/broken ]
	[ "$(wc -l </tmp/copies)" -gt 1 ]
	rchar -j link | grep -o '"initiator":true.*' | grep -q '"connects":1,"failures":0'
}

everything_was_counted() {
	[ "$(counter a 'rchar -j version' requests_bad)" = 12 ]
	# Every frame that breaks the connection but the one that never came.
	[ "$(counter a 'rchar -j version' bad_frames)" = 42 ]
}

ksft_n=63
[ $ret = 0 ] || ksft_failed=1
run honest_traffic_was_not_touched
run everything_was_counted
echo "1..$ksft_n"
finish
