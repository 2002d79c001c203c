# SPDX-License-Identifier: Apache-2.0
"""A person's motion at the times of a robot's, smoothed."""

from __future__ import annotations

import numpy as np

from humans_sim.control.retargeting.person_motion import PersonMotion
from humans_sim.control.retargeting.robot_motion import low_pass


class SampledPerson:
    """A person's motion, sampled; ends hold.

    Args:
        person: the motion.
        times: in the person's time (n,) [s].
        cutoff: what is faster is left out of attitudes and heights [Hz].
        period: between two samples of the robot [s].
    """

    def __init__(
        self, person: PersonMotion, times: np.ndarray, cutoff: float, period: float
    ) -> None:
        rate = 1.0 / period

        def at(values: np.ndarray) -> np.ndarray:
            flat = values.reshape(len(person.t), -1)
            columns = [np.interp(times, person.t, column) for column in flat.T]
            return np.column_stack(columns).reshape(len(times), *values.shape[1:])

        def smooth(values: np.ndarray) -> np.ndarray:
            return low_pass(at(values), rate, cutoff)

        self.directions = {
            name: _unit(at(values)) for name, values in person.directions.items()
        }
        self.pelvis, self.torso = (
            np.array([_rotation(m) for m in smooth(attitude)])
            for attitude in (person.pelvis, person.torso)
        )
        self.crouch, self.place = smooth(person.crouch), smooth(person.place)
        self.head = smooth(person.head)


def _unit(rows: np.ndarray) -> np.ndarray:
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _rotation(matrix: np.ndarray) -> np.ndarray:
    """The rotation nearest to a matrix."""
    u, _, vt = np.linalg.svd(matrix)
    return u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
