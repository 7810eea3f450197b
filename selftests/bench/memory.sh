#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# memory.sh ROUNDS - a memory channel beside perftest and NVMe-oF RDMA on null_blk, with the
# same fio jobs, between two machines: a exports, b reads and writes. Medians with their
# spread, and what the exporter's processor did meanwhile.
rounds=$1
declare -A values
note() { values[$1]+=" $2"; }

rchar add pool memory listen 10.0.0.1 size 256m
on b rchar -w 10 add pool memory connect 10.0.0.1

nvme=0
modprobe null_blk gb=1 bs=4096 && modprobe nvmet_rdma && mount -t configfs none /sys/kernel/config && {
	cd /sys/kernel/config/nvmet || exit 1
	mkdir subsystems/t && echo 1 >subsystems/t/attr_allow_any_host
	mkdir subsystems/t/namespaces/1
	echo -n /dev/nullb0 >subsystems/t/namespaces/1/device_path
	echo 1 >subsystems/t/namespaces/1/enable
	mkdir ports/1
	echo rdma >ports/1/addr_trtype
	echo ipv4 >ports/1/addr_adrfam
	echo 10.0.0.1 >ports/1/addr_traddr
	echo 4420 >ports/1/addr_trsvcid
	ln -s "$PWD/subsystems/t" ports/1/subsystems/t
	cd /root || exit 1
	on b 'modprobe nvme_rdma && echo transport=rdma,traddr=10.0.0.1,trsvcid=4420,nqn=t >/dev/nvme-fabrics' && nvme=1
} 2>/dev/null
[ $nvme = 1 ] || echo "# no NVMe-oF: nvmet_rdma, null_blk or nvme_rdma does not work here"

# Ticks of 10 ms that this processor was not idle.
busy() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }

job() { # NAME FILE RW BS DEPTH
	local before out

	before=$(busy)
	out=$(on b "cd /tmp && fio --name=j --filename=$2 --size=256m --rw=$3 --bs=$4 --iodepth=$5 \
		--ioengine=io_uring --direct=$6 --time_based --runtime=2 --allow_file_create=0 \
		--fallocate=none --minimal" | tail -n1)
	note "$1 $3 $4 depth $5: IOPS" "$(awk -F';' '{ print $8 + $49 }' <<<"$out")"
	note "$1 $3 $4 depth $5: MB/s" "$(awk -F';' '{ print int(($7 + $48) * 1.024 / 1000) }' <<<"$out")"
	note "$1 $3 $4 depth $5: exporter busy, %" "$((($(busy) - before) / 2))"
}

# perftest counts in MiB.
verbs() { # PROGRAM BS DEPTH COUNT
	"$1" -s "$2" -t "$3" -n "$4" -F -d rxe0 >/tmp/bw.log 2>&1 &
	local server=$!
	sleep 0.7
	note "$1 -s $2 -t $3: MB/s" "$(on b "$1 -s $2 -t $3 -n $4 -F -d rxe0 10.0.0.1" |
		awk -v s="$2" '$1 == s { print int($4 * 1.048576) }')"
	wait $server
}

for ((i = 0; i < rounds; i++)); do
	for spec in "randread 4k 1" "randread 4k 32" "randwrite 4k 32" "read 64k 8" "write 64k 8" "read 1m 4" "write 1m 4"; do
		# shellcheck disable=SC2086
		set -- $spec
		job rchar /dev/rchar/pool "$1" "$2" "$3" 0
		[ $nvme = 0 ] || job nvme-rdma /dev/nvme0n1 "$1" "$2" "$3" 1
	done
	verbs ib_read_bw 4096 1 2000
	verbs ib_read_bw 4096 32 5000
	verbs ib_write_bw 4096 32 5000
	verbs ib_read_bw 65536 8 1000
	verbs ib_write_bw 65536 8 1000
	verbs ib_read_bw 1048576 4 100
	verbs ib_write_bw 1048576 4 100
done
for name in "${!values[@]}"; do
	# shellcheck disable=SC2086
	printf '%s\n' ${values[$name]} | sort -n | awk -v name="$name" '
		{ v[NR] = $1 }
		END { printf "%-52s %8d  (%d to %d)\n", name, v[int((NR + 1) / 2)], v[1], v[NR] }'
done | sort
