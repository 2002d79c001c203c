# SPDX-License-Identifier: Apache-2.0
"""Sockets without the token keep nobody out, whatever they send, and last briefly."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from half_open import KINDS, half_open
from raw_client import load_and_press, status
from tab import wait

from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.scene import free_port

SOCKETS, LIMIT = 300, 5.0
"""Sockets, and how long the owner may wait on a busy machine [s]; else it is 0.1 s."""
Open = Callable[..., PageServer]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens pages with a stop button, and closes them."""
    with ExitStack() as pages:

        def make(**options: float) -> PageServer:
            page = PageServer("127.0.0.1", free_port("127.0.0.1", 0), **options)
            pages.callback(page.stop)
            return page

        yield make


def port_of(page: PageServer) -> int:
    """Where a page listens."""
    port = urlsplit(page.url).port
    assert port is not None
    return port


def waiting(page: PageServer, count: int) -> None:
    """Wait until so many sockets without the token are open."""
    wait(lambda: len(page._entrance) == count, f"{count} sockets")


def is_closed(line: socket.socket) -> bool:
    """Wait until the page closed a socket."""
    try:
        while line.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.study
def test_half_open_sockets_keep_nobody_out(opened: Open) -> None:
    """Hundreds of all kinds, opened again as they are closed: the stop is heard."""
    page = opened()
    stop = page.viser.gui.add_button("Stop")
    with half_open(port_of(page), SOCKETS) as closed:
        times = [load_and_press(page.url, stop, LIMIT) for _ in range(4)]
        assert 0 < len(page._entrance) <= SOCKETS
    assert min(times) < LIMIT
    assert closed["not opened"] == 0
    waiting(page, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_ends(opened: Open, kind: str) -> None:
    """By the time for a request, whatever it sends."""
    page = opened(request_time=0.3)
    data = KINDS[kind].replace(b"PORT", str(port_of(page)).encode())
    with socket.create_connection(("127.0.0.1", port_of(page)), 20) as line:
        line.sendall(data)
        assert is_closed(line)
    waiting(page, 0)
    assert not page.viser.get_clients()


def test_the_oldest_makes_room(opened: Open) -> None:
    """Where too many wait; the newest and the owner are served."""
    page = opened(newcomers=3, request_time=600.0)
    with ExitStack() as stack:
        lines = []
        for k in range(4):
            address = ("127.0.0.1", port_of(page))
            lines.append(stack.enter_context(socket.create_connection(address, 20)))
            waiting(page, min(k + 1, 3))
        assert is_closed(lines[0])
        for line in lines[1:]:
            line.setblocking(False)
            with pytest.raises(BlockingIOError):
                line.recv(1)
        load_and_press(page.url, page.viser.gui.add_button("Stop"), 20.0)


def test_refusals_are_answered_one_after_the_other(opened: Open) -> None:
    """Who asks without the token is told so; a head without end is not read."""
    page = opened(request_time=1.0)
    assert [status(page.url)[0] for _ in range(5)] == 5 * [403]
    with socket.create_connection(("127.0.0.1", port_of(page)), 20) as line:
        line.sendall(b"GET / HTTP/1.1\r\nX: " + 60_000 * b"x")
        waiting(page, 1)
        assert is_closed(line)


def test_a_page_that_ends_closes_them(opened: Open) -> None:
    """Nobody waits for those that say nothing."""
    page = opened(request_time=600.0)
    with socket.create_connection(("127.0.0.1", port_of(page)), 20) as line:
        waiting(page, 1)
        page.stop()
        assert is_closed(line)
        assert not page.viser._websock_server._server_thread.is_alive()
