#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs that know nothing of RDMA, over channels between two machines: a listens,
# b connects. What they are given is /usr/lib/python3, some 30 MB of many files.
. lib/ksft.sh
tree=$(echo /usr/lib/python3.*)
export PYTHONDONTWRITEBYTECODE=1
file=/root/big
set_up=channels_come_up

same_sum() { # what a has, what b has
	[ "$(sha256sum <"$1" | cut -c1-64)" = "$(on b "sha256sum <$2" | cut -c1-64)" ]
}

channels_come_up() {
	tar -C "$tree" --sort=name -cf $file .
	on b tar -C "$tree" --sort=name -cf $file .
	rchar add pipe stream listen 10.0.0.1
	on b rchar -w $limit add pipe stream connect 10.0.0.1
	rchar add msg message listen 10.0.0.1
	on b rchar -w $limit add msg message connect 10.0.0.1
}

cat_a_file() {
	cat /dev/rchar/pipe >/tmp/got &
	on b "cat $file >/dev/rchar/pipe"
	wait $!
	same_sum /tmp/got $file
}

dd_with_odd_block_sizes() {
	dd if=/dev/rchar/pipe of=/tmp/got bs=77777 2>/dev/null &
	on b "dd if=$file of=/dev/rchar/pipe bs=12345 2>/dev/null"
	wait $!
	same_sum /tmp/got $file
	# Blocks of an exact size, out of reads of any size.
	dd if=/dev/rchar/pipe of=/tmp/got bs=10007 count=100 iflag=fullblock 2>/dev/null &
	on b "dd if=$file of=/dev/rchar/pipe bs=999 count=2000 2>/dev/null" || true
	wait $!
	[ "$(stat -c %s /tmp/got)" = 1000700 ]
	cmp -n 1000700 /tmp/got $file
}

dd_keeps_blocks_of_messages() {
	dd if=/dev/rchar/msg of=/tmp/got bs=1M 2>/tmp/dd.log &
	on b "dd if=$file of=/dev/rchar/msg bs=50000 count=100 2>/dev/null"
	wait $!
	# Every message is shorter than the buffer: a partial record each.
	grep -q '^0+100 records in' /tmp/dd.log
	cmp -n 5000000 /tmp/got $file
}

tar_to_tar() {
	rm -rf /tmp/tree && mkdir /tmp/tree
	tar -C /tmp/tree -xf /dev/rchar/pipe &
	on b "tar -C $tree -cf - . >/dev/rchar/pipe"
	wait $!
	diff -r "$tree" /tmp/tree
	rm -rf /tmp/tree
}

pv_splices() {
	pv -q /dev/rchar/pipe >/tmp/got &
	on b "pv -q $file >/dev/rchar/pipe"
	wait $!
	same_sum /tmp/got $file
	pv -q </dev/rchar/pipe | cat >/tmp/got &
	on b "cat $file | pv -q >/dev/rchar/pipe"
	wait $!
	same_sum /tmp/got $file
}

mbuffer_both_ends() {
	rm -f /tmp/got
	mbuffer -q -m 2M -i /dev/rchar/pipe -o /tmp/got &
	on b "mbuffer -q -m 2M -i $file -o /dev/rchar/pipe"
	wait $!
	same_sum /tmp/got $file
}

gzip_over_a_channel() {
	gzip -dc </dev/rchar/pipe >/tmp/got &
	on b "gzip -1 -c <$file >/dev/rchar/pipe"
	wait $!
	same_sum /tmp/got $file
}

http_through_socat() {
	local server proxy

	mkdir -p /tmp/www
	cp $file /tmp/www/big
	python3 /root/programs/www.py /tmp/www 80 >/dev/null 2>&1 &
	server=$!
	# A server of channels is a loop of open(): each session becomes a connection.
	python3 /root/programs/sessions.py accept /dev/rchar/pipe 4 \
		socat FD:3 TCP:127.0.0.1:80 &
	proxy=$!
	on b 'socat TCP-LISTEN:8080,fork,reuseaddr OPEN:/dev/rchar/pipe >/dev/null 2>&1 & echo $! >/tmp/socat.pid'
	until_true on b 'ss -ltn | grep -q :8080'
	until_true eval 'ss -ltn | grep -q :80'
	on b 'for i in 1 2 3; do curl -sf http://127.0.0.1:8080/big >/tmp/got.$i & done; wait'
	on b 'for i in 1 2 3; do cmp /tmp/got.$i '$file' || exit 1; done'
	on b "curl -sf -T $file http://127.0.0.1:8080/up"
	cmp /tmp/www/up $file
	wait $proxy
	kill $server
	on b 'kill $(cat /tmp/socat.pid)'
}

python_selectors_and_asyncio_32_sessions() {
	python3 /root/programs/sessions.py serve /dev/rchar/pipe 32 >/tmp/served &
	on b python3 -B /root/programs/sessions.py call /dev/rchar/pipe 32
	wait $!
	grep -q '^32 sessions' /tmp/served
}

go_poller_32_sessions_few_threads() {
	local threads

	poller serve /dev/rchar/pipe 32 >/tmp/served &
	on b poller call /dev/rchar/pipe 32 >/tmp/called || { cat /tmp/called; return 1; }
	wait $!
	threads=$(awk '{ print $3 }' /tmp/served)
	echo "$(cat /tmp/served) at a, $(cat /tmp/called) at b"
	# A goroutine that waits in read holds no thread.
	[ "$threads" -lt 16 ]
	[ "$(awk '{ print $3 }' /tmp/called)" -lt 48 ]
}

# fio takes what a read lacks for read, so a reader of its own may stop early: the other
# end is a program that takes, or gives, as much as there is.
fio_at_one_end() { # ENGINE
	local job="--filename=/dev/rchar/pipe --bs=64k --size=16m --ioengine=$1 --fallocate=none"

	wc -c </dev/rchar/pipe >/tmp/count &
	on b "fio --name=w --rw=write $job" >/tmp/fio.w 2>&1 || { cat /tmp/fio.w; return 1; }
	wait $!
	[ "$(cat /tmp/count)" = 16777216 ] || { cat /tmp/count; return 1; }
	on b 'head -c 64m /dev/zero >/dev/rchar/pipe' >/dev/null 2>&1 &
	# shellcheck disable=SC2086
	fio --name=r --rw=read $job >/tmp/fio.r 2>&1 || { cat /tmp/fio.r; return 1; }
	wait $! || true
}

fio_writes_and_reads_with_io_uring() { fio_at_one_end io_uring; }

fio_writes_and_reads_with_sync() {
	fio_at_one_end sync
	# Its psync engine gives a position with each request, which a channel has not.
	if on b fio --name=w --filename=/dev/rchar/pipe --rw=write --bs=64k --size=1m \
		--ioengine=psync --fallocate=none >/tmp/fio.w 2>&1; then
		cat /tmp/fio.w
		return 1
	fi
	grep -q 'Illegal seek' /tmp/fio.w
	rchar del pipe
	rchar add pipe stream listen 10.0.0.1
}

stress_ng_abuses_the_nodes() {
	local dev

	# Its open() waits for a peer, so there is always one.
	for dev in pipe msg; do
		on b "while :; do dd if=$file of=/dev/rchar/$dev bs=50000; done >/dev/null 2>&1 & echo \$! >/tmp/writer.pid"
		timeout $limit stress-ng --dev 2 --dev-file /dev/rchar/$dev --timeout 10s >/tmp/stress 2>&1 || {
			cat /tmp/stress; return 1; }
		on b 'kill $(cat /tmp/writer.pid); killall dd; true'
	done
	# What waits in the backlog is not ours.
	rchar del pipe
	rchar add pipe stream listen 10.0.0.1
	cat_a_file
}

plan 15
run channels_come_up
run cat_a_file
run dd_with_odd_block_sizes
run dd_keeps_blocks_of_messages
run tar_to_tar
run pv_splices
run mbuffer_both_ends
run gzip_over_a_channel
run http_through_socat
run python_selectors_and_asyncio_32_sessions
run go_poller_32_sessions_few_threads
run fio_writes_and_reads_with_io_uring
run fio_writes_and_reads_with_sync
run stress_ng_abuses_the_nodes
nothing_is_left() { rchar del all; on b rchar del all; until_true eval '[ -z "$(rchar session)" ]'; }
run nothing_is_left
finish
