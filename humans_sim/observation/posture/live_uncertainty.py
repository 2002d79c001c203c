# SPDX-License-Identifier: Apache-2.0
"""How sure live postures are: what the frames so far show, none of those to come.

As :mod:`.uncertainty`, but the noise is a running mean, and a joint that the markers do
not show is held where it was last shown, ever less surely: by its usual speed and the
time since then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.observation.posture.posterior_kernels import (
    PostureFrames,
    frame_variances,
)
from humans_sim.observation.posture.result import MarkerStatus
from humans_sim.observation.posture.solver import Posture, PostureSolver
from humans_sim.observation.posture.tree_kernels import BASE
from humans_sim.observation.posture.uncertainty import (
    full_range,
    limited,
    usual_prior,
    weights_of,
)

_MEMORY = 1.0
"""Time over which the noise and usual speeds are averaged [s]."""
_FORGETTING = 10.0
"""Time after which what was usual of a coordinate is doubled [s]."""
_ENOUGH = 50.0
"""Degrees of freedom of the residuals that show the noise."""


class LiveEstimate(NamedTuple):
    """A posture and how sure it is.

    Attributes:
        posture: with hidden joints held.
        std: standard deviations of the coordinates (nv,) [m, rad].
        hidden: joints that the markers do not show (nv - 6,).
        noise: of a marker, one axis [m].
    """

    posture: Posture
    std: np.ndarray
    hidden: np.ndarray
    noise: float


class LiveUncertainty:
    """Follows the postures of a solver."""

    def __init__(self, solver: PostureSolver) -> None:
        """Prepare; nothing is known of the noise yet."""
        self._solver, self._settings = solver, solver.settings.uncertainty
        self._prior, self._weights = usual_prior(solver), weights_of(solver)
        self._range = full_range(solver)
        self.reset()

    def reset(self) -> None:
        """Forget the frames before."""
        joints = len(self._range)
        self._squares = self._freedom = 0.0
        self._usual = np.full(joints, np.inf)
        self._speed = np.full(joints, self._settings.speed**2)
        self._shown: np.ndarray | None = None
        self._spread = np.zeros(joints)
        self._since = np.zeros(joints)

    @property
    def noise(self) -> float:
        """Standard deviation of a marker, one axis [m]."""
        if self._freedom < _ENOUGH:
            return self._settings.marker_noise
        noise = float(np.sqrt(self._squares / self._freedom))
        return max(noise, self._settings.least_noise)

    def take(
        self, posture: Posture, positions: np.ndarray, step: float
    ) -> LiveEstimate:
        """The posture of the next frame, with what is not shown held.

        Args:
            posture: as tracked.
            positions: of the markers (m, 3) [m].
            step: time since the frame before [s]; anything for the first.
        """
        variances, squares, freedom = self._variances(posture, positions, self._prior)
        if self._shown is None:
            step = 0.0
        keep = np.exp(-step / _MEMORY)
        self._squares = keep * self._squares + squares
        self._freedom = keep * self._freedom + max(freedom, 0.0)
        noise, data = self.noise, variances[BASE:]
        hidden = self._hidden(data, noise, step)
        if hidden.any() and self._shown is not None:
            posture = self._held(posture, positions, hidden, noise)
            prior = self._prior.copy()
            prior[BASE:][hidden] = noise**2 / self._expected()[hidden]
            variances, _, _ = self._variances(posture, positions, prior)
        self._remember(posture.q[7:], noise**2 * data, hidden, step)
        std = limited(noise * np.sqrt(variances)[None], self._solver)[0]
        return LiveEstimate(posture, std, hidden, noise)

    def _variances(
        self, posture: Posture, positions: np.ndarray, prior: np.ndarray
    ) -> tuple[np.ndarray, float, float]:
        frames = PostureFrames(
            posture.q[None], positions[None], posture.status[None], prior[None]
        )
        rows = frame_variances(frames, self._weights, self._solver.marked)
        return rows[0][0], float(rows[1][0]), float(rows[2][0])

    def _hidden(self, data: np.ndarray, noise: float, step: float) -> np.ndarray:
        """Joints that are shown much worse than usual."""
        self._usual = np.minimum(self._usual * (1.0 + step / _FORGETTING), data)
        std = noise * np.sqrt(data)
        usual = self._settings.times_usual * noise * np.sqrt(self._usual)
        hidden: np.ndarray = (std > self._settings.hidden) & (std > usual)
        self._since = np.where(hidden, self._since + step, 0.0)
        return hidden & self._solver.rules.tracked

    def _expected(self) -> np.ndarray:
        """Variances of joints by the time since they were shown [rad^2]."""
        grown = self._spread + self._speed * self._since**2
        return np.minimum(grown, self._range**2)

    def _held(
        self, posture: Posture, positions: np.ndarray, hidden: np.ndarray, noise: float
    ) -> Posture:
        """The posture again, with hidden joints pulled to where they were shown."""
        assert self._shown is not None
        start = posture.q.copy()
        start[7:][hidden] = self._shown[hidden]
        prior = self._solver.rules.pull.copy()
        prior[hidden] = noise**2 / np.maximum(self._expected()[hidden], 1e-12)
        rejected = posture.status == MarkerStatus.REJECTED
        posture = self._solver.solve_from(start, positions, prior, rejected)
        self._solver.correct(posture.q, hidden)
        return posture

    def _remember(
        self, angles: np.ndarray, spread: np.ndarray, hidden: np.ndarray, step: float
    ) -> None:
        if self._shown is None:
            self._shown, self._spread = angles.copy(), spread.copy()
            return
        shown = ~hidden
        speed = (angles - self._shown)[shown] ** 2 / step**2
        noise = (spread + self._spread)[shown] / step**2
        share = 1.0 - np.exp(-step / _MEMORY)
        self._speed[shown] += share * (
            np.maximum(speed - noise, 0) - self._speed[shown]
        )
        np.maximum(self._speed, self._settings.least_speed**2, out=self._speed)
        self._shown[shown], self._spread[shown] = angles[shown], spread[shown]
