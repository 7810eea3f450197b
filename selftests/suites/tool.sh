#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tool.sh RCHAR RCHAR-PERF - what the tools say to a command line, without any kernel: each
# mistake gets one line that names it, and exit status 1.
cd "$(dirname "$0")/.." || exit
. lib/ksft.sh
rchar=$1 perf=$2

# refused PROGRAM TEXT ARG... - exit 1, one line, with that text
refused() {
	local program=$1 want=$2 out ret=0

	shift 2
	out=$("$program" "$@" 2>&1) || ret=$?
	[ $ret = 1 ] || { echo "exit $ret: $*: $out"; return 1; }
	[[ $out == "${program##*/}":*"$want"* ]] || { echo "$*: '$out' does not say '$want'"; return 1; }
	[ "$(wc -l <<<"$out")" = 1 ] || { echo "more than a line: $out"; return 1; }
}

says() { refused "$rchar" "$@"; }
perf_says() { refused "$perf" "$@"; }

unknown_command() { says "'frob' is not a command" frob; says "'sho' is not a command" sho; }
unknown_option() { "$rchar" -Z 2>&1 | grep -q "see 'rchar help'"; expect_status 1 "$rchar" -Z; }
missing_words() {
	says "name of the channel is missing" add
	says "type (stream, message or memory) is missing" add x
	says "role (listen or connect) is missing" add x stream
	says "address to listen at is missing" add x stream listen
	says "peer's address is missing" add x stream connect
	says "address after 'from' is missing" add x stream connect 10.0.0.1 from
	says "value of window is missing" add x stream listen 10.0.0.1 window
	says "name of the channel, or 'all', is missing" del
	says "set what?" set x
	says "the value of size is missing" add x memory listen 10.0.0.1 size
	says "name of the key is missing" key add
	says "name of the key is missing" key del
	says "value of keys is missing" add x stream listen 10.0.0.1 keys
}
wrong_words() {
	says "'strem' is not a type" add x strem listen 10.0.0.1
	says "'lisen' is not a role" add x stream lisen 10.0.0.1
	says "'windw' is not a setting" add x stream listen 10.0.0.1 windw 1m
	says "'more' is one word too many" del x more
	says "'size' cannot be set; there are: key keys allow mode" set x size 1m
	says "'window' is given twice" add x stream listen 10.0.0.1 window 1m window 2m
	says "'keys' is given twice" add x stream listen 10.0.0.1 key a keys b
	says "'from' is given twice" add x stream connect 10.0.0.2 from 10.0.0.1 window 1m from 10.0.0.1
	says "'from' is of a channel that connects" add x stream listen 10.0.0.2 from 10.0.0.1
	says "'all' is no name of a channel" add all stream listen 10.0.0.1
	says "'set' has no option --exist-ok" set x window 1m --exist-ok
	says "'add' has no option --if-exists" add x stream listen 10.0.0.1 --if-exists
	says "'save' has no option --dry-run" save --dry-run
	says "'link' has no option -w" link -w 3
	says "-w needs the name of a channel" show -w 3
	says "cannot be set" set x peer 10.0.0.2
	says "size: 'much' is not a number" add x memory listen 10.0.0.1 size much
	says "size: 'x' is not k, m or g" add x memory listen 10.0.0.1 size 1x
	says "is too large" add x memory listen 10.0.0.1 size 99999999999999999999
	says "'rx' is not ro or rw" add x memory listen 10.0.0.1 size 1m access rx
	says "'no' is not sw or hw" add x memory listen 10.0.0.1 size 1m atomics no
	says "not an id" link reset xyz
	says "not an id" link show xyz
	says "'more' is one word too many" session show x more
	says "is not NAME, LINK or LINK/SESSION" session show x/y
	says "'frob': gen, add, del or show is expected" key frob
	says "'shw': show or reset is expected" link shw
	says "'rset': show or kill is expected" session rset
	says "'more' is one word too many" key gen more
	says "has an empty part" add x stream listen 10.0.0.1 keys a,,b
	says "key: /nonexistent: No such file" key add k /nonexistent
	says "does not hold a key" key add k /dev/null
	says "'none' is no name of a key" key add none /dev/null
	says "'none' is no name of a key" add x stream listen 10.0.0.1 keys a,none
	says "every: at least 1 is expected" stats every 0
	says "not LINK/SESSION" session kill 12
}
addresses() {
	says "']' is missing" add x stream listen '[fd00::1'
	says "only :PORT may follow" add x stream listen '[fd00::1]7471'
	says "not 1 to 65535" add x stream listen 10.0.0.1:0
	says "is too large" add x stream listen 10.0.0.1:99999999999
	says "not 1 to 65535" add x stream listen 10.0.0.1:70000
	says "not a number" add x stream listen 10.0.0.1:abc
	says "after '/' is missing" add x stream connect 10.0.0.1/
	says "'10.0.0' is not an IPv4 or IPv6 address" add x stream listen 10.0.0.1 allow 10.0.0
	says "after '/' is 0 to 32" add x stream listen 10.0.0.1 allow 10.0.0.0/33
	says "after '/' is 0 to 128" add x stream listen 10.0.0.1 allow fd00::/129
	says "is not a number" add x stream listen 10.0.0.1 allow 10.0.0.0/x
	says "address 'no.such.host.invalid'" add x stream connect no.such.host.invalid
}
numbers() {
	says "not k, m or g" add x stream listen 10.0.0.1 window 1x
	says "is too large" add x stream listen 10.0.0.1 window 99g
	says "is not a number" add x stream listen 10.0.0.1 window lots
	says "wants a unit" add x stream listen 10.0.0.1 linger 5
	says "is not a number" add x stream listen 10.0.0.1 backlog 5k
	says "octal" add x stream listen 10.0.0.1 mode 0999
	says "there is no user" add x stream listen 10.0.0.1 uid no-such-user
	says "there is no group" add x stream listen 10.0.0.1 gid no-such-group
	says "is not a number" -w soon show
	says "-w must be at most 2147483" -w 4294967295 show x
}
output_that_is_lost_is_a_failure() {
	local option

	for option in -d -j -p; do
		expect_status 1 eval '"$rchar" $option version >/dev/full 2>/tmp/words'
		grep -q '^rchar: standard output: No space left on device$' /tmp/words
	done
}
help_and_version() {
	"$rchar" help | grep -q '^usage: rchar'
	"$rchar" -h | cmp - <("$rchar" help)
	[ "$("$rchar" -V)" = "rchar $(cat ../VERSION)" ]
	# Every command is in the help, and in the manual.
	local c
	for c in add set del show check save apply key link session stats top trace metrics cdi monitor version help; do
		"$rchar" help | grep -q "^  $c " || { echo "no $c in the help"; return 1; }
		grep -q "^\.SS .*$c" ../Documentation/rchar.8 || { echo "no $c in the manual"; return 1; }
	done
}
# Files of 'apply': whatever is wrong is found before the module is asked.
configurations() {
	local dir

	dir=$(mktemp -d)
	file_says() { # TEXT LINE...
		local want=$1

		shift
		printf '%s\n' "$@" >"$dir/conf"
		says "$dir/conf:$want" apply --dry-run "$dir/conf"
	}
	file_says "1: 'frob' cannot stand here; a configuration has 'add NAME" frob
	file_says "2: 'set' cannot stand here" "" "set x window 1m"
	file_says "1: 'key' cannot stand here" "key gen"
	file_says "3: the type (stream, message or memory) is missing" "# one" "  # two" "add x"
	file_says "1: window: 'x' is not k, m or g" "add x stream listen 10.0.0.1 window 1x"
	file_says "1: 'all' is no name of a channel" "add all stream listen 10.0.0.1"
	file_says "2: channel 'x' is added already: $dir/conf:1" \
		"add x stream listen 10.0.0.1" "add x stream listen 10.0.0.2"
	file_says "1: key: the file 'k' must begin with '/'" "key add k k"
	file_says "1: key: the file '-' must begin with '/'" "key add k -"
	file_says "1: the file of the key is missing" "key add k"
	file_says "1: key: $dir/nosuch: No such file" "key add k $dir/nosuch"
	file_says "1: key: /dev/null does not hold a key" "key add k /dev/null"
	(umask 077; "$rchar" key gen >"$dir/k")
	file_says "2: key 'k' is added already: $dir/conf:1" "key add k $dir/k" "key add k $dir/k"
	file_says "2: key 'l' has the secret of key 'k': $dir/conf:1" "key add k $dir/k" "key add l $dir/k"
	file_says "1: '-k' is no name of a key" "key add -k $dir/k"
	file_says "1: no line adds the key 'k'" "add x stream listen 10.0.0.1 keys k"
	says "$dir: is not a file" apply --dry-run "$dir"
	says "$dir/nosuch: No such file" apply --dry-run "$dir/nosuch"
	# A good one comes as far as the module, which may not be here.
	printf '%s\r\n' "add x stream listen 10.0.0.1 keys k # of b" "key add k $dir/k" "" >"$dir/conf"
	"$rchar" apply --dry-run "$dir/conf" || [ $? != 1 ]
	"$rchar" apply --dry-run - <"$dir/conf" || [ $? != 1 ]
	says "standard input:1: 'x' cannot stand here" apply --dry-run - <<<x
	rm -r "$dir"
}
# completes TO LINE... - these words may be the last one of the line, and no others
completes() {
	local want=$1 out

	shift
	out=$("$rchar" complete -- "$@" | tr '\n' ' ')
	[ "$out" = "$want${want:+ }" ] || { echo "'$out', not '$want': $*"; return 1; }
}
words_are_completed() {
	completes "set show save session stats" s
	completes "" frob ""
	completes "stream message memory" add x ""
	completes "message memory" add x m
	completes "listen connect" add x stream ""
	completes "ro rw" add x memory listen 10.0.0.1 size 1m access ""
	completes "mode max-message" add x message listen 10.0.0.1 m
	completes "mode" add x stream listen 10.0.0.1 m
	completes "frame from" add x stream connect 10.0.0.1 key k f
	completes "window-max" add x stream connect 10.0.0.1 window 1m w
	completes "" add x stream connect 10.0.0.1 window 1m window-max 2m w
	completes "none" add x stream connect 10.0.0.1 key no
	completes "key keepalive" check 10.0.0.1 ke
	completes "none" check 10.0.0.1/x key no
	completes "root" add x stream connect 10.0.0.1 uid roo
	completes "127.0.0.1" add x stream listen 127.0.0
	completes "show gen add del" key ""
	completes "all" del al
	completes "show" -j -w 3 sho
	completes "" -w ""
	completes "--json" del --j
	completes "--exist-ok" add --ex
	completes "--exist-ok" key add --ex
	completes "--if-exists" del x --if
	completes "--dry-run" apply --dr
	completes "" set --dr
	# Every setting can be given.
	local setting out
	out=$(for setting in "stream listen" "message connect" "memory listen"; do
		# shellcheck disable=SC2086 # words
		"$rchar" complete -- add x $setting 10.0.0.1 ""
	done)
	for setting in $("$rchar" add x stream listen 10.0.0.1 frob 2>&1 | sed 's/.*there are://'); do
		grep -qx "$setting" <<<"$out" || { echo "no $setting"; return 1; }
	done
}
bash_completes() {
	local dir

	dir=$(mktemp -d)
	ln -s "$rchar" "$dir/rchar"
	# What bash sets before it calls the function, and what it would put into the line.
	cat >"$dir/try" <<-'TRY'
		. "$1"
		COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDBREAKS=$' :='
		complete -p rchar >/dev/null && _rchar
		echo "${COMPREPLY[*]}"
	TRY
	tries() { PATH=$dir:$PATH bash "$dir/try" ../tools/completion/rchar "$1"; }
	[ "$(tries 'rchar add x str')" = stream ]
	[ "$(tries 'rchar add x stream ')" = "listen connect" ]
	[ "$(tries 'rchar  add x stream listen [::')" = '1]' ]
	[ "$(tries 'rchar add x stream connect [fd00::1]:7472/x from 127.0.0')" = 127.0.0.1 ]
	[ "$(tries 'rchar apply ')" = "" ]
	rm -r "$dir"
}
zsh_completes() {
	local dir

	command -v zsh >/dev/null || skip "no zsh here"
	dir=$(mktemp -d)
	ln -s "$rchar" "$dir/rchar"
	# What zsh calls, in place of the line editor.
	cat >"$dir/try" <<-'TRY'
		compadd() { print -- $fit }
		_files() { print files }
		script=$1
		shift
		words=("$@") CURRENT=$#
		. $script
	TRY
	tries() { PATH=$dir:$PATH zsh -f "$dir/try" ../tools/completion/_rchar "$@"; }
	[ "$(tries rchar add x str)" = stream ]
	[ "$(tries rchar add x stream '')" = "listen connect" ]
	[ "$(tries rchar apply '')" = files ]
	rm -r "$dir"
}
unknown_netns() { says "network namespace 'nosuch'" -n nosuch show; }

perf_wrong_words() {
	perf_says "what to do" -j
	perf_says "endpoint is missing" serve
	perf_says "is expected" frob /dev/rchar/x
	perf_says "one word too many" serve /dev/rchar/x y
	perf_says "tcp:HOST:PORT" serve tcp:10.0.0.1
	perf_says "1 to 67108864 is expected" bandwidth /dev/rchar/x -s 65m
	perf_says "1 to 67108864 is expected" bandwidth /dev/rchar/x -s 0
	perf_says "seconds are expected" bandwidth /dev/rchar/x -t soon
	perf_says "'-t' is not an option of latency" latency /dev/rchar/x -t 3
	perf_says "'-n' is not an option of bandwidth" bandwidth /dev/rchar/x -n 3
	perf_says "'-s' is not an option of serve" serve /dev/rchar/x -s 3
	perf_says "sessions: one size is expected" sessions /dev/rchar/x -s 1k,2k
	perf_says "No such file or directory" bandwidth /dev/rchar/nosuch
	perf_says "Connection refused" open tcp:127.0.0.1:1
	"$perf" -Z 2>&1 | grep -q "see 'rchar-perf --help'"
}
perf_help() {
	local option

	"$perf" -h | grep -q '^usage: rchar-perf'
	for option in s t n c d w q 1 T j; do
		"$perf" -h | grep -q "^  -$option, " || { echo "no -$option in the help"; return 1; }
		grep -q "^\.BR .*$option \", \"" ../Documentation/rchar-perf.1 || { echo "no -$option in the manual"; return 1; }
	done
}
# Both ends, over what is here without RDMA.
perf_over_tcp() {
	local server out port=$((20000 + $$ % 10000))

	"$perf" serve tcp:127.0.0.1:$port "$@" &
	server=$!
	until_true "$perf" open tcp:127.0.0.1:$port -n 1
	for out in "bandwidth -s 1,64k -t 0.1" "latency -n 20" "open -n 5" "sessions -c 1,20 -t 0.1"; do
		# shellcheck disable=SC2086 # words
		"$perf" ${out%% *} tcp:127.0.0.1:$port ${out#* } -j >/tmp/perf.$$
		grep -q '"type":"tcp"' /tmp/perf.$$
	done
	echo 'not of rchar-perf' >/dev/tcp/127.0.0.1/$port
	"$perf" latency tcp:127.0.0.1:$port -n 1
	kill $server
	wait $server || true
	rm -f /tmp/perf.$$
}
perf_serves_with_threads() { perf_over_tcp -T; }

plan 17
run unknown_command
run unknown_option
run missing_words
run wrong_words
run addresses
run numbers
run output_that_is_lost_is_a_failure
run configurations
run words_are_completed
run bash_completes
run zsh_completes
run help_and_version
run unknown_netns
run perf_wrong_words
run perf_help
run perf_over_tcp
run perf_serves_with_threads
finish
