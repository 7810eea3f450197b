# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# For the scripts that measure, in machine a. 'hosts', 'client' and 'seconds' come from
# guest.sh.

# result SECTION ROW WHO UNIT VALUE - a line for report.py; nothing when there is no value
result() {
	[ -z "$5" ] || printf '@\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5"
}

# median_of PART - of the times of a part of JSON
median_of() { grep -o "\"$1\":{[^}]*}" | field p50; }

note() { printf '#\t%s\n' "$*"; }

field() { grep -o "\"$1\":[0-9.e+-]*" | head -n1 | cut -d: -f2; }	# of JSON

# Milliseconds that the processors of a host were not idle.
busy_of() { # HOST
	on "$1" "awk '/^cpu / { print (\$2 + \$3 + \$4 + \$7 + \$8) * 10 }' /proc/stat"
}

# The same of all hosts.
busy() {
	local host ms=0

	for host in $(vm-hosts); do
		ms=$((ms + $(busy_of "$host")))
	done
	echo $ms
}

# serve COMMAND... - a server for one client, here; end_server waits for it
serve() {
	"$@" >/tmp/server.log 2>&1 &
	server=$!
	sleep 0.5
}

end_server() {
	local i

	for ((i = 0; i < 40; i++)); do
		kill -0 "$server" 2>/dev/null || break
		sleep 0.05
	done
	kill -9 "$server" 2>/dev/null
	wait "$server" 2>/dev/null
}

# A peer's program at the client. One that hangs costs its row, not the run.
of_client() { on "$client" "timeout 30 $*"; }

# Before a program that uses sockets: over RDMA, rsocket(7).
rsockets=(env LD_PRELOAD=/usr/lib/librspreload.so)

# How often an operation of so many bytes fits into the time of one measurement, about.
# The fixed part is what an emulated machine needs for a packet.
times_of() { # BYTES
	awk -v s="$seconds" -v n="$1" 'BEGIN { k = s / (n / 1e8 + 6e-5); print int(k < 50 ? 50 : k) }'
}

# Seconds of processor time for each GiB.
cost() { # SECTION ROW WHO MILLISECONDS BYTES
	result "$1" "$2" "$3" 'CPU s/GiB' "$(awk -v ms="$4" -v b="$5" \
		'BEGIN { if (b > 0) printf "%.2f", ms / 1000 / (b / 1073741824) }')"
}
