# SPDX-License-Identifier: Apache-2.0
"""What the ground does to a body over time: force, point of application, torque."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.core.errors import ParameterError

LEAST_LOAD = 20.0
"""Below this vertical force a centre of pressure is noise, and not given [N]."""


@dataclass(frozen=True, eq=False)
class GroundReaction:
    """Force of the ground on a body, in the laboratory's frame, z up.

    A standing person's vertical force is positive: body weight.

    Attributes:
        name: which plate or foot.
        times: of the samples, growing (n,) [s].
        force: on the body (n, 3) [N].
        point: at which it acts (n, 3) [m]; NaN where there is no load.
        torque: about that point (n, 3) [N m].
    """

    name: str
    times: np.ndarray
    force: np.ndarray
    point: np.ndarray
    torque: np.ndarray

    def __post_init__(self) -> None:
        """Check sizes.

        Raises:
            ParameterError: the parts do not fit together.
        """
        check_series(self.times, self.force, self.point, self.torque)

    def wrench(self, about: np.ndarray) -> np.ndarray:
        """Force, and its moment about a point (n, 6) [N, N m]; zero without load.

        Args:
            about: the point (3,) or points (n, 3) [m].
        """
        moment = np.cross(self.point - about, self.force) + self.torque
        wrench = np.concatenate([self.force, moment], axis=1)
        return np.where(np.isnan(self.point).any(axis=1)[:, None], 0.0, wrench)


def check_series(times: np.ndarray, *vectors: np.ndarray) -> None:
    """Check that vectors belong to growing times.

    Raises:
        ParameterError: they do not.
    """
    if times.ndim != 1 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ParameterError("the times of forces are not finite and growing")
    for vector in vectors:
        if vector.shape != (len(times), 3):
            raise ParameterError(
                f"vectors at {len(times)} times have shape {vector.shape}"
            )
