# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Two machines that have keys in common: a listens, b connects.
set_up=keys_are_added
dir=/tmp/keys

# One secret for each name, the same on both machines.
keys_are_added() {
	local name

	mkdir -p $dir
	for name in kb kc; do
		(umask 077; rchar key gen >$dir/$name)
		rchar key add $name $dir/$name
		on b "echo $(cat $dir/$name) | rchar key add $name"
	done
	[ "$(rchar key show | wc -l)" = 2 ]
	[ "$(rchar -j key | grep -o '"fingerprint":"[0-9a-f]*"')" = \
		"$(on b rchar -j key | grep -o '"fingerprint":"[0-9a-f]*"')" ]
}

clean() {
	rchar del all
	on b rchar del all
	until_true eval '! rchar link | grep -q .'
	until_true eval '! on b rchar link | grep -q .'
}

# opens NAME - what open() of b's channel says
opens() { on b rio open "/dev/rchar/$1" rw; }
# pair NAME TYPE "SETTING..." "SETTING..." - a channel that listens on a, and its peer on b
pair() {
	# shellcheck disable=SC2086 # words
	rchar add "$1" "$2" listen 10.0.0.1 $3
	# shellcheck disable=SC2086 # words
	on b rchar add "$1" "$2" connect 10.0.0.1 $4
}

# moves NAME READ WRITE NUMBER - what b writes to its channel arrives on a: rio READ and rio WRITE,
# which count in bytes or messages
moves() {
	rio "$2" "/dev/rchar/$1" 77 >/tmp/got &
	local reader=$!
	on b rio "$3" "/dev/rchar/$1" 77 "$4"
	wait $reader
	[ "$(cat /tmp/got)" = "$4" ]
}

# survives_loss NAME - the only link is reset, three times if there is time, while a stream moves bytes
survives_loss() {
	rio read "/dev/rchar/$1" 77 >/tmp/got &
	local reader=$!
	on b rio write "/dev/rchar/$1" 77 134217728 &
	local writer=$! i
	for i in 1 2 3; do
		until_moving a "$1" rx_bytes $writer
		kill -0 $writer 2>/dev/null || break
		until_true eval 'rchar link reset "$(rchar link | sed -n "s/: from.*//p")"'
	done
	# It was at least once.
	[ $i -gt 1 ]
	wait $writer
	wait $reader
	[ "$(cat /tmp/got)" = 134217728 ]
}
