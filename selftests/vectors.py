#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""vectors.py [PROTOCOL.RST] - the test vectors of the authentication, computed by themselves.

Written from protocol.rst, with Python's own BLAKE2s: nothing here knows the code of the module.
Without an argument, prints them as C for the unit tests (selftests/unit/vectors.h). With one, says
which of them the document lacks, and exits with 1 when some are.
"""
import hashlib
import struct
import sys

LABEL_LEN = 16


def mac(key, label, *parts):
    h = hashlib.blake2s(key=key, digest_size=32)
    h.update(label.encode().ljust(LABEL_LEN, b"\0"))
    for part in parts:
        h.update(part)
    return h.digest()


def private_data(epoch, key_id, nonce):
    return struct.pack("<IBBBBQIIIIHHI16s", 0x52484352, 1, 0, 0, 1, 0x0807060504030201, epoch, 1,
                       0, 65536, 32, key_id, 0, nonce)


def mapped(*address):
    return bytes(10) + b"\xff\xff" + bytes(address)


def vectors():
    secret = bytes(range(32))
    key = mac(secret, "rchar1 mac")
    name = mac(secret, "rchar1 name")
    key_id = struct.unpack("<H", name[:2])[0] or 1
    ends = mapped(10, 0, 0, 2) + mapped(10, 0, 0, 1)
    qpns = [struct.pack("<I", n) for n in (17, 18)]

    request = private_data(0, key_id, bytes(range(0x20, 0x28)))
    tag = mac(key, "rchar1 request", request, bytes(56), ends, qpns[0], bytes(4))[:8]
    request = request[:48] + tag
    reply = private_data(0x44332211, key_id, bytes(range(0x30, 0x38)))
    tag = mac(key, "rchar1 reply", request, reply, ends, *qpns)[:8]
    reply = reply[:48] + tag
    transcript = request + reply + ends + b"".join(qpns)
    hello = mac(key, "rchar1 hello", transcript)
    ready = mac(key, "rchar1 ready", transcript, hello)
    return {"secret": secret, "mac_key": key, "fingerprint": name[:8], "request": request,
            "reply": reply, "hello": hello, "ready": ready}


def main():
    if len(sys.argv) == 1:
        print("/* SPDX-License-Identifier: GPL-2.0 */")
        print("/* Made by selftests/vectors.py; do not edit. */")
        print("/* clang-format off */")
        for name, value in vectors().items():
            print(f"#define VECTOR_{name.upper()} \\\n\t\"{value.hex()}\"")
        return 0
    with open(sys.argv[1], encoding="utf-8") as f:
        document = "".join(f.read().split())
    missing = [name for name, value in vectors().items() if value.hex() not in document]
    for name in missing:
        print(f"{sys.argv[1]}: the test vector of {name} is missing or wrong")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
