#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# contract.sh [encrypted] [OPTION]... - every sentence of Documentation/uapi.rst: see contract/.
# With 'encrypted', every channel that the tests add has a key and encrypts.
set -eu

encrypt() {
	mkdir -p /tmp/encrypted
	(umask 077; rchar key gen >/tmp/encrypted/key)
	cat >/tmp/encrypted/rchar <<'EOF'
#!/bin/sh
case " $* " in
*' add '*' listen '*) set -- "$@" keys k encrypt on ;;
*' add '*' connect '*) set -- "$@" key k encrypt on ;;
*) exec /usr/bin/rchar "$@" ;;
esac
# A test that failed has had the keys deleted.
/usr/bin/rchar key add k /tmp/encrypted/key 2>/dev/null
exec /usr/bin/rchar "$@"
EOF
	chmod +x /tmp/encrypted/rchar
	export PATH=/tmp/encrypted:$PATH ENCRYPTED=1
}

if [ "${1:-}" = encrypted ]; then
	encrypt
	shift
fi
# Beside other load, a round trip in this machine takes as long as one over a long path; what then
# happens to large writes is tested in life.sh.
echo 0 >/sys/module/rdma_char/parameters/copy_rtt
exec contract ${VM_TEST:+-t "$VM_TEST"} ${VM_WITHOUT:+-x "$VM_WITHOUT"} "$@"
