# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# Many links between two machines: how long until all are up, and up again after all broke at once.
# Sourced by guest.sh.

nr_links=1000

nr_up() { on "$client" 'rchar -j link' | grep -o '"initiator":true,[^[]*"state":"up"' | wc -l; }

# From a configuration file. Channels with different settings do not share a link.
prepare_manylinks() {
	echo $((nr_links * 2)) >/sys/module/rdma_char/parameters/peer_lanes
	echo $((nr_links * 2)) >/sys/module/rdma_char/parameters/host_lanes
	rchar add links-srv stream listen 10.0.0.1
	on "$client" "rchar save >/tmp/few.conf
		cp /tmp/few.conf /tmp/many.conf
		for ((i = 0; i < $nr_links; i++)); do
			echo add link\$i stream connect 10.0.0.1/links-srv \
				keepalive \$((20 + i / 64))s tos \$((i % 64 * 4))
		done >>/tmp/many.conf"
}

# links_are_up LINKS UNIT - waits, and tells how long it was since 'start'. To list a thousand links
# takes the machine about as long as to connect a hundred, so it waits for the last one first.
links_are_up() {
	local i

	on "$client" rchar -w 60 show link$((nr_links - 1)) >/dev/null
	for ((i = 0; i < 600; i++)); do
		if [ "$(nr_up)" -ge "$1" ]; then
			result manylinks "$nr_links links" rchar "$2" $(((${EPOCHREALTIME/./} - start) / 1000))
			return
		fi
		sleep 0.05
	done
}

measure_manylinks() {
	local start before

	[ -e /dev/rchar/links-srv ] || prepare_manylinks
	before=$(nr_up)
	start=${EPOCHREALTIME/./}
	on "$client" rchar apply /tmp/many.conf >/dev/null
	links_are_up $((before + nr_links)) 'all up, ms'
	rdma link del rxe0
	rdma link add rxe0 type rxe netdev net0
	# Before, no attempt could succeed. One whose request is lost meanwhile asks again after 4.3 s
	# (CMA_CM_RESPONSE_TIMEOUT in drivers/infiniband/core/cma.c).
	start=${EPOCHREALTIME/./}
	links_are_up $((before + nr_links)) 'all up again, ms'
	on "$client" rchar apply /tmp/few.conf >/dev/null
}
