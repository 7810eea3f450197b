# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Machines a and b with a Debian system, joined by a cable. Source it after lib/ksft.sh, with
# MACHINES set to a folder for all that they are made of.
#
#   in_root COMMAND...   run a command in the system that disks are made of: $MACHINES/root
#   make_disk            the disk that all machines begin with, of that system
#   new_disk b           the machine's own; what it changes there stays until the next 'new_disk'
#   power_on b           does not wait; 'until_true answers b' does
#   power_off b          as with the switch: the system shuts down. Waits
#   pull_plug b          no more power
#   on b COMMAND...      run a command in a machine that answers
boot_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=$boot_here:$PATH
export MACHINES

in_root() {
	# shellcheck disable=SC2016 # for the other shell
	unshare --mount --pid --fork --kill-child bash -euc '
		root=$1
		shift
		mount --make-rprivate /
		mount -t proc proc "$root/proc"
		mount -t sysfs -o ro sysfs "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/run"
		PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C exec chroot "$root" "$@"
	' in_root "$MACHINES/root" "$@" </dev/null
}

make_disk() {
	cp "$MACHINES"/root/boot/vmlinuz-* "$MACHINES/vmlinuz"
	cp "$MACHINES"/root/boot/initrd.img-* "$MACHINES/initrd.img"
	rm -f "$MACHINES/disk"
	# Room for what machines store, install and build.
	truncate -s "$(($(du -sm "$MACHINES/root" | cut -f1) + 1500))M" "$MACHINES/disk"
	mkfs.ext4 -q -d "$MACHINES/root" "$MACHINES/disk"
	rm -rf "$MACHINES/root"
}

new_disk() { qemu-img create -q -f qcow2 -b "$MACHINES/disk" -F raw "$MACHINES/$1.disk"; }

# See vm/run for the second slot of a processor, and for what else is said to QEMU and the kernel.
power_on() { # HOST [CPUS]
	local host=$1 cpus=${2:-1} slots accel cable words nic

	accel=$("$boot_here/../vm/accel" "$MACHINES/vmlinuz" "$MACHINES/initrd.img") || return
	# udev loads aesni_intel for AES, and that module uses PCLMULQDQ without asking for it.
	accel=${accel/-pclmulqdq/-pclmulqdq,-aes}
	slots=$((cpus > 1 ? cpus : 2))
	cable="dgram,id=cable,local.type=unix,local.path=$MACHINES/$host.cable"
	cable+=",remote.type=unix,remote.path=$MACHINES/$(tr ab ba <<<"$host").cable"
	nic="virtio-net-pci,speed=10000,duplex=full,mac=52:54:00:00:00:$(printf %02x "'$host")"
	words="root=/dev/vda rw console=ttyS0 quiet loglevel=4 panic=-1 oops=panic no_timer_check"
	words+=" net.ifnames=0 systemd.hostname=$host"
	rm -f "$MACHINES/$host".{agent,cable}
	# shellcheck disable=SC2086 # words
	setsid nice qemu-system-x86_64 $accel -M q35 -m 1024 -smp "$cpus,maxcpus=$slots" \
		-nodefaults -no-user-config -display none \
		-kernel "$MACHINES/vmlinuz" -initrd "$MACHINES/initrd.img" \
		-append "$words" -serial chardev:console \
		-chardev "file,id=console,path=$MACHINES/$host.console,append=on" \
		-drive "file=$MACHINES/$host.disk,if=virtio,cache=unsafe" \
		-object rng-random,id=rng,filename=/dev/urandom -device virtio-rng-pci,rng=rng \
		-chardev "socket,id=agent,path=$MACHINES/$host.agent,server=on,wait=off" \
		-device virtio-serial \
		-device virtserialport,chardev=agent,name=org.qemu.guest_agent.0 \
		-netdev "$cable" -device "$nic,netdev=cable" \
		</dev/null >>"$MACHINES/$host.qemu" 2>&1 9>&- &
	echo $! >"$MACHINES/$host.pid"
	disown
}

answers() { timeout 20 on "$1" true; }
# A process that nobody has waited for has no command line.
is_on() { grep -q . "/proc/$(cat "$MACHINES/$1.pid")/cmdline"; }
is_off() { ! is_on "$1" 2>/dev/null; }

power_off() {
	is_on "$1" 2>/dev/null || return 0
	on "$1" systemctl --no-block poweroff
	until_true is_off "$1"
}

pull_plug() {
	is_off "$1" || kill -KILL "$(cat "$MACHINES/$1.pid")"
	until_true is_off "$1"
}

# What a kernel said on the console that a test does not want.
complaints() {
	local bad='Kernel panic|kernel BUG at|Oops|WARNING:|BUG:|invalid opcode'

	bad+='|general protection fault|INFO: task .* blocked|INFO: rcu.*detected'
	grep -hE "$bad" "$MACHINES"/*.console
}
