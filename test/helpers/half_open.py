# SPDX-License-Identifier: Apache-2.0
"""Sockets without the token of a page, held open and opened again when closed.

    python half_open.py PORT [--sockets 300] [--kinds silent,...]

On this machine only. Prints "open" once all were opened, and at the end of its input
how often each kind was closed and opened again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from subprocess import PIPE, Popen

MOST = 1000
"""Most sockets."""
_HOST = "127.0.0.1"
_HEAD = f"GET / HTTP/1.1\r\nHost: {_HOST}:PORT\r\n"
_UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
KINDS = {
    "silent": b"",
    "half a line": b"GET /?tok",
    "half a head": _HEAD.encode(),
    "drip": (_HEAD + "X-Long: " + 4000 * "x").encode(),
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(189),
    "wrong token": _HEAD.replace("/ ", "/?token=x ").encode() + b"\r\n",
    "WebSocket": (_HEAD + _UPGRADE).encode() + b"\r\n",
}
"""What each kind of socket sends."""
_DRIP = 0.1
"""Between two bytes of one that drips [s]."""


async def send(writer: asyncio.StreamWriter, data: bytes, slowly: bool) -> None:
    """Send bytes, one after the other where slowly."""
    step = 1 if slowly else max(len(data), 1)
    for k in range(0, len(data), step):
        writer.write(data[k : k + step])
        await asyncio.sleep(_DRIP)


async def hold(
    port: int, kind: str, closed: Counter[str], ready: asyncio.Event
) -> None:
    """Open a socket, send what there is to send, and begin anew when it is closed."""
    data = KINDS[kind].replace(b"PORT", str(port).encode())
    while True:
        try:
            reader, writer = await asyncio.open_connection(_HOST, port)
        except OSError:
            closed["not opened"] += 1
            await asyncio.sleep(_DRIP)
            continue
        ready.set()
        sending = asyncio.create_task(send(writer, data, kind == "drip"))
        with contextlib.suppress(OSError):
            while await reader.read(65_536):
                pass
        sending.cancel()
        writer.transport.abort()
        closed[kind] += 1


async def attack(port: int, sockets: int, kinds: list[str]) -> Counter[str]:
    """Hold sockets until the input ends."""
    closed: Counter[str] = Counter()
    ready = [asyncio.Event() for _ in range(sockets)]
    tasks = [
        asyncio.create_task(hold(port, kinds[k % len(kinds)], closed, ready[k]))
        for k in range(sockets)
    ]
    await asyncio.gather(*(event.wait() for event in ready))
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()
    return closed


@contextmanager
def half_open(
    port: int, sockets: int, kinds: Sequence[str] = tuple(KINDS)
) -> Iterator[Counter[str]]:
    """Hold sockets in a process of their own, all of them open at first.

    Returns:
        How often each kind was closed, once it is over.
    """
    command = [sys.executable, __file__, str(port), "--sockets", str(sockets)]
    command += ["--kinds", ",".join(kinds)]
    closed: Counter[str] = Counter()
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            assert process.stdout.readline() == "open\n"
            yield closed
        finally:
            process.stdin.close()
            closed.update(json.loads(process.stdout.read() or "{}"))


def main() -> None:
    """Hold sockets, and print how often they were closed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--sockets", type=int, default=300)
    parser.add_argument("--kinds", default=",".join(KINDS))
    given = parser.parse_args()
    sockets = min(given.sockets, MOST)
    closed = asyncio.run(attack(given.port, sockets, given.kinds.split(",")))
    print(json.dumps(closed))


if __name__ == "__main__":
    main()
