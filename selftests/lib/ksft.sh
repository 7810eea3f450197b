# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# KTAP for shell tests, and the few things that many of them do. Source it, call
# 'plan N', then 'run FUNCTION' for each test; a test function fails by returning
# non-zero, and skips with 'skip REASON'. 'finish' ends.
#
# With names of tests in VM_TEST, separated by commas, the others are skipped; with some in
# VM_WITHOUT, those. A suite whose tests share something that an earlier one makes (channels,
# say) names the function that makes it in 'set_up'. It is called before the first test that
# wants it, and again after a test that failed; it may be one of the tests.
ksft_n=0
ksft_failed=0
ksft_left_out=0
ksft_fresh=1	# nobody has called set_up since the machines were in their first state
set_up=''
exec 9>&2	# for words of ours that a test does not redirect

# How long, in seconds, something may take that must happen. Not a statement about speed: a
# hang of one test shall not cost the whole suite.
limit=$((120 * ${VM_PATIENCE:-1}))

plan() {
	echo "TAP version 13"
	echo "1..$1"
}

# A test exits with this, and nothing else does: rchar has a 4 of its own.
skip() {
	echo "$*" >"$ksft_skipped"
	exit 0
}

# The newest kernel of this host that has headers, or nothing.
newest_headers() { (cd /lib/modules && ls -d -- */build) | sed 's|/build||' | sort -V | tail -n1; }

# What a test measured: shown with its result, whatever that is.
note() { echo "$*" >>"$ksft_notes"; }

is_wanted() {
	[[ ,${VM_WITHOUT:-}, != *,"$1",* ]] && { [ -z "${VM_TEST:-}" ] || [[ ,$VM_TEST, == *,"$1",* ]]; }
}

# The trap of a command that fails, and so ends its test: which, where, and who called.
# In a command substitution, or in the background, a failure is nobody's yet.
failed_at() { # STATUS LINE COMMAND
	local i file line=$2

	[ "$BASH_SUBSHELL" = "$ksft_level" ] || return 0
	{
		echo "exit status $1: $3"
		for ((i = 1; i < ${#FUNCNAME[@]}; i++)); do
			[ "${FUNCNAME[i]}" != ksft_test ] || break
			file=$(readlink -f "${BASH_SOURCE[i]}")
			echo "  ${file##*/}:$line: ${FUNCNAME[i]}: $(sed -n "${line}s/^[[:space:]]*//p" "$file")"
			line=${BASH_LINENO[i]}
		done
	} >&9
}

# A test that failed leaves nobody in the background.
ended_with() { # STATUS
	trap - ERR
	set +e
	# shellcheck disable=SC2046 # words
	[ "$1" = 0 ] || kill $(jobs -p) 2>/dev/null
}

# A test in a shell of its own. Not in a subshell of a condition: 'set -e' must work.
ksft_test() ( # FUNCTION...
	ksft_level=$BASH_SUBSHELL
	set -eEu
	trap 'failed_at $? "$LINENO" "$BASH_COMMAND"' ERR
	trap 'ended_with $?' EXIT
	if [ "$ksft_fresh" = 1 ] && [ -n "$set_up" ] && [ "$set_up" != "$1" ]; then
		"$set_up"
	fi
	"$@"
)

# Links end after the commands that end them have returned. Those of the test before shall not be
# this one's; but they may be down for good.
no_link_ends() {
	local host

	for host in $(machines); do
		timeout $((2 * ${VM_PATIENCE:-1})) on "$host" "rchar link 2>/dev/null | awk '
			/^[0-9]*: / { theirs = /: from / }
			/^ *state dying/ || (theirs && /^ *state down/) { ends = 1 }
			END { exit ends }'" 2>/dev/null || return
	done
}
settle() {
	local end=$((SECONDS + 2 * ${VM_PATIENCE:-1}))

	until no_link_ends || [ $SECONDS -ge $end ]; do nap 50; done
}

# What a test prints becomes diagnostic lines, shown when it fails.
run() {
	local name=$1 out ret ms start

	ksft_n=$((ksft_n + 1))
	is_wanted "$name" || {
		ksft_left_out=$((ksft_left_out + 1))
		echo "ok $ksft_n $name # SKIP not asked for"
		return
	}
	out=$(mktemp)
	ksft_skipped=$out.skipped ksft_notes=$out.notes
	settle
	start=${EPOCHREALTIME/./}
	ksft_test "$@" >"$out" 2>&1 9>&1
	ret=$?
	ms=$(((${EPOCHREALTIME/./} - start) / 1000))
	[ ! -e "$ksft_notes" ] || sed 's/^/# /' "$ksft_notes"
	ksft_fresh=0
	if [ $ret != 0 ]; then
		ksft_failed=$((ksft_failed + 1))
		# No pipe: what is at its end would not survive restore.
		{ kernel_logs; restore; } >>"$out" 2>&1
		sed 's/^/# /' "$out"
		ksft_fresh=1
		echo "not ok $ksft_n $name # $ms ms"
	elif [ -e "$ksft_skipped" ]; then
		echo "ok $ksft_n $name # SKIP $(cat "$ksft_skipped")"
	else
		echo "ok $ksft_n $name # $ms ms"
	fi
	rm -f "$out" "$ksft_skipped" "$ksft_notes"
}

finish() {
	echo "# $((ksft_n - ksft_failed - ksft_left_out)) passed, $ksft_failed failed"
	[ "$ksft_failed" = 0 ]
}

# The machines of the bench; none when the tests run elsewhere.
machines() { ! command -v vm-hosts >/dev/null || vm-hosts; }

# The end of each machine's kernel log.
kernel_logs() {
	local host

	for host in $(machines); do
		echo "--- the end of the kernel's log of $host"
		timeout -k 5 20 on "$host" 'dmesg | tail -n 15'
	done
}

# No test fails because of the one before: all machines get into the state in which they
# booted. A suite that needs what was there defines a function of its own.
restore() {
	local host hosts

	hosts=$(machines)
	# One may be about to boot, or stand still: see vm-host.
	for host in $hosts; do
		until_true timeout 10 on "$host" '[ ! -e /run/restarts ]' || return
	done
	for host in $hosts; do on "$host" vm-reset stop; done
	for host in $hosts; do
		on "$host" vm-reset &
		# It may hang, of what the test has found.
		until_true eval "! kill -0 $! 2>/dev/null" || { echo "$host keeps its state"; continue; }
		wait $! || echo "$host could not be brought into its first state"
	done
}

# nap MS - less than a second. In an emulated machine a program costs more than this may be worth: it
# is read() of what nobody ever writes.
ksft_never=$(mktemp -u)
mkfifo "$ksft_never"
exec {ksft_silence}<>"$ksft_never"
rm "$ksft_never"
nap() {
	local seconds

	printf -v seconds '0.%03d' "$1"
	read -rt "$seconds" -u "$ksft_silence" || true
}

# until_true COMMAND... - poll a condition; no bare sleeps. What takes long is asked more rarely, as the
# questions take the time of what they wait for.
until_true() {
	local end=$((SECONDS + limit)) ms=50

	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || {
			echo "never true in $limit s: $*" >&9
			return 1
		}
		nap $ms
		ms=$((ms < 200 ? ms * 5 / 4 : 200))
	done
}

# expect_status N COMMAND... - the command must exit with N; shows its output.
expect_status() {
	local want=$1 ret=0

	shift
	"$@" || ret=$?
	# Without the words of the command, which a grep behind it may look for.
	[ "$ret" = "$want" ] || { echo "exit $ret, expected $want: $1"; return 1; }
}

# state NAME [HOST] - the state of a channel
state() { on "${2:-a}" rchar -j show "$1" | grep -o '"state":"[^"]*"' | cut -d'"' -f4; }
reason() { on "${2:-a}" rchar -j show "$1" | grep -o '"reason":"[^"]*"' | cut -d'"' -f4; }
is_state() { [ "$(state "$1" "${3:-a}")" = "$2" ]; }
is_reason() { [ "$(reason "$1" "${3:-a}")" = "$2" ]; }

# counter HOST COMMAND KEY - a number out of JSON, summed over all objects
counter() {
	on "$1" "$2" | grep -o "\"$3\":[0-9]*" | cut -d: -f2 | awk '{ s += $1 } END { print s + 0 }'
}

# measured TYPE "WORK OPTION..." ENDPOINT - what rchar-perf says on b is of that type of
# channel, and no number of it is 0
measured() {
	local out

	# shellcheck disable=SC2086 # words
	out=$(on b rchar-perf ${2%% *} "$3" ${2#* } -j) || return
	grep -q "\"type\":\"$1\"" <<<"$out" &&
		! grep -E '"(MB/s|IOPS|p50|open_all_ms)":(0(\.0)?[,}]|-|null)' <<<"$out"
}

# with_keepalive SECONDS COMMAND... - the links that begin meanwhile have that interval here. Of the two
# hosts of a link, the one with the shorter interval decides.
with_keepalive() {
	local parameter=/sys/module/rdma_char/parameters/keepalive before

	before=$(cat $parameter)
	echo "$1" >$parameter
	shift
	"$@"
	echo "$before" >$parameter
}

# reset_link HOST - break the link that a host has made; fails when it has none, or several
reset_link() { on "$1" 'rchar link reset $(rchar link | sed -n "s/: to.*//p")'; }

connected_again() { [ "$(counter b 'rchar -j link' connects)" -gt "$1" ]; } # CONNECTS-BEFORE

has_moved() { # HOST CHANNEL KEY BYTES-BEFORE [PROCESS]
	[ "$(counter "$1" "rchar -j stats $2" "$3")" -gt "$4" ] ||
		{ [ -n "${5:-}" ] && ! kill -0 "$5" 2>/dev/null; }
}

# until_moving HOST CHANNEL KEY [PROCESS] - until more bytes have come (KEY rx_bytes) or gone
# (tx_bytes) than now; or until the process that moves them has ended
until_moving() {
	local before

	before=$(counter "$1" "rchar -j stats $2" "$3")
	until_true has_moved "$1" "$2" "$3" "$before" "${4:-}"
}

# registered BYTES - how many memory regions of that length devices of this host have
registered() { rdma resource show mr | grep -c "mrlen $1" || true; }

limits=/sys/kernel/debug/rdma_char/limits
needs_test_build() { [ -d $limits ] || skip "the module is not a test build, or this kernel has no debugfs"; }

# What the adapter lacks, so that peers get no keys, and the exporter's processor does what RDMA does
# elsewhere; or nothing.
lacks() {
	local attribute

	for attribute in max_fast_reg_page_list_len direct_dma; do
		[ "$(cat $limits/$attribute)" = 0 ] || continue
		echo $attribute
		break
	done
}
peers_get_keys() {
	needs_test_build
	[ -z "$(lacks)" ] || skip "as on this adapter, peers get no keys ($(lacks) is 0)"
}

# no_mappings HOST - from now on DMA mappings of 4 KiB and more fail there, as when all bounce
# buffers (swiotlb) are in use
no_mappings() { on "$1" "cat $limits/direct_dma >/tmp/direct_dma; echo 0 >$limits/direct_dma; echo 0 >$limits/bounces"; }
mappings_return() { on "$1" "echo 4294967295 >$limits/bounces; cat /tmp/direct_dma >$limits/direct_dma"; } # HOST

# stalled HOST NUMBER - something there waits for a mapping, after so many map_stalls before
stalled() { [ "$(counter "$1" 'rchar -j link' map_stalls)" -ge $(($2 + 3)) ]; }

# A transfer of bytes that follow from a seed, which a test then gets in the way of.
transfer_bytes=$((64 << 20))
start_transfer() { # HOST CHANNEL [ITS NAME THERE]: from there to here
	rio read "/dev/rchar/$2" 5 >/tmp/got &
	reader=$!
	on "$1" rio write "/dev/rchar/${3:-$2}" 5 $transfer_bytes &
	writer=$!
}

is_moving() { # CHANNEL
	until_true has_moved a "$1" rx_bytes 1000000
}

end_transfer() {
	wait "$writer"
	wait "$reader"
	[ "$(cat /tmp/got)" = $transfer_bytes ]
}

# number_of OBJECT NAME KEY - a number out of JSON, of the object (channel, name) of that name
number_of() { grep -o "\"$1\":\"$2\"[^}]*" | grep -o "\"$3\":[0-9]*" | cut -d: -f2; }

# in_the_time_of HOST KEY ONE BYTES OTHER - until the channel ONE has moved more than so many bytes;
# sets moved to what it and the channel OTHER have moved meanwhile
in_the_time_of() {
	local before after name

	before=$(on "$1" rchar -j stats)
	until_true has_moved "$1" "$3" "$2" $(($(number_of name "$3" "$2" <<<"$before") + $4))
	after=$(on "$1" rchar -j stats)
	moved=()
	for name in "$3" "$5"; do
		moved+=($(($(number_of name "$name" "$2" <<<"$after") - $(number_of name "$name" "$2" <<<"$before"))))
	done
}

# shares HOST KEY FAST SLOW BYTES - while FAST moves so many bytes, SLOW moves at most half of that
shares() {
	in_the_time_of "$1" "$2" "$3" "$5" "$4"
	note "$3 ${moved[0]} bytes, $4 ${moved[1]} bytes"
	[ "${moved[0]}" -gt $((2 * moved[1])) ]
	[ "${moved[1]}" -gt 0 ]
}

# Beyond what was in the send queue before, which is at most 20 requests of 256 KiB.
send_queue_is_new() { # HOST KEY CHANNEL
	local before

	before=$(counter "$1" "rchar -j stats $3" "$2")
	until_true has_moved "$1" "$3" "$2" $((before + 20 * 262144))
}

# priorities_count HOST KEY - the channels much and little of b are busy: they share the link
priorities_count() {
	on b rchar set much priority 400
	send_queue_is_new "$1" "$2" much
	shares "$1" "$2" much little 6291456
	on b rchar set much priority 25
	send_queue_is_new "$1" "$2" little
	shares "$1" "$2" little much 6291456
}

# network NETEM... - so it is in both directions, until network_as_before. A suite that has traffic at
# that time first says network_as_before.
network() {
	vm-netem "$@"
	on b vm-netem "$@"
}

network_as_before() { network; }

# A path with so long a delay each way.
long_path() { network delay "$1" limit 100000; } # DELAY

# qps HOST - RC queue pairs on that host; nothing else here has one
qps() { on "$1" rdma resource show qp | grep -c 'type RC' || true; }
