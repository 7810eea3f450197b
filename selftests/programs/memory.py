#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""memory.py export|import - a memory channel from Python: the exporter has it mapped and
waits for a ring, the importer reads, writes and rings."""
import fcntl
import mmap
import os
import select
import struct
import sys

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


{"export": export, "import": import_}[sys.argv[1]]()
