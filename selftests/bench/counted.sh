# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For the scripts that count instructions, where each takes a nanosecond. After lib.sh.

count() { # ROW WHO MICROSECONDS
	result count "$1" "$2" 'instructions' "$(awk -v us="$3" 'BEGIN { if (us) printf "%.0f", us * 1000 }')"
}

# The words before a command of which inside() tells. Each sample is 25,000 instructions after the
# one before it; taking it costs some, but does not change what part of the samples is where.
sampled='perf record -q -a -e cpu-clock -c 25000 -o /tmp/perf.data --'

# inside ROW WHO MICROSECONDS - of those, what is spent in the module's own code, both ends: as its
# part of the samples
inside() {
	local size begin end part

	read -r size begin < <(awk '$1 == "rdma_char" { print $2, $6 }' /proc/modules)
	# Kernel addresses are texts of one length.
	end=$(printf %x $((begin + size))) begin=${begin#0x}
	part=$(perf script -i /tmp/perf.data -F ip |
		awk -v b="$begin" -v e="$end" '$1 "" >= b && $1 "" < e { ours++ } { all++ } END { if (all) print ours / all }')
	count "$1" "$2, inside rdma_char" "$(awk -v us="$3" -v part="$part" 'BEGIN { print us * part }')"
}

# bandwidth ENDPOINT SIZE [OPTION]... - microseconds for each block; after the words of "run"
bandwidth() {
	local endpoint=$1 size=$2

	shift 2
	${run:-} rchar-perf bandwidth "$endpoint" -s "$size" -t 0.2 -j "$@" | field MB/s | awk -v s="$size" '{ print s / $1 }'
}

# ENDPOINT - microseconds, likewise
round_trip() { ${run:-} rchar-perf latency "$1" -n 200 -j | field p50; }
opening() { ${run:-} rchar-perf open "$1" -n 100 -j | median_of open_us; }
