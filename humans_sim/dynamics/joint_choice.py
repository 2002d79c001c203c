# SPDX-License-Identifier: Apache-2.0
"""Which joints of a model move, and between which limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.models import Model

ALL, BASE = "*", "base"
"""Words for what is locked: all joints, and the base."""


def locked_velocities(model: Model, locked: Sequence[str]) -> np.ndarray:
    """Velocities that stay zero (indices).

    Args:
        model: the model.
        locked: names of joints; ``"*"`` for all, ``"base"`` for the base.

    Raises:
        ParameterError: the model has no such joint.
    """
    names, requested = model.joint_names, set(locked)
    base = range(6) if BASE in requested else ()
    if ALL in requested:
        requested |= set(names)
    unknown = sorted(requested - set(names) - {BASE, ALL})
    if unknown:
        raise ParameterError(f"{model.name} has no joint '{unknown[0]}' to lock")
    joints = [6 + j for j, name in enumerate(names) if name in requested]
    return np.array([*base, *joints], dtype=np.int64)


def joint_limits(
    model: Model, limits: bool | Mapping[str, tuple[float, float]]
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of all joints; infinite where there are none.

    Args:
        model: the model.
        limits: whether joints stop at their limits; or other limits for some, by name:
            (lower, upper) [rad].

    Raises:
        ParameterError: the model has no such joint, or no angle is between its limits.
    """
    names = model.joint_names
    if limits is False:
        return np.full(len(names), -np.inf), np.full(len(names), np.inf)
    lower, upper = model.lower_limits.copy(), model.upper_limits.copy()
    for name, (low, high) in ({} if limits is True else limits).items():
        if name not in names:
            raise ParameterError(f"{model.name} has no joint '{name}' to limit")
        if not low < high:
            raise ParameterError(f"limits of {name}: {low} is not below {high}")
        lower[names.index(name)], upper[names.index(name)] = low, high
    return lower, upper
