# SPDX-License-Identifier: Apache-2.0
"""Local coordinates of a scene: the robot's, then those of each free body."""

from __future__ import annotations

import numpy as np

from humans_sim.dynamics.chart import Chart, FreeBaseChart


class BodyChart(FreeBaseChart):
    """Coordinates of a free body whose velocity is expressed in the world's frame."""

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of x; only the spin is in the body's frame."""
        rates = super().rates(x, v)
        rates[:3] = v[:3]
        return rates


class SceneChart:
    """Charts of free bases one after the other."""

    def __init__(self, centre: np.ndarray, robot: int, bodies: int) -> None:
        """Coordinates around a configuration.

        Args:
            centre: of the whole scene.
            robot: coordinates of the robot; 0: there is none.
            bodies: how many there are.
        """
        cuts = [robot] if robot else []
        cuts += [robot + 7 * (k + 1) for k in range(bodies)]
        starts = [0, *cuts[:-1]]
        kinds = [FreeBaseChart] if robot else []
        kinds += [BodyChart] * bodies
        self._charts: list[Chart] = [
            kind(centre[a:b]) for kind, a, b in zip(kinds, starts, cuts, strict=True)
        ]
        sizes = [b - a - 1 for a, b in zip(starts, cuts, strict=True)]
        ends = np.cumsum(sizes)
        self._parts = [
            slice(int(e - n), int(e)) for n, e in zip(sizes, ends, strict=True)
        ]

    def configuration(self, x: np.ndarray) -> np.ndarray:
        """The configuration at x."""
        return np.concatenate(
            [
                c.configuration(x[p])
                for c, p in zip(self._charts, self._parts, strict=True)
            ]
        )

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of x at the velocity v."""
        return np.concatenate(
            [
                c.rates(x[p], v[p])
                for c, p in zip(self._charts, self._parts, strict=True)
            ]
        )

    def worn(self, x: np.ndarray) -> bool:
        """Whether anything has turned far from the centre's attitude."""
        return any(c.worn(x[p]) for c, p in zip(self._charts, self._parts, strict=True))
