#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Debian packages: what is in them, and that DKMS builds the module from them. No machine.
cd "$(dirname "$0")/.." || exit
. lib/ksft.sh
set_up=packages_are_built
top=$(cd .. && pwd)
version=$(cat "$top/VERSION")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
machines() { :; }

package() { echo "$work/deb/rdma-char-$1_${version}_"*.deb; }
files() { dpkg-deb -c "$(package "$1")" | awk '$6 !~ "/$" { print $6 }'; }
# NAME FILE... - the package has these files
has() {
	local name=$1 f list

	shift
	list=$(files "$name")
	for f in "$@"; do grep -qxF ".$f" <<<"$list" || { echo "rdma-char-$name lacks $f"; return 1; }; done
}

packages_are_built() {
	"$top/debian/make-packages" "$work/deb"
	[ "$(ls "$work/deb" | wc -l)" = 3 ]
	note "$(stat -c '%n %s bytes' "$work"/deb/*.deb | sed 's|.*/||' | tr '\n' ' ')"
}

every_file_has_its_package() {
	has tools /usr/sbin/rchar /usr/bin/rchar-perf /usr/bin/rchar-forward /usr/bin/rchar-exec \
		/lib/systemd/system/rchar.service /lib/systemd/system/rchar-forward@.service \
		/lib/systemd/system/rchar-metrics.timer /lib/systemd/system/rchar-exec@.service /usr/share/man/man1/rchar-forward.1.gz \
		/lib/udev/rules.d/60-rchar.rules /usr/share/bash-completion/completions/rchar \
		/usr/share/zsh/vendor-completions/_rchar /usr/share/man/man8/rchar.8.gz \
		/usr/share/rdma_char/grafana/rdma_char.json /usr/share/man/man5/rchar.conf.5.gz /usr/share/man/man1/rchar-perf.1.gz
	has dev /usr/include/linux/rdma_char.h /usr/share/rdma_char/netlink/specs/rdma_char.yaml
	has dkms "/usr/src/rdma_char-$version/dkms.conf" "/usr/src/rdma_char-$version/kmod/main.c"
	# The source as it is in the tree, and nothing that was built from it.
	[ "$(files dkms | grep -c '/kmod/.*')" = "$(find "$top/kmod" -name '*.[ch]' ! -name '*.mod.c' | wc -l)" ]
	[ "$(dpkg-deb -f "$(package tools)" Depends | grep -c dkms)" = 0 ]
	[ "$(dpkg-deb -c "$(package tools)" | awk '$6 == "./etc/rchar/keys/" { print $1 }')" = drwx------ ]
}

# dpkg refuses a file that two packages have.
packages_go_together() {
	local root=$work/root

	mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
	: >"$root/var/lib/dpkg/status"
	dpkg --root="$root" --force-depends --force-not-root --unpack "$work"/deb/*.deb
	[ "$(dpkg --root="$root" -l 'rdma-char-*' | grep -c '^iU')" = 3 ]
	[ -x "$root/usr/sbin/rchar" ]
	"$root/usr/sbin/rchar" -V | grep -q "^rchar $version$"
}

lintian_is_silent() {
	local out

	out=$(lintian --no-cfg --allow-root --display-info --fail-on error,warning,info "$work"/deb/*.deb 2>&1) || {
		echo "$out"
		return 1
	}
	[ -z "$out" ] || { echo "$out"; return 1; }
}

# Whoever builds, in whatever folder, with whatever umask and time zone, gets the same bytes.
two_builds_are_equal() {
	local f

	mkdir -p "$work/tmp"
	(umask 077; TZ=Asia/Tokyo LC_ALL=C TMPDIR=$work/tmp "$top/debian/make-packages" "$work/again")
	for f in "$work"/deb/*.deb; do cmp "$f" "$work/again/${f##*/}"; done
}

# As in 'dkms install', in folders of our own.
dkms_builds_the_module() {
	local kernel ko trees=(--dkmstree "$work/dkms" --sourcetree "$work/dkms-source/usr/src")

	kernel=$(cd /lib/modules && ls -d -- */build | sed 's|/build||' | sort -V | tail -n1)
	[ -n "$kernel" ] || skip "no kernel headers here"
	dpkg-deb -x "$(package dkms)" "$work/dkms-source"
	mkdir -p "$work/dkms"
	dkms add "rdma_char/$version" "${trees[@]}"
	dkms build "rdma_char/$version" -k "$kernel" "${trees[@]}" >"$work/dkms.log" 2>&1 || {
		cat "$work/dkms.log" "$work/dkms/rdma_char/$version/build/make.log"
		return 1
	}
	[ "$(grep -ci 'deprecated\|warning' "$work/dkms.log")" = 0 ]
	ko=$(find "$work/dkms/rdma_char/$version/$kernel" -name 'rdma_char.ko*')
	[ "$(modinfo -F version "$ko")" = "$version" ]
	[ "$(modinfo -F vermagic "$ko" | cut -d' ' -f1)" = "$kernel" ]
	# A kernel that is too old is not tried.
	for kernel in 5.10.0-1-amd64 6.0.9 4.19; do
		expect_status 77 dkms build "rdma_char/$version" -k "$kernel" --kernelsourcedir "$work" "${trees[@]}"
	done
}

versions_agree() {
	"$work/root/usr/sbin/rchar" -V | grep -qF "$version"
	dpkg-deb --fsys-tarfile "$(package tools)" | tar -xO ./usr/share/man/man8/rchar.8.gz | zcat |
		grep -q "^\.TH RCHAR 8 \"\" \"rdma_char $version\""
	head -n 5 "$top/CHANGELOG.md" | grep -q "^## $version "
	# And nobody else says it.
	out=$(cd "$top" && grep -rnF "$version" --exclude='.*.cmd' --exclude='*.[ok]*' Makefile Kbuild dkms.conf \
		README.md Documentation/*.[158] Documentation/*.rst tools kmod) || true
	[ -z "$out" ] || { echo "$out"; return 1; }
}

plan 7
run packages_are_built
run every_file_has_its_package
run packages_go_together
run versions_agree
run lintian_is_silent
run two_builds_are_equal
run dkms_builds_the_module
finish
