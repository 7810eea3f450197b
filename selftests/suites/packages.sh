#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Debian and RPM packages: what is in them, and that DKMS and akmods' way build the module from
# them. No machine.
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

	kernel=$(newest_headers)
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

# ---- RPM ----

rpm_of() { echo "$work/rpm/$1-$version"-*.*.rpm; } # NAME

rpm_packages_are_built() {
	"$top/rpm/make-packages" "$work/rpm"
	[ "$(ls "$work/rpm" | wc -l)" = 4 ]
	note "$(stat -c '%n %s bytes' "$work"/rpm/*.rpm | sed 's|.*/||' | tr '\n' ' ')"
}

# What the Debian packages have, where an RPM distribution wants it. A file is in one package.
rpm_packages_have_the_same_files() {
	local list=$work/files

	find "$work/root" ! -type d -printf '/%P\n' | grep -v '^/var/lib/dpkg\|^/usr/share/\(doc\|lintian\)\|^/usr/src' |
		sed 's|^/lib/|/usr/lib/|; s|vendor-completions|site-functions|; s|\(/man/.*\)\.gz$|\1|' |
		sort >"$list.deb"
	rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$(rpm_of rdma-char-tools)" "$(rpm_of rdma-char-devel)" |
		grep -v '^d\|/usr/lib/\.build-id\|/usr/share/\(doc\|licenses\)/' |
		sed 's|^[^ ]* ||; s|\(/man/.*\)\.gz$|\1|' | sort >"$list.rpm"
	diff "$list.deb" "$list.rpm"
	rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$(rpm_of rdma-char-tools)" |
		grep -qx 'drwx------ /etc/rchar/keys'
	mkdir "$work/rpmroot"
	rpm --root "$work/rpmroot" --nodeps --noscripts -i "$work"/rpm/*[^c].rpm
	"$work/rpmroot/usr/sbin/rchar" -V | grep -qx "rchar $version"
}

two_rpm_builds_are_equal() {
	local f

	(umask 077; TZ=Asia/Tokyo LC_ALL=C TMPDIR=$work/tmp "$top/rpm/make-packages" "$work/rpmagain")
	for f in "$work"/rpm/*.rpm; do cmp "$f" "$work/rpmagain/${f##*/}"; done
}

# build_kmod KERNEL [DEFINE...] - as akmodsbuild does
build_kmod() {
	local kernel=$1 d defines=()

	shift
	for d in "_topdir $work/kmod" "kernels $kernel" "$@"; do defines+=(--define "$d"); done
	rpmbuild --rebuild --nodeps "${defines[@]}" "$work/rpmroot/usr/src/akmods/rdma_char-kmod.latest"
}

akmods_way_builds_the_module() {
	local kernel ko

	kernel=$(newest_headers)
	[ -n "$kernel" ] || skip "no kernel headers here"
	openssl req -new -x509 -newkey rsa:2048 -nodes -subj /CN=mine/ -keyout "$work/key" \
		-outform DER -out "$work/cert" 2>/dev/null
	build_kmod "$kernel" "sign_key $work/key" "sign_cert $work/cert" >"$work/kmod.log" 2>&1 || {
		tail -n 30 "$work/kmod.log"
		return 1
	}
	[ "$(ls "$work"/kmod/RPMS/*/)" = "kmod-rdma_char-$kernel-$version-1.$(uname -m).rpm" ]
	rpm --root "$work/rpmroot" --nodeps --noscripts -i "$work"/kmod/RPMS/*/*.rpm
	ko=$work/rpmroot/lib/modules/$kernel/extra/rdma_char/rdma_char.ko
	[ "$(modinfo -F version "$ko")" = "$version" ]
	[ "$(modinfo -F vermagic "$ko" | cut -d' ' -f1)" = "$kernel" ]
	[ "$(modinfo -F signer "$ko")" = mine ]
	# Why nothing is built.
	expect_status 1 build_kmod 5.14.0-503.el9.x86_64 >"$work/kmod.log" 2>&1
	grep -qx 'rdma_char needs Linux 6.1 or later: 5.14.0-503.el9.x86_64 is older' "$work/kmod.log"
	expect_status 1 build_kmod 6.12.0-55.el10.x86_64 >"$work/kmod.log" 2>&1
	grep -qx 'no headers of Linux 6.12.0-55.el10.x86_64: install kernel-devel-6.12.0-55.el10.x86_64' "$work/kmod.log"
}

plan 11
run packages_are_built
run every_file_has_its_package
run packages_go_together
run versions_agree
run lintian_is_silent
run two_builds_are_equal
run dkms_builds_the_module
run rpm_packages_are_built
run rpm_packages_have_the_same_files
run two_rpm_builds_are_equal
run akmods_way_builds_the_module
finish
