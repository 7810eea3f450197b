# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # what guest.sh sets
# A memory channel beside perftest and NVMe-oF RDMA on null_blk, with the same fio jobs:
# a exports, the client reads and writes. Sourced by guest.sh.

nvme_target() {
	modprobe null_blk gb=1 bs=4096 && modprobe nvmet_rdma && mount -t configfs none /sys/kernel/config &&
		cd /sys/kernel/config/nvmet && mkdir subsystems/t ports/1 subsystems/t/namespaces/1 || return
	echo 1 >subsystems/t/attr_allow_any_host
	echo -n /dev/nullb0 >subsystems/t/namespaces/1/device_path
	echo 1 >subsystems/t/namespaces/1/enable
	echo rdma >ports/1/addr_trtype
	echo ipv4 >ports/1/addr_adrfam
	echo 10.0.0.1 >ports/1/addr_traddr
	echo 4420 >ports/1/addr_trsvcid
	ln -s "$PWD/subsystems/t" ports/1/subsystems/t
	cd /root &&
		on "$client" 'modprobe nvme_rdma && echo transport=rdma,traddr=10.0.0.1,trsvcid=4420,nqn=t >/dev/nvme-fabrics'
}

prepare_memory() {
	rchar add pool memory listen 10.0.0.1 size 256m
	on "$client" rchar -w 10 add mem memory connect 10.0.0.1/pool
	nvme=1
	nvme_target 2>/dev/null || { nvme=0; note "no NVMe-oF: nvmet_rdma, null_blk or nvme_rdma does not work here"; }
	cd /root || exit
}

# Of perftest's server nothing but its processor is used, of fio's client all.
fio_memory() { # WHO FILE DIRECT RW BS DEPTH
	local row="$4 $5 depth $6" out before mine

	before=$(busy) mine=$(busy_of a)
	out=$(on "$client" "cd /tmp && fio --name=j --filename=$2 --size=256m --rw=$4 --bs=$5 --iodepth=$6 \
		--ioengine=io_uring --direct=$3 --time_based --runtime=1 --allow_file_create=0 \
		--fallocate=none --minimal" | tail -n1)
	result memory "$row" "$1" IOPS "$(awk -F';' '{ print $8 + $49 }' <<<"$out")"
	result memory "$row" "$1" MB/s "$(awk -F';' '{ printf "%.2f", ($7 + $48) * 1.024 / 1000 }' <<<"$out")"
	# Of the one second that fio ran.
	[ "$hosts" = 1 ] || result memory "$row" "$1" 'exporter busy %' $((($(busy_of a) - mine) / 10))
	cost memory "$row" "$1" $(($(busy) - before)) "$(awk -F';' '{ print ($6 + $47) * 1024 }' <<<"$out")"
}

perftest_memory() { # PROGRAM RW BS BYTES DEPTH
	local row="$2 $3 depth $5" n

	n=$(times_of "$4")
	serve "$1" -s "$4" -t "$5" -n "$n" -F -d "$device"
	of_client "$1 -s $4 -t $5 -n $n -F -d $device 10.0.0.1" | grep "^ *$4 " >/tmp/verbs
	result memory "$row" "$1" MB/s "$(awk '{ printf "%.2f", $4 * 1.048576 }' /tmp/verbs)"
	result memory "$row" "$1" IOPS "$(awk -v s="$4" '{ printf "%.0f", $4 * 1048576 / s }' /tmp/verbs)"
	end_server
}

measure_memory() {
	local spec program

	for spec in "randread 4k 4096 1" "randread 4k 4096 32" "randwrite 4k 4096 1" "randwrite 4k 4096 32" \
		"read 64k 65536 8" "write 64k 65536 8" "read 1m 1048576 4" "write 1m 1048576 4"; do
		# shellcheck disable=SC2086
		set -- $spec
		program=ib_read_bw
		[[ $1 = *read ]] || program=ib_write_bw
		fio_memory 'rchar, fio' /dev/rchar/mem 0 "$1" "$2" "$4"
		perftest_memory $program "$1" "$2" "$3" "$4"
		[ "$nvme" = 0 ] || fio_memory 'NVMe-oF RDMA, fio' /dev/nvme0n1 1 "$1" "$2" "$4"
	done
}
