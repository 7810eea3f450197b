#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Debian packages on Debian systems with systemd: installed, configured by files, booted,
# upgraded and removed. Two machines, which selftests/boot makes.
cd "$(dirname "$0")/.." || exit
. lib/ksft.sh
top=$(cd .. && pwd)
version=$(cat "$top/VERSION")
next=$version.1
work=$(mktemp -d)
MACHINES=$work/machines
# Emulated machines, each with one processor, beside another suite.
limit=$((600 * ${VM_PATIENCE:-1}))
build_limit=$((limit * 6))	# a kernel module in such a machine
mkdir "$MACHINES"
. boot/machines.sh
trap 'pull_plug a; pull_plug b; keep_logs; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

machines() { for h in a b; do is_off $h || echo $h; done; }
keep_logs() {
	mkdir -p "$top/build/logs/boot"
	rm -f "$top"/build/logs/boot/*
	cp "$MACHINES"/*.console "$MACHINES"/*.qemu "$top/build/logs/boot/" 2>/dev/null || true
}

# Disks as they were before the first boot.
restore() {
	pull_plug a
	pull_plug b
	rm -f "$work"/did.*
}

# did FUNCTION - some tests go on where another ended
did() { touch "$work/did.$1"; }
need() { [ -e "$work/did.$1" ] || "$1"; }
seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }
# within SECONDS COMMAND...
within() {
	local limit=$1

	shift
	until_true "$@"
}

packages() { echo "$work/$1"/rdma-char-*.deb; }
a_system_is_made() {
	local image dependencies ret=0

	[ ! -e "$MACHINES/root" ] || return 0
	"$top/debian/make-packages" "$work/deb"
	note "packages: $(stat -c '%n %s bytes' "$work"/deb/*.deb | sed 's|.*/||' | tr '\n' ' ')"
	# Of libraries; DKMS is there.
	dependencies=$(dpkg-deb -f "$work"/deb/rdma-char-tools_*.deb Depends |
		sed 's/([^)]*)//g; s/,/ /g')
	# shellcheck disable=SC2086 # words
	image=$(boot/image $dependencies 2>"$work/image.err") || ret=$?
	[ $ret != 3 ] || skip "$(tail -n1 "$work/image.err")"
	cat "$work/image.err"
	[ $ret = 0 ]
	note "system: $(du -sm "$image" | cut -f1) MiB"
	cp -a --reflink=auto "$image" "$MACHINES/root"
	mkdir "$MACHINES/root/root/deb"
	cp "$work"/deb/*.deb "$MACHINES/root/root/deb/"
}

# in_root_install - what dpkg says of all packages; its status is that of dpkg
in_root_install() { in_root sh -c 'dpkg -i /root/deb/*.deb 2>&1'; }

# An emulated machine compiles the module in hours. So the compiler of this host compiles the next
# version once, in the same folder, and leaves the objects for the machine's ccache(1). There DKMS does
# all that it does elsewhere, links the module and installs it.
ccache='CCACHE_DIR=/srv/ccache DEBIAN_KERNEL_USE_CCACHE=1'
fill_ccache() {
	local kernel

	need next_packages_are_built
	kernel=$(ls "$MACHINES/root/lib/modules")
	dpkg-deb -x "$work"/next/rdma-char-dkms_*.deb "$work/unpacked"
	cp -r "$work/unpacked/usr/src/rdma_char-$next" "$MACHINES/root/usr/src/"
	# shellcheck disable=SC2086 # words
	in_root env $ccache dkms build -m rdma_char -v "$next" -k "$kernel"
	# shellcheck disable=SC2086 # words
	in_root env $ccache ccache -sv | grep -iE 'cacheable|miss'
	in_root dkms remove -m rdma_char -v "$next" --all
	rm -r "$MACHINES/root/usr/src/rdma_char-$next"
}

# Neither a kernel without headers nor a compiler that fails passes in silence.
a_failed_dkms_build_says_so() {
	local kernel out headers=$MACHINES/root/usr/src compiler

	need a_system_is_made
	kernel=$(ls "$MACHINES/root/lib/modules")
	compiler=$(readlink -f "$MACHINES/root/usr/bin/gcc")
	mv "$headers" "$headers.away"
	mkdir "$headers"
	out=$(in_root_install)
	grep -q "$kernel.*skipped" <<<"$out"
	grep -q "headers.*not seem to be installed" <<<"$out"
	in_root dpkg -P rdma-char-dkms rdma-char-tools rdma-char-dev
	rm -r "$headers"
	mv "$headers.away" "$headers"

	mv "$compiler" "$compiler.away"
	ln -s /bin/false "$compiler"
	out=$(expect_status 1 in_root_install)
	grep -q "Error! Bad return status for module build on kernel: $kernel" <<<"$out"
	grep -q "make.log for more information" <<<"$out"
	mv "$compiler.away" "$compiler"
}

packages_install_and_dkms_builds() {
	local start=$EPOCHREALTIME out

	need a_system_is_made
	out=$(in_root_install) || { echo "$out"; return 1; }
	note "dpkg took $(seconds_since "$start") s, DKMS included"
	[ "$(grep -ci 'warning\|error' <<<"$out")" = 0 ] || { echo "$out"; return 1; }
	cp "$top/debian/tests/module-builds" "$MACHINES/root/root/"
	in_root /root/module-builds
	rm "$MACHINES/root/root/module-builds"
	[ "$(in_root dpkg -l 'rdma-char-*' | grep -c '^ii')" = 3 ]
	fill_ccache
	make_disk
	note "disk: $(du -sm "$MACHINES/disk" | cut -f1) MiB"
	did packages_install_and_dkms_builds
}

# What an administrator writes. No service is started, and no command of ours configures anything.
configured_by_files_alone() {
	local h secret

	need packages_install_and_dkms_builds
	for h in a b; do
		new_disk $h
		power_on $h
	done
	for h in a b; do
		until_true answers $h
		[ "$(on $h systemctl is-enabled rchar.service)" = enabled ]
		# Without a configuration it does nothing.
		[ "$(on $h systemctl show -P ActiveState rchar.service)" = inactive ]
		[ "$(on $h systemctl show -P ConditionResult rchar.service)" = no ]
		tar -C boot/both -c . | on $h tar -C / -x --no-same-owner
		tar -C boot/$h -c . | on $h tar -C / -x --no-same-owner
	done
	secret=$(on a rchar key gen)
	on a "umask 077; cat >/etc/rchar/keys/b" <<<"$secret"
	on b "umask 077; cat >/etc/rchar/keys/a" <<<"$secret"
	on b "head -c 16m /dev/urandom >/srv/file"
	for h in a b; do
		on $h systemctl enable systemd-networkd soft-roce@eth0 rchar-forward@echo
	done
	on a systemctl enable rchar-exec@inbox echo.socket
	on b systemctl enable send
	for h in a b; do power_off $h; done
	did configured_by_files_alone
}

a_stream_crosses_after_a_reboot() {
	local start h

	need configured_by_files_alone
	: >"$MACHINES/a.console"
	start=$EPOCHREALTIME
	power_on a
	power_on b
	# Of a unit: nobody asks a machine for anything until then.
	until_true grep -q 'the first byte of b is here' "$MACHINES/a.console"
	note "power-on to first byte: $(seconds_since "$start") s"
	until_true grep -q 'the file of b is here' "$MACHINES/a.console"
	note "power-on to the end of 16 MiB: $(seconds_since "$start") s"
	for h in a b; do
		until_true answers $h
		note "$h: $(on $h systemd-analyze time | head -n1)"
		[ -z "$(on $h systemctl --failed --plain --no-legend)" ] ||
			{ on $h 'systemctl --failed; journalctl -b -n 50 -u "rchar*"'; return 1; }
	done
	files_are_equal /srv/file
	# That of the file; channels without a key have another link.
	on a rchar -j link | grep -c '"encrypted":true' >/dev/null
	did a_stream_crosses_after_a_reboot
}

# files_are_equal FILE-OF-B - and what a has stored
files_are_equal() {
	[ "$(on a 'sha256sum </var/lib/inbox/b')" = "$(on b "sha256sum <$1")" ]
}

# The file of a folder of its own, and what it says of the node.
every_file_of_the_folder_counts() {
	need a_stream_crosses_after_a_reboot
	[ "$(on a 'stat -c "%a %G" /dev/rchar/mail')" = "660 users" ]
	[ "$(on b 'stat -c "%a %G" /dev/rchar/mail')" = "660 users" ]
	on a 'rchar apply --dry-run' | cmp - /dev/null
	on a 'echo pooled | dd of=/dev/rchar/pool conv=notrunc status=none'
	[ "$(on b 'head -c 6 /dev/rchar/pool')" = pooled ]
	# A unit for each node.
	on b systemctl is-active dev-rchar-mail.device
}

programs_with_sockets_cross() {
	need a_stream_crosses_after_a_reboot
	[ "$(on b 'exec 3<>/dev/tcp/127.0.0.1/7; echo hello >&3; head -n1 <&3')" = hello ]
}

# hardened HOST PROPERTY... -- COMMAND: a unit that may do nothing, but has the properties
hardened() {
	local host=$1 properties=''

	shift
	while [ "$1" != -- ]; do
		properties+=" -p '$1'"
		shift
	done
	shift
	on "$host" "systemd-run -q --wait --pipe --collect -p DynamicUser=yes \
		-p SupplementaryGroups=users -p CapabilityBoundingSet= -p NoNewPrivileges=yes \
		-p LimitMEMLOCK=64K -p PrivateNetwork=yes -p RestrictAddressFamilies= \
		-p ProtectSystem=strict -p ProtectHome=yes -p ProtectProc=invisible \
		-p ProcSubset=pid -p ProtectKernelTunables=yes -p ProtectKernelModules=yes \
		-p RestrictNamespaces=yes -p MemoryDenyWriteExecute=yes -p LockPersonality=yes \
		-p SystemCallArchitectures=native -p SystemCallFilter=@system-service \
		-p 'SystemCallFilter=~@privileged @resources' \
		-p DevicePolicy=closed $properties $*"
}

a_hardened_unit_works() {
	local reader device='DeviceAllow=char-rdma_char rw'

	need a_stream_crosses_after_a_reboot
	hardened a "$device" -- head -c 1000 /dev/rchar/mail >"$work/mail" &
	reader=$!
	on b 'head -c 1000 /dev/urandom >/srv/mail'
	hardened b "$device" -- dd if=/srv/mail of=/dev/rchar/mail bs=1000
	wait $reader
	[ "$(on b 'sha256sum </srv/mail')" = "$(sha256sum <"$work/mail")" ]
	# It is the rule that allows it.
	hardened b -- "dd if=/srv/mail of=/dev/rchar/mail 2>&1" | tee "$work/refused" || true
	grep -q 'Operation not permitted' "$work/refused"
}

# Of a user, rootless, with the program that comes with the system: no registry of images.
a_container_without_capabilities_works() {
	local reader run

	need a_stream_crosses_after_a_reboot
	on b 'useradd -m -G users user; mkdir -p ~user/root/bin
		cp /bin/busybox ~user/root/bin/; head -c 1000 /dev/urandom >~user/root/mail
		chown -R user: ~user/root'
	run='podman run --rm --network=none --cgroups=disabled --cap-drop=all'
	run+=' --security-opt=no-new-privileges --group-add=keep-groups'
	run+=' --ulimit=memlock=65536:65536'
	in_container() { on b "su - user -c '$run $1 --rootfs /home/user/root /bin/busybox $2'"; }
	in_container '' 'grep CapEff /proc/self/status' | grep -E 'CapEff:\s*0{16}$'
	in_container '' 'sh -c "ulimit -l"' | grep -x 64
	on a 'head -c 1000 /dev/rchar/mail' >"$work/mail" &
	reader=$!
	in_container --device=/dev/rchar/mail 'dd if=/mail of=/dev/rchar/mail bs=1000'
	wait $reader
	[ "$(on b 'sha256sum <~user/root/mail')" = "$(sha256sum <"$work/mail")" ]
	# It has one channel, and no other.
	[ "$(in_container --device=/dev/rchar/mail 'ls /dev/rchar')" = mail ]
	! in_container '' 'ls /dev/rchar' || return 1
}

# What autopkgtest runs, in a machine that talks to itself.
autopkgtests_pass() {
	local t

	need a_stream_crosses_after_a_reboot
	for t in "$top"/debian/tests/*-*; do
		on b 'cat >/tmp/test; chmod 755 /tmp/test' <"$t"
		expect_status 0 on b /tmp/test
	done
}

next_packages_are_built() {
	"$top/debian/make-packages" --version "$next" "$work/next"
	did next_packages_are_built
}

# A file that stays open: 'more' ends it.
a_file_is_open() {
	on b 'mkfifo /run/more; cat /srv/file /srv/file >/srv/both'
	on a 'rm -f /var/lib/inbox/b*'
	on b "systemd-run -q --unit=open-file \
		bash -c 'exec >/dev/rchar/outbox; cat /srv/file; cat /run/more'"
	until_true on a 'test $(stat -c %s /var/lib/inbox/b.new) = $((16 * 1024 * 1024))'
}

the_file_goes_on() {
	on b 'cat /srv/file >/run/more; rm /run/more'
	until_true on a test -e /var/lib/inbox/b
	files_are_equal /srv/both
	on b systemctl show -P Result open-file | grep -qx success
}

links_to_a() { on b rchar link | sed -n 's/: to 10\.0\.0\.1:.*//p'; }

an_upgrade_keeps_sessions() {
	local h pid links

	need a_stream_crosses_after_a_reboot
	need next_packages_are_built
	a_file_is_open
	pid=$(on a systemctl show -P MainPID rchar-exec@inbox)
	links=$(links_to_a)
	for h in a b; do
		on $h 'cat >/root/tools.deb' <"$(echo "$work"/next/rdma-char-tools_*.deb)"
		on $h 'dpkg -i /root/tools.deb'
		[ "$(on $h rchar -V)" = "rchar $next" ]
		on $h systemctl is-active rchar.service
	done
	[ "$(on a systemctl show -P MainPID rchar-exec@inbox)" = "$pid" ]
	[ "$(links_to_a)" = "$links" ]
	the_file_goes_on
	did an_upgrade_keeps_sessions
}

# module_version HOST - of the module that is loaded
module_version() { on "$1" rchar -j version | grep -o '"module":"[^"]*"' | cut -d'"' -f4; }

# The old module works until it is unloaded, also beside a new package.
a_new_module_version_takes_over() {
	local start=$EPOCHREALTIME

	need a_stream_crosses_after_a_reboot
	need next_packages_are_built
	a_file_is_open
	on a 'cat >/root/dkms.deb' <"$(echo "$work"/next/rdma-char-dkms_*.deb)"
	on a "systemd-run -q --unit=upgrade -p RemainAfterExit=yes -p 'Environment=$ccache' dpkg -i /root/dkms.deb"
	within $build_limit on a 'systemctl show -P SubState upgrade | grep -E "exited|failed"'
	note "the upgrade took $(seconds_since "$start") s in the machine, DKMS included"
	on a 'systemctl show -P Result upgrade | grep -qx success' || {
		on a journalctl -u upgrade
		return 1
	}
	on a dkms status | grep "^rdma_char/$next, .*: installed"
	[ "$(on a dkms status rdma_char | wc -l)" = 1 ]
	[ "$(module_version a)" = "$version" ]
	the_file_goes_on
	on a 'systemctl stop "rchar-*"; modprobe -r rdma_char && systemctl restart rchar'
	on a 'systemctl start rchar-exec@inbox rchar-forward@echo'
	[ "$(module_version a)" = "$next" ]
	# Two versions meet.
	[ "$(module_version b)" = "$version" ]
	on a 'rm -f /var/lib/inbox/b'
	until_true on b 'cat /srv/file >/dev/rchar/outbox'
	until_true on a test -e /var/lib/inbox/b
	files_are_equal /srv/file
}

# Not purged: the configuration is still there.
a_package_installed_again_adds_the_channels() {
	need a_stream_crosses_after_a_reboot
	on a 'cat >/root/tools.deb' <"$(echo "$work"/next/rdma-char-tools_*.deb)"
	on a 'dpkg -r rdma-char-tools && ! systemctl is-active rchar.service'
	on a '[ -e /etc/rchar ] && modprobe -r rdma_char && dpkg -i /root/tools.deb'
	on a 'systemctl is-active rchar.service && rchar show inbox'
}

# But for what the administrator wrote for systemd. (Kernel threads have names of work queues.)
purge_leaves_nothing() {
	local left

	need a_stream_crosses_after_a_reboot
	on a 'dpkg -P rdma-char-tools rdma-char-dkms rdma-char-dev'
	left=$(on a "systemctl list-units --all --plain --no-legend 'rchar*' '*rchar*.device'
		systemctl list-unit-files --no-legend 'rchar*'
		find / -xdev \\( -name '*rchar*' -o -name '*rdma?char*' \\) \
			! -path '/root/*' ! -path '/var/log/*' ! -path '/etc/systemd/system/*.service.d'
		find /etc/systemd/system -xtype l
		grep -w ^rdma_char /proc/modules
		ls -d /dev/rchar /sys/class/rchar
		pgrep -a '^rchar'" 2>/dev/null || true)
	[ -z "$left" ] || { echo "$left"; return 1; }
}

no_kernel_complained() {
	local out

	need a_stream_crosses_after_a_reboot
	out=$(complaints) || return 0
	echo "$out"
	return 1
}

plan 14
run a_failed_dkms_build_says_so
run packages_install_and_dkms_builds
run configured_by_files_alone
set_up=a_stream_crosses_after_a_reboot
run a_stream_crosses_after_a_reboot
run every_file_of_the_folder_counts
run programs_with_sockets_cross
run a_hardened_unit_works
run a_container_without_capabilities_works
run autopkgtests_pass
run an_upgrade_keeps_sessions
run a_new_module_version_takes_over
run a_package_installed_again_adds_the_channels
run purge_leaves_nothing
run no_kernel_complained
finish
