# SPDX-License-Identifier: Apache-2.0
"""Postures that fulfil a task: inverse kinematics by damped Newton steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humans_sim.control.task.task_functions import Task
from humans_sim.control.task.whole_body import ControlError
from humans_sim.core.errors import ParameterError

_CLOSE = 1e-11
_STEPS = 100
_DAMPING = 1e-10
_LONGEST = 0.3
"""Longest step of a joint [rad]."""


def reach(
    task: Task,
    q: np.ndarray,
    target: np.ndarray,
    joints: Sequence[str],
) -> np.ndarray:
    """The posture in which a task has its target, by moving some joints alone.

    The search begins at q, then with the joints in the middle of their ranges; it never
    leaves those ranges: knees do not bend backwards.

    Args:
        task: the task.
        q: configuration to start from; its base and its other joints stay.
        target: value of the task.
        joints: names of the joints that may move.

    Raises:
        ControlError: the target is out of reach from there.
    """
    model = task.model
    unknown = sorted(set(joints) - set(model.joint_names))
    if unknown:
        raise ParameterError(f"{model.name} has no joint called '{unknown[0]}'")
    places = np.array([model.joint_names.index(name) for name in joints], dtype=int)
    low, high = model.lower_limits[places], model.upper_limits[places]
    bent = np.array(q, dtype=float)
    bent[7 + places] = np.where(np.isfinite(low + high), 0.5 * (low + high), 0.0)
    least = np.inf
    for start in (np.array(q, dtype=float), bent):
        posture, missing = _newton(task, start, target, places, low, high)
        if missing < _CLOSE:
            return posture
        least = min(least, missing)
    raise ControlError(
        f"{model.name} does not reach {', '.join(task.names[:3])}...: "
        f"{least:.3g} are missing"
    )


def _newton(
    task: Task,
    q: np.ndarray,
    target: np.ndarray,
    places: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Newton steps within the limits; the posture reached, and what is missing."""
    for _ in range(_STEPS):
        error = task.error(q, target)
        if np.abs(error).max() < _CLOSE:
            break
        rows = task.jacobian(q)[:, 6 + places]
        square = rows.T @ rows
        square[np.diag_indices_from(square)] += _DAMPING
        step = np.linalg.solve(square, rows.T @ error)
        step *= min(1.0, _LONGEST / max(np.abs(step).max(), 1e-300))
        q[7 + places] = np.clip(q[7 + places] + step, low, high)
    return q, float(np.abs(error).max())
