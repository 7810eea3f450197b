#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""vectors.py [PROTOCOL.RST] - the test vectors of authentication and encryption, computed anew.

Written from protocol.rst, with Python's own BLAKE2s and the package cryptography: nothing here
knows the code of the module.
Without an argument, prints them as C for the unit tests (selftests/unit/vectors.h). With one, says
which of them the document lacks, and exits with 1 when some are.
"""
import hashlib
import struct
import sys

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

LABEL_LEN = 16
NO_PUBLIC = bytes(32)
ENCRYPTED = 1
DATA, PING = 19, 4


def mac(key, label, *parts):
    h = hashlib.blake2s(key=key, digest_size=32)
    h.update(label.encode().ljust(LABEL_LEN, b"\0"))
    for part in parts:
        h.update(part)
    return h.digest()


def private_data(epoch, key_id, nonce, caps):
    return struct.pack("<IBBBBQIIIIHHI16s", 0x52484352, 1, 0, 0, 1, 0x0807060504030201, epoch, 1,
                       caps, 65536, 32, key_id, 0, nonce)


def mapped(*address):
    return bytes(10) + b"\xff\xff" + bytes(address)


def public_of(secret):
    return secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def handshake(key, key_id, caps, of_initiator, of_acceptor):
    """Request, reply, transcript, mac of HELLO and mac of READY."""
    ends = mapped(10, 0, 0, 2) + mapped(10, 0, 0, 1)
    qpns = [struct.pack("<I", n) for n in (17, 18)]

    request = private_data(0, key_id, bytes(range(0x20, 0x28)), caps)
    tag = mac(key, "rchar1 request", request, bytes(56), ends, qpns[0], bytes(4), NO_PUBLIC,
              NO_PUBLIC)[:8]
    request = request[:48] + tag
    reply = private_data(0x44332211, key_id, bytes(range(0x30, 0x38)), caps)
    tag = mac(key, "rchar1 reply", request, reply, ends, *qpns, of_acceptor, NO_PUBLIC)[:8]
    reply = reply[:48] + tag
    transcript = request + reply + ends + b"".join(qpns) + of_acceptor + of_initiator
    hello = mac(key, "rchar1 hello", transcript)
    ready = mac(key, "rchar1 ready", transcript, hello)
    return request, reply, transcript, hello, ready


def seal(key, frames, op, session, payload):
    header = struct.pack("<BBHIIIII", op, 0, 1, len(payload), session, 0, 1, 0x20000)
    sealed = ChaCha20Poly1305(key).encrypt(struct.pack("<IQ", 0, frames), payload, header)
    return header + sealed[-16:] + sealed[:-16]


def encrypted(key, key_id):
    secrets = [X25519PrivateKey.from_private_bytes(bytes(range(n, n + 32))) for n in (0x40, 0x60)]
    publics = [public_of(s) for s in secrets]
    request, reply, transcript, hello, ready = handshake(key, key_id, ENCRYPTED, *publics)
    shared = secrets[0].exchange(X25519PublicKey.from_public_bytes(publics[1]))
    root = mac(key, "rchar1 secrets", transcript, shared)
    of_initiator = mac(root, "rchar1 initiator")
    return {"initiator_public": publics[0], "acceptor_public": publics[1],
            "encrypted_request": request, "encrypted_reply": reply + publics[1],
            "encrypted_hello": hello, "encrypted_ready": ready, "shared": shared,
            "initiator_key": of_initiator, "acceptor_key": mac(root, "rchar1 acceptor"),
            "next_initiator_key": mac(of_initiator, "rchar1 next"),
            "sealed_data": seal(of_initiator, 0, DATA, 1, b"attack at dawn"),
            "sealed_ping": seal(of_initiator, 1, PING, 0, b"")}


def vectors():
    secret = bytes(range(32))
    key = mac(secret, "rchar1 mac")
    name = mac(secret, "rchar1 name")
    key_id = struct.unpack("<H", name[:2])[0] or 1
    request, reply, _, hello, ready = handshake(key, key_id, 0, NO_PUBLIC, NO_PUBLIC)
    return {"secret": secret, "mac_key": key, "fingerprint": name[:8], "request": request,
            "reply": reply, "hello": hello, "ready": ready, **encrypted(key, key_id)}


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
