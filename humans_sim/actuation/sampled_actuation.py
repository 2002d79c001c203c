# SPDX-License-Identifier: Apache-2.0
r"""An actuation beside its mechanics: it knows the joints only at sampling times.

Where mechanics and actuation run apart (two processes, a real robot), the states z of
the actuation cannot be integrated with the mechanics in one vector. They are integrated
along the motion of the joints from sample to sample, once the next has come. Between
two samples each joint follows the cubic that has the angles and the speeds of both; its
speed is the derivative of that cubic, so angle and speed fit together at every instant:
of order four in the sampling period for the angles and three for the speeds, while no
impact lies between the samples. Events of the actuation keep their exact times on this
motion.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation.delayed_actuation import DelayedActuation
from humans_sim.core.errors import ConfigurationError
from humans_sim.core.roots import first_root
from humans_sim.dynamics.integrators import Dop853, InitialValueProblem
from humans_sim.dynamics.stepper import StepError
from humans_sim.results.records import Event

_RTOL, _ATOL = 1e-9, 1e-9
_SAME = 1e-13
"""Time between signals that count as simultaneous [s]."""
_MOST_WORK = 50_000
"""Steps and events that one sampling period may take."""
_BASE = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
"""The base does not matter to joint actuation."""


class JointSample(NamedTuple):
    """The joints at one time [s]: angles and speeds (njoints,) [rad, rad/s]."""

    t: float
    angles: np.ndarray
    speeds: np.ndarray

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocity, the base at rest."""
        q = np.concatenate([_BASE, self.angles])
        return q, np.concatenate([np.zeros(6), self.speeds])


class SampledActuation:
    """Follows the joints from sample to sample, and gives their torques.

    Torques answer the last sample: they come from its angles and speeds, and from z and
    the commands at its time.

    Args:
        actuation: its events are timed ones, or those of its states z.
        longest_gap: time between samples beyond which it begins anew [s].

    Attributes:
        events: what happened so far; clear it at will.
        t: time of the last sample [s]; minus infinity before the first.
        newest: time of the newest command [s]; minus infinity before the first.
    """

    def __init__(self, actuation: DelayedActuation, longest_gap: float = 1.0) -> None:
        self.actuation, self.longest_gap = actuation, longest_gap
        self.events: list[Event] = []
        self._last: JointSample | None = None
        self._motion: _JointMotion | None = None
        self._z = np.zeros(0)
        self.t = self.newest = -math.inf
        self._waiting: deque[tuple[float, Any]] = deque()
        self._work = 0

    def continues(self, sample: JointSample) -> bool:
        """Whether a sample can follow the last one.

        It does not where there is none yet, where time went backwards or stood still
        while the joints moved (somebody reset them), or after too long a gap.
        """
        last = self._last
        if last is None or not 0.0 <= sample.t - last.t <= self.longest_gap:
            return False
        return sample.t > last.t or (
            np.array_equal(sample.angles, last.angles)
            and np.array_equal(sample.speeds, last.speeds)
        )

    def begin(self, sample: JointSample) -> None:
        """Initialise the actuation at a sample; commands from before are forgotten."""
        self._waiting.clear()
        self.t, self.newest, self._last = sample.t, -math.inf, sample
        self._motion = None
        self._z = self.actuation.initialise(sample.t, *sample.state())
        self._work = 0
        self._handle_due()

    def command(self, t: float, command: Any) -> bool:
        """Take a command; its delay runs from t on. Returns whether it is late."""
        checked = self.actuation.check(command)
        if t < self.newest:
            raise ConfigurationError(
                f"it is of {t:.9f} s, the last command was of {self.newest:.9f} s"
            )
        self.newest = t
        self._waiting.append((t, checked))
        if t <= self.t:
            self._work = 0
            self._handle_due()
        return t + self.actuation.delay < self.t

    def advance(self, sample: JointSample) -> None:
        """Integrate to the next sample."""
        if self._last is None or not self.continues(sample):
            raise ConfigurationError(
                f"a sample at {sample.t} s does not continue the last"
            )
        if sample.t > self._last.t:
            self._motion = _JointMotion(self._last, sample)
            self._last, self._work = sample, 0
            while self.t < sample.t:
                self._integrate(sample.t)
                self._handle_due()

    def torques(self) -> np.ndarray:
        """Joint torques at the last sample (njoints,) [N m]."""
        force: np.ndarray = self.actuation.dynamics(*self.state())[0]
        return force[6:]

    def state(self) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Time, configuration, velocity and z at the last sample."""
        return (self.t, *self._at(self.t), self._z)

    def _at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        assert self._last is not None
        return self._last.state() if self._motion is None else self._motion.at(t)

    def _handle_due(self) -> None:
        """Hand over the commands whose time has come, and handle timed events."""
        actuation, delay = self.actuation, self.actuation.delay
        while self._waiting and self._waiting[0][0] <= self.t:
            t, command = self._waiting.popleft()
            # What acts without a delay cannot act in the past.
            actuation.command(t if delay > 0.0 else self.t, command)
        while actuation.next_time(self.t) <= self.t:
            state = (self.t, *self._at(self.t), self._z)
            self._handle(np.zeros(len(actuation.detect(*state)), dtype=bool))

    def _handle(self, fired: np.ndarray) -> None:
        state = (self.t, *self._at(self.t), self._z)
        self._z, happened = self.actuation.handle(*state, fired)
        self.events.extend(happened)
        self._count()

    def _count(self) -> None:
        self._work += 1
        if self._work > _MOST_WORK:
            raise StepError(
                f"too much work to continue from {self.t:.9g} s: the actuation is too "
                "stiff, or has too many events"
            )

    def _integrate(self, end: float) -> None:
        """Integrate to the next event that is known in advance, or one on the way."""
        stop = min(end, self.actuation.next_time(self.t))
        if self._waiting:
            stop = min(stop, self._waiting[0][0])
        if not self.actuation.nz:
            self.t = stop
            return
        actuation, motion = self.actuation, self._motion
        assert motion is not None

        def rates(t: float, z: np.ndarray) -> np.ndarray:
            return actuation.dynamics(t, *motion.at(t), z)[1]

        def signals(t: float, z: np.ndarray) -> np.ndarray:
            return actuation.detect(t, *motion.at(t), z)

        atol = np.full(actuation.nz, _ATOL)
        problem = InitialValueProblem(rates, self.t, self._z, _RTOL, atol)
        solver = Dop853(problem)
        before = np.sign(signals(self.t, self._z))
        while self.t < stop:
            start = self.t
            solver.step(stop)
            self._count()
            after = np.sign(signals(solver.t, solver.y))
            roots = {}
            for j in np.flatnonzero(before * after < 0):

                def signal(t: float, j: int = int(j), sign: float = before[j]) -> float:
                    return sign * float(signals(t, solver.at(t))[j])

                roots[int(j)] = first_root(signal, start, solver.t)
            self.t = min([solver.t, *roots.values()])
            self._z = np.array(solver.at(self.t))
            if roots:
                fired = np.zeros(len(before), dtype=bool)
                fired[[j for j, t in roots.items() if t <= self.t + _SAME]] = True
                self._handle(fired)
                return
            before = after


class _JointMotion:
    """The motion of the joints between two samples: cubic in time."""

    def __init__(self, start: JointSample, end: JointSample) -> None:
        self._start, self._end = start, end
        self._span = end.t - start.t

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocity; at the samples exactly theirs."""
        start, end, h = self._start, self._end, self._span
        if t <= start.t:
            return start.state()
        if t >= end.t:
            return end.state()
        s = (t - start.t) / h
        rise = end.angles - start.angles
        angles = start.angles + s * s * (3 - 2 * s) * rise
        angles += h * s * (1 - s) * ((1 - s) * start.speeds - s * end.speeds)
        speeds = 6 * s * (1 - s) / h * rise
        speeds += (1 - s) * (1 - 3 * s) * start.speeds + s * (3 * s - 2) * end.speeds
        return JointSample(t, angles, speeds).state()
