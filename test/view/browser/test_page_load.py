# SPDX-License-Identifier: Apache-2.0
"""Many browsers that come and go: the page works on, and nobody waits for them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

import numpy as np
import pytest
import viser
from raw_client import CAMERA, connected, cookie_of, packed
from tab import wait
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.scene import free_port

CLIENTS, LIMIT, ROUNDS = 60, 40, 4


def opened(**options: float) -> PageServer:
    """An empty page."""
    return PageServer("127.0.0.1", free_port("127.0.0.1", 0), **options)  # type: ignore


@pytest.fixture
def page() -> Iterator[PageServer]:
    """A page for a limited number of browsers."""
    made = opened(clients=LIMIT)
    yield made
    made.stop()


async def watch(url: str, all_here: asyncio.Barrier) -> str:
    """Come, see something, leave."""
    address = f"ws://127.0.0.1:{urlsplit(url).port}"
    try:
        async with connect(
            address,
            additional_headers={"Cookie": cookie_of(url)},
            subprotocols=[f"viser-v{viser.__version__}"],
            compression=None,
            open_timeout=60,
        ) as line:
            await line.send(packed(**CAMERA))
            await all_here.wait()
            await line.recv()
            return "seen"
    except InvalidStatus as error:
        await all_here.wait()
        return str(error.response.status_code)


async def crowd(url: str) -> Counter[str]:
    """Many at once, several times."""
    seen: Counter[str] = Counter()
    for _ in range(ROUNDS):
        all_here = asyncio.Barrier(CLIENTS)
        seen.update(
            await asyncio.gather(*(watch(url, all_here) for _ in range(CLIENTS)))
        )
    return seen


def test_a_crowd_that_comes_and_goes(page: PageServer) -> None:
    """As many are let in as may; who changes the scene all the time notices nothing."""
    frame = page.viser.scene.add_frame("/frame")
    seen: Counter[str] = Counter()
    others = threading.Thread(target=lambda: seen.update(asyncio.run(crowd(page.url))))
    others.start()
    changes = 0
    while others.is_alive():
        frame.position = np.full(3, float(changes))
        changes += 1
        time.sleep(1e-3)  # no program changes a scene more often
    others.join()
    assert seen["seen"] + seen["503"] == CLIENTS * ROUNDS
    # A round begins while some of the last one are still leaving.
    assert ROUNDS * (CLIENTS - LIMIT) <= seen["503"]
    assert seen["seen"] >= LIMIT
    wait(lambda: not page.viser.get_clients(), "them to be gone")
    with connected(page.url) as line:
        line.recv(timeout=20)


def test_only_the_loop_wakes_who_waits(page: PageServer) -> None:
    """Another thread that changes the scene leaves the loop's own lists alone."""
    server = page.viser._websock_server
    event = server.get_message_buffer().message_event
    event.set()
    assert not event.is_set()
    done = threading.Event()
    server._background_event_loop.call_soon_threadsafe(
        lambda: (event.set(), done.set())
    )
    assert done.wait(20)
    wait(event.is_set, "the event")


def test_who_reads_nothing_is_dropped() -> None:
    """And neither the page nor others wait for it."""
    page = opened(patience=0.3)
    try:
        rng = np.random.default_rng(0)
        with (
            connected(page.url, max_queue=1, close_timeout=0.5) as deaf,
            connected(page.url) as other,
        ):
            for line in (deaf, other):
                line.send(packed(**CAMERA))
            wait(lambda: len(page.viser.get_clients()) == 2, "both")
            reader = threading.Thread(target=lambda: list(other))
            reader.start()
            for k in range(40):  # 48 MB: more than sockets hold
                points = rng.normal(size=(100_000, 3)).astype(np.float32)
                page.viser.scene.add_point_cloud(f"/{k}", points, (0, 0, 0))
            wait(lambda: len(page.viser.get_clients()) == 1, "it to be dropped")
            assert reader.is_alive()
        reader.join()
    finally:
        page.stop()
