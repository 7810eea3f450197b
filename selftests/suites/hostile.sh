#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A peer that breaks the protocol in every way, while honest traffic goes on beside it
# to the same listener.
. lib/ksft.sh
restore() { :; }	# the tests only look at what all of it left behind

rchar add victim stream listen 10.0.0.1 window 64k
rchar add kept stream listen 10.0.0.1
rchar add share stream listen 10.0.0.1 window 1m
rchar add mvictim message listen 10.0.0.1 window 64k max-message 32k
rchar add honest stream listen 10.0.0.1
rchar -w $limit add good stream connect 10.0.0.1/honest
# With a pause after each file: without one, it takes most of the machine.
(while :; do cat /bin/busybox; nap 400; done) >/dev/rchar/good 2>/dev/null &
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

# An importer whose bytes must stay its own, beside a region that hostile ones get at.
rchar add rw memory listen 10.0.0.1 size 100001
rchar add ro memory listen 10.0.0.1 size 100001 access ro
rchar -w $limit add far memory connect 10.0.0.1/rw
printf untouched | dd of=/dev/rchar/rw conv=notrunc 2>/dev/null
printf untouched | dd of=/dev/rchar/ro conv=notrunc 2>/dev/null
(
	n=0
	while [ ! -e /tmp/stop ]; do
		n=$((n + 1))
		echo "honest $n" | dd of=/dev/rchar/far bs=4096 seek=20 conv=notrunc 2>/dev/null &&
			dd if=/dev/rchar/far bs=4096 skip=20 count=1 2>/dev/null | grep -q "^honest $n" ||
			touch /tmp/broken-importer
		echo . >>/tmp/imports
		nap 200
	done
) &
importer=$!

# A writer to whoever opens, without a copy.
rchar add bvictim stream listen 10.0.0.1 window 128k recovery-timeout 1s
rchar add writer stream listen 10.0.0.1 rendezvous-min 64k
head -c 64k /dev/zero | tr '\0' B >/tmp/b
(while [ ! -e /tmp/stop ]; do dd if=/tmp/b of=/dev/rchar/writer bs=64k; done) 2>/dev/null &
writer=$!

# Readers that wait for what comes, with room for it.
rchar add breader stream listen 10.0.0.1 window 128k recovery-timeout 1s
rchar add blast stream listen 10.0.0.1 recovery-timeout 1s
readers=()
for i in $(seq 20); do
	(while [ ! -e /tmp/stop ]; do dd if=/dev/rchar/breader of=/dev/null bs=128k; done) 2>/dev/null &
	readers+=($!)
done

badpeer 10.0.0.1 victim mvictim
ret=$?
badkeys 10.0.0.1 rw ro | tee /tmp/badkeys
ret=$((ret + PIPESTATUS[0]))
nkeys=$(grep -c '^\(not \)\?ok' /tmp/badkeys)
badlanes 10.0.0.1 | tee /tmp/badlanes
ret=$((ret + PIPESTATUS[0]))
nlanes=$(grep -c '^\(not \)\?ok' /tmp/badlanes)
badrndv 10.0.0.1 bvictim mvictim writer breader blast | tee /tmp/badrndv
ret=$((ret + PIPESTATUS[0]))
nrndv=$(grep -c '^\(not \)\?ok' /tmp/badrndv)
badturns 10.0.0.1 share | tee /tmp/badturns
ret=$((ret + PIPESTATUS[0]))
nturns=$(grep -c '^\(not \)\?ok' /tmp/badturns)
badhandshake 10.0.0.1 kept | tee /tmp/badhandshake
ret=$((ret + PIPESTATUS[0]))
nhandshake=$(grep -c '^\(not \)\?ok' /tmp/badhandshake)

# An address of a forger, and one that is another interface's now.
rchar add six stream listen '[fd00::1]'
ip addr add 10.0.0.99/24 dev net0
scoped=$(ip -o -6 addr show dev net0 scope link | awk '{ print $4 }')
rchar -w $limit add moved stream listen "[${scoped%/*}%net0]"
ip link add elsewhere type dummy
ip addr del "$scoped" dev net0
ip addr add "$scoped" dev elsewhere
badreq 10.0.0.1 "${scoped%/*}" | tee /tmp/badreq
ret=$((ret + PIPESTATUS[0]))
nreq=$(grep -c '^\(not \)\?ok' /tmp/badreq)
touch /tmp/stop
placed=$(counter a 'rchar -j stats breader' rendezvous_placed)
rchar del writer
rchar del breader
wait $reader $importer $writer "${readers[@]}"
kill $traffic 2>/dev/null

honest_traffic_was_not_touched() {
	[ ! -e /tmp/broken ]
	[ "$(wc -l </tmp/copies)" -gt 1 ]
	rchar -j link | sed 's/{"link":/\n&/g' | grep '"initiator":true' | grep -q '"connects":1,"failures":0'
}

memory_was_not_touched() {
	[ ! -e /tmp/broken-importer ]
	[ "$(wc -l </tmp/imports)" -gt 5 ]
	note "$(wc -l </tmp/imports) honest writes and reads"
	# What the right key wrote is at 8192, what the honest importer did at 81920.
	dd if=/dev/rchar/rw bs=4096 count=1 2>/dev/null | tr -d '\0' | grep -qx untouched
	dd if=/dev/rchar/rw bs=4096 skip=3 count=17 2>/dev/null | tr -d '\0' | cmp - /dev/null
	dd if=/dev/rchar/rw bs=4096 skip=21 2>/dev/null | tr -d '\0' | cmp - /dev/null
	tr -d '\0' </dev/rchar/ro | grep -qx untouched
}

readers_got_what_was_good() {
	note "$placed pieces placed in a reader's memory"
	[ "$placed" -gt 0 ]
}

everything_was_counted() {
	note "$(rchar -j version | grep -o '"[a-z_]*\(bad\|denied\)[a-z_]*":[0-9]*' | tr '\n' ' ')"
	[ "$(counter a 'rchar -j version' requests_bad)" = 21 ]
	[ "$(counter a 'rchar -j version' requests_denied)" = 1 ]
	# Every frame that breaks the connection but the one that never came.
	[ "$(counter a 'rchar -j version' bad_frames)" = 78 ]
}

ksft_n=$((67 + nkeys + nlanes + nrndv + nturns + nhandshake + nreq))
[ $ret = 0 ] || ksft_failed=1
run honest_traffic_was_not_touched
run memory_was_not_touched
run readers_got_what_was_good
run everything_was_counted
echo "1..$ksft_n"
finish
