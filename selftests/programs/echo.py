#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""echo.py serve PORT | many PORT N - a TCP server that sends back what comes, and N clients that
are connected at once: all are, before the first sends."""
import asyncio
import os
import resource
import sys


def many_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (16384, 16384))


async def echo(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()
    writer.close()


async def serve(port):
    server = await asyncio.start_server(echo, "127.0.0.1", port, backlog=4096)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


async def client(port, i, arrived, go):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    # One byte there and back: it is not only this host that has the connection.
    writer.write(b"?")
    assert await reader.readexactly(1) == b"?"
    arrived.release()
    await go.wait()
    data = os.urandom(1000 + i % 5000)
    writer.write(data)
    writer.write_eof()
    got = await reader.read(-1)
    assert got == data, (i, len(got), len(data))
    writer.close()


async def many(port, n):
    arrived, go = asyncio.Semaphore(0), asyncio.Event()
    clients = [asyncio.create_task(client(port, i, arrived, go)) for i in range(n)]
    for _ in range(n):
        await arrived.acquire()
    print("all are connected", flush=True)
    go.set()
    await asyncio.gather(*clients)
    print("all have got back what they sent", flush=True)


many_files()
if sys.argv[1] == "serve":
    asyncio.run(serve(int(sys.argv[2])))
else:
    asyncio.run(many(int(sys.argv[2]), int(sys.argv[3])))
