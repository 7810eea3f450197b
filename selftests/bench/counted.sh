# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For the scripts that count instructions, where each takes a nanosecond. After lib.sh.

count() { # ROW WHO MICROSECONDS
	result count "$1" "$2" 'instructions' "$(awk -v us="$3" 'BEGIN { if (us) printf "%.0f", us * 1000 }')"
}

# bandwidth ENDPOINT SIZE [OPTION]... - microseconds for each block; after the words of "run"
bandwidth() {
	local endpoint=$1 size=$2

	shift 2
	${run:-} rchar-perf bandwidth "$endpoint" -s "$size" -t 0.2 -j "$@" | field MB/s | awk -v s="$size" '{ print s / $1 }'
}
