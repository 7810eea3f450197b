#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""memory.py export|import - a memory channel from Python: the exporter has it mapped and
waits for a ring, the importer reads, writes and rings.
memory.py scatter - the importer reads what it has written, into many pieces of memory of any
length and alignment.
memory.py together - sixteen importers of the channel "shared": after each step the file /tmp/step
has its name, and the next one begins when the file is gone."""
import fcntl
import mmap
import os
import random
import select
import struct
import sys
import time

NOTIFY = 0xBB04          # RCHAR_IOC_NOTIFY
RINGS = 0x8010BB05       # RCHAR_IOC_RINGS


def export():
    fd = os.open("/dev/rchar/pool", os.O_RDWR)
    region = mmap.mmap(fd, os.lseek(fd, 0, os.SEEK_END))
    region[1000:1005] = b"hello"
    print("ready", flush=True)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert poll.poll(60000), "no ring came"
    count, last, _ = struct.unpack("QII", fcntl.ioctl(fd, RINGS, bytes(16)))
    assert (count, last) == (1, 77), (count, last)
    assert region[2000:2007] == b"goodbye", region[2000:2007]


def import_():
    fd = os.open("/dev/rchar/pool", os.O_RDWR)
    assert os.pread(fd, 5, 1000) == b"hello"
    assert os.pwrite(fd, b"goodbye", 2000) == 7
    fcntl.ioctl(fd, NOTIFY, 77)


def scatter():
    fd = os.open("/dev/rchar/pool", os.O_RDWR)
    written = random.randbytes(8 << 20)
    assert os.pwrite(fd, written, 0) == len(written)
    memory = mmap.mmap(-1, 4 << 20)
    for _ in range(100):
        pieces, at = [], 0
        for _ in range(random.randrange(1, 40)):
            at += random.choice((0, 1, 8, 512, 4096 - at % 4096))
            length = random.choice((1, 7, 4095, 4096, 8192, 100001, 300000))
            if at + length > len(memory):
                break
            pieces.append(memoryview(memory)[at:at + length])
            at += length
        start = random.randrange(len(written) - at)
        length = sum(len(p) for p in pieces)
        assert os.preadv(fd, pieces, start) == length
        assert b"".join(pieces) == written[start:start + length], start


def step(name):
    with open("/tmp/step.new", "w", encoding="ascii") as file:
        file.write(name)
    os.rename("/tmp/step.new", "/tmp/step")
    while os.path.exists("/tmp/step"):
        time.sleep(0.01)


def all_read_and_write(fds):
    written = [random.randbytes(4096) for _ in fds]
    for fd, at, data in zip(fds, range(0, 1 << 25, 1 << 21), written):
        assert os.pwrite(fd, data, at) == len(data)
    for fd, at, data in zip(fds[1:] + fds[:1], range(0, 1 << 25, 1 << 21), written):
        assert os.pread(fd, len(data), at) == data


def together():
    fds = [os.open("/dev/rchar/shared", os.O_RDWR) for _ in range(16)]
    all_read_and_write(fds)
    step("opened")
    all_read_and_write(fds)
    step("again")
    while len(fds) > 1:
        os.close(fds.pop(0))
    all_read_and_write(fds)
    step("one")
    all_read_and_write(fds)
    os.close(fds.pop())
    step("none")


{"export": export, "import": import_, "scatter": scatter,
 "together": together}[sys.argv[1]]()
