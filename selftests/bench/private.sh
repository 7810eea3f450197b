# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# Channels with a key, and encrypted ones, beside TCP: in the clear, by kernel TLS and through
# WireGuard. All of them use ChaCha20-Poly1305. After lib.sh.

# WireGuard's own network is 10.9.0.0/24.
wireguard_here() { # OWN-ADDRESS OWN-SECRET PEER-PUBLIC PEER-ADDRESS PEER
	echo "modprobe wireguard
		ip link add wg0 type wireguard
		wg set wg0 private-key <(echo $2) listen-port 51820 peer $3 allowed-ips $4/32 endpoint $5:51820
		ip addr add $1/24 dev wg0
		ip link set wg0 up"
}

tls=(env LD_PRELOAD=/usr/lib/ktls.so)	# before a program that uses TCP

# The other end of each kind of connection, which are lines 'WHO|PREFIX|ENDPOINT' of kinds().
serve_private() {
	local secret

	secret=$(rchar key gen)
	rchar key add k - <<<"$secret"
	[ "$client" = a ] || on "$client" "rchar key add k - <<<$secret"
	rchar add plain-srv stream listen 10.0.0.1
	rchar add keyed-srv stream listen 10.0.0.1 keys k
	rchar add sealed-srv stream listen 10.0.0.1 keys k encrypt on
	on "$client" "rchar -w 10 add plain-cli stream connect 10.0.0.1/plain-srv
		rchar -w 10 add keyed-cli stream connect 10.0.0.1/keyed-srv key k
		rchar -w 10 add sealed-cli stream connect 10.0.0.1/sealed-srv key k encrypt on" >/dev/null
	for name in plain keyed sealed; do
		rchar-perf serve /dev/rchar/$name-srv &
	done
	rchar-perf serve tcp:10.0.0.1:7100 &
	modprobe -q tls && "${tls[@]}" rchar-perf serve tcp:10.0.0.1:7101 &
}

kinds() { # WIREGUARD-SERVER
	cat <<-KINDS
		rchar stream||/dev/rchar/plain-cli
		rchar stream, key||/dev/rchar/keyed-cli
		rchar stream, encrypted||/dev/rchar/sealed-cli
		TCP||tcp:10.0.0.1:7100
		TCP, kernel TLS|${tls[*]}|tcp:10.0.0.1:7101
		TCP, WireGuard||tcp:$1:7102
	KINDS
}

# Two machines: rates.
prepare_private() {
	local ours theirs

	serve_private
	ours=$(wg genkey) theirs=$(wg genkey)
	eval "$(wireguard_here 10.9.0.1 "$ours" "$(wg pubkey <<<"$theirs")" 10.9.0.2 10.0.0.2)"
	on "$client" "$(wireguard_here 10.9.0.2 "$theirs" "$(wg pubkey <<<"$ours")" 10.9.0.1 10.0.0.1)
		modprobe -q tls"
	rchar-perf serve tcp:10.9.0.1:7102 &
	sleep 0.5
}

measure_private() {
	local who prefix endpoint size

	while IFS='|' read -r who prefix endpoint; do
		for size in 1024 65536 1048576; do
			perf_stream "$who" "$endpoint" $size "$prefix"
		done
		perf_latency "$who" "$endpoint" 64 "$prefix"
		perf_open "$who" "$endpoint" "$prefix"
	done < <(kinds 10.9.0.1)
}
