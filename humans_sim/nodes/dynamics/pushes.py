# SPDX-License-Identifier: Apache-2.0
"""Pushes that wait for their time in the node ``dynamics``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.stepper import Stepper
from humans_sim.models import Model
from humans_sim.nodes.common.conversions import nanoseconds_of, vector_of

_MOST = 1000
"""Pushes that may wait at once."""


@dataclass(frozen=True)
class _Push:
    stamp: int
    frame: str
    link: str
    point: np.ndarray
    impulse: np.ndarray
    duration: float


class WaitingPushes:
    """Takes requests of the service ``push``, and applies them on the way.

    Args:
        model: what is pushed.
        world: name of the frame of the ground truth.
    """

    def __init__(self, model: Model, world: str) -> None:
        """Nothing waits."""
        self._model, self._world = model, world
        self._bodies: frozenset[str] = frozenset()
        self._waiting: list[_Push] = []

    def set_bodies(self, names: Collection[str]) -> None:
        """These free bodies can be pushed, too; what waits for others is forgotten."""
        gone = self._bodies - set(names)
        self._bodies = frozenset(names)
        self._waiting = [push for push in self._waiting if push.link not in gone]

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()

    def add(self, request: Any, now: int, q: np.ndarray) -> int:
        """Keep a request until its time.

        Args:
            request: of the service.
            now: simulation time [ns].
            q: a configuration; that of the model comes first.

        Returns:
            Time at which it begins [ns].

        Raises:
            ParameterError: it lies in the past, or has a wrong number or name.
        """
        stamp = nanoseconds_of(request.header.stamp) or now
        if stamp < now:
            raise ParameterError(
                f"it should begin at {stamp * 1e-9:.9g} s, the time is "
                f"{now * 1e-9:.9g} s"
            )
        frame = request.header.frame_id
        push = _Push(
            stamp,
            "" if frame == self._world else frame,
            request.link_name,
            vector_of(request.point),
            vector_of(request.impulse),
            nanoseconds_of(request.duration) * 1e-9,
        )
        if len(self._waiting) >= _MOST:
            raise ParameterError(f"{_MOST} pushes wait already")
        if push.duration < 0.0:
            raise ParameterError(f"its duration is {push.duration:g} s")
        link = "" if push.link in self._bodies else push.link
        for name in filter(None, (push.frame, link)):
            self._model.frame_pose(q[: self._model.nq], name)
        self._waiting = sorted([*self._waiting, push], key=lambda p: p.stamp)
        return stamp

    def advance(self, run: Stepper, end: float) -> None:
        """Integrate to ``end`` [s], with the pushes on the way."""
        last = round(end * 1e9)
        while self._waiting and self._waiting[0].stamp < last:
            push = self._waiting.pop(0)
            if push.stamp > round(run.t * 1e9):
                run.advance(push.stamp * 1e-9)
            impulse = push.impulse
            if push.frame:
                pose = self._model.frame_pose(run.q[: self._model.nq], push.frame)
                impulse = pose.rotation @ impulse
            run.push(push.link, push.point, impulse, push.duration)
        run.advance(end)
