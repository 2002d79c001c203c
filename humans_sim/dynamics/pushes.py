# SPDX-License-Identifier: Apache-2.0
"""Pushes from outside: constant forces on links for a while."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.system import System


@dataclass(frozen=True)
class Push:
    """A push that is planned.

    Attributes:
        time: when it begins [s].
        impulse: in the world [N s].
        link: name of a link; empty for the base.
        point: where, in the link's frame [m].
        duration: zero for an impact, else the time over which a constant force gives
            the impulse [s].

    Examples:
        >>> import humans_sim as hs
        >>> robot = hs.load_model("khr1")
        >>> push = hs.Push(time=0.01, impulse=(0.0, 0.1, 0.0), link="torso")
        >>> run = hs.Simulation(robot, pushes=[push], locked=["*"]).run(t_end=0.02)
        >>> [event.kind for event in run.events if event.kind == "push"]
        ['push']
    """

    time: float
    impulse: tuple[float, float, float]
    link: str = ""
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    duration: float = 0.0

    def __post_init__(self) -> None:
        numbers = [self.time, self.duration, *self.impulse, *self.point]
        if len(numbers) != 8 or not np.isfinite(numbers).all() or self.duration < 0:
            raise ParameterError(
                f"a push wants a time, three numbers each for impulse and point, and "
                f"a duration of 0 or more, not {self}"
            )


@dataclass(frozen=True)
class _Push:
    link: str
    point: np.ndarray
    force: np.ndarray
    start: float
    end: float


class Pushes:
    """Forces on the links of a system, each over its own time."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._all: list[_Push] = []

    @property
    def active(self) -> bool:
        """Whether any push is under way or to come."""
        return bool(self._all)

    def add(
        self, link: str, point: np.ndarray, force: np.ndarray, start: float, end: float
    ) -> None:
        """Add a force [N] in the world at a point of a link from start to end [s]."""
        self._all.append(_Push(link, np.array(point), np.array(force), start, end))

    def next_time(self, t: float) -> float:
        """Next time at which a push begins or ends [s]."""
        times = [s for p in self._all for s in (p.start, p.end) if s > t]
        due = any(p.end <= t for p in self._all)
        return t if due else min(times, default=math.inf)

    def expire(self, t: float) -> None:
        """Forget pushes that are over."""
        self._all = [p for p in self._all if p.end > t]

    def force(self, t: float, q: np.ndarray) -> np.ndarray:
        """Generalised force of the pushes at time t (nv,)."""
        total = np.zeros(self._system.nv)
        for push in self._all:
            # Inclusive: the steps end where a push begins or ends.
            if push.start <= t <= push.end:
                total += self.generalised(q, push.link, push.point, push.force)
        return total

    def generalised(
        self, q: np.ndarray, link: str, point: np.ndarray, force: np.ndarray
    ) -> np.ndarray:
        """Generalised force of a world force at a point of a link (nv,)."""
        act = getattr(self._system, "point_force", None)
        if act is None:
            raise ParameterError(f"{self._system.name} has no links to push")
        return np.asarray(act(q, link, point, force))
