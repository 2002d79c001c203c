# SPDX-License-Identifier: Apache-2.0
r"""A muscle: contractile part and series spring in a row, an exponential spring beside.

Manual 1.2.3 and 1.2.4. With the strain :math:`\epsilon` of the whole muscle, that of
its contractile part :math:`\epsilon_c`, the command signal u and the recruitment
:math:`\alpha`:

.. math::
   \dot k_c &= -(|u| + |\dot\epsilon_c|) k_c + \alpha k_0 |u|_+ \\
   \dot F_c &= -(|u| + |\dot\epsilon_c|) F_c + \alpha F_0 |u|_+
               + k_c L_{c0} \dot\epsilon_c \\
   \dot F_c &= k_s (L_0 \dot\epsilon - L_{c0} \dot\epsilon_c)

k_0 and F_0 are the muscle's stiffness and force at its strain (1.9, 1.10), zero beyond
a strain of 0.4. The last two lines give the rate of the contractile strain:

.. math::
   \dot\epsilon_c = \frac{k_s L_0 \dot\epsilon + F_c |u| - \alpha F_0 |u|_+}
                         {k_s L_{c0} + k_c L_{c0} - S F_c}

with S its sign, that of the numerator. S is frozen between events, so that the rates
are smooth there; the numerator's change of sign is the event. Signals are zero at
``-S GUARD`` rather than at zero (manual 6.3.2): an event is not found a second time,
and a muscle at rest, whose numerator is zero for good, has none.

The power that goes in at the ends of the muscle is stored in the springs or taken up by
the contractile part (negative where that does work):

.. math:: F L_0 \dot\epsilon = \frac{d}{dt}\Bigl(\frac{F_c^2}{2 k_s} + E_p\Bigr)
   + F_c L_{c0} \dot\epsilon_c
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from humans_sim.core.checked_numbers import PositiveNumbers
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.stepper import ActuationError

GUARD = 1.5e-8
"""Numerator that still counts as zero [N/s]; the manual's square root of epsilon."""
_WIDEST = 0.4


class MuscleError(ActuationError):
    """A muscle's equations have no unique solution here."""


@dataclass(frozen=True)
class MuscleParameters(PositiveNumbers):
    """A muscle; defaults are the manual's quadriceps (table 1.3).

    Attributes:
        stiffness: k_m, of the contractile part at its best length [N/m].
        force: F_m, isometric force at its best length [N].
        series_stiffness: k_s [N/m].
        parallel_force: k_p, slope of the parallel spring's force over the strain [N];
            zero switches it off.
        parallel_exponent: k_ep [-].
        contractile_length: L_c0, of the contractile part at rest [m].
        length: L_0, of the whole muscle at rest [m].
    """

    MAY_BE_ZERO = ("parallel_force",)

    stiffness: float = 1e4
    force: float = 500.0
    series_stiffness: float = 1e4
    parallel_force: float = 0.0
    parallel_exponent: float = 1.0
    contractile_length: float = 0.082
    length: float = 0.492

    def scaled(self, scale: float) -> MuscleParameters:
        """A muscle of so many times the cross-section."""
        if not (math.isfinite(scale) and scale > 0):
            raise ParameterError(f"scale must be above zero, not {scale}")
        return replace(
            self,
            stiffness=scale * self.stiffness,
            force=scale * self.force,
            series_stiffness=scale * self.series_stiffness,
            parallel_force=scale * self.parallel_force,
        )

    def row(self) -> np.ndarray:
        """The numbers in the order the kernels want them."""
        return np.array(list(vars(self).values()))

    def stored_energy(self, strain: float, contractile_force: float) -> float:
        """Energy of the series and the parallel spring [J]."""
        series = contractile_force**2 / (2.0 * self.series_stiffness)
        exponent = self.parallel_exponent
        area = (math.expm1(exponent * strain) / exponent - strain) / exponent
        return series + self.parallel_force * self.length * area


QUADRICEPS = MuscleParameters()
HAMSTRINGS = MuscleParameters(contractile_length=0.107)
"""The manual's two thigh muscles (table 1.3); it calls the second one ischio."""


@kernel
def force_length(strain: float) -> float:
    """Share of the largest force and stiffness that is left at a strain (1.9, 1.10)."""
    return max(0.0, 1.0 - (strain / _WIDEST) ** 2)


@kernel
def parallel_spring(strain: float, row: np.ndarray) -> float:
    """Force of the parallel spring [N]."""
    return float(row[3] / row[4] * math.expm1(row[4] * strain))


class ContractilePart(NamedTuple):
    """State of the contractile part of a muscle.

    Attributes:
        stiffness: k_c [N/m].
        force: F_c [N].
        switch: S, +1 stretching or -1 shortening.
    """

    stiffness: float
    force: float
    switch: float


@kernel(error_model="numpy")
def contraction(
    strain: float,
    strain_rate: float,
    part: ContractilePart,
    size: float,
    drive: float,
    row: np.ndarray,
) -> tuple[float, float, float, float, float]:
    """Equations (1.11), S frozen.

    Args:
        strain: of the whole muscle.
        strain_rate: [1/s].
        part: state of the contractile part.
        size: |u| [1/s].
        drive: recruitment times the positive part of u [1/s].
        row: :meth:`MuscleParameters.row`.

    Returns:
        Numerator [N/s] and denominator [N] of the contractile strain rate, that rate
        [1/s], and the rates of k_c [N/m/s] and F_c [N/s].
    """
    stiffness, force, switch = part
    best_stiffness, best_force, series = row[0], row[1], row[2]
    rest, length = row[5], row[6]
    drive *= force_length(strain)
    numerator = series * length * strain_rate + force * size - drive * best_force
    denominator = (series + stiffness) * rest - switch * force
    rate = numerator / denominator
    loss = size + switch * rate
    return (
        numerator,
        denominator,
        rate,
        drive * best_stiffness - loss * stiffness,
        drive * best_force - loss * force + stiffness * rest * rate,
    )
