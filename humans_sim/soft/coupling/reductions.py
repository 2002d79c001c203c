# SPDX-License-Identifier: Apache-2.0
"""When a link may be rigid and a mass a geometric point (thesis, chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.soft.coupling.admittance import of_link
from humans_sim.soft.errors import SoftError


@dataclass(frozen=True)
class Reduction:
    """Attributes: allowed: whether; error: ratio expected; bound: what it is below."""

    allowed: bool
    error: float
    bound: float


def transmission_losses(
    stiffness: float, mass: float, omega: float
) -> tuple[float, float]:
    """Energy that a spring keeps, beside what enters and what leaves it.

    A velocity is imposed on one end, a mass is at the other: ``m ω² / |k - m ω²|`` and
    m ω² / k, from (4.29) to (4.32).

    Args:
        stiffness: of the spring [N/m].
        mass: [kg].
        omega: highest frequency [rad/s].
    """
    inertia = mass * omega**2
    gap = abs(stiffness - inertia)
    return (inertia / gap if gap > 0.0 else np.inf), inertia / stiffness


def may_be_rigid(
    stiffness: float, mass: float, omega: float, tolerance: float = 0.0102
) -> Reduction:
    """Whether a spring may be a rigid link, (4.33): k at least 100 m ω² for 1 %.

    The figure is one of energy; trajectories need about 150 m ω² for 1 %.

    Args:
        stiffness: of the spring [N/m].
        mass: that it moves [kg].
        omega: highest frequency [rad/s].
        tolerance: of energy lost.
    """
    _check(stiffness=stiffness, mass=mass, omega=omega)
    error = max(transmission_losses(stiffness, mass, omega))
    return Reduction(error <= tolerance, error, tolerance)


def may_be_geometric(
    mass: float,
    links: Sequence[tuple[float, float]],
    omega: float,
    tolerance: float = 0.01,
) -> Reduction:
    """Whether a mass may be the weighted mean of the points that it is linked to.

    Its motion has the factor 1 / (1 + j m ω / Y) beside the mean (4.47), with Y the sum
    of its links' admittances.

    Args:
        mass: [kg].
        links: stiffness [N/m] and viscosity [N s/m] of each.
        omega: highest frequency [rad/s].
        tolerance: of the motion.
    """
    _check(mass=mass, omega=omega)
    total = sum(of_link(k, z, omega) for k, z in links)
    error = float(np.abs(1.0 / (1.0 + 1j * mass * omega / total) - 1.0))
    return Reduction(error <= tolerance, error, tolerance)


def _check(**values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0.0):
            raise SoftError(f"{name} is {value:g}, must be above 0")
