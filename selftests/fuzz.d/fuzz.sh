#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# fuzz.sh SEED SECONDS WHAT... - fuzzers (peer, netlink, calls), one after the other, in one
# machine that is both ends. 'selftests/fuzz' boots it. The log of the last inputs is kept in
# /root/save.
. lib/ksft.sh
seed=$1 seconds=$2
shift 2
mkdir -p /root/save
short=(open-timeout 300ms recovery-timeout 1s linger 300ms)
fail() { echo "FAILED: $*"; failed=1; }

# A channel of each type, and one that connects to it. What exists is left as it is.
add_fuzzed() {
	local t

	for t in stream message memory; do
		case $t in memory) size=(size 1m) ;; *) size=() ;; esac
		rchar add f-$t-l $t listen 10.0.0.1 "${short[@]}" "${size[@]}"
		rchar -w "${1:-60}" add f-$t-c $t connect 10.0.0.1/f-$t-l "${short[@]}"
	done
}

# The same for peers with the key, encrypted.
add_encrypted() {
	local t size

	for t in stream message memory; do
		case $t in memory) size=(size 1m) ;; *) size=() ;; esac
		rchar add e-$t-l $t listen 10.0.0.1 keys fuzz encrypt on "${short[@]}" "${size[@]}"
	done
}

# What the peer answers: see fuzz.d/fuzzpeer.c.
add_called() {
	local t

	for t in stream message memory; do
		rchar add p-$t $t connect 10.0.0.1:7999/p-$t "${short[@]}"
	done
}

# Programs that run beside a fuzzer.
start() { # COMMAND...
	"$@" &
	programs+=($!)
}

# Bytes that must come through, one file after the other.
honest_writer() {
	local n=0

	while [ ! -e /tmp/stop ]; do
		rio write /dev/rchar/honest-c $((++n)) 2000000 || { touch /tmp/broken; break; }
	done
}
honest_reader() {
	local n=0 got

	while [ ! -e /tmp/stop ]; do
		n=$((n + 1))
		got=$(rio read /dev/rchar/honest-l $n)
		[ "$got" = 2000000 ] || { echo "honest file $n: '$got' bytes"; touch /tmp/broken; break; }
		echo . >>/tmp/honest
	done
}
start_honest() {
	rchar add honest-l stream listen 10.0.0.1
	rchar -w 60 add honest-c stream connect 10.0.0.1/honest-l
	start honest_writer
	start honest_reader
}
stop_honest() {
	[ -s /tmp/honest ] || fail "no honest traffic came through"
	touch /tmp/stop
	# Both end after the file that they are at, or one waits for the other.
	until_true eval '! kill -0 '"${programs[0]}"' 2>/dev/null || ! kill -0 '"${programs[1]}"' 2>/dev/null' ||
		fail "honest traffic stands still"
	[ ! -e /tmp/broken ] || fail "honest traffic was touched"
	echo "honest files $(wc -l </tmp/honest)"
}

# Programs that use whatever there is, while it is changed below them.
traffic() { # CHANNEL COMMAND...
	local node=/dev/rchar/$1

	shift
	while [ ! -e /tmp/stop ]; do
		# It is made anew now and then.
		[ -e "$node" ] || { sleep 0.2; continue; }
		timeout 3 "$@" >/dev/null 2>&1
	done
}
start_traffic() {
	start traffic f-stream-l dd if=/dev/rchar/f-stream-l of=/dev/null bs=64k
	start traffic f-stream-c dd if=/dev/zero of=/dev/rchar/f-stream-c bs=300k count=20 conv=nocreat
	start traffic f-message-l dd if=/dev/rchar/f-message-l of=/dev/null bs=64k
	start traffic f-message-c dd if=/dev/zero of=/dev/rchar/f-message-c bs=3000 count=200 conv=nocreat
	start traffic f-memory-c dd if=/dev/zero of=/dev/rchar/f-memory-c bs=30000 count=30 conv=nocreat,notrunc,fsync
}
disturb() {
	local n=0

	while [ ! -e /tmp/stop ]; do
		# So often: requests have something to change in between.
		sleep 2
		# Only what requests at random have deleted is missing.
		add_fuzzed 0
		[ $((++n % 3)) != 0 ] || { rdma-del; rdma-add; }
	done >/dev/null 2>&1
}

# Should the kernel die: the console has what came last.
tell_console() {
	# A clock: so old the last words may be.
	while sleep 3; do
		tr -d '\0' <"$log" | sort -n | tail -n 4 >/dev/console
	done 2>/dev/null
}

try() { # WHAT
	local what=$1 log=/root/save/$1.log failed=0 begun teller ret

	rm -f /tmp/stop /tmp/honest /tmp/broken
	programs=()
	add_fuzzed || fail "channels could not be made"
	tell_console &
	teller=$!
	begun=$SECONDS
	case $what in
	peer)
		# Half of the links that fuzzpeer makes use this key: 32 bytes, 0 to 31.
		echo AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= | rchar key add fuzz
		add_encrypted
		add_called
		start_honest
		FUZZ_UNTIL=/tmp/honest fuzzpeer --seed "$seed" --seconds "$seconds" --log "$log" 10.0.0.1 ;;
	calls)
		fuzzcalls --seed "$seed" --seconds "$seconds" --log "$log" ;;
	netlink)
		start_traffic 2>/dev/null
		disturb &
		disturber=$!
		fuzznetlink --seed "$seed" --seconds "$seconds" --log "$log" ;;
	*)
		echo "FAILED: no fuzzer '$what'"; exit 2 ;;
	esac >/tmp/out 2>&1
	ret=$?
	echo "seconds $what $((SECONDS - begun))"
	grep -v '^inputs ' /tmp/out
	[ $ret = 0 ] || fail "fuzz$what ended with $ret"
	[ "$what" != peer ] || stop_honest
	touch /tmp/stop
	# It makes channels, and the device, until it ends.
	[ "$what" != netlink ] || wait "$disturber"
	kill $teller
	still_works
	# They end when their channels have gone.
	until_true none_of_them || { fail "programs do not end"; kill -9 "${programs[@]}"; }
	sed -n "s/^inputs /inputs $what /p" /tmp/out
	echo "ended $what $failed"
	return $failed
}

none_of_them() { [ ${#programs[@]} = 0 ] || ! kill -0 "${programs[@]}" 2>/dev/null; }

# The module still does what it should; and for the next fuzzer, there are no channels.
still_works() {
	local name

	timeout 30 rchar version >/dev/null || fail "the module does not answer"
	for name in ns-0 ns-1 ns-2; do
		rchar del $name 2>/dev/null
	done
	timeout 60 rchar del all || fail "'rchar del all'"
	[ -z "$(rchar)" ] || fail "channels are left: $(rchar)"
	rchar add after stream listen 10.0.0.1
	rchar -w 60 add afterwards stream connect 10.0.0.1/after || fail "no connection afterwards"
	[ "$(rio write /dev/rchar/afterwards 1 100000 & timeout 60 rio read /dev/rchar/after 1; wait $!)" = 100000 ] ||
		fail "no bytes afterwards"
	rchar del all
	rchar key del fuzz 2>/dev/null
}

any_failed=0
for what in "$@"; do
	try "$what" || any_failed=1
done
[ $any_failed = 0 ]
