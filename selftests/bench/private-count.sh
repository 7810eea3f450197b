#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# private-count.sh - what keys and encryption take, in instructions of both ends: runs where the
# clock counts them, as count.sh does. Lines for report.py.
. bench/lib.sh
. bench/counted.sh
. bench/private.sh
client=a

# Two network namespaces of this machine.
start_wireguard() {
	local ours theirs

	ours=$(wg genkey) theirs=$(wg genkey)
	modprobe -q veth
	ip netns add w
	ip link add v0 type veth peer name v1 netns w
	ip addr add 192.168.77.1/24 dev v0
	ip -n w addr add 192.168.77.2/24 dev v1
	ip link set v0 up
	ip -n w link set v1 up
	ip -n w link set lo up
	eval "$(wireguard_here 10.9.0.1 "$ours" "$(wg pubkey <<<"$theirs")" 10.9.0.2 192.168.77.2)"
	ip netns exec w bash -c "$(wireguard_here 10.9.0.2 "$theirs" "$(wg pubkey <<<"$ours")" 10.9.0.1 192.168.77.1)"
	ip netns exec w rchar-perf serve tcp:10.9.0.2:7102 &
}

# What the cipher of such a payload takes without anybody around it, to seal and to open it.
count_cipher() { # SIZE
	insmod /root/cipher.ko size="$1" || return
	cd /sys/module/cipher/parameters || return
	count "stream, $1 bytes" 'the cipher alone' "$(awk '{ ns += $1 } END { print ns / 1000 }' seal open)"
	cd /root || return
	rmmod cipher
}

serve_private
start_wireguard
rchar add pool memory listen 10.0.0.1 size 64m
rchar -w 10 add mem memory connect 10.0.0.1/pool >/dev/null
rchar add sealed-pool memory listen 10.0.0.1 size 64m keys k encrypt on
rchar -w 10 add sealed-mem memory connect 10.0.0.1/sealed-pool key k encrypt on >/dev/null
sleep 0.5
while IFS='|' read -r who prefix endpoint; do
	for size in 1024 65536 1048576; do
		count "stream, $size bytes" "$who" "$(run="$prefix" bandwidth "$endpoint" $size)"
	done
	count '64 bytes there and back' "$who" "$(run="$prefix" round_trip "$endpoint")"
	count 'open() or connect' "$who" "$(run="$prefix" opening "$endpoint")"
done < <(kinds 10.9.0.2)
for size in 1024 65536; do
	count_cipher $size
done
for depth in 1 32; do
	for way in read write; do
		options=(-d "$depth")
		[ $way = read ] || options+=(-w)
		count "$way 4096 bytes, depth $depth" 'rchar memory' "$(bandwidth /dev/rchar/mem 4096 "${options[@]}")"
		count "$way 4096 bytes, depth $depth" 'rchar memory, encrypted' \
			"$(bandwidth /dev/rchar/sealed-mem 4096 "${options[@]}")"
	done
done
killall -9 rchar-perf
wait 2>/dev/null
