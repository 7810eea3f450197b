#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Configuration that stays: save, apply, and commands that may be repeated. One machine, which
# connects to itself.
. lib/ksft.sh
conf=/tmp/conf
keys=/etc/rchar/keys

clean() {
	local name

	rchar del all
	for name in $(rchar key | sed 's/:.*//'); do rchar key del "$name"; done
	rm -rf /etc/rchar $conf
}

new_key() { # NAME [FOLDER]
	mkdir -p "${2:-$keys}"
	(umask 077; rchar key gen >"${2:-$keys}/$1")
}

# NAME... - their secrets are where 'save' says
keys_are_added() {
	local name

	for name in "$@"; do
		new_key "$name"
		rchar key add "$name" "$keys/$name"
	done
}

# What 'apply' would do with the configuration in standard input
planned() { rchar --dry-run apply -; }
nothing_to_do() { # FILE
	local out

	out=$(rchar apply --dry-run "$1")
	[ -z "$out" ] || { echo "not as $1 says: $out"; return 1; }
}

# Every setting of every type and role, none of them as a new channel has it.
every_channel() {
	local all="mode 0640 uid nobody gid rdma window 3m backlog 7 open-timeout 1500ms
		recovery-timeout 5s linger 0s priority 250 window-max 5m frame 8k"

	# shellcheck disable=SC2086 # words
	{
		rchar add s1 stream listen 10.0.0.1:7472 keys kb,ka allow fd00::/64,10.0.0.0/24 \
			rendezvous-min 1025 $all
		rchar add s2 stream connect 10.0.0.1:7472/s1 from 10.0.0.1 key ka rendezvous-min 0 \
			lanes 2 keepalive 3s tos 104 $all
		rchar add m1 message listen "[fd00::1]:7473" keys ka encrypt on max-message 1000 $all
		rchar add m2 message connect "[fd00::1]:7473/m1" from fd00::1 key ka encrypt on \
			max-message 64m $all
		rchar add r1 memory listen 10.0.0.1 allow 10.0.0.1/32 size 65537 access ro \
			atomics hw $all
		rchar add r2 memory connect 10.0.0.1/r1 $all
	}
}

# refuses STATUS TEXT COMMAND... - with a line that has the text
refuses() {
	local status=$1 text=$2 out

	shift 2
	out=$(expect_status "$status" "$@" 2>&1) || { echo "$out"; return 1; }
	[[ "$out" == *"$text"* ]] || { echo "'$out' does not say '$text': $*"; return 1; }
}

# What no command changes is left out.
settings_of() {
	rchar -j show "$1" | sed -E 's/"(state|reason)":"[^"]*",//g; s/"(reason_age_ms|sessions|waiting|dev_minor|pinned_bytes)":[0-9]*,//g
		s/"link":"[0-9]*",//; s/"stats":.*//; s/"node":.*//'
}

every_setting_round_trips() {
	local key name before

	keys_are_added ka kb
	every_channel
	for name in s1 s2 m1 m2 r1 r2; do settings_of $name; done >/tmp/before
	rchar save >$conf
	# Every setting that the tool knows stands in it.
	for key in $(rchar add x stream listen 10.0.0.1 frob 2>&1 | sed 's/.*there are://'); do
		grep -q " $key " $conf || { echo "no $key is saved"; return 1; }
	done
	[ "$(grep -c '^add ' $conf)" = 6 ]
	nothing_to_do $conf
	rchar save | rchar apply --dry-run - | cmp - /dev/null
	before=$(cat $conf)
	rchar del all
	rchar key del ka
	rchar key del kb
	rchar apply $conf
	nothing_to_do $conf
	[ "$(rchar save)" = "$before" ]
	for name in s1 s2 m1 m2 r1 r2; do settings_of $name; done | diff /tmp/before -
	[ "$(stat -c '%a %u %G' /dev/rchar/s1)" = "640 65534 rdma" ]
	# Nobody's secret is told.
	[ "$(grep -cF "$(cat $keys/ka)" $conf)" = 0 ]
	clean
}

# Then the tool has the same initial values as the module.
initial_values_are_left_out() {
	local type

	for type in stream message memory; do
		echo "add to-$type $type connect 10.0.0.1:7471/x"
		echo "add $type $type listen 10.0.0.1:7471$([ $type != memory ] || echo ' size 64k')"
	done >$conf
	while read -r line; do
		# shellcheck disable=SC2086 # words
		rchar $line
	done <$conf
	nothing_to_do $conf
	rchar save | diff $conf -
	clean
}

# SETTING VALUE-TOO-SMALL MIN MAX VALUE-TOO-LARGE [WORD]... - of the module and of 'apply'
has_limits() {
	local key=$1 small=$2 min=$3 max=$4 large=$5 type=$6 value

	for value in $min $max; do
		echo "add x $type listen 10.0.0.1 $key $value" >$conf
		rchar add x "$type" listen 10.0.0.1 "$key" "$value"
		rchar del x
		rchar apply $conf
		rchar del x
	done
	for value in $small $large; do
		[ "$value" != - ] || continue
		expect_status 2 rchar add x "$type" listen 10.0.0.1 "$key" "$value"
		echo "add x $type listen 10.0.0.1 $key $value" >$conf
		refuses 1 "rchar: $conf:1: $key must be $min to $max" rchar apply $conf
	done
}

apply_knows_the_limits() {
	has_limits window 65535 64k 256m 257m stream
	has_limits window-max - 0 256m 257m stream
	has_limits frame 4095 4k 64k 65537 stream
	has_limits rendezvous-min - 0 1g 1025m stream
	has_limits max-message 0 1 64m 65m message
	has_limits backlog 0 1 65535 65536 stream
	has_limits open-timeout 0s 1ms 86400s 86401s stream
	has_limits recovery-timeout 0s 1ms 86400s 86401s stream
	has_limits linger - 0s 86400s 86401s stream
	has_limits priority 0 1 1000 1001 stream
	has_limits mode - 0000 0777 1777 stream
	# 0 needs no unit.
	rchar add x stream listen 10.0.0.1 linger 0
	rchar -j show x | grep -q '"linger_ms":0[,}]'
	clean
}

# What the module says about one line, 'apply' says before it does anything.
LINES_OF_OTHERS='add x stream listen 10.0.0.1 max-message 1k
add x message listen 10.0.0.1 rendezvous-min 1k
add x stream listen 10.0.0.1 size 1m
add x stream listen 10.0.0.1 lanes 2
add x stream listen 10.0.0.1 keepalive 1s
add x stream listen 10.0.0.1 tos 8
add x stream connect 10.0.0.1 lanes 17
add x stream connect 10.0.0.1 keepalive 251s
add x stream connect 10.0.0.1 tos 256
add x memory connect 10.0.0.1 access ro
add x memory listen 10.0.0.1
add x memory listen 10.0.0.1 size 0
add x memory listen 10.0.0.1 size 513g
add x stream connect 0.0.0.0
add x stream connect 10.0.0.1 from fd00::1
add x stream connect 10.0.0.1/a%b
add .x stream listen 10.0.0.1
add 12345678901234567890123456789012 stream listen 10.0.0.1
add x stream connect 10.0.0.1 allow 10.0.0.0/8
add x stream listen 10.0.0.1 allow 10.0.0.1/8
add x stream listen 10.0.0.1 allow 10.0.0.0/8,any
add x stream listen 10.0.0.1 keys ka,ka
add x stream listen 10.0.0.1 keys nobody
add x stream connect 10.0.0.1 key ka,kb
add x stream connect 10.0.0.1 encrypt on
add x memory listen 10.0.0.1 size 1m keys ka encrypt on atomics hw'

apply_refuses_what_the_module_refuses() {
	local line ret

	keys_are_added ka kb
	while read -r line; do
		ret=0
		# shellcheck disable=SC2086 # words
		rchar $line || ret=$?
		[ $ret = 2 ] || [ $ret = 6 ] || { echo "the module takes: $line"; return 1; }
		{ rchar save; echo "$line"; } >$conf
		expect_status 1 rchar apply $conf 2>/tmp/words || { echo "$line"; return 1; }
		grep -q "^rchar: $conf:3: " /tmp/words || { cat /tmp/words; return 1; }
	done <<<"$LINES_OF_OTHERS"
	[ "$(rchar | wc -l)" = 0 ]
	clean
}

# Not sent without what does not fit.
a_request_is_whole_or_not_sent() {
	local word

	word=$(head -c 9000 /dev/zero | tr '\0' k)
	refuses 1 "rchar: that is too long for a request to the module" rchar add x stream listen 10.0.0.1 keys "$word"
	[ "$(rchar | wc -l)" = 0 ]
}

# The good lines in front of it, in other files too, have no effect.
a_bad_line_changes_nothing() {
	rchar add here stream listen 10.0.0.1
	echo "add good stream listen 10.0.0.1" >/tmp/good.conf
	printf '# two\n\nadd other stream listen 10.0.0.1 # fine\nadd bad stream\n' >$conf
	expect_status 1 rchar apply /tmp/good.conf $conf 2>/tmp/words
	grep -q "^rchar: $conf:4: the role (listen or connect) is missing" /tmp/words
	[ "$(wc -l </tmp/words)" = 1 ]
	[ "$(rchar save)" = "add here stream listen 10.0.0.1:7471" ]
	clean
}

# session CHANNEL - which the caller holds open, as 'rchar session' shows it
session() { rchar session | sed -n "s/: channel $1 .*to 10.*//p"; }

apply_changes_only_what_differs() {
	local one two

	rchar add one stream listen 10.0.0.1
	rchar add two stream listen 10.0.0.1
	rchar add gone stream listen 10.0.0.1
	rchar add moved stream listen 10.0.0.1
	rchar -w $limit add to1 stream connect 10.0.0.1/one
	rchar -w $limit add to2 stream connect 10.0.0.1/two
	exec 3>/dev/rchar/to1
	exec 4>/dev/rchar/to2
	one=$(session to1) two=$(session to2)
	[ -n "$one" ]
	[ -n "$two" ]
	cat >$conf <<-CONF
		add one stream listen 10.0.0.1:7471
		add two stream listen 10.0.0.1:7471 window 2m mode 0644 linger 7s
		add moved stream listen 10.0.0.1:7500
		add to1 stream connect 10.0.0.1:7471/one
		add to2 stream connect 10.0.0.1:7471/two
		add new message listen 10.0.0.1:7471 max-message 2m
	CONF
	cat >/tmp/expected <<-PLAN
		rchar del gone
		rchar set two mode 0644 window 2m linger 7s
		rchar del moved
		rchar add moved stream listen 10.0.0.1:7500
		rchar add new message listen 10.0.0.1:7471 max-message 2m
	PLAN
	rchar apply --dry-run $conf | diff /tmp/expected -
	[ "$(rchar | grep -c '^gone:')" = 1 ]
	[ "$(rchar -d apply $conf)" = "$(cat /tmp/expected)" ]
	nothing_to_do $conf
	sed -i 's/^add one .*/& allow fe80::\/10,10.0.0.0\/24/' $conf
	rchar set one allow 10.0.0.0/24,fe80::/10	# the order does not matter
	nothing_to_do $conf
	[ "$(stat -c %a /dev/rchar/two)" = 644 ]
	# The same sessions, and they carry bytes.
	[ "$(session to1)" = "$one" ]
	[ "$(session to2)" = "$two" ]
	echo first >&3
	echo second >&4
	exec 3>&- 4>&-
	[ "$(timeout 60 cat /dev/rchar/one)" = first ]
	[ "$(timeout 60 cat /dev/rchar/two)" = second ]
	clean
}

the_plan_is_a_script() {
	keys_are_added ka kb
	every_channel
	rchar save >$conf
	rchar del m1
	rchar set s1 keys none window 1m
	rchar key del kb
	rchar add more stream listen 10.0.0.1
	rchar apply --dry-run $conf >/tmp/plan
	sh -e /tmp/plan
	nothing_to_do $conf
	clean
}

a_refused_command_says_what_was_done() {
	local ret=0

	rchar add old stream listen 10.0.0.1
	cat >$conf <<-CONF
		add one stream listen 10.0.0.1
		add pool memory listen 10.0.0.1 size 512g
		add two stream listen 10.0.0.1
	CONF
	rchar apply $conf 2>/tmp/words || ret=$?
	[ $ret = 2 ]
	diff /tmp/words - <<-WORDS
		rchar: done: rchar del old
		rchar: done: rchar add one stream listen 10.0.0.1:7471
		rchar: failed: rchar add pool memory listen 10.0.0.1:7471 size 512g: add pool: there is not so much memory
		rchar: not done: rchar add two stream listen 10.0.0.1:7471
		rchar: apply: stopped after 2 of 4 commands
	WORDS
	[ "$(rchar save)" = "add one stream listen 10.0.0.1:7471" ]
	clean
}

apply_brings_keys() {
	local session

	keys_are_added kept changed named gone
	rchar add s stream listen 10.0.0.1 keys kept,changed,gone
	rchar -w $limit add to stream connect 10.0.0.1/s key kept
	exec 3>/dev/rchar/to
	session=$(session to)
	[ -n "$session" ]
	mv $keys/named $keys/newname
	new_key changed
	new_key fresh
	cat >$conf <<-CONF
		add s stream listen 10.0.0.1 keys kept,changed
		add to stream connect 10.0.0.1/s key kept
		key add kept $keys/kept
		key add changed $keys/changed
		key add newname $keys/newname
		key add fresh $keys/fresh
	CONF
	rchar apply --dry-run $conf >/tmp/plan
	diff /tmp/plan - <<-PLAN
		rchar key del changed
		rchar key del named
		rchar key add changed $keys/changed
		rchar key add newname $keys/newname
		rchar key add fresh $keys/fresh
		rchar set s keys kept,changed
		rchar key del gone
	PLAN
	rchar apply $conf
	nothing_to_do $conf
	[ "$(rchar key | wc -l)" = 4 ]
	[ "$(session to)" = "$session" ]
	exec 3>&-
	clean
}

# Else the channel would be open to everybody after the next boot.
a_deleted_key_does_not_open_a_channel() {
	keys_are_added ka kb
	rchar add s stream listen 10.0.0.1 keys ka
	rchar add t stream listen 10.0.0.1 keys ka,kb
	rchar key del ka
	expect_status 6 rchar save >$conf 2>/tmp/words
	grep -q '^add s .* keys ka$' $conf
	grep -q '^add t .* keys kb$' $conf
	grep -q "^rchar: save: channel 's' has no key but deleted ones, so 'rchar apply' will refuse this" /tmp/words
	refuses 1 "rchar: $conf:2: no line adds the key 'ka'" rchar apply $conf
	# The key is another one now, so the channel gets it anew.
	echo "key add ka $keys/ka" >>$conf
	rchar apply --dry-run $conf | grep -q '^rchar set s keys ka$'
	rchar apply $conf
	nothing_to_do $conf
	rchar show s | grep -q 'keys ka$'
	clean
}

save_tells_which_key_file_is_missing() {
	keys_are_added ka kb kc
	rm $keys/ka
	new_key kb
	rchar save 2>/tmp/words >$conf
	[ "$(wc -l </tmp/words)" = 2 ]
	grep -q "^rchar: warning: key: $keys/ka: No such file" /tmp/words
	grep -q "^rchar: warning: $keys/kb holds another key" /tmp/words
	clean
}

commands_may_be_repeated() {
	local add="add x stream listen 10.0.0.1 window 2m"

	# shellcheck disable=SC2086 # words
	{
		rchar $add --exist-ok
		rchar $add --exist-ok
		expect_status 5 rchar $add
		refuses 5 "rchar: add x: exists, but its linger is 30s, not 1s" \
			rchar --exist-ok $add linger 1s
	}
	refuses 5 "its type is stream, not message" rchar add x message listen 10.0.0.1 --exist-ok
	[ "$(rchar save)" = "add x stream listen 10.0.0.1:7471 window 2m" ]
	expect_status 6 rchar del y
	rchar del y --if-exists
	rchar del x --if-exists
	[ "$(rchar | wc -l)" = 0 ]
	expect_status 6 rchar set x window 1m
	expect_status 6 rchar show x
	expect_status 6 rchar stats x
	clean
}

commands_on_keys_may_be_repeated() {
	new_key ka
	new_key kb
	rchar key add ka $keys/ka --exist-ok
	rchar key add ka $keys/ka --exist-ok
	expect_status 5 rchar key add ka $keys/ka
	expect_status 5 rchar key add ka $keys/kb --exist-ok
	expect_status 5 rchar key add kb $keys/ka --exist-ok
	expect_status 6 rchar key del kb
	rchar key del kb --if-exists
	rchar key del ka --if-exists
	[ "$(rchar key | wc -l)" = 0 ]
	clean
}

del_all_does_not_mind_another_one() {
	local i other

	for ((i = 0; i < 300; i++)); do echo "add c$i stream connect 10.0.0.9"; done | rchar apply -
	rchar del all &
	other=$!
	rchar del all
	wait $other
	[ "$(rchar | wc -l)" = 0 ]
	clean
}

mode_and_owner_are_those_of_the_node() {
	rchar add x stream listen 10.0.0.1
	rchar set x mode 0660 gid rdma
	[ "$(stat -c '%a %u %G' /dev/rchar/x)" = "660 0 rdma" ]
	chmod 604 /dev/rchar/x
	chown nobody /dev/rchar/x
	rchar -d show x | grep -q 'mode 0604 uid 65534 gid 119'
	[ "$(rchar save)" = "add x stream listen 10.0.0.1:7471 mode 0604 uid 65534 gid 119" ]
	[ "$(echo 'add x stream listen 10.0.0.1' | planned)" = "rchar set x mode 0600 uid 0 gid 0" ]
	# Not the device: left alone.
	mv /dev/rchar/x /dev/rchar/y
	: >/dev/rchar/x
	refuses 1 "rchar: set x: /dev/rchar/x is not the device of the channel" rchar set x window 2m mode 0777
	[ "$(stat -c %a /dev/rchar/x)" = 644 ]
	rchar -j show x | grep -q '"window_bytes":1048576'
	mv /dev/rchar/y /dev/rchar/x
	# As 'add' has it, and 'apply'.
	refuses 1 "rchar: mode must be 0000 to 0777" rchar set x mode 6600
	refuses 1 "rchar: uid must be 0 to 4294967294" rchar set x uid 4294967295
	refuses 6 "rchar: set nosuch: " rchar set nosuch mode 0600
	clean
}

# What a shell does with a name that is no channel, or not yet.
files_in_the_way_are_told() {
	rchar add x stream listen 10.0.0.1
	[ "$(rchar show x 2>&1 | grep -c warning)" = 0 ]
	rchar -j show x | grep -q '"node":"device"'
	echo lost >/dev/rchar/typo
	rchar 2>&1 | grep '^rchar: warning: /dev/rchar/typo is no device but a file'
	rchar -j 2>/dev/null | grep '"name":"x"'
	rchar add typo stream listen 10.0.0.1 2>&1 |
		grep '^rchar: warning: /dev/rchar/typo is not the device of the channel, but another file'
	rchar show typo 2>/dev/null | grep '^    no device: /dev/rchar/typo is another file$'
	rchar -j show typo 2>/dev/null | grep '"node":"other"'
	rchar del typo
	{ rchar save && echo 'add typo stream listen 10.0.0.1'; } | rchar apply - 2>&1 |
		grep '^rchar: warning: /dev/rchar/typo is not the device of the channel, but another file'
	rchar del typo
	# Also when a later step fails.
	{ rchar save && printf 'add %s listen 10.0.0.1%s\n' 'typo stream' '' 'pool memory' ' size 512g'; } |
		{ rchar apply - 2>&1 || true; } |
		grep '^rchar: warning: /dev/rchar/typo is not the device of the channel, but another file'
	rchar del typo
	rm /dev/rchar/typo
	# What the warning says helps.
	[ -z "$(rchar add typo stream listen 10.0.0.1 2>&1)" ]
	[ -c /dev/rchar/typo ]
	[ "$(rchar 2>&1 | grep -c warning)" = 0 ]
	rm /dev/rchar/typo
	rchar -j show typo | grep -q '"node":"absent"'
	[ "$(rchar 2>&1 | grep -c warning)" = 0 ]
	clean
}

files_of_etc_are_the_default() {
	rchar add here stream listen 10.0.0.1
	# Without any file, nothing is deleted.
	refuses 1 "rchar: apply: there is no /etc/rchar/rchar.conf and" rchar apply
	mkdir -p /etc/rchar/conf.d
	echo 'add b stream listen 10.0.0.1' >/etc/rchar/conf.d/20.conf
	echo 'add a stream listen 10.0.0.1' >/etc/rchar/conf.d/10.conf
	echo 'nonsense' >/etc/rchar/conf.d/30.conf.off
	rchar apply
	[ "$(rchar save | cut -d' ' -f2 | tr '\n' ' ')" = "a b " ]
	printf 'add first stream listen 10.0.0.1\r\n' >/etc/rchar/rchar.conf
	[ "$(rchar apply --dry-run)" = "rchar add first stream listen 10.0.0.1:7471" ]
	echo 'add a stream listen 10.0.0.1' >/etc/rchar/rchar.conf
	refuses 1 "rchar: /etc/rchar/conf.d/10.conf:1: channel 'a' is added already: /etc/rchar/rchar.conf:1" \
		rchar apply
	# A file that cannot be read is not an empty one.
	rm /etc/rchar/rchar.conf
	ln -s /nowhere/rchar.conf /etc/rchar/rchar.conf
	refuses 1 "rchar: /etc/rchar/rchar.conf: No such file or directory" rchar apply
	rm /etc/rchar/rchar.conf
	ln -s /nowhere/90.conf /etc/rchar/conf.d/90.conf
	refuses 1 "rchar: /etc/rchar/conf.d/90.conf: No such file or directory" rchar apply
	rm -r /etc/rchar/conf.d
	ln -s conf.d /etc/rchar/conf.d
	echo 'add a stream listen 10.0.0.1' >/etc/rchar/rchar.conf
	refuses 1 "rchar: /etc/rchar/conf.d: cannot be read" rchar apply
	[ "$(rchar save | cut -d' ' -f2 | tr '\n' ' ')" = "a b " ]
	# An empty configuration is one.
	rm /etc/rchar/conf.d
	: >/etc/rchar/rchar.conf
	rchar apply
	[ "$(rchar | wc -l)" = 0 ]
	clean
}

apply_stays_in_its_network_namespace() {
	ip netns add other
	rchar add here stream listen 10.0.0.1
	rchar -n other add there stream listen 10.0.0.1
	refuses 5 "in another network namespace" rchar add there stream listen 10.0.0.1 --exist-ok
	echo 'add new stream listen 10.0.0.1' | rchar -n other apply -
	[ "$(rchar save)" = "add here stream listen 10.0.0.1:7471" ]
	[ "$(rchar -n other save)" = "add new stream listen 10.0.0.1:7471" ]
	rchar -n other del all
	ip netns del other
	clean
}

only_the_administrator_applies() {
	rchar add here stream listen 10.0.0.1
	: >$conf
	chmod 644 $conf
	refuses 2 "not permitted: that needs CAP_NET_ADMIN" greedy nobody rchar apply $conf
	[ "$(rchar | grep -c '^here:')" = 1 ]
	clean
}

names_are_completed() {
	keys_are_added ka kb
	rchar add one stream listen 10.0.0.1
	rchar -w $limit add two stream connect 10.0.0.1/one
	exec 3>/dev/rchar/two
	[ "$(rchar complete -- del '' | tr '\n' ' ')" = "one two all " ]
	[ "$(rchar complete -- show t)" = two ]
	[ "$(rchar complete -- key del k | tr '\n' ' ')" = "ka kb " ]
	[ "$(rchar complete -- add x stream listen 10.0.0.1 keys ka,k | tr '\n' ' ')" = "ka,ka ka,kb " ]
	[ "$(rchar complete -- set one m)" = mode ]
	[ "$(rchar complete -- set two key k | tr '\n' ' ')" = "ka kb " ]
	rchar complete -- link reset '' | grep -qx "$(rchar link | sed -n 's/: to.*//p')"
	rchar complete -- session kill '' | grep -qx "$(session two)"
	[ "$(rchar complete -- session show t)" = two ]
	[ "$(rchar complete -- add x stream listen 10.0.0 | tr '\n' ' ')" = "10.0.0.1 " ]
	exec 3>&-
	clean
}

# One machine with itself: each link and each session is there twice.
links_and_sessions_are_shown_alone() {
	local id link

	rchar add one stream listen 10.0.0.1
	rchar add other stream listen 10.0.0.1
	rchar -w $limit add two stream connect 10.0.0.1/one
	exec 3>/dev/rchar/two
	id=$(session two) link=${id%/*}
	[ "$(rchar -j link show "$link" | grep -o '"link":"[0-9]*"')" = "\"link\":\"$link\"" ]
	rchar session show two | grep -q "^$id: channel two to "
	! rchar session show two | grep 'channel one ' || return 1
	[ "$(rchar session show "$id" | grep -c ': channel ')" = 1 ]
	[ "$(rchar session show "$link" | grep -c ': channel ')" = 1 ]
	[ -z "$(rchar session show other)" ]
	exec 3>&-
	expect_status 6 rchar link show 999999
	expect_status 6 rchar session show 999999/1
	expect_status 6 rchar session show nobody
	clean
}

# finds STATUS LINE [WORD]... - 'rchar check WORD...' ends so, and has that line: a regular expression
finds() {
	local out

	out=$(expect_status "$1" rchar check "${@:3}" 2>&1) || { echo "$out"; return 1; }
	grep -qE "^$2" <<<"$out" || { echo "$out"; echo "has no line '$2'"; return 1; }
	# Whatever was found, nothing stays.
	if rchar show | grep check-; then return 1; fi
}

check_of_what_works() {
	new_key k
	rchar key add k $keys/k
	rchar add one stream listen 10.0.0.1
	rchar add two message listen 10.0.0.1
	rchar add locked stream listen 10.0.0.1 keys k encrypt on
	finds 0 'ok     module     rdma_char [0-9.]+$'
	finds 0 'ok     device     [a-z0-9]+ port 1: ACTIVE, Ethernet, [0-9.]+ Gb/sec'
	finds 0 'ok     channel    one: listening$'
	finds 0 'ok     route      to 10.0.0.1 from 10.0.0.1$' -w $limit 10.0.0.1
	finds 0 'ok     address    10.0.0.1 is that of [a-z0-9]+ port 1 \(net0\), GID [0-9]+, RoCE v2$' -w $limit 10.0.0.1
	finds 0 'ok     link       up in [0-9.]+ ms$' -w $limit 10.0.0.1
	finds 0 "ok     channel    the peer's one lets this host in: answer in [0-9.]+ ms\$" -w $limit 10.0.0.1:7471/one
	finds 0 "ok     channel    the peer's two lets this host in" -w $limit 10.0.0.1/two
	finds 0 "ok     channel    the peer's locked lets this host in" -w $limit 10.0.0.1/locked key k encrypt on
	# And no program of the peer gets a session of it.
	[ "$(rchar -j | grep -o '"waiting":[0-9]*' | sort -u)" = '"waiting":0' ]
	rchar -j check 10.0.0.1/one | grep -q '^\[{"step":"module","ok":true,.*{"step":"channel","ok":true,"text":"[^"]*"}\]$'
	# The session is over.
	until_true eval '[ "$(rchar session | grep -c "channel one ")" = 0 ] || timeout 1 cat /dev/rchar/one'
	clean
}

# Each of them is made, and found.
check_of_what_does_not_work() {
	local device

	new_key k
	rchar key add k $keys/k
	rchar add one stream listen 10.0.0.1
	finds 7 'not ok channel    no-channel: ' -w $limit 10.0.0.1/none
	rchar add locked stream listen 10.0.0.1 keys k
	finds 7 'not ok link       not-listening: ' -w $limit 10.0.0.1:7999
	finds 7 'not ok (link|channel) +not-authorised: ' -w $limit 10.0.0.1/locked
	finds 7 'not ok (link|channel) +encryption: ' -w $limit 10.0.0.1/locked key k encrypt on
	finds 7 'not ok route      to 192.0.2.1: Network is unreachable$' -w 1 192.0.2.1
	finds 7 ' +-> ip route get 192.0.2.1$' -w 1 192.0.2.1
	finds 7 'not ok address    no RDMA device has 127.0.0.1$' -w 1 127.0.0.1
	finds 7 'not ok link       ' -w 1 10.0.0.99
	finds 7 ' +-> is the peer up, and is that its address' -w 30 10.0.0.99
	finds 7 'not ok route      from 192.0.2.9: Cannot assign requested address$' -w 1 10.0.0.1 from 192.0.2.9
	finds 7 'not ok address    no RDMA device has 127.0.0.1$' -w 1 10.0.0.1 from 127.0.0.1
	# Of this host.
	rchar add down stream connect 10.0.0.1:7999
	until_true eval 'rchar show down | grep -q not-listening'
	finds 7 "not ok channel    down: [a-z]+, the peer is there, .* ago \($(date +%F) [0-9:]{8}\)\$"
	# What has failed before says nothing of now.
	rchar add late stream listen 10.0.0.1:7999
	finds 0 'ok     link       up in' -w $limit 10.0.0.1:7999
	rchar del down
	rchar del late
	rchar add file stream listen 10.0.0.1
	rm /dev/rchar/file
	finds 7 'not ok channel    /dev/rchar/file is not there$'
	echo oops >/dev/rchar/file
	finds 7 'not ok channel    /dev/rchar/file is an ordinary file$'
	rm /dev/rchar/file
	rchar del file
	ip link set net0 down
	until_true grep -q DOWN /sys/class/infiniband/*/ports/1/state
	finds 7 'not ok device     [a-z0-9]+ port 1: DOWN, Ethernet'
	ip link set net0 up
	until_true grep -q ACTIVE /sys/class/infiniband/*/ports/1/state
	rdma-del
	finds 7 'not ok device     this host has no RDMA device$'
	rdma-add
	rchar -w $limit show one
	clean
	# Words that mean nothing: one line, before anything is tried.
	[ "$(expect_status 1 rchar check 10.0.0.1 colour blue 2>&1 | wc -l)" = 1 ]
	refuses 1 no-such-host rchar check no-such-host
	expect_status 1 rchar --dry-run check 2>&1 | grep -q "'check' has no option --dry-run"
	# ^C takes the channel away.
	rchar check -w 100 10.0.0.1:7471 >/tmp/out 2>&1 & device=$!
	wait $device || true
	rchar add one stream listen 10.0.0.1
	rchar check -w 100 10.0.0.98 >/tmp/out 2>&1 & device=$!
	until_true eval 'rchar show | grep -q check-'
	kill -INT $device 2>/dev/null || true
	wait $device || true
	if rchar show | grep check-; then return 1; fi
	clean
}

# Rules that drop RoCE, in all the forms in which they are written, and rules that do not.
check_reads_the_firewall() {
	local dropped='not ok firewall   input of UDP port 4791 on net0 is dropped: inet filter input'

	rchar add one stream listen 10.0.0.1
	expect_status 1 eval 'rchar check 10.0.0.1 | grep firewall'
	nft add table inet filter
	nft add chain inet filter input '{ type filter hook input priority 0; policy accept; }'
	chain() { # POLICY RULE...
		local rule

		nft flush chain inet filter input
		nft chain inet filter input "{ policy $1; }"
		shift
		for rule in "$@"; do nft add rule inet filter input "$rule"; done
	}
	not_told() { expect_status 1 eval 'rchar check -w $limit 10.0.0.1 | grep firewall'; }
	not_clear() {
		rchar check -w $limit 10.0.0.1 >/tmp/checked
		grep -q '^ok     firewall   input of UDP port 4791 on net0: not clear, see inet filter input, handle' /tmp/checked
	}

	chain accept 'udp dport 4791 drop'
	finds 7 "$dropped, handle [0-9]+\$" -w 1 10.0.0.1
	finds 7 ' +-> nft insert rule inet filter input udp dport 4791 accept' -w 1 10.0.0.1
	chain accept 'udp dport { 53, 4000-5000 } reject'
	finds 7 "$dropped, handle" -w 1 10.0.0.1
	chain drop
	finds 7 "$dropped, its policy\$" -w 1 10.0.0.1
	chain drop 'ct state established,related accept' 'iifname "net9" accept' 'tcp dport 4791 accept'
	finds 7 "$dropped, its policy\$" -w 1 10.0.0.1
	chain accept 'meta l4proto udp ip saddr 10.0.0.0/8 drop'
	finds 7 "$dropped, handle" -w 1 10.0.0.1
	chain drop 'udp dport 4791 accept'
	not_told
	chain drop 'iifname "net*" accept'
	not_told
	# Whether it matches is not in the rule.
	nft add set inet filter rdma '{ type ifname; elements = { "net0" }; }'
	chain drop 'iifname @rdma udp dport 4791 accept'
	not_clear
	chain accept 'udp dport 4791 counter drop'
	finds 7 "$dropped, handle" -w 1 10.0.0.1
	chain accept 'udp dport != 4791 drop' 'ip saddr 10.1.0.0/16 drop' 'ip6 saddr fd00::/16 drop' \
		'ct state established drop' 'icmp type echo-request drop'
	not_told
	# By way of other chains.
	nft add chain inet filter roce
	nft add rule inet filter roce 'udp dport 4791 drop'
	chain accept 'ip protocol udp jump roce'
	finds 7 'not ok firewall   input of UDP port 4791 on net0 is dropped: inet filter roce, handle' -w 1 10.0.0.1
	nft flush chain inet filter roce
	nft add rule inet filter roce return
	chain drop 'jump roce' 'udp dport 4791 accept'
	not_told
	# What cannot be judged is told, and is no failure.
	chain accept 'udp dport 4791 limit rate over 1/second drop'
	not_clear
	nft flush ruleset
	nft add table ip filter
	nft add chain ip filter out '{ type filter hook output priority 0; policy accept; }'
	nft add rule ip filter out 'ip daddr 10.0.0.1 udp dport 4791 reject'
	finds 7 'not ok firewall   output of UDP port 4791 on net0 is dropped: ip filter out' -w 1 10.0.0.1
	nft flush ruleset
	clean
}

check_knows_what_the_path_takes() {
	rchar add one stream listen 10.0.0.1
	finds 0 'ok     mtu        MTU 9000 of net0: packets of 4096 bytes on RoCE$' -w $limit 10.0.0.1
	ip route add 10.0.0.77/32 dev net0 mtu 1500
	finds 7 'not ok mtu        MTU 9000 of net0, but the path to 10.0.0.77 takes 1500$' -w 1 10.0.0.77
	ip route del 10.0.0.77/32
	clean
}

# The module is away, with what stands for each reason why it may be.
check_says_why_the_module_is_absent() {
	local tree release
	tree=/lib/modules/$(uname -r)
	release=$(uname -r | sed 's/[.+]/\\&/g')	# in a pattern

	clean
	rmmod rdma_char
	cp "$tree/modules.dep" /tmp/modules.dep
	finds_absent() {
		local out

		out=$(expect_status 7 rchar check)
		grep -qE "^not ok module     $1\$" <<<"$out" || { echo "$out"; return 1; }
		grep -qE "^ +-> .*$2" <<<"$out" || { echo "$out"; return 1; }
	}
	finds_absent "rdma_char is not built for kernel $release: the kernel's headers are not installed" \
		"install linux-headers-$release, then 'dkms autoinstall'"
	mkdir -p "$tree/build"
	touch "$tree/build/Makefile"
	finds_absent "rdma_char is not built for kernel $release, and DKMS does not have it" 'install rdma-char-dkms'
	mkdir -p /var/lib/dkms/rdma_char/1.0/source
	finds_absent "rdma_char is not built for kernel $release, but DKMS could build it" 'dkms autoinstall'
	mkdir -p /var/lib/dkms/rdma_char/1.0/build
	touch /var/lib/dkms/rdma_char/1.0/build/make.log
	finds_absent "rdma_char is not built for kernel $release: the build failed" \
		/var/lib/dkms/rdma_char/1.0/build/make.log
	# It is built.
	mkdir -p "$tree/updates"
	cp autoload/rdma_char.ko "$tree/updates/"
	echo "updates/rdma_char.ko:" >>"$tree/modules.dep"
	finds_absent 'rdma_char is not loaded' 'modprobe rdma_char'
	echo Y >/tmp/enforce
	mount --bind /tmp/enforce /sys/module/module/parameters/sig_enforce
	finds_absent 'rdma_char has no signature, and this kernel loads no module without one' 'mokutil --import'
	printf '~Module signature appended~\n' >>"$tree/updates/rdma_char.ko"
	finds_absent 'rdma_char is signed, and not loaded' 'modprobe rdma_char; if the key is rejected'
	umount /sys/module/module/parameters/sig_enforce
	cp /tmp/modules.dep "$tree/modules.dep"
	rm -rf "$tree/updates/rdma_char.ko" "$tree/build/Makefile" /var/lib/dkms
	insmod autoload/rdma_char.ko
}

# The rules of Prometheus' text format: each name has its help and its type before all its samples,
# which stand together; a counter is a _total; no sample comes twice.
is_well_formed() { # FILE
	awk '
	function bad(what) { print FILENAME ":" FNR ": " what ": " $0; failed = 1 }
	/^# HELP / { if ($3 in help) bad("second help"); if (NF < 5) bad("no words"); help[$3] = 1; next }
	/^# TYPE / {
		if (!($3 in help)) bad("no help")
		if ($4 != "gauge" && $4 != "counter") bad("type")
		if (($4 == "counter") != ($3 ~ /_total$/)) bad("a counter is a _total, and nothing else is")
		current = $3; next
	}
	{
		name = $1; sub(/[{].*/, "", name)
		if (name != current) bad("not below its type")
		series = $0; sub(/ [^ ]*$/, "", series)
		if (series in seen) bad("twice")
		seen[series] = 1
		if ($NF !~ /^[0-9]+$/) bad("no number")
		if (series !~ /^rchar_[a-z_]+([{][a-z]+="[^"]*"(,[a-z]+="[^"]*")*[}])?$/) bad("labels")
		n++
	}
	END { exit failed || !n }' "$1"
}

metrics_are_what_is_counted() {
	local sum

	rchar add one stream listen 10.0.0.1
	rchar add two message listen 10.0.0.1
	rchar add far memory listen 10.0.0.1 size 1m
	rchar add down stream connect 10.0.0.99
	rchar -w $limit add to stream connect 10.0.0.1/one
	echo hello >/dev/rchar/to
	[ "$(cat /dev/rchar/one)" = hello ]
	rchar metrics >/tmp/metrics
	is_well_formed /tmp/metrics
	grep -qx 'rchar_module_loaded 1' /tmp/metrics
	grep -qx 'rchar_channel_works{channel="to",type="stream"} 1' /tmp/metrics
	grep -qx 'rchar_channel_works{channel="down",type="stream"} 0' /tmp/metrics
	grep -qx 'rchar_channel_tx_bytes_total{channel="to",type="stream"} 6' /tmp/metrics
	grep -qx 'rchar_channel_rx_bytes_total{channel="one",type="stream"} 6' /tmp/metrics
	grep -qx 'rchar_link_up{link="[0-9]*",peer="10.0.0.1",key="",direction="to"} 1' /tmp/metrics
	# Everything that is counted is there, with its value, but the counters of a running link.
	for key in rx_bytes tx_bytes sessions open_errors resets reads writes calls rendezvous_sent; do
		sum=$(sed -n "s/^rchar_channel_${key}_total{.*} //p" /tmp/metrics | awk '{ s += $1 } END { print s + 0 }')
		[ "$sum" = "$(counter a 'rchar -j stats' $key)" ]
	done
	for key in rx_frames tx_frames connects failures replayed_frames duplicate_frames bad_frames credit_stalls stray_frames map_stalls; do
		[ "$(grep -c "^rchar_link_${key}_total{" /tmp/metrics)" = "$(rchar link | grep -c '^[0-9]*: ')" ]
	done
	for key in requests_accepted requests_refused requests_bad requests_denied bad_frames; do
		grep -q "^rchar_${key}_total [0-9]*$" /tmp/metrics
	done
	# What the dashboard shows is there: metrics, and the labels in the names of its curves.
	[ "$(grep -c '"expr"' /root/dashboard.json)" -gt 15 ]
	for key in $(grep '"\(expr\|query\)"' /root/dashboard.json | grep -o 'rchar_[a-z_]*' | sort -u); do
		grep -q "^${key}[{ ]" /tmp/metrics || { echo "no metric $key"; return 1; }
	done
	for key in $(grep -o '{{[a-z]*}}' /root/dashboard.json | tr -d '{}' | sort -u); do
		# Prometheus adds the instance.
		[ "$key" = instance ] || grep -q "[{,]$key=" /tmp/metrics || { echo "no label $key"; return 1; }
	done
	# Into a file, which is replaced whole.
	echo old >/tmp/rchar.prom
	exec 3</tmp/rchar.prom
	rchar metrics /tmp/rchar.prom
	[ "$(cat <&3)" = old ]
	exec 3<&-
	is_well_formed /tmp/rchar.prom
	[ ! -e /tmp/rchar.prom.new ]
	expect_status 1 rchar metrics /no/such/file 2>&1 | grep -qx 'rchar: /no/such/file.new: No such file or directory'
	expect_status 1 rchar metrics a b 2>&1 | grep -q 'one word too many'
	clean
}

# Events always have one in JSON; and of differences the time in which they were counted.
times_are_those_of_rfc_3339() {
	local time='[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}'

	TZ=XST-5:30 rchar -j monitor >/tmp/json &
	TZ=XST3 rchar -t monitor >/tmp/text &
	# One that listens between the two hears of the second first.
	until_true eval 'rchar add one stream listen 10.0.0.1; rchar del one
		grep -q channel-new /tmp/json && grep -q channel-new /tmp/text'
	kill %1 %2
	wait || true
	grep -qE "^\{\"event\":\"channel-new\".*\"time\":\"$time\+05:30\"\}$" /tmp/json
	grep -qE "^$time-03:00 channel-new one " /tmp/text
	rchar add one stream listen 10.0.0.1
	rchar -j stats one every 1 >/tmp/json &
	rchar stats one every 1 >/tmp/text &
	until_true eval '[ "$(wc -l </tmp/json)" -ge 2 ] && [ "$(wc -l </tmp/text)" -ge 2 ]'
	kill %1 %2
	wait || true
	sed -n 1p /tmp/json | grep -q '^\[{"name":"one","rx_bytes":0,'
	sed -n 2p /tmp/json | grep -qE '^\[\{"name":"one","interval_ms":[0-9]{4,},"rx_bytes":0,'
	sed -n 1p /tmp/text | grep -q '^one: rx_bytes 0 '
	sed -n 2p /tmp/text | grep -qE '^one: in [0-9]{4,} ms rx_bytes 0 '
	clean
}

# What a runtime reads: names and paths of channels, and nothing that changes with the next 'add'.
# Its folder may belong to another user.
metrics_follow_no_link() {
	mkdir /tmp/theirs
	echo mine >/tmp/mine
	ln -s /tmp/mine /tmp/theirs/rchar.prom.new
	rchar metrics /tmp/theirs/rchar.prom
	[ "$(cat /tmp/mine)" = mine ]
	[ ! -L /tmp/theirs/rchar.prom ]
	is_well_formed /tmp/theirs/rchar.prom
	rm -r /tmp/theirs
}

# Those who wait for events hear nothing of a module that is loaded again.
listeners_end_with_the_module() {
	local monitor stats

	rchar monitor >/tmp/events 2>/tmp/monitor & monitor=$!
	until_true eval 'rchar add ear stream listen 10.0.0.1; rchar del ear; [ -s /tmp/events ]'
	rchar add ear stream listen 10.0.0.1
	rchar stats every 1 >/tmp/counted 2>/tmp/stats & stats=$!
	until_true [ -s /tmp/counted ]
	rchar del ear
	rmmod rdma_char
	insmod autoload/rdma_char.ko
	expect_status 3 wait $monitor
	grep -qx 'rchar: the kernel module rdma_char was unloaded' /tmp/monitor
	expect_status 3 wait $stats
	grep -qx 'rchar: the kernel module rdma_char was unloaded' /tmp/stats
}

# As in a service of systemd, where SIGPIPE is ignored.
output_that_nobody_reads_ends() {
	local changes

	rchar add x stream listen 10.0.0.1
	(trap '' PIPE; timeout $((limit * 2)) rchar stats every 1; echo $? >/tmp/status) | head -n 1 | grep -q .
	[ "$(cat /tmp/status)" = 0 ]
	touch /tmp/go
	while [ -e /tmp/go ]; do rchar set x priority 2; rchar set x priority 3; done & changes=$!
	(trap '' PIPE; timeout $((limit * 2)) rchar monitor; echo $? >/tmp/status) | head -n 1 | grep -q .
	rm /tmp/go
	wait $changes
	[ "$(cat /tmp/status)" = 0 ]
	rchar del x
}

sizes_have_64_bits() {
	echo 'add x memory listen 10.0.0.1 size 10737418240' | planned | grep -q 'size 10g$'
	refuses 1 'rchar: size: 18446744073709551616 is too large' rchar add x memory listen 10.0.0.1 size 18446744073709551616
	refuses 1 'rchar: size: 17179869184g is too large' rchar add x memory listen 10.0.0.1 size 17179869184g
	refuses 1 'rchar: keepalive: 18446744073709551s is too long' rchar add x stream connect 10.0.0.1 keepalive 18446744073709551s
}

containers_get_channels_by_cdi() {
	expect_status 6 rchar cdi
	rchar add inbox stream listen 10.0.0.1
	rchar add region.1 memory listen 10.0.0.1 size 64k
	rchar add odd- stream listen 10.0.0.1
	rchar cdi >/tmp/cdi 2>/tmp/words
	cat /tmp/cdi
	grep -q '"kind": "rdma_char/channel"' /tmp/cdi
	[ "$(grep -o '"name": "[^"]*"' /tmp/cdi)" = '"name": "inbox"
"name": "region.1"' ]
	grep -q '"path": "/dev/rchar/inbox"' /tmp/cdi
	[ "$(grep -c '"path"' /tmp/cdi)" = 2 ]
	expect_status 1 grep -qE 'major|minor|uid|gid|fileMode' /tmp/cdi
	grep -q "^rchar: cdi: left out odd-: the name of a device ends with a letter or a digit$" /tmp/words
	[ "$(rchar cdi region.1 | grep -c '"path"')" = 1 ]
	expect_status 1 rchar cdi odd-
	expect_status 6 rchar cdi inbox nothing
	rchar del all
}

# udev_has NAME TAG - of the channel's device
udev_has() { udevadm info -q property "/dev/rchar/$1" | grep -q "^TAGS=.*:$2:"; }

udev_makes_units_of_channels() {
	local daemon

	mkdir -p /run/udev
	ln -sf udevadm /usr/bin/systemd-udevd
	systemd-udevd &
	daemon=$!
	until_true udevadm control --ping
	rchar add x stream listen 10.0.0.1 mode 0640 gid rdma
	until_true udev_has x systemd
	# udev leaves the node as it is.
	[ "$(stat -c '%a %G' /dev/rchar/x)" = "640 rdma" ]
	# Not asked to end: it would wait for its workers.
	kill -KILL $daemon
	wait $daemon || true
	clean
}

plan 35
run every_setting_round_trips
run initial_values_are_left_out
run apply_knows_the_limits
run apply_refuses_what_the_module_refuses
run a_request_is_whole_or_not_sent
run a_bad_line_changes_nothing
run apply_changes_only_what_differs
run the_plan_is_a_script
run a_refused_command_says_what_was_done
run apply_brings_keys
run a_deleted_key_does_not_open_a_channel
run save_tells_which_key_file_is_missing
run commands_may_be_repeated
run commands_on_keys_may_be_repeated
run del_all_does_not_mind_another_one
run mode_and_owner_are_those_of_the_node
run files_in_the_way_are_told
run files_of_etc_are_the_default
run apply_stays_in_its_network_namespace
run only_the_administrator_applies
run names_are_completed
run links_and_sessions_are_shown_alone
run check_of_what_works
run check_of_what_does_not_work
run check_reads_the_firewall
run check_knows_what_the_path_takes
run check_says_why_the_module_is_absent
run metrics_are_what_is_counted
run metrics_follow_no_link
run listeners_end_with_the_module
run output_that_nobody_reads_ends
run sizes_have_64_bits
run containers_get_channels_by_cdi
run times_are_those_of_rfc_3339
run udev_makes_units_of_channels
finish
