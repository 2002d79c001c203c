# SPDX-License-Identifier: Apache-2.0
r"""Whole-body control that always answers.

Where the quadratic program has no answer, the torques of the last one fade out over
:data:`FADE`, and every joint is braked by :math:`-m \dot q / (5 T)`: m is the least
inertia that the joint has, with everything else free to move, and T the time between
two calls, so that a torque that is held over T takes a fifth of the speed at most. What
comes out keeps the torque limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from humans_sim.control.task.whole_body import ControlError, WeightedTask, WholeBody
from humans_sim.core.errors import ParameterError
from humans_sim.results.check import FAILURES
from humans_sim.results.signal import Signal

FADE = 0.1
"""Time over which the last answer fades out [s]."""
_BRAKED = 5.0
"""Calls over which a joint alone would be brought to rest."""
SIGNALS = (
    Signal(FAILURES, "1"),
    Signal("whole_body/at_limit", "1"),
    Signal("whole_body/beyond_limits", "1"),
)
"""Calls without an answer so far; joints at a limit, and calls that left ranges."""


class GuardedWholeBody:
    """Torques of whole-body control, or the last ones, damped.

    Args:
        body: whole-body control.
        period: time between two calls [s].

    Attributes:
        body: whole-body control.
        calls: number of calls.
        failures: calls without an answer.
        first_failure: when the first one was, None where all were answered [s].
        reason: of the last failure; empty where there was none.
        beyond: calls whose answer left the ranges of joints.
        at_limit: joints at a limit at the last call.
    """

    def __init__(self, body: WholeBody, period: float) -> None:
        """Nothing is solved yet."""
        if not period > 0:
            raise ParameterError(f"period must be above 0 s, not {period}")
        self.body, self._period = body, period
        self.reset()

    def reset(self) -> None:
        """Forget what was solved."""
        self.calls = self.failures = self.beyond = 0
        self.first_failure: float | None = None
        self.reason = ""
        self.at_limit: tuple[str, ...] = ()
        self._last: tuple[float, np.ndarray] | None = None

    def solve(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        tasks: Sequence[WeightedTask],
        contacts: np.ndarray,
    ) -> np.ndarray:
        """Joint torques (njoints,) [N m]; arguments as of :meth:`WholeBody.solve`."""
        self.calls += 1
        try:
            solution = self.body.solve(t, q, v, tasks, contacts)
        except (ControlError, np.linalg.LinAlgError) as error:
            self.failures += 1
            self.reason = str(error)
            if self.first_failure is None:
                self.first_failure = t
            return self._damped(t, q, v)
        self.at_limit = solution.at_limit
        self.beyond += bool(solution.beyond)
        self._last = (t, solution.torques)
        return solution.torques

    def signal_values(self) -> np.ndarray:
        """Numbers of :data:`SIGNALS`."""
        return np.array([self.failures, len(self.at_limit), self.beyond], dtype=float)

    def _damped(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The last answer as far as it has not faded, and brakes."""
        inertia = self.body.system.model.inertia(q)
        least = 1.0 / np.diag(np.linalg.inv(inertia))[6:]
        torques = -least * v[6:] / (_BRAKED * self._period)
        if self._last is not None:
            since, last = self._last
            torques += math.exp(-(t - since) / FADE) * last
        if self.body.limits is not None:
            most = self.body.limits.torque
            torques = np.clip(torques, -most, most)
        return torques
