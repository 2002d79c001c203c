# SPDX-License-Identifier: Apache-2.0
"""The inverse of Bip's task function (manual section 8.1.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.control.bip.inverse_kernels import Legs, Tolerances, invert
from humans_sim.control.bip.kernels import ROWS, SIDES
from humans_sim.control.bip.task import BipTask
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError

TOLERANCE = 1e-13
"""Largest residual at which the iteration ends [m] (assumed)."""
ACCEPTED = 1e-10
"""Largest residual of a solution [m] (assumed)."""
LIMIT_SLACK = 1e-5
"""Angle beyond a limit that still counts as inside [rad] (assumed)."""
_TOLERANCES = Tolerances(TOLERANCE, ACCEPTED, LIMIT_SLACK)

_LEG = (
    ("hip_roll", (1.0, 0.0, 0.0)),
    ("hip_yaw", (0.0, 0.0, 1.0)),
    ("hip_pitch", (0.0, 1.0, 0.0)),
    ("knee", (0.0, 1.0, 0.0)),
    ("ankle_pitch", (0.0, 1.0, 0.0)),
    ("ankle_roll", (1.0, 0.0, 0.0)),
)
"""Joints of a leg from the hip down, and the axes they turn about."""


class UnreachableError(HumansError, ValueError):
    """No posture has this position in the task space.

    Attributes:
        solution: the nearest posture found.
    """

    def __init__(self, solution: InverseSolution) -> None:
        """Say how near the search came."""
        self.solution = solution
        super().__init__(
            f"{solution.reason}; the nearest posture found misses the target by "
            f"{solution.residual:.3g} m"
        )


@dataclass(frozen=True)
class InverseSolution:
    """A posture for a target.

    Attributes:
        q_h: HuMAnS coordinates (21,).
        residual: largest difference between the task function at q_h and the target.
        converged: whether q_h is an answer: the residual is below 1e-10.
        within_limits: whether the 12 joints of the legs are inside their limits.
        iterations: steps of Newton's method taken in all.
        reason: why there is no answer, or what is to be known of it; may be empty.
    """

    q_h: np.ndarray
    residual: float
    converged: bool
    within_limits: bool
    iterations: int
    reason: str


class InverseTaskFunction:
    """Finds q with TaskFunction(q) = target.

    Rows 13..21 are coordinates themselves; the 12 joints of the legs are sought, by the
    method of :mod:`humans_sim.control.bip.inverse_kernels`. Several postures may have
    the same task value; the one inside the joint limits is preferred.
    """

    def __init__(self, task: BipTask) -> None:
        """Prepare the inverse of a task function."""
        self.task = task
        self._legs = _legs(task)

    def solve(
        self, target: np.ndarray, start: np.ndarray | None = None
    ) -> InverseSolution:
        """The posture of a target, or the nearest one found.

        Args:
            target: position in the task space (21,).
            start: HuMAnS coordinates (21,) to begin from; an answer inside the limits
                that follows from it is taken. Any answer will do without it.
        """
        target = self._sized(target, "a task position")
        begin = target if start is None else self._sized(start, "a start")
        q, residual, beyond, steps, twisted, far = invert(
            self.task.tree, self._legs, target, begin, start is not None, _TOLERANCES
        )
        converged, inside = residual < ACCEPTED, beyond <= LIMIT_SLACK
        if converged:
            reason = "" if inside else "the posture is beyond the joint limits"
        elif twisted > 1e-9:
            reason = "no orientation of the feet has rows 7..12 of the target"
        elif far > 1e-9:
            reason = "the legs are too short for rows 1..6 of the target"
        else:
            reason = "no posture was found for rows 1..12 of the target"
        return InverseSolution(q, residual, converged, inside, steps, reason)

    def posture(
        self, target: np.ndarray, start: np.ndarray | None = None
    ) -> np.ndarray:
        """The HuMAnS coordinates of a target (21,).

        Raises:
            UnreachableError: no posture was found.
        """
        solution = self.solve(target, start)
        if not solution.converged:
            raise UnreachableError(solution)
        return solution.q_h

    def _sized(self, vector: np.ndarray, name: str) -> np.ndarray:
        vector = np.ascontiguousarray(vector, dtype=float)
        if vector.shape != (self.task.size,) or not np.isfinite(vector).all():
            raise ConfigurationError(
                f"{name} has {self.task.size} finite entries; this has shape "
                f"{vector.shape}"
            )
        return vector


def inverse_task(
    task: BipTask, target: np.ndarray, start: np.ndarray | None = None
) -> InverseSolution:
    """The posture of one target; for many, keep an :class:`InverseTaskFunction`."""
    return InverseTaskFunction(task).solve(target, start)


def _legs(task: BipTask) -> Legs:
    """Read the legs from the model; refuse those the closed form does not hold for."""
    model, tree = task.model, task.tree
    order = model.humans.coordinate_names
    by_place = {int(place): i for i, place in enumerate(tree.place)}
    place, sign = np.empty((SIDES, 6), dtype=int), np.empty((SIDES, 6))
    shifts = np.empty((SIDES, 6, 3))
    sound = np.allclose(tree.rotation, np.eye(3), atol=1e-12)
    for side, letter in enumerate("rl"):
        for k, (name, axis) in enumerate(_LEG):
            place[side, k] = order.index(f"{letter}_{name}")
            i = by_place[int(place[side, k])]
            sign[side, k] = np.sign(tree.axis[i] @ np.array(axis))
            sound &= np.allclose(tree.axis[i], sign[side, k] * np.array(axis))
            shifts[side, k] = tree.shift[i]
    sound &= np.allclose(shifts[:, (1, 2, 5)], 0.0, atol=1e-12)
    sound &= np.allclose(shifts[:, (3, 4), :2], 0.0, atol=1e-12)
    sound &= np.allclose(tree.ankle, 0.0, atol=1e-12)
    across, along = tree.across, tree.along
    lengths = np.array([np.linalg.norm(across), np.linalg.norm(along)])
    trunk = np.column_stack([across, along, np.cross(across, along)])
    trunk /= np.array([*lengths, lengths.prod()])
    sound &= np.allclose(trunk.T @ trunk, np.eye(3), atol=1e-12)
    if not sound:
        raise ParameterError(
            f"the legs of {model.name} are not Bip's: hip axes that meet in one point, "
            "parallel knee and ankle, ankle axes that meet"
        )
    joints = [model.joint_names.index(name) for name in order[:ROWS]]
    return Legs(
        place=place,
        sign=sign,
        hip=np.ascontiguousarray(shifts[:, 0]),
        thigh=-shifts[:, 3, 2],
        shank=-shifts[:, 4, 2],
        lower=np.array(model.lower_limits[joints]),
        upper=np.array(model.upper_limits[joints]),
        trunk=trunk,
        reach=lengths,
    )
