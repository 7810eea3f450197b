#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# guest.sh HOSTS ROUNDS SECONDS SECTION... - runs in machine a; the client is the last
# machine. Each round measures everything once, so that a slow moment of the host meets
# everybody. Lines for report.py.
hosts=$1 rounds=$2 seconds=$3
shift 3
cd /root || exit
for part in lib stream latency memory scale private fair delay manylinks forward; do
	# shellcheck source=/dev/null
	. bench/$part.sh
done
client=a
[ "$hosts" = 1 ] || client=b
device=rxe0
repeats=$(awk -v s="$seconds" 'BEGIN { print int(s * 1000) }')
qperf_seconds=1
rds=0
ulimit -n 50000

add() { # NAME TYPE [SETTING]...
	rchar add "$1-srv" "$2" listen 10.0.0.1 "${@:3}"
	on "$client" rchar -w 10 add "$1-cli" "$2" connect "10.0.0.1/$1-srv" >/dev/null
}

add stream stream
add message message
add dd stream
add many stream backlog 2048
for name in stream message many; do
	rchar-perf serve /dev/rchar/$name-srv &
done
rchar-perf serve tcp:10.0.0.1:7000 &
rchar-perf serve tcp:10.0.0.1:7001 &
# shellcheck disable=SC2154 # lib.sh
"${rsockets[@]}" rchar-perf serve tcp:10.0.0.1:7003 &
sleep 0.5
[[ " $* " != *" memory "* ]] || prepare_memory
[[ " $* " != *" private "* ]] || prepare_private
[[ " $* " != *" forward "* ]] || prepare_forward
if [[ " $* " = *" latency "* ]] && [ "$hosts" = 2 ]; then
	modprobe -a rds_rdma && on b modprobe -a rds_rdma && rds=1
fi

uname -r | sed 's/^/#\tkernel /'
for ((round = 0; round < rounds; round++)); do
	for section in "$@"; do
		"measure_$section"
	done
done
killall -q -9 rchar-perf rchar-forward socat
wait 2>/dev/null
