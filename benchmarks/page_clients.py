# SPDX-License-Identifier: Apache-2.0
"""Does a walk continue while browsers come and go, and is its page reached?

    python benchmarks/page_clients.py [--clients 500] [--together 100] [--seconds 120]
    python benchmarks/page_clients.py --half-open 300 [--loads 20]

A KHR-1 walks in this process and is shown on a page, at full speed. A second process
opens connections to the page, ``--together`` at a time, each of which watches for a
moment, sends where its camera is, and leaves; every tenth reads nothing; who is
refused, because there are too many, asks again. Prints the pace of the simulation
without and with them, what they were answered, and the longest time that the page took
for a picture.

With ``--half-open`` the second process instead holds so many sockets without the token,
of one kind after the other (silent, half a request, a wrong token, ...) and of all
kinds together, and opens them again as they are closed. Prints how long a page with its
token took meanwhile until it was loaded and connected and a button on it was heard.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import viser
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "helpers"))

from half_open import KINDS, half_open
from raw_client import CAMERA, cookie_of, load_and_press, packed

import humans_sim as hs
from humans_sim.control.walking import WalkSettings
from humans_sim.view.browser.live import LivePage, LiveWalk, cruise

FULL = "503"
"""Answer where too many watch."""
QUIET = 10.0
"""How long the pace without browsers is taken [s]."""
LONGEST_LOAD = 60.0
"""How long each part of a load may take [s]."""
BETWEEN_LOADS = 0.3
"""Pause between two loads [s]: all of them outlast a socket without the token."""
CAMERA_MESSAGE = packed(**CAMERA)


async def watch(url: str, deaf: bool) -> str:
    """Watch a page for a moment, as a browser does; deaf ones read nothing."""
    parts = urlsplit(url)
    try:
        async with connect(
            f"ws://{parts.netloc}",
            additional_headers={"Cookie": cookie_of(url)},
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
            compression=None,
            open_timeout=60,
            close_timeout=1,
        ) as line:
            await line.send(CAMERA_MESSAGE)
            end = time.monotonic() + random.uniform(0.2, 4.0)
            while time.monotonic() < end:
                if deaf:
                    await asyncio.sleep(0.1)
                else:
                    await asyncio.wait_for(line.recv(), 20.0)
    except InvalidStatus as error:
        return str(error.response.status_code)
    except (ConnectionClosed, OSError, TimeoutError) as error:
        return type(error).__name__
    return "watched"


async def come_and_go(url: str, clients: int, together: int) -> Counter[str]:
    """Connect again and again, so many at a time."""
    free = asyncio.Semaphore(together)

    answers: Counter[str] = Counter()

    async def one(k: int) -> None:
        async with free:
            while (answer := await watch(url, deaf=k % 10 == 0)) == FULL:
                answers[FULL] += 1
                await asyncio.sleep(random.uniform(0.2, 1.0))
            answers[answer] += 1

    await asyncio.gather(*(one(k) for k in range(clients)))
    return answers


def show(live: LivePage, seconds: float, others: subprocess.Popen[str] | None) -> None:
    """Show the walk for some time, or until the others are gone, and print the pace."""
    begun, start, longest, pictures = time.monotonic(), live.walk.seen.time, 0.0, 0
    while time.monotonic() - begun < seconds:
        before = time.monotonic()
        live.page.show(live.walk.seen)
        longest, pictures = max(longest, time.monotonic() - before), pictures + 1
        time.sleep(1 / 30)
        if others is not None and others.poll() is not None:
            break
    took = time.monotonic() - begun
    print(
        f"{'with' if others else 'without'} browsers: pace "
        f"{(live.walk.seen.time - start) / took:.2f}, {pictures / took:.1f} pictures a "
        f"second, the longest took {1e3 * longest:.0f} ms; {took:.0f} s"
    )


def come_and_be_shown(live: LivePage, given: argparse.Namespace) -> None:
    """Show the walk while browsers come and go."""
    show(live, QUIET, None)
    command = [sys.executable, __file__, "--watch", live.page.url]
    command += ["--clients", str(given.clients), "--together", str(given.together)]
    others = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        show(live, given.seconds, others)
    finally:
        others.terminate()
        print(f"answers: {others.communicate()[0].strip() or 'not all came'}")


def load_beside(live: LivePage, sockets: int, loads: int) -> None:
    """Load the page beside sockets without the token, and print how long it took."""
    url, button = live.page.url, live.page.scene.server.gui.add_button("Heard")
    port = urlsplit(url).port
    assert port is not None

    def print_loads(kind: str) -> None:
        times = []
        for _ in range(loads):
            time.sleep(BETWEEN_LOADS)
            times.append(load_and_press(url, button, LONGEST_LOAD))
        print(
            f"{kind:12s} loaded and heard after {sorted(times)[loads // 2]:.2f} s "
            f"(median of {loads}), {max(times):.2f} s at most",
            end="",
            flush=True,
        )

    print_loads("nobody")
    print()
    for kind in (*KINDS, "all"):
        kinds = tuple(KINDS) if kind == "all" else (kind,)
        with half_open(port, sockets, kinds) as closed:
            print_loads(kind)
        print(f"; {sum(closed.values())} sockets were closed")


def main() -> None:
    """Walk, let them come, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--together", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--half-open", type=int, default=0)
    parser.add_argument("--loads", type=int, default=20)
    parser.add_argument("--watch", help="address of a page (used by the benchmark)")
    given = parser.parse_args()
    if given.watch:
        counts = asyncio.run(come_and_go(given.watch, given.clients, given.together))
        print(json.dumps(counts))
        return
    model = hs.load_model("khr1")
    settings = WalkSettings.of_model(model)
    live = LivePage(LiveWalk(model, settings, velocity=cruise(settings)), port=0)
    live.walk.set_speed(0.0)
    try:
        while live.walk.seen.time < 0.5:
            time.sleep(0.1)
        if given.half_open:
            load_beside(live, given.half_open, given.loads)
        else:
            come_and_be_shown(live, given)
        if live.walk.seen.failed:
            raise SystemExit(f"the walk ended: {live.walk.seen.message}")
    finally:
        live.close()


if __name__ == "__main__":
    main()
