#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Many sessions in one thread, with asyncio and selectors as a program would use them.

sessions.py serve DEV N    accept N sessions at once, send back what each sends
sessions.py call DEV N     N sessions at once: send, half-close, compare the answer
sessions.py accept DEV N COMMAND...    for each of N sessions: COMMAND, with file 3
"""
import asyncio
import fcntl
import os
import selectors
import subprocess
import sys

SHUTDOWN, SHUT_WR = 0xBB01, 2  # RCHAR_IOC_SHUTDOWN of linux/rdma_char.h


def half_close(fd):
    fcntl.ioctl(fd, SHUTDOWN, SHUT_WR)


async def call(loop, dev, number):
    """One session: asyncio's own pipe transports on the file, one each way."""
    fd = await loop.run_in_executor(None, os.open, dev, os.O_RDWR)
    sent = os.urandom(50000) + bytes([number])
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(fd), "rb", 0))
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(fd, "wb", 0))
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    for at in range(0, len(sent), 7777):
        writer.write(sent[at:at + 7777])
        await writer.drain()
    while transport.get_write_buffer_size():
        await asyncio.sleep(0.001)
    half_close(fd)
    got = await reader.read()
    assert got == sent, f"session {number}: sent {len(sent)}, got {len(got)}"
    transport.close()


async def call_all(dev, count):
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(call(loop, dev, n) for n in range(count)))


def serve(dev, count):
    """Accept by nonblocking open: a file turns writable when its peer is there."""
    sel = selectors.DefaultSelector()
    for _ in range(count):
        fd = os.open(dev, os.O_RDWR | os.O_NONBLOCK)
        sel.register(fd, selectors.EVENT_WRITE, bytearray())
    left = count
    while left:
        for key, mask in sel.select():
            fd, queue = key.fd, key.data
            end = False
            if mask & selectors.EVENT_READ:
                data = os.read(fd, 65536)
                queue += data
                end = not data
            if queue and mask & selectors.EVENT_WRITE:
                del queue[:os.write(fd, queue)]
            if end and not queue:
                half_close(fd)
                sel.unregister(fd)
                os.close(fd)
                left -= 1
            else:
                sel.modify(fd, selectors.EVENT_READ | (selectors.EVENT_WRITE if queue else 0), queue)


def accept(dev, count, command):
    children = []
    for _ in range(count):
        fd = os.open(dev, os.O_RDWR)
        os.dup2(fd, 3, inheritable=True)
        children.append(subprocess.Popen(command, pass_fds=[3]))
        os.close(3)
        if fd != 3:
            os.close(fd)
    for child in children:
        child.wait()


def main():
    what, dev, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if what == "serve":
        serve(dev, count)
    elif what == "accept":
        accept(dev, count, sys.argv[4:])
    else:
        asyncio.run(call_all(dev, count))
    print(count, "sessions")


main()
