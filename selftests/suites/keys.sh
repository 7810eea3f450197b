#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Keys between two machines: a listens, b connects. Who gets in, who does not, who is told what.
. lib/ksft.sh
. lib/keyed.sh

denied() { counter a 'rchar -j version' requests_denied; }

the_right_key_opens_every_type() {
	pair s stream "keys kb" "key kb"
	pair m message "keys kc,kb" "key kb"
	pair r memory "keys kb size 64k" "key kb"
	until_true is_state s up b
	on b 'echo hello >/dev/rchar/s'
	[ "$(timeout 60 head -n 1 /dev/rchar/s)" = hello ]
	[ "$(opens s)" = ok ]
	[ "$(opens m)" = ok ]
	[ "$(opens r)" = ok ]
	[ "$(denied)" = 0 ]
	# One link for all channels with that key.
	[ "$(on b rchar link | grep -c '10.0.0.1:7471 .*key kb')" = 1 ]
	clean
}

a_wrong_key_is_eacces() {
	local before

	before=$(denied)
	pair s stream "keys kb" "key kc"
	[ "$(opens s)" = EACCES ]
	until_true is_reason s not-authorised b
	[ "$(denied)" -gt "$before" ]
	dmesg | grep -q 'connection request from 10.0.0.2.* refused: not-authorised'
	clean
}

no_key_is_eacces() {
	pair s stream "keys kb" ""
	[ "$(opens s)" = EACCES ]
	until_true is_reason s not-authorised b
	# Not even a link: the request was refused.
	[ "$(rchar link | wc -l)" = 0 ]
	clean
}

a_key_that_only_one_host_has_is_eacces() {
	on b 'rchar key gen | rchar key add mine'
	pair s stream "keys kb" "key mine"
	[ "$(opens s)" = EACCES ]
	on b rchar del s
	on b rchar key del mine
	clean
}

a_key_opens_channels_without_keys() {
	pair s stream "" "key kb"
	until_true is_state s up b
	[ "$(opens s)" = ok ]
	clean
}

# A stranger learns from no answer which names exist.
names_are_not_told() {
	pair secret stream "keys kb" ""
	pair open stream "" ""
	on b rchar add absent stream connect 10.0.0.1
	on b rchar add wrongtype message connect 10.0.0.1/secret
	until_true is_state open up b
	[ "$(opens open)" = ok ]
	[ "$(opens secret)" = EACCES ]
	[ "$(opens absent)" = EACCES ]
	[ "$(opens wrongtype)" = EACCES ]
	[ "$(reason secret b)" = not-authorised ]
	[ "$(reason absent b)" = not-authorised ]
	# Without any guarded channel the answer is exact again.
	rchar set secret keys none
	[ "$(opens absent)" = ECONNREFUSED ]
	clean
}

show_tells_who_may_open() {
	pair s stream "keys kb" "key kb"
	rchar add o stream listen 10.0.0.1
	rchar show s | grep -q 'keys kb$'
	rchar show o | grep -q 'no keys: every host may open it'
	on b rchar show s | grep -q 'key kb$'
	rchar set o allow 10.0.0.0/24,fe80::/10
	rchar show o | grep -q 'no keys: every host may open it from 10.0.0.0/24, fe80::/10'
	clean
}

peers_have_names() {
	local mon writer

	rchar -j monitor >/tmp/events &
	mon=$!
	until_true eval 'rchar add ear stream listen 10.0.0.1:7500; rchar del ear; [ -s /tmp/events ]'
	pair s stream "keys kb" "key kb"
	until_true is_state s up b
	on b 'exec 3>/dev/rchar/s; until [ -e /tmp/go ]; do sleep 0.1; done' &
	writer=$!
	exec 4</dev/rchar/s
	grep -q 'rchar-key:[[:space:]]kb$' /proc/self/fdinfo/4
	rchar link | grep -q 'key kb$'
	rchar session | grep -q 'key kb$'
	rchar -j session | grep -q '"key":"kb"'
	until_true grep -q '"event":"link-state".*"key":"kb"' /tmp/events
	until_true grep -q '"event":"session-state".*"key":"kb"' /tmp/events
	exec 4<&-
	on b touch /tmp/go
	wait $writer
	on b rm -f /tmp/go
	rchar key add kd - <<<"$(rchar key gen)"
	rchar key del kd
	until_true grep -q '{"event":"key-new","name":"kd"[,}]' /tmp/events
	until_true grep -q '{"event":"key-del","name":"kd"[,}]' /tmp/events
	kill $mon
	wait $mon || true
	clean
}

deleting_a_key_ends_what_used_it() {
	pair s stream "keys kb,kc" "key kb"
	pair r memory "keys kb size 64k" "key kb"
	on b rchar add t stream connect 10.0.0.1/s key kc
	until_true is_state s up b
	until_true is_state t up b
	on b 'exec 3<>/dev/rchar/s; echo one >&3; cat <&3; echo "status $?"' >/tmp/ended &
	local loser=$!
	on b 'exec 3>/dev/rchar/t; echo two >&3; until [ -e /tmp/go ]; do sleep 0.1; done; echo three >&3' &
	local keeper=$!
	until_true eval '[ "$(counter a "rchar -j show s" sessions)" = 2 ]'
	[ "$(on b 'dd if=/dev/rchar/r bs=64k count=1 2>/dev/null | wc -c')" = 65536 ]
	rchar key del kb
	# Void before the command returns: the queue pairs left are those of the link of kc.
	[ "$(qps a)" = "$(cat /sys/module/rdma_char/parameters/lanes)" ]
	[ "$(rchar link | grep -A1 'key kb' | grep -c 'state up')" = 0 ]
	until_true eval '[ "$(counter a "rchar -j show s" sessions)" = 1 ]'
	rchar show s | grep -q 'keys kc, kb (deleted)'
	[ "$(opens s)" = EACCES ]
	[ "$(opens r)" = EACCES ]
	# The other key's session lives.
	on b touch /tmp/go
	wait $keeper
	[ "$(timeout 60 cat /dev/rchar/s)" = "$(printf 'two\nthree')" ]
	on b rchar session kill "$(on b rchar session | sed -n 's/: channel s.*//p')" || true
	wait $loser || true
	on b rm -f /tmp/go
	rchar key add kb $dir/kb
	# Another key, though of the same name.
	[ "$(opens s)" = EACCES ]
	rchar set s keys kb,kc
	until_true eval '[ "$(opens s)" = ok ]'
	clean
}

# A link ends after the command that took its last channel. What its peer had is void all the same.
deleting_a_key_waits_for_links_that_end() {
	local delay=/sys/kernel/debug/rdma_char/delay_destroy

	pair s stream "keys kb" "key kb"
	until_true is_state s up b
	on b "echo 60000000 >$delay; rchar del s"
	until_true on b 'grep -qx "delayed 1" /sys/kernel/debug/rdma_char/objects'
	[ "$(qps b)" != 0 ]
	on b rchar key del kb
	[ "$(qps b)" = 0 ]
	on b "echo 0 >$delay; echo $(cat $dir/kb) | rchar key add kb -"
	clean
}

a_deleted_key_of_our_own_is_eacces() {
	pair s stream "keys kb" "key kb"
	until_true is_state s up b
	on b rchar key del kb
	[ "$(opens s)" = EACCES ]
	is_reason s key-deleted b
	on b rchar show s | grep -q 'key kb (deleted)'
	on b "echo $(cat $dir/kb) | rchar key add kb -"
	on b rchar set s key kb
	until_true is_state s up b
	[ "$(opens s)" = ok ]
	clean
}

set_keys_ends_only_who_lost_the_right() {
	pair s stream "keys kb,kc" "key kb"
	on b rchar add t stream connect 10.0.0.1/s key kc
	until_true is_state s up b
	until_true is_state t up b
	on b 'exec 3<>/dev/rchar/s; cat <&3; echo "status $?"' >/tmp/ended &
	local loser=$!
	on b 'exec 3>/dev/rchar/t; until [ -e /tmp/go ]; do sleep 0.1; done; echo kept >&3' &
	local keeper=$!
	until_true eval '[ "$(counter a "rchar -j show s" sessions)" = 2 ]'
	rchar set s keys kc
	wait $loser || true
	grep -q 'status 1' /tmp/ended
	on b touch /tmp/go
	wait $keeper
	[ "$(timeout 60 head -n 1 /dev/rchar/s)" = kept ]
	on b rm -f /tmp/go
	[ "$(opens s)" = EACCES ]
	[ "$(opens t)" = ok ]
	clean
}

# Old and new key on the server, then the new one on the client, then the old one goes.
keys_rotate_under_64_sessions() {
	local server old new

	pair s stream "keys kb" "key kb"
	until_true is_state s up b
	rchar-perf serve /dev/rchar/s -T >/dev/null &
	server=$!
	on b 'rchar-perf sessions /dev/rchar/s -c 64 -s 4k -t 10 -j' >/tmp/old &
	old=$!
	until_true eval '[ "$(rchar session | grep -c "key kb")" -ge 64 ]'
	until_moving a s rx_bytes $old
	rchar set s keys kb,kc
	on b rchar set s key kc
	on b 'rchar-perf sessions /dev/rchar/s -c 64 -s 4k -t 10 -j' >/tmp/new &
	new=$!
	until_true eval '[ "$(rchar session | grep -c "key kc")" -ge 64 ]'
	# Sessions of the old key end by themselves.
	wait $old
	until_true eval '! rchar session | grep -q "key kb"'
	rchar set s keys kc
	rchar key del kb
	on b rchar key del kb
	until_moving a s rx_bytes $new
	wait $new
	until_true eval '! rchar session | grep -q "key kc"'
	kill $server
	wait $server || true
	grep -q '"sessions":64' /tmp/old
	grep -q '"sessions":64' /tmp/new
	[ "$(counter a 'rchar -j stats s' rx_bytes)" = "$(counter b 'rchar -j stats s' tx_bytes)" ]
	[ "$(counter a 'rchar -j stats s' resets)" = 0 ]
	rchar key add kb $dir/kb
	on b "echo $(cat $dir/kb) | rchar key add kb -"
	clean
}

allow_bounds_addresses() {
	pair s stream "allow 10.0.0.3/32" ""
	[ "$(opens s)" = EACCES ]
	# Another channel lets that address connect, and does not open this one.
	rchar add o stream listen 10.0.0.1
	until_true is_state s up b
	[ "$(opens s)" = EACCES ]
	rchar set s allow 10.0.0.3,10.0.0.0/30
	[ "$(opens s)" = ok ]
	rchar set s allow any
	[ "$(opens s)" = ok ]
	clean
}

# A key is the identity, whatever the address is.
a_keyed_link_follows_its_peer() {
	local id

	on b 'echo 1 >/proc/sys/net/ipv4/conf/all/promote_secondaries; ip addr add 10.0.0.9/24 dev net0'
	pair s stream "keys kb" "key kb"
	until_true is_state s up b
	on b 'exec 3>/dev/rchar/s; echo one >&3; until [ -e /tmp/go ]; do sleep 0.1; done; echo two >&3' &
	local writer=$!
	until_true eval 'rchar session | grep -q "state waiting"'
	id=$(rchar link | sed -n 's/: from.*//p')
	# The address that the peer used goes away; the peer has another one.
	on b ip addr del 10.0.0.2/24 dev net0
	rchar link reset "$id"
	until_true eval "rchar link | grep -q '^$id: from 10.0.0.9'"
	on b touch /tmp/go
	wait $writer
	[ "$(timeout 60 cat /dev/rchar/s)" = "$(printf 'one\ntwo')" ]
	on b 'rm -f /tmp/go; ip addr add 10.0.0.2/24 dev net0; ip addr del 10.0.0.9/24 dev net0'
	clean
}

# The right address is asked for again where the peer has moved to.
a_peer_that_moves_out_of_allow_loses_its_sessions() {
	local id

	on b 'echo 1 >/proc/sys/net/ipv4/conf/all/promote_secondaries; ip addr add 10.0.0.9/24 dev net0'
	pair s stream "keys kb allow 10.0.0.2/32" "key kb"
	rchar add o stream listen 10.0.0.1 keys kb
	until_true is_state s up b
	on b 'exec 3<>/dev/rchar/s; cat <&3; echo "status $?"' >/tmp/ended &
	local loser=$!
	until_true eval 'rchar session | grep -q "state waiting"'
	id=$(rchar link | sed -n 's/: from.*//p')
	on b ip addr del 10.0.0.2/24 dev net0
	rchar link reset "$id"
	wait $loser
	grep -q 'status 1' /tmp/ended
	# The same link, although it may have ended since with its last session.
	dmesg | grep -q "link $id from 10.0.0.9:.*: up"
	on b 'ip addr add 10.0.0.2/24 dev net0; ip addr del 10.0.0.9/24 dev net0'
	clean
}

# 64 keys with the longest names, and 64 prefixes: shown, and told in events.
full_lists_are_shown() {
	local i names=() prefixes=() name

	rchar -j monitor >/tmp/full-events &
	local mon=$!
	until_true eval 'rchar add ear stream listen 10.0.0.1:7500; rchar del ear; [ -s /tmp/full-events ]'
	for ((i = 0; i < 64; i++)); do
		name=$(printf 'k%030d' $i)
		rchar key gen | rchar key add "$name"
		names+=("$name")
		prefixes+=("fd00:$i::/32")
	done
	rchar add full stream listen 10.0.0.1 keys "$(IFS=,; echo "${names[*]}")" \
		allow "$(IFS=,; echo "${prefixes[*]}")"
	[ "$(rchar -j show full | grep -o 'k0[0-9]*' | wc -l)" = 64 ]
	[ "$(rchar -j show full | grep -o 'fd00:' | wc -l)" = 64 ]
	[ "$(rchar show | grep -o 'k0[0-9]*' | wc -l)" = 64 ]
	rchar set full window 128k
	until_true grep -q '"event":"channel-set","name":"full"' /tmp/full-events
	for name in "${names[@]}"; do rchar key del "$name"; done
	[ "$(rchar -j show full | grep -o '"keys_deleted".*\]' | grep -o 'k0[0-9]*' | wc -l)" = 64 ]
	expect_status 6 rchar set full keys "$(IFS=,; echo "${names[*]}")"
	kill $mon
	wait $mon || true
	clean
}

links_survive_loss_with_keys() {
	pair s stream "keys kb" "key kb"
	until_true is_state s up b
	survives_loss s
	clean
}

secrets_are_read_with_care() {
	local out

	expect_status 1 rchar key add bad /nonexistent
	expect_status 1 rchar key add bad - <<<"not a key"
	head -c 300 /dev/zero >/tmp/zeros
	expect_status 1 rchar key add bad /tmp/zeros
	expect_status 1 rchar key add bad - </dev/null
	out=$(expect_status 5 rchar key add kb $dir/kb 2>&1)
	[[ "$out" == *"a key of that name exists"* ]]
	out=$(expect_status 5 rchar key add kb2 $dir/kb 2>&1)
	[[ "$out" == *"another key has the same secret"* ]]
	out=$(expect_status 6 rchar key del nobody 2>&1)
	[[ "$out" == *"no key of that name"* ]]
	out=$(expect_status 6 rchar add x stream listen 10.0.0.1 keys nobody 2>&1)
	[[ "$out" == *"no key of that name"* ]]
	cp $dir/kb /tmp/loose
	chmod 644 /tmp/loose
	out=$(rchar key add kb2 /tmp/loose 2>&1) || true
	[[ "$out" == *"warning: other users can read /tmp/loose"* ]]
	# Nothing tells a secret.
	[ "$(rchar -d -j key | grep -c "$(cat $dir/kb)")" = 0 ]
	# Only an administrator sees keys.
	out=$(expect_status 2 greedy nobody rchar key 2>&1)
	[[ "$out" == *"not permitted"* ]]
}

# What a peer without the key can try: lines of its own.
hostile_peers_get_nowhere() {
	rchar add guarded stream listen 10.0.0.1 keys kb,kc
	rchar add free stream listen 10.0.0.1
	badpsk 10.0.0.1 $dir/kb $dir/kc | tee /tmp/badpsk >&9
	[ "${PIPESTATUS[0]}" = 0 ]
	clean
}

plan 21
run keys_are_added
run the_right_key_opens_every_type
run a_wrong_key_is_eacces
run no_key_is_eacces
run a_key_that_only_one_host_has_is_eacces
run a_key_opens_channels_without_keys
run names_are_not_told
run show_tells_who_may_open
run peers_have_names
run deleting_a_key_ends_what_used_it
run deleting_a_key_waits_for_links_that_end
run a_deleted_key_of_our_own_is_eacces
run set_keys_ends_only_who_lost_the_right
run keys_rotate_under_64_sessions
run allow_bounds_addresses
run a_keyed_link_follows_its_peer
run a_peer_that_moves_out_of_allow_loses_its_sessions
run full_lists_are_shown
run links_survive_loss_with_keys
run secrets_are_read_with_care
run hostile_peers_get_nowhere
finish
