# SPDX-License-Identifier: Apache-2.0
"""The time of stored runs as they are played: it runs, stands still, is moved."""

from __future__ import annotations

import threading

_END = 1.0
"""How long the last picture stays before it starts again [s]."""


class TimeLine:
    """A time between a start and an end; any thread may ask or change it.

    Args:
        start: of the runs [s].
        end: of the runs [s].

    Attributes:
        start: of the runs [s].
        end: of the runs [s].
        loop: whether it starts again at the end.
    """

    def __init__(self, start: float, end: float) -> None:
        """At the start, playing in real time, again and again."""
        self.start, self.end, self.loop = start, max(end, start), True
        self._time, self._speed, self._playing = start, 1.0, True
        self._wall: float | None = None
        self._rested = 0.0
        self._lock = threading.Lock()

    @property
    def time(self) -> float:
        """Where it is [s]."""
        return self._time

    @property
    def playing(self) -> bool:
        """Whether it runs."""
        return self._playing

    @property
    def speed(self) -> float:
        """Its time over the wall's."""
        return self._speed

    def play(self, playing: bool) -> None:
        """Let it run, or stand still; at the end it begins anew."""
        with self._lock:
            if playing and self._time >= self.end:
                self._time = self.start
            self._playing, self._wall, self._rested = playing, None, 0.0

    def seek(self, time: float) -> None:
        """Move it to a time, where it stands still [s]."""
        with self._lock:
            self._time = min(max(time, self.start), self.end)
            self._playing, self._wall, self._rested = False, None, 0.0

    def set_speed(self, speed: float) -> None:
        """Let it run faster or slower than the wall."""
        with self._lock:
            self._speed = speed

    def advance(self, wall: float) -> float:
        """Go along with the wall's time; gives where it is.

        Args:
            wall: monotonic [s].
        """
        with self._lock:
            passed = 0.0 if self._wall is None else max(wall - self._wall, 0.0)
            self._wall = wall
            if not self._playing:
                return self._time
            if self._time < self.end:
                self._time = min(self._time + self._speed * passed, self.end)
            elif not self.loop:
                self._playing = False
            else:
                self._rested += passed
                if self._rested >= _END:
                    self._time, self._rested = self.start, 0.0
            return self._time
