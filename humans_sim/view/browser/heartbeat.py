# SPDX-License-Identifier: Apache-2.0
"""Hold to run: what a control of a page moves, moves while its browser is heard.

The script of each page says several times a second that it runs and is seen. A tab that
hangs, is frozen, hidden or closed, a browser that was killed, a closed lid and a lost
network have in common that this ends; a connection alone outlives most of them.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import viser

HEARTBEAT = "Heartbeat"
"""Type of the message that a page sends."""
PERIOD = 0.2
"""Between two of them [s]."""
SILENCE = 0.8
"""How long a browser may say nothing before it holds nothing any more [s]."""
RELEASED = "released: page not responding"
"""What the page shows then."""


class Hold:
    """Which browser holds a movement. Any thread may ask.

    Args:
        server: of the page; its connections know when they were heard last.
        silence: how long a browser may say nothing [s].
        clock: the time, that of the connections [s].
    """

    def __init__(
        self,
        server: viser.ViserServer,
        silence: float = SILENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connections = server._websock_server._live_connections
        self._silence, self._clock = silence, clock
        self._lock = threading.Lock()
        self._client: int | None = None

    def take(self, client: int | None) -> None:
        """Have a browser hold it, and no other; None: it goes on by itself."""
        with self._lock:
            self._client = client

    def lost(self) -> bool:
        """Whether a browser held it that is no longer heard; nobody does then."""
        with self._lock:
            if self._client is None:
                return False
            connection = self._connections.get(self._client)
            heard = getattr(connection, "heard", -math.inf)
            if self._clock() - heard <= self._silence:
                return False
            self._client = None
            return True
