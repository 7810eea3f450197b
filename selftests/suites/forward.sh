#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs that know only sockets, between two machines: servers and listening channels on a, clients
# and connecting channels on b. All addresses of theirs are 127.0.0.1: nothing but rchar-forward and
# rchar-exec joins the two.
. lib/ksft.sh
export HOME=/root

# In the background on a host, with its output in /tmp/NAME.log there.
start() { # HOST NAME COMMAND...
	on "$1" "cd /tmp; HOME=/root setsid ${*:3} </dev/null >/tmp/$2.log 2>&1 & echo \$! >/tmp/$2.pid"
}
stop() { # HOST NAME [-SIGNAL]
	on "$1" "kill ${3:-} \$(cat /tmp/$2.pid) 2>/dev/null; while kill -0 \$(cat /tmp/$2.pid) 2>/dev/null; do sleep 0.05; done" || true
}
# A file of this host for b: 'on' has no standard input.
give_b() { on b "echo $(base64 -w0 <"$1") | base64 -d >$2"; } # FILE PATH

listens() { on "$1" "ss -Hltn sport = :$2 | grep -q ."; }	# HOST PORT

# channel NAME [SETTING]... - one that listens on a, and its peer on b, connected
channel() {
	rchar add "$1" stream listen 10.0.0.1 "${@:2}"
	on b rchar -w $limit add "$1" stream connect 10.0.0.1
}
no_channel() { rchar del "$1"; on b rchar del "$1"; } # NAME

echo_serves() { # on a, at port 7
	start a echo python3 /root/programs/echo.py serve 7
	until_true listens a 7
}

# A service of a on PORT is there for b, on the same port.
forwarded() { # NAME PORT
	channel "$1"
	start a "fwd-$1" rchar-forward "/dev/rchar/$1" "tcp:127.0.0.1:$2"
	start b "fwd-$1" rchar-forward "tcp:127.0.0.1:$2" "/dev/rchar/$1"
	until_true listens b "$2"
}
no_more() { # NAME
	stop a "fwd-$1"
	stop b "fwd-$1"
	no_channel "$1"
}

redis() {
	start a redis redis-server --port 6379 --save "''" --appendonly no
	until_true listens a 6379
	forwarded redis 6379
	on b "redis-cli set word hello" | grep -qx OK
	on b "redis-cli get word" | grep -qx hello
	on b "head -c 1000000 /bin/busybox | redis-cli -x set big" | grep -qx OK
	[ "$(on b 'redis-cli --raw get big' | head -c 1000000 | md5sum)" = "$(head -c 1000000 /bin/busybox | md5sum)" ]
	note "$(on b 'redis-benchmark -q -n 3000 -c 50 -t set,get 2>/dev/null' | tr '\r' '\n' | grep 'requests per second' | tr '\n' ' ')"
	[ "$(on b 'redis-cli info stats' | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')" -ge 100 ]
	no_more redis
	stop a redis
}

sshd_starts() {
	mkdir -p /root/.ssh /run/sshd /opt/ssh
	grep -q ^sshd /etc/passwd || echo 'sshd:x:100:65534::/run/sshd:/bin/false' >>/etc/passwd
	[ -e /opt/ssh/host ] || ssh-keygen -q -t ed25519 -N '' -f /opt/ssh/host
	[ -e /opt/ssh/user ] || ssh-keygen -q -t ed25519 -N '' -f /opt/ssh/user
	cp /opt/ssh/user.pub /root/.ssh/authorized_keys
	chmod 700 /root/.ssh /opt/ssh
	sed -i 's/^root:[^:]*:/root::/' /etc/passwd
	start a sshd "\$(command -v sshd)" -D -e -f /dev/null -p 22 -h /opt/ssh/host -o UsePAM=no -o StrictModes=no \
		-o AuthorizedKeysFile=/root/.ssh/authorized_keys -o PermitRootLogin=yes \
		-o "Subsystem='sftp internal-sftp'" -o PidFile=none
	until_true listens a 22 || { cat /tmp/sshd.log; return 1; }
	on b 'mkdir -p -m 700 /root/.ssh; umask 077
		printf "Host *\n IdentityFile /root/.ssh/id\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n" >/root/.ssh/config; : >/root/.ssh/id'
	give_b /opt/ssh/user /root/.ssh/id
}

on_b() { on b "export HOME=/root; cd /tmp; $*"; }

ssh_scp_rsync_and_git() {
	sshd_starts
	forwarded ssh 22
	[ "$(on_b 'ssh 127.0.0.1 hostname')" = a ]
	head -c 5000000 /dev/urandom >/tmp/file
	on_b 'scp -q 127.0.0.1:/tmp/file /tmp/copy'
	[ "$(on b 'md5sum </tmp/copy')" = "$(md5sum </tmp/file)" ]
	mkdir -p /tmp/tree/deep
	cp /tmp/file /tmp/tree/deep/
	cp /bin/busybox /tmp/tree/
	on_b 'rsync -a -e ssh 127.0.0.1:/tmp/tree/ /tmp/tree'
	[ "$(on b 'cd /tmp/tree && find . -type f | sort | xargs md5sum')" = \
		"$(cd /tmp/tree && find . -type f | sort | xargs md5sum)" ]
	rm -rf /tmp/repo
	git init -q -b main /tmp/repo
	cp /tmp/file /tmp/repo/
	git -C /tmp/repo -c user.name=a -c user.email=a@a add file
	git -C /tmp/repo -c user.name=a -c user.email=a@a commit -q -m one
	on_b 'git clone -q 127.0.0.1:/tmp/repo /tmp/clone'
	[ "$(on b 'md5sum </tmp/clone/file')" = "$(md5sum </tmp/file)" ]
	no_more ssh
	stop a sshd
	on b rm -rf /tmp/clone /tmp/tree /tmp/copy
}

http() {
	mkdir -p /tmp/www
	head -c 20000000 /dev/urandom >/tmp/www/file
	echo hello >/tmp/www/index.html
	cat >/tmp/nginx.conf <<'CONF'
daemon off; master_process off; error_log /tmp/nginx.err; pid /tmp/nginx.pid;
events { }
http { access_log off; client_body_temp_path /tmp/n1; proxy_temp_path /tmp/n2; fastcgi_temp_path /tmp/n3;
	uwsgi_temp_path /tmp/n4; scgi_temp_path /tmp/n5;
	server { listen 127.0.0.1:80; root /tmp/www; } }
CONF
	start a nginx "\$(command -v nginx)" -e /tmp/nginx.err -c /tmp/nginx.conf
	until_true listens a 80
	forwarded web 80
	[ "$(on b 'curl -s http://127.0.0.1/')" = hello ]
	[ "$(on b 'curl -s http://127.0.0.1/file | md5sum')" = "$(md5sum </tmp/www/file)" ]
	no_more web
	stop a nginx
}

postgresql() {
	local bin=/usr/lib/postgresql/15/bin

	grep -q ^postgres /etc/passwd || echo 'postgres:x:101:65534::/tmp:/bin/sh' >>/etc/passwd
	mkdir -p /tmp/pg && chown 101 /tmp/pg
	su -s /bin/sh postgres -c "$bin/initdb -D /tmp/pg/data -A trust --no-sync -E UTF8 --locale=C >/tmp/pg/initdb.log"
	start a pg "su -s /bin/sh postgres -c '$bin/postgres -D /tmp/pg/data -h 127.0.0.1 -k /tmp/pg -F'"
	until_true listens a 5432
	forwarded pg 5432
	on_b "$bin/pgbench -h 127.0.0.1 -U postgres -i -q postgres 2>/dev/null"
	note "$(on_b "$bin/pgbench -h 127.0.0.1 -U postgres -c 10 -t 20 postgres 2>/dev/null" | grep -E '^(number of transactions actually|tps)' | tr '\n' ' ')"
	[ "$(on_b "$bin/psql -h 127.0.0.1 -U postgres -Atc 'select count(*) from pgbench_history' postgres")" = 200 ]
	no_more pg
	pkill -INT -f "$bin/postgres -D" || true
	until_true eval '! listens a 5432'
}

# A peer's session that has ended before it is taken: what it sent comes, and others are served.
sessions_that_ended_before() {
	local program before

	channel dead
	start a sink socat -u tcp-listen:9,fork,bind=127.0.0.1 open:/tmp/sunk,creat,append
	until_true listens a 9
	for program in 'rchar-forward /dev/rchar/dead tcp:127.0.0.1:9' "rchar-exec dead sh -c 'cat >>/tmp/sunk'"; do
		: >/tmp/sunk
		before=$(counter a 'rchar -j stats dead' rx_bytes)
		on b 'setsid sh -c "exec 3<>/dev/rchar/dead; echo early >&3; sleep 1000" </dev/null >/dev/null 2>&1 & echo $! >/tmp/holder.pid'
		until_true eval '[ "$(counter a "rchar -j stats dead" rx_bytes)" = $((before + 6)) ]'
		rchar session kill "$(rchar -j session | sed -n 's/.*"link":"\([0-9]*\)","session":\([0-9]*\),"channel":"dead".*/\1\/\2/p' | head -n 1)"
		start a taker "$program"
		until_true grep -qx early /tmp/sunk
		on b 'echo late >/dev/rchar/dead'
		until_true grep -qx late /tmp/sunk
		stop a taker
		on b 'kill $(cat /tmp/holder.pid)'
	done
	stop a sink
	no_channel dead
}

# Each half closes by itself: md5sum answers after the end of what it reads.
half_close_goes_through() {
	channel sum
	start a sum rchar-exec sum md5sum
	start b sum rchar-forward tcp:127.0.0.1:700 /dev/rchar/sum
	until_true listens b 700
	for n in 0 1 70000 9000000; do
		[ "$(on b "head -c $n /dev/zero | socat -t $limit - tcp:127.0.0.1:700")" = "$(head -c $n /dev/zero | md5sum)" ]
	done
	stop a sum
	stop b sum
	no_channel sum
}

unix_sockets_work_on_both_sides() {
	echo_serves
	channel u
	start a server socat unix-listen:/tmp/server,fork exec:md5sum,nofork
	until_true test -S /tmp/server
	start a fwd rchar-forward -v /dev/rchar/u unix:/tmp/server
	start b fwd rchar-forward unix:/tmp/client /dev/rchar/u
	until_true on b test -S /tmp/client
	[ "$(on b 'echo hello | socat -t '$limit' - unix:/tmp/client')" = "$(echo hello | md5sum)" ]
	grep -q '^rchar-forward: connection 1, 1 at once$' /tmp/fwd.log
	# Somebody listens there: the second one may not take it away.
	on b 'rchar-forward unix:/tmp/client /dev/rchar/u' 2>&1 | grep -q 'Address already in use'
	# A socket that a killed one left behind, it may.
	stop b fwd -KILL
	start b fwd rchar-forward unix:/tmp/client /dev/rchar/u
	until_true eval 'on b "echo again | socat -t $limit - unix:/tmp/client" | grep -q "$(echo again | md5sum)"'
	stop b fwd
	on b '[ ! -e /tmp/client ]'
	stop a fwd
	stop a server
	stop a echo
	no_channel u
}

a_thousand_connections() {
	echo_serves
	forwarded many 7
	on b 'python3 /root/programs/echo.py many 7 1000' >/tmp/many.log
	grep -q 'all are connected' /tmp/many.log
	grep -q 'all have got back what they sent' /tmp/many.log
	note "$(on b 'grep -c ^tcp /proc/net/protocols >/dev/null; rchar link | grep -c "to 10.0.0.1"') link for 1000 connections"
	[ "$(on b 'rchar link | grep -c "to 10.0.0.1"')" = 1 ]
	# All descriptors are back.
	until_true eval '[ "$(ls /proc/$(cat /tmp/fwd-many.pid)/fd | wc -l)" -lt 160 ]'
	no_more many
	stop a echo
}

no_more_than_max_at_once() {
	echo_serves
	channel few backlog 100
	start a fwd rchar-forward -n 3 -v /dev/rchar/few tcp:127.0.0.1:7
	start b fwd rchar-forward tcp:127.0.0.1:7 /dev/rchar/few
	until_true listens b 7
	# Each must have come and gone, three at a time.
	on b 'for i in $(seq 20); do (echo $i | socat -t '$limit' - tcp:127.0.0.1:7) & done; wait' | sort -n | tr '\n' ' ' >/tmp/few
	[ "$(cat /tmp/few)" = "$(seq 20 | tr '\n' ' ')" ]
	[ "$(sed -n 's/.*, \([0-9]*\) at once$/\1/p' /tmp/fwd.log | sort -n | tail -n1)" -le 3 ]
	stop a fwd
	stop b fwd
	stop a echo
	no_channel few
}

a_lost_link_loses_nothing() {
	local i reader connects

	start a sink "socat -u tcp-listen:9,bind=127.0.0.1 create:/tmp/sunk"
	until_true listens a 9
	forwarded lost 9
	on b 'for i in $(seq 12); do cat /bin/busybox; done | socat -u - tcp:127.0.0.1:9' &
	reader=$!
	for i in 1 2 3 4; do
		until_moving b lost tx_bytes $reader
		connects=$(counter b 'rchar -j link' connects)
		reset_link b
		until_true connected_again "$connects"
	done
	wait $reader
	until_true eval '! kill -0 $(cat /tmp/sink.pid) 2>/dev/null'
	[ "$(md5sum </tmp/sunk)" = "$(for i in $(seq 12); do cat /bin/busybox; done | md5sum)" ]
	no_more lost
	rm -f /tmp/sunk
}

# A killed forwarder ends its connections on both sides, and a new one serves new ones.
either_side_may_be_killed() {
	local host

	echo_serves
	forwarded kill 7
	for host in a b; do
		on b 'rm -f /tmp/in; mkfifo /tmp/in; (socat -t 0.5 - tcp:127.0.0.1:7 </tmp/in >/tmp/out 2>/dev/null; echo over >/tmp/over) >/dev/null 2>&1 &
			exec 3>/tmp/in; echo hello >&3; rm -f /tmp/over; setsid sleep 1000 >&3 2>/dev/null & echo $! >/tmp/holder.pid'
		until_true on b grep -q hello /tmp/out
		on $host 'kill -9 $(cat /tmp/fwd-kill.pid)'
		until_true on b test -e /tmp/over
		on b 'kill $(cat /tmp/holder.pid)'
		if [ $host = a ]; then
			start a fwd-kill rchar-forward /dev/rchar/kill tcp:127.0.0.1:7
		else
			start b fwd-kill rchar-forward tcp:127.0.0.1:7 /dev/rchar/kill
		fi
		until_true eval 'on b "echo again | socat -t $limit - tcp:127.0.0.1:7" | grep -q again'
	done
	no_more kill
	stop a echo
}

# What a client of b sees that connects to PORT and waits.
seen_at() {
	on b "python3 -c '
import socket
s = socket.create_connection((\"127.0.0.1\", $1))
try:
    print(\"end of file\" if s.recv(1) == b\"\" else \"bytes\")
except ConnectionResetError:
    print(\"reset\")'"
}

# The client sees a reset, not an end of file; the log says why; others go on.
a_server_that_is_not_there() {
	forwarded gone 7
	seen_at 7 >/tmp/saw
	grep -qx 'end of file' /tmp/saw || grep -qx reset /tmp/saw
	until_true grep -qx 'rchar-forward: tcp:127.0.0.1:7: Connection refused' /tmp/fwd-gone.log
	echo_serves
	[ "$(on b 'echo hello | socat -t '$limit' - tcp:127.0.0.1:7')" = hello ]
	stop a echo
	no_more gone
	# The channel of b leads nowhere: a reset.
	on b rchar add nowhere stream connect 10.0.0.1:999 open-timeout 200ms
	start b fwd rchar-forward tcp:127.0.0.1:8 /dev/rchar/nowhere
	until_true listens b 8
	[ "$(seen_at 8)" = reset ]
	on b grep -qx "'rchar-forward: /dev/rchar/nowhere: Connection timed out'" /tmp/fwd.log
	stop b fwd
	on b rchar del nowhere
}

# Requests larger than all buffers on the way, each answered only when all of it is there: nothing else
# happens on the connection that could push the last bytes on.
large_requests_are_answered() {
	cat >/tmp/asks.py <<'PY'
import random, socket, struct, sys
port = int(sys.argv[2])
random.seed(1)
if sys.argv[1] == "serve":
    c, _ = socket.create_server(("127.0.0.1", port)).accept()
    while head := c.recv(8, socket.MSG_WAITALL):
        left = struct.unpack("<Q", head)[0]
        while left:
            left -= len(c.recv(min(left, random.choice((1000, 30000, 300000)))))
        c.sendall(b"all")
else:
    c = socket.create_connection(("127.0.0.1", port))
    for i in range(60):
        n = random.randrange(200000, 3000000)
        c.sendall(struct.pack("<Q", n) + bytes(n))
        assert c.recv(3, socket.MSG_WAITALL) == b"all"
    print("answered")
PY
	give_b /tmp/asks.py /tmp/asks.py
	start a server python3 /tmp/asks.py serve 7
	until_true listens a 7
	forwarded asks 7
	on b "timeout $((limit * 2)) python3 /tmp/asks.py ask 7" | grep -qx answered
	no_more asks
	stop a server
}

# The server answers, and closes with bytes unread: behind the answer comes a reset.
an_answer_before_the_end_arrives() {
	cat >/tmp/early.py <<'PY'
import socket, sys, threading
if sys.argv[1] == "serve":
    s = socket.create_server(("127.0.0.1", 7))
    while True:
        c = s.accept()[0]
        c.recv(1)
        c.sendall(b"too large")
        c.close()
def send(c):
    try:
        c.sendall(bytes(8 << 20))
    except OSError:
        pass
for i in range(20):
    c = socket.create_connection(("127.0.0.1", 7))
    sender = threading.Thread(target=send, args=(c,))
    sender.start()
    got = b""
    try:
        while some := c.recv(100):
            got += some
    except ConnectionResetError:
        pass
    c.close()
    sender.join()
    print(got.decode() or "no answer")
PY
	give_b /tmp/early.py /tmp/early.py
	start a server python3 /tmp/early.py serve
	until_true listens a 7
	forwarded early 7
	on b "timeout $((limit * 2)) python3 /tmp/early.py ask" >/tmp/answers
	sort /tmp/answers | uniq -c
	[ "$(grep -cx 'too large' /tmp/answers)" = 20 ]
	no_more early
	stop a server
}

# A server finds silence of a client only through rchar-forward, which is all that it talks to.
silent_peers_are_found() {
	echo_serves
	forwarded quiet 7
	start b client socat pipe:/tmp/nothing tcp:127.0.0.1:7
	until_true eval 'on b "ss -Htno state established sport = :7" | grep -q timer:.keepalive'
	until_true eval 'ss -Htno state established dport = :7 | grep -q timer:.keepalive'
	stop b client
	no_more quiet
	stop a echo
}

# Bytes that TCP marks as urgent stay in their place.
urgent_data_stays_in_its_place() {
	echo_serves
	forwarded urgent 7
	[ "$(on b "python3 -c '
import socket
s = socket.create_connection((\"127.0.0.1\", 7))
s.sendall(b\"one \")
s.send(b\"two \", socket.MSG_OOB)
s.sendall(b\"three\")
s.shutdown(socket.SHUT_WR)
s.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
print(b\"\".join(iter(lambda: s.recv(100), b\"\")).decode())'")" = 'one two three' ]
	no_more urgent
	stop a echo
}

# limit_files HOST NAME N - descriptors that a running program may have
limit_files() {
	on "$1" "python3 -c 'import resource; resource.prlimit($(on "$1" "cat /tmp/$2.pid"), resource.RLIMIT_NOFILE, ($3, 65536))'"
}

# Without a descriptor for the next connection, for its other side or for a pipe, it waits.
a_shortage_is_not_the_end() {
	local host more used client

	echo_serves
	forwarded short 7
	for host in a b; do
		used=$(on $host 'ls /proc/$(cat /tmp/fwd-short.pid)/fd | wc -l')
		for more in 0 1 2; do
			limit_files $host fwd-short $((used + more))
			on b 'echo hello | socat -t '$limit' - tcp:127.0.0.1:7' >/tmp/back &
			client=$!
			# Until there is none left, or it was enough.
			until_true eval '[ "$(on $host "ls /proc/\$(cat /tmp/fwd-short.pid)/fd | wc -l")" -ge $((used + more)) ] || ! kill -0 $client 2>/dev/null'
			sleep 1
			limit_files $host fwd-short 65536
			wait $client
			[ "$(cat /tmp/back)" = hello ]
		done
	done
	no_more short
	stop a echo
}

# What is cut off does not look complete.
stopped_is_reset() {
	echo_serves
	forwarded stopped 7
	on b "python3 -c '
import socket
s = socket.create_connection((\"127.0.0.1\", 7))
s.sendall(b\"hello\")
s.recv(5, socket.MSG_WAITALL)
print(\"begun\", flush=True)
try:
    print(\"end of file\" if s.recv(1) == b\"\" else \"bytes\")
except ConnectionResetError:
    print(\"reset\")' </dev/null >/tmp/saw 2>&1 &"
	until_true on b grep -qx begun /tmp/saw
	stop b fwd-stopped
	until_true on b grep -qx reset /tmp/saw
	no_more stopped
	stop a echo
}

# FROM without a host is all addresses; TO is tried at each address that its name has.
every_address_is_used() {
	echo_serves # at 127.0.0.1 only
	echo 'multi on' >/etc/host.conf
	printf '::1 two-addresses\n127.0.0.1 two-addresses\n' >>/etc/hosts
	channel every
	start a fwd rchar-forward /dev/rchar/every tcp:two-addresses:7
	start b fwd rchar-forward tcp::7 /dev/rchar/every
	until_true listens b 7
	for address in 127.0.0.1 '[::1]' 10.0.0.2; do
		[ "$(on b "echo hello | socat -t $limit - tcp:$address:7")" = hello ]
	done
	[ "$(on b 'ss -Hltn sport = :7 | wc -l')" = 2 ]
	stop a fwd
	stop b fwd
	stop a echo
	no_channel every
}

# A server that is slow to accept: nobody is turned away.
a_full_backlog_is_waited_for() {
	channel full
	cat >/tmp/slow.py <<'PY'
import os, socket, time
s = socket.socket(socket.AF_UNIX)
s.bind("/tmp/slow")
s.listen(1)
while not os.path.exists("/tmp/go"):
    time.sleep(0.05)
while True:
    c, _ = s.accept()
    c.sendall(b"served\n")
    c.close()
PY
	start a slow python3 /tmp/slow.py
	until_true test -S /tmp/slow
	start a fwd rchar-forward -v /dev/rchar/full unix:/tmp/slow
	start b fwd rchar-forward tcp:127.0.0.1:7 /dev/rchar/full
	until_true listens b 7
	on b 'rm -f /tmp/all; (for i in $(seq 20); do socat -t '$limit' - tcp:127.0.0.1:7 </dev/null & done; wait) >/tmp/all 2>&1 &'
	until_true eval '[ "$(rchar session | grep -c "channel full ")" -ge 20 ]'
	touch /tmp/go
	until_true eval '[ "$(on b "grep -cx served /tmp/all")" = 20 ]'
	stop a fwd
	stop b fwd
	stop a slow
	no_channel full
}

# What TO is can be known only when it is opened: a line in the log, and a reset.
a_channel_that_cannot_be_it() {
	local channel words

	rchar add wrong stream listen 10.0.0.1
	rchar add messages message listen 10.0.0.1
	while read -r channel words; do
		start a fwd rchar-forward tcp:127.0.0.1:7 "/dev/rchar/$channel"
		until_true listens a 7
		echo hello | socat -t $limit - tcp:127.0.0.1:7 >/dev/null 2>&1 || true
		until_true grep -qx "rchar-forward: /dev/rchar/$channel $words" /tmp/fwd.log
		stop a fwd
	done <<-END
		wrong listens: a channel that connects is expected
		messages is no stream channel
	END
	rchar del all
}

says() { # STATUS WORDS COMMAND...
	local out

	out=$(expect_status "$1" "${@:3}" 2>&1 </dev/null) || { echo "$out"; return 1; }
	[ "$(wc -l <<<"$out")" = 1 ]
	[[ "$out" == *"$2"* ]] || { echo "'$out' lacks '$2'"; return 1; }
}

# What was started here has the channel open, and sleeps in poll() or epoll_wait().
awaits_sessions() { # NAME CHANNEL
	local pid fd

	pid=$(cat "/tmp/$1.pid")
	grep -q poll "/proc/$pid/wchan" || return
	for fd in /proc/"$pid"/fd/*; do
		[ "$(readlink "$fd")" != "/dev/rchar/$2" ] || return 0
	done
	return 1
}

errors_are_clear() {
	rchar add l stream listen 10.0.0.1
	rchar add c stream connect 10.0.0.1/l
	rchar add m message listen 10.0.0.1
	until_true is_state c up
	says 1 'FROM is missing' rchar-forward
	says 1 'TO is missing' rchar-forward tcp:127.0.0.1:5
	says 1 'one word too many' rchar-forward tcp:127.0.0.1:5 /dev/rchar/c x
	says 1 "'nonsense': /dev/rchar/NAME, tcp:HOST:PORT or unix:PATH is expected" rchar-forward nonsense /dev/rchar/c
	says 1 'tcp:HOST:PORT is expected' rchar-forward tcp:5 /dev/rchar/c
	says 1 'unix:PATH is expected' rchar-forward unix: /dev/rchar/c
	says 1 'only FROM can be it' rchar-forward tcp:127.0.0.1:5 systemd
	says 1 'systemd: it passed no socket on' rchar-forward systemd /dev/rchar/c
	says 1 'a channel that listens is expected' rchar-forward /dev/rchar/c tcp:127.0.0.1:5
	says 1 'is no stream channel' rchar-forward /dev/rchar/m tcp:127.0.0.1:5
	says 1 'No such file' rchar-forward /dev/rchar/none tcp:127.0.0.1:5
	says 1 'is no channel' rchar-forward /etc/passwd tcp:127.0.0.1:5
	says 1 'is no channel of rdma_char' rchar-forward tcp:127.0.0.1:5 /dev/null
	says 1 'is no channel: a file of that name is there' rchar-forward tcp:127.0.0.1:5 /etc/passwd
	says 1 'No such file' rchar-forward tcp:127.0.0.1:5 /dev/rchar/none
	says 1 'no-such-host:5: ' rchar-forward tcp:127.0.0.1:5 tcp:no-such-host:5
	# A file is no socket that somebody left behind.
	echo mine >/tmp/mine
	says 1 'Address already in use' rchar-forward unix:/tmp/mine /dev/rchar/c
	[ "$(cat /tmp/mine)" = mine ]
	says 1 '--max: at least 1' rchar-forward -n 0 /dev/rchar/l tcp:127.0.0.1:5
	says 1 'NAME and COMMAND are expected' rchar-exec l
	says 1 'COMMAND is missing' rchar-exec l --
	says 1 'a channel that listens is expected' rchar-exec c true
	says 1 'is no stream channel' rchar-exec m true
	says 1 '/no/such: No such file' rchar-exec l /no/such
	# A channel that is deleted ends what serves it, with its errno.
	start a one rchar-forward /dev/rchar/l tcp:127.0.0.1:5
	start a two rchar-exec l true
	until_true awaits_sessions one l
	until_true awaits_sessions two l
	rchar del l
	until_true eval '! kill -0 $(cat /tmp/one.pid) 2>/dev/null && ! kill -0 $(cat /tmp/two.pid) 2>/dev/null'
	cat /tmp/one.log /tmp/two.log
	grep -qx 'rchar-forward: /dev/rchar/l: No such device' /tmp/one.log
	grep -qx 'rchar-exec: /dev/rchar/l: No such device' /tmp/two.log
	rchar del all
}

exec_runs_a_command_for_each_session() {
	channel e
	start a exec rchar-exec -n 2 e -- sh -c "'echo \$RCHAR_CHANNEL \$RCHAR_PEER k=\$RCHAR_KEY; cat'"
	[ "$(on b 'exec 3<>/dev/rchar/e; echo hello >&3; head -n 2 <&3' | tr '\n' ' ')" = 'e 10.0.0.2 k= hello ' ]
	# Two at once; the third waits, and comes.
	on b 'for i in 1 2 3; do (exec 3<>/dev/rchar/e; echo $i >&3; head -n 2 <&3 | tail -n 1) & done; wait' | sort | tr '\n' ' ' >/tmp/three
	[ "$(cat /tmp/three)" = '1 2 3 ' ]
	on b 'rm -f /tmp/go; for i in 1 2 3; do (exec 3<>/dev/rchar/e; until [ -e /tmp/go ]; do sleep 0.05; done) & done; wait' &
	until_true eval '[ "$(pgrep -P $(cat /tmp/exec.pid) | wc -l)" = 2 ] && rchar -j show e | grep -q "\"waiting\":1"'
	on b touch /tmp/go
	wait
	# No child stays, dead or alive.
	until_true eval '[ -z "$(pgrep -P $(cat /tmp/exec.pid))" ]'
	stop a exec
	# Without a standard input of its own.
	start a bare "sh -c 'exec rchar-exec e head -n 1 <&-'"
	[ "$(on b 'exec 3<>/dev/rchar/e; echo hello >&3; head -n 1 <&3')" = hello ]
	stop a bare
	# Once; the status is the command's. The command's errors go where asked.
	start a once "sh -c 'rchar-exec -1 -e e sh -c \"echo oops >&2; exit 7\"; echo \$?'"
	[ "$(on b 'cat /dev/rchar/e')" = oops ]
	until_true grep -qx 7 /tmp/once.log
	no_channel e
}

# As systemd passes sockets on: descriptors from 3, and two variables.
sockets_of_systemd() {
	echo_serves
	channel s
	start a fwd rchar-forward /dev/rchar/s tcp:127.0.0.1:7
	cat >/tmp/activate.py <<'PY'
import os, socket
s = socket.create_server(("127.0.0.1", 7))
t = socket.create_server(("127.0.0.1", 8))
for i, fd in enumerate((s, t)):
    os.dup2(fd.fileno(), 103 + i)
os.closerange(3, 103)
for i in range(2):
    os.dup2(103 + i, 3 + i)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2")
os.execvp("rchar-forward", ["rchar-forward", "systemd", "/dev/rchar/s"])
PY
	give_b /tmp/activate.py /tmp/activate.py
	start b fwd python3 /tmp/activate.py
	until_true listens b 8
	[ "$(on b 'echo hello | socat -t '$limit' - tcp:127.0.0.1:7')" = hello ]
	[ "$(on b 'echo there | socat -t '$limit' - tcp:127.0.0.1:8')" = there ]
	stop a fwd
	stop b fwd
	stop a echo
	no_channel s
}

# measured_to ADDR WORDS - bytes from a program on b to the server on a
measured_to() {
	local n=40000000 begun

	start a sink "socat -u tcp-listen:9,reuseaddr,bind=0.0.0.0 create:/dev/null"
	until_true listens a 9
	begun=${EPOCHREALTIME/./}
	on b "head -c $n /dev/zero | socat -u - tcp:$1:9"
	until_true eval '! kill -0 $(cat /tmp/sink.pid) 2>/dev/null'
	note "$2: $((n * 10 / (${EPOCHREALTIME/./} - begun))) tenths of MB/s"
}

# The same bytes through it, through socat in its place, and over TCP. No test of a rate.
how_fast() {
	forwarded fast 9
	measured_to 127.0.0.1 rchar-forward
	stop a fwd-fast
	stop b fwd-fast
	start b fwd-fast socat tcp-listen:9,bind=127.0.0.1 /dev/rchar/fast
	start a fwd-fast socat /dev/rchar/fast tcp:127.0.0.1:9,retry=100,interval=0.1
	until_true listens b 9
	measured_to 127.0.0.1 'socat on both sides'
	measured_to 10.0.0.1 'TCP between the hosts'
	no_more fast
}

plan 25
run redis
run ssh_scp_rsync_and_git
run http
run postgresql
run sessions_that_ended_before
run half_close_goes_through
run unix_sockets_work_on_both_sides
run a_thousand_connections
run no_more_than_max_at_once
run a_lost_link_loses_nothing
run either_side_may_be_killed
run a_server_that_is_not_there
run large_requests_are_answered
run an_answer_before_the_end_arrives
run silent_peers_are_found
run urgent_data_stays_in_its_place
run a_shortage_is_not_the_end
run stopped_is_reset
run every_address_is_used
run a_full_backlog_is_waited_for
run a_channel_that_cannot_be_it
run errors_are_clear
run exec_runs_a_command_for_each_session
run sockets_of_systemd
run how_fast
finish
