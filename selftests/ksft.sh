# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# KTAP for shell tests, and the few things that many of them do. Source it, call
# 'plan N', then 'run FUNCTION' for each test; a test function fails by returning
# non-zero, and skips with 'skip REASON'. 'finish' ends.
ksft_n=0
ksft_failed=0

plan() {
	echo "TAP version 13"
	echo "1..$1"
}

# A test exits with this, and nothing else does: rchar has a 4 of its own.
skip() {
	echo "$*" >"$ksft_skipped"
	exit 0
}

# What a test measured: shown with its result, whatever that is.
note() { echo "$*" >>"$ksft_notes"; }

# What a test prints becomes diagnostic lines, shown when it fails.
run() {
	local name=$1 out ret start=${EPOCHREALTIME/./}

	out=$(mktemp)
	ksft_skipped=$out.skipped ksft_notes=$out.notes
	# Not in a subshell of a condition: 'set -e' inside the test must work.
	(set -eu; "$@") >"$out" 2>&1
	ret=$?
	ksft_n=$((ksft_n + 1))
	local ms=$(((${EPOCHREALTIME/./} - start) / 1000))
	[ ! -e "$ksft_notes" ] || sed 's/^/# /' "$ksft_notes"
	if [ $ret != 0 ]; then
		ksft_failed=$((ksft_failed + 1))
		sed 's/^/# /' "$out"
		echo "not ok $ksft_n $name"
		# Not to fail the next one too.
		! declare -F after_failure >/dev/null || after_failure >/dev/null 2>&1
	elif [ -e "$ksft_skipped" ]; then
		echo "ok $ksft_n $name # SKIP $(cat "$ksft_skipped")"
	else
		echo "ok $ksft_n $name # ${ms} ms"
	fi
	rm -f "$out" "$ksft_skipped" "$ksft_notes"
}

finish() {
	echo "# $((ksft_n - ksft_failed)) passed, $ksft_failed failed"
	[ "$ksft_failed" = 0 ]
}

# until_true SECONDS COMMAND... - poll a condition; no bare sleeps.
until_true() {
	local end=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "never true: $*"; return 1; }
		sleep 0.05
	done
}

# expect_status N COMMAND... - the command must exit with N; shows its output.
expect_status() {
	local want=$1 ret=0

	shift
	"$@" || ret=$?
	[ "$ret" = "$want" ] || { echo "exit $ret, expected $want: $*"; return 1; }
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

# qps HOST - RC queue pairs on that host; nothing else here has one
qps() { on "$1" rdma resource show qp | grep -c 'type RC' || true; }
