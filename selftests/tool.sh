#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tool.sh RCHAR - what the tool says to a command line, without any kernel: each
# mistake gets one line that names it, and exit status 1.
cd "$(dirname "$0")" || exit
. ./ksft.sh
rchar=$1

# says TEXT ARG... - exit 1, one line, with that text
says() {
	local want=$1 out ret=0

	shift
	out=$("$rchar" "$@" 2>&1) || ret=$?
	[ $ret = 1 ] || { echo "exit $ret: $*: $out"; return 1; }
	[[ $out == rchar:*"$want"* ]] || { echo "$*: '$out' does not say '$want'"; return 1; }
	[ "$(wc -l <<<"$out")" = 1 ] || { echo "more than a line: $out"; return 1; }
}

unknown_command() { says "'frob' is not a command" frob; says "'sho' is not a command" sho; }
unknown_option() { "$rchar" -Z 2>&1 | grep -q "see 'rchar help'"; expect_status 1 "$rchar" -Z; }
missing_words() {
	says "name of the channel is missing" add
	says "type (stream, message or memory) is missing" add x
	says "role (listen or connect) is missing" add x stream
	says "address to listen at is missing" add x stream listen
	says "peer's address is missing" add x stream connect
	says "address behind 'from' is missing" add x stream connect 10.0.0.1 from
	says "value of window is missing" add x stream listen 10.0.0.1 window
	says "name of the channel, or 'all', is missing" del
	says "set what?" set x
	says "the size is missing" add x memory listen 10.0.0.1 size
}
wrong_words() {
	says "'strem' is not a type" add x strem listen 10.0.0.1
	says "'lisen' is not a role" add x stream lisen 10.0.0.1
	says "'windw' is not a setting" add x stream listen 10.0.0.1 windw 1m
	says "'more' is one word too many" del x more
	says "chmod" set x mode 0600
	says "cannot be set" set x peer 10.0.0.2
	says "size: 'much' is not a number" add x memory listen 10.0.0.1 size much
	says "size: 'x' is not k, m or g" add x memory listen 10.0.0.1 size 1x
	says "is too large" add x memory listen 10.0.0.1 size 99999999999999999999
	says "'rx' is not ro or rw" add x memory listen 10.0.0.1 size 1m access rx
	says "'no' is not sw or hw" add x memory listen 10.0.0.1 size 1m atomics no
	says "not an id" link reset xyz
	says "not LINK/SESSION" session kill 12
}
addresses() {
	says "']' is missing" add x stream listen '[fd00::1'
	says "only :PORT may follow" add x stream listen '[fd00::1]7471'
	says "not 1 to 65535" add x stream listen 10.0.0.1:0
	says "is too large" add x stream listen 10.0.0.1:99999999999
	says "not 1 to 65535" add x stream listen 10.0.0.1:70000
	says "not a number" add x stream listen 10.0.0.1:abc
	says "behind '/' is missing" add x stream connect 10.0.0.1/
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
}
help_and_version() {
	"$rchar" help | grep -q '^usage: rchar'
	"$rchar" -h | cmp - <("$rchar" help)
	[ "$("$rchar" -V)" = "rchar $(cat ../VERSION)" ]
	# Every command is in the help, and in the manual.
	local c
	for c in add set del show link session stats monitor version help; do
		"$rchar" help | grep -q "^  $c " || { echo "no $c in the help"; return 1; }
		grep -q "^\.SS .*$c" ../Documentation/rchar.8 || { echo "no $c in the manual"; return 1; }
	done
}
unknown_netns() { says "network namespace 'nosuch'" -n nosuch show; }

plan 8
run unknown_command
run unknown_option
run missing_words
run wrong_words
run addresses
run numbers
run help_and_version
run unknown_netns
finish
