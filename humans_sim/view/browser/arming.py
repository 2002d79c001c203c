# SPDX-License-Identifier: Apache-2.0
"""Who may lead a real robot: one browser, which said so, and only while it does."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

PATIENCE = 30.0
"""How long a browser stays armed without leading [s]."""


class Arming:
    """At most one browser is armed. One thread asks at a time."""

    def __init__(
        self,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nobody is armed.

        Args:
            patience: how long a browser stays armed without leading [s].
            clock: the time [s].
        """
        self.patience = patience
        self._clock = clock
        self._client: int | None = None
        self._end = -math.inf

    @property
    def left(self) -> float:
        """How long the browser stays armed if it does nothing [s]; 0: none is."""
        return 0.0 if self._client is None else max(0.0, self._end - self._clock())

    def arm(self, client: int) -> None:
        """Let a browser lead, and no other."""
        self._client, self._end = client, self._clock() + self.patience

    def use(self, client: int | None) -> bool:
        """Whether a browser may lead now; if so, it stays armed for longer."""
        if client is None or client != self._client or not self.left:
            return False
        self._end = self._clock() + self.patience
        return True

    def disarm(self, client: int | None = None) -> bool:
        """Let nobody lead any more.

        Args:
            client: the browser that left; another one's leaving changes nothing.
                None: whoever it is.

        Returns:
            Whether somebody was armed, though its time may have passed.
        """
        if self._client is None or client not in (None, self._client):
            return False
        self._client = None
        return True

    def expired(self) -> bool:
        """Whether somebody was armed whose time has passed; nobody is then."""
        passed = self._client is not None and not self.left
        if passed:
            self._client = None
        return passed
