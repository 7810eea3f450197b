#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What an administrator looks at: 'rchar top', tables on a terminal, 'rchar trace'. Two machines; b
# opens channels of a. tmux is the terminal: a real one, of 80 columns and 24 lines.
. lib/ksft.sh
export LC_ALL=C.UTF-8
set_up=channels_are_up

clean() {
	tmux kill-server 2>/dev/null || true
	rchar del all
	on b rchar del all
}
channels_are_up() {
	clean
	rchar add inbox stream listen 10.0.0.1
	rchar add other message listen 10.0.0.1
	on b rchar -w "$limit" add outbox stream connect 10.0.0.1/inbox
}

# ---- a terminal ----

terminal() { # COMMAND [COLUMNS LINES] - that runs in it, and then says how it ended
	tmux -u new-session -d -x "${2:-80}" -y "${3:-24}" "$1; echo ended with \$?; exec sleep 9999"
}
screen() { tmux capture-pane -p "$@"; }
colours() { screen -e; }
type_keys() { tmux send-keys "$@"; }
shows() { screen | grep -qE "$1"; }
shows_not() { ! shows "$1"; }

# b writes as fast as it can, a reads; until stop_traffic
start_traffic() {
	(on b 'exec cat /dev/zero >/dev/rchar/outbox' 2>/dev/null || true) &
	cat /dev/rchar/inbox >/dev/null &
	reader=$!
	until_true eval '[ "$(counter a "rchar -j session" rx_bytes)" -gt 1000000 ]'
}
stop_traffic() {
	kill "$reader"
	wait || true
}

top_shows_what_moves() {
	start_traffic
	terminal 'rchar top'
	until_true shows '^inbox +stream +listening +100 +1 +0 +[0-9.]+[kM] +0 .*[▁-█]'
	# Lines without traffic have no graph.
	until_true shows '^other +message +listening +100 +0 +0 +0 +0 *$'
	until_true shows '^rchar top .* channels 2 links 1 sessions 1 +rx [0-9.]+[kM]B/s tx 0B/s'
	type_keys s
	until_true shows '^SESSION +CHANNEL .*'
	until_true shows '^[0-9]+/[0-9]+ +inbox +open +[0-9.]+[kM] '
	type_keys l
	until_true shows '^[0-9]+ +from 10.0.0.2:[0-9]+ +up +1 +[0-9.]+[kM] .*[0-9][um]s'
	stop_traffic
	until_true shows '^[0-9]+ +from 10.0.0.2:[0-9]+ +up +0 +0 +0 '
	type_keys q
	until_true shows '^ended with 0'
}

top_follows_the_keys() {
	terminal 'rchar top'
	until_true shows '^CHANNEL'
	until_true eval '[ "$(screen | grep -nE "^(inbox|other)" | head -n1 | cut -d: -f2 | cut -c1-5)" = inbox ]'
	type_keys r
	until_true eval '[ "$(screen | grep -E "^(inbox|other)" | head -n1 | cut -c1-5)" = other ]'
	type_keys / box Enter
	until_true shows_not '^other'
	until_true shows '^inbox'
	until_true shows "^channels with 'box'"
	type_keys Escape
	until_true shows '^other'
	# A link, and its lanes.
	type_keys Tab
	until_true shows '^LINK'
	type_keys Enter
	until_true shows '^LANE +DEVICE'
	until_true shows '^ *0 +rxe0/1 .* 64k '
	type_keys Escape
	until_true shows '^LINK'
	type_keys '?'
	until_true shows 'sort the other way'
	type_keys '?'
	until_true shows_not 'sort the other way'
	type_keys c Space
	until_true shows ' paused *$'
	rchar add third stream listen 10.0.0.1
	type_keys Space
	until_true shows '^third'
	type_keys q
	until_true shows '^ended with 0'
	rchar del third
}

# Names, addresses and keys of the greatest length. No line is wider than the terminal.
top_fits_the_terminal() {
	local i name=a23456789012345678901234567890b

	rchar add "$name" stream listen "[fd00::1]"
	rchar add c2 stream connect "[fd00::2]:65535/$name"
	terminal 'rchar top' 60 8
	until_true shows '^CHANNEL'
	until_true shows '^(a23456|c2)'
	for i in 'c CHANNEL' 'l LINK' 's SESSION'; do
		type_keys "${i% *}"
		until_true shows "^${i#* }"
		[ "$(screen | wc -l)" -le 8 ]
		# A line that is too long would go on in the next.
		[ "$(screen | grep -cE '^(rchar top|CHANNEL|LINK|SESSION)')" = 2 ]
	done
	# More lines than fit: the selected one is in sight.
	for i in 1 2 3 4 5 6 7 8; do rchar add "n$i" stream listen "10.0.0.1"; done
	type_keys c Escape
	until_true shows '^n1'
	type_keys Down Down Down Down Down Down Down Down Down Down Down Down Down
	until_true shows '^other'
	shows_not '^a23456'
	# And the terminal may change.
	tmux resize-window -x 100 -y 30
	until_true eval 'shows "^a23456" && shows "^other"'
	type_keys q
	until_true shows '^ended with 0'
	channels_are_up
}

top_outlives_the_module() {
	on b rchar del all
	rchar del all
	terminal 'rchar top'
	until_true shows '^CHANNEL'
	rmmod rdma_char
	until_true shows 'rdma_char is not loaded|module'
	insmod autoload/rdma_char.ko
	rchar add again stream listen 10.0.0.1
	until_true shows '^again'
	type_keys C-c
	until_true shows '^ended with 0'
	channels_are_up
}

top_needs_a_terminal() {
	expect_status 1 rchar top >/tmp/out 2>&1 </dev/null
	rchar top 2>&1 </dev/null | grep -q "^rchar: top: this is no terminal"
	terminal 'TERM=nonesuch rchar top'
	until_true shows '^ended with 1'
	shows "^rchar: top: the terminal 'nonesuch' is not known here"
	tmux kill-server
	expect_status 1 rchar top every 0
	expect_status 1 rchar top every
	expect_status 1 rchar top faster
}

lists_are_tables_on_a_terminal() {
	rchar add broken stream connect 10.0.0.2/nothing
	until_true eval 'rchar show broken | grep -q reason'
	terminal 'rchar; rchar link; rchar session' 120 40
	until_true shows '^ended with 0'
	shows '^CHANNEL +TYPE +ADDRESS +KEY +STATE +SESSIONS'
	shows '^inbox +stream +at 10.0.0.1:7471 +listening +0'
	shows '^broken +stream +to 10.0.0.2:7471/nothing '
	shows '^    not-listening: the peer is there'
	shows '^LINK +PEER'
	colours | grep -q $'\033\\[32mlistening'
	tmux kill-server
	terminal 'NO_COLOR=1 rchar' 120 40
	until_true shows '^ended with 0'
	expect_status 1 eval "colours | grep -q $'\033'"
	# Not where a program reads.
	rchar | grep -q '^inbox: stream listen 10.0.0.1:7471$'
	rchar del broken
}

# ---- trace ----

# ARG... - 'rchar trace' into /tmp/trace, until stop_trace
start_trace() {
	# Without the sessions of the test: they end when the test closes them.
	rchar trace "$@" >/tmp/trace 2>&1 5>&- 6>&- &
	tracer=$!
	until_true eval 'grep -qs 1 /sys/kernel/tracing/instances/rchar-$tracer/events/rdma_char/rchar_frame_rx/enable'
}
stop_trace() {
	kill "$tracer"
	wait "$tracer"
	[ -z "$(ls /sys/kernel/tracing/instances)" ]
}
link_of() { rchar -j link | grep -o '"link":"[0-9]*"' | head -n1 | tr -dc 0-9; }

# What a trace has of a session that carries six bytes, from its beginning to its end.
trace_hello() { # ARG...
	start_trace "$@"
	on b 'echo hello >/dev/rchar/outbox' &
	[ "$(cat /dev/rchar/inbox)" = hello ]
	wait %2
	until_true grep -q 'closing -> dead' /tmp/trace
	stop_trace
	cat /tmp/trace
}

trace_tells_a_session_in_words() {
	trace_hello
	grep -qE ' [0-9]+/[0-9]+ +<= OPEN \(a program opens the channel\) [0-9]+ bytes seq [0-9]+' /tmp/trace
	grep -qE ' [0-9]+/[0-9]+ +=> OPENED \(the session is open\)' /tmp/trace
	grep -qE ' [0-9]+/[0-9]+ +<= DATA 6 bytes seq [0-9]+' /tmp/trace
	grep -qE ' [0-9]+/[0-9]+ +<= FIN \(no more data follows\)' /tmp/trace
	grep -qE ' [0-9]+/[0-9]+ +open -> closing' /tmp/trace
}

trace_follows_one_session() {
	local link id

	link=$(link_of)
	(on b 'exec cat /dev/rchar/outbox' || true) >/tmp/first &
	exec 5>/dev/rchar/inbox
	(on b 'exec cat /dev/rchar/outbox' || true) >/tmp/second &
	exec 6>/dev/rchar/inbox
	id=$(rchar -j session | grep -o '"session":[0-9]*' | head -n1 | tr -dc 0-9)
	start_trace "$link/$id"
	echo one >&5
	echo two >&6
	exec 5>&- 6>&-
	wait %1 %2 || true
	until_true grep -q 'DATA 4 bytes' /tmp/trace
	until_true eval '[ "$(counter a "rchar -j link" sessions)" = 0 ]'
	stop_trace
	cat /tmp/trace
	[ "$(grep -c 'DATA 4 bytes' /tmp/trace)" = 1 ]
	# Frames of the other session, and of the lane, are not there.
	[ "$(grep -cE '[<=][=>] ' /tmp/trace)" = "$(grep -cE " $link/$id +[<=][=>] " /tmp/trace)" ]
}

trace_says_why_a_link_fell() {
	local link

	link=$(link_of)
	start_trace "$link"
	rchar link reset "$link"
	until_true eval '[ "$(counter b "rchar -j link" connects)" = 2 ]'
	until_true grep -q 'lane 0 greeting -> up' /tmp/trace
	stop_trace
	cat /tmp/trace
	grep -qE "^ +[0-9.]+ $link +up -> down: admin" /tmp/trace
	grep -qE "^ +[0-9.]+ $link +CM: " /tmp/trace
	grep -qE "^ +[0-9.]+ $link +=> READY \(the acceptor proves its key" /tmp/trace
}

trace_in_json() {
	trace_hello -j
	grep -q '"closing -> dead"' /tmp/trace
	grep -qE '^\{"event":"frame_rx","time_s":"[0-9.]+","text":"<= DATA 6 bytes .*","link":"[0-9]+","session":[0-9]+\}$' /tmp/trace
}

trace_ends_in_time_and_leaves_nothing() {
	rchar -w 1 trace >/dev/null
	[ -z "$(ls /sys/kernel/tracing/instances)" ]
	# A reader that goes.
	start_traffic
	rchar -w "$limit" trace | head -n1
	stop_traffic
	[ -z "$(ls /sys/kernel/tracing/instances)" ]
	expect_status 6 rchar trace 999999
	expect_status 6 rchar trace 999999/1
	expect_status 1 rchar trace nothing
	expect_status 1 rchar trace 1/x
	[ -z "$(ls /sys/kernel/tracing/instances)" ]
}

with_itself() { rchar link | sed -n 's/^\([0-9]*\): [a-z]* 10\.0\.0\.1:.*/\1/p'; }
# Both have the same id on the wire.
trace_knows_both_ends_of_a_link_with_itself() {
	local link

	rchar add near stream listen 10.0.0.1:7499
	rchar -w "$limit" add far stream connect 10.0.0.1:7499/near
	until_true eval '[ "$(with_itself | wc -l)" = 2 ]'
	for link in $(with_itself); do
		rchar -w 1 trace "$link"
	done
	rchar del far
	rchar del near
}

plan 12
run top_shows_what_moves
run top_follows_the_keys
run top_fits_the_terminal
run top_outlives_the_module
run top_needs_a_terminal
run lists_are_tables_on_a_terminal
run trace_tells_a_session_in_words
run trace_follows_one_session
run trace_says_why_a_link_fell
run trace_in_json
run trace_ends_in_time_and_leaves_nothing
run trace_knows_both_ends_of_a_link_with_itself
clean
finish
