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

*Command signal and clocks* (manual 1.2.1, 6.4.2). A pulse lifts the signal u to its
upper value (state 2: calcium at its maximum). It stays there for a while, falls along a
line to its lower value (state 1), and remains there (state 0). The line crosses zero,
where the size of u has a kink; so every change of state and that crossing are times
known in advance, and u is smooth between them.

*Recruitment*, the share of the fibres that a pulse recruits (manual 1.2.2):

.. math:: \alpha = \tfrac12 + \tfrac12\,
   \frac{\tanh 5 (p / (p_w i)_{max} - \tfrac12)}{\tanh \tfrac52}

p is the charge of the pulse, its width times its current: nothing at zero, every fibre
at the stimulator's largest pulse.

*Lengths of the knee's muscles* at a flexion angle q (manual 1.2.5, corrected):

.. math::
   L_{quadriceps} &= r q + \sqrt{L_{00}^2 - r^2} + \sqrt{L_{iq}^2 - r^2}
      + r \arcsin\frac{r}{L_{00}} + r \arcsin\frac{r}{L_{iq}} \\
   L_{hamstrings} &= \sqrt{L_{00}^2 + L_{ii}^2 + 2 L_{00} L_{ii} \cos q}

The quadriceps wraps around the knee, a circle; the hamstrings run straight behind it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from humans_sim.core.arrays import PositiveNumbers
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


RELAXED, DECLINING, STIMULATED = 0, 1, 2
"""States of the calcium, the manual's numbers."""

_LOW, _BELOW_ZERO, _ABOVE_ZERO, _HIGH = 0, 1, 2, 3
_CALCIUM = np.array([RELAXED, DECLINING, DECLINING, STIMULATED])


@dataclass(frozen=True)
class CommandSignal(PositiveNumbers):
    """Shape of the command signal (manual table 1.1).

    Attributes:
        upper: U_p, its value after a pulse [1/s].
        lower: U_m; the signal of a relaxed muscle is -U_m [1/s].
        hold: tau_1, how long it stays at U_p [s].
        fall: tau_2, how long it falls to -U_m [s]; that it falls along a line is
            assumed, as the manual prints its times only.
    """

    upper: float = 5.0
    lower: float = 5.0
    hold: float = 0.020
    fall: float = 0.010


class CommandClocks:
    """Command signals of several muscles, each with its own clock."""

    def __init__(self, count: int, signal: CommandSignal) -> None:
        self.signal = signal
        self.shape = np.array([signal.upper, signal.lower, signal.fall])
        self.phase = np.zeros(count, dtype=np.int64)
        self.falls = np.zeros(count)
        self._ends = np.full(count, math.inf)

    def relax(self) -> None:
        """Forget all pulses: every muscle in state 0."""
        self.phase[:], self._ends[:] = _LOW, math.inf

    def stimulate(self, muscle: int, t: float) -> None:
        """A pulse acts on a muscle: state 2 from now on, whatever was before."""
        self.phase[muscle] = _HIGH
        self.falls[muscle] = self._ends[muscle] = t + self.signal.hold

    def tick(self, t: float) -> None:
        """Change the states whose time has come."""
        for i in np.flatnonzero(self._ends <= t):
            while self._ends[i] <= t:
                self.phase[i] -= 1
                self._ends[i] = self.falls[i] + self._fallen(int(self.phase[i]))

    def _fallen(self, phase: int) -> float:
        """Time from the start of the fall to the end of a phase [s]."""
        if phase == _ABOVE_ZERO:
            signal = self.signal
            return signal.fall * signal.upper / (signal.upper + signal.lower)
        return self.signal.fall if phase == _BELOW_ZERO else math.inf

    def next_time(self) -> float:
        """When a signal has its next kink [s]."""
        return float(self._ends.min(initial=math.inf))

    def calcium_states(self) -> np.ndarray:
        """RELAXED, DECLINING or STIMULATED (n,)."""
        return _CALCIUM[self.phase]

    def next_switches(self) -> np.ndarray:
        """When each calcium state changes next; infinity where nothing is due (n,)."""
        end = np.where(self.phase == _HIGH, self.falls, self.falls + self.signal.fall)
        return np.where(self.phase == _LOW, math.inf, end)

    def values(self, t: float) -> np.ndarray:
        """The signals u (n,) [1/s]."""
        return np.array(
            [
                command_value(t, phase, falls, self.shape)
                for phase, falls in zip(self.phase, self.falls, strict=True)
            ]
        )


@kernel
def command_value(t: float, phase: int, falls: float, shape: np.ndarray) -> float:
    """The signal u in a phase that began to fall, or will, at ``falls`` [1/s]."""
    if phase == _HIGH:
        return float(shape[0])
    if phase == _LOW:
        return -float(shape[1])
    return float(shape[0] - (shape[0] + shape[1]) * (t - falls) / shape[2])


@kernel
def command_sizes(u: float, phase: int) -> tuple[float, float]:
    """Absolute value and positive part of u, each smooth inside a phase [1/s]."""
    return (u, u) if phase >= _ABOVE_ZERO else (-u, 0.0)


_STEEPNESS = 5.0
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Stimulator(PositiveNumbers):
    """The largest pulse a stimulator gives (manual table 1.2; its numbers are assumed).

    Attributes:
        max_width: pw_max [s].
        max_current: i_max [A].
    """

    max_width: float = 500e-6
    max_current: float = 0.1

    @property
    def max_charge(self) -> float:
        """Charge of the largest pulse [A s]."""
        return self.max_width * self.max_current

    def charge(self, recruitment: float) -> float:
        """Charge that recruits this share of the fibres [A s]; the inverse curve."""
        if not 0.0 <= recruitment <= 1.0:
            raise ParameterError(f"recruitment must be 0 to 1, not {recruitment}")
        slope = (2.0 * recruitment - 1.0) * math.tanh(_STEEPNESS / 2)
        share = 0.5 + math.atanh(slope) / _STEEPNESS
        return min(max(share, 0.0), 1.0) * self.max_charge

    def recruitment(self, charge: float) -> float:
        """Share of the fibres that a pulse of this charge recruits, 0 to 1.

        Args:
            charge: pulse width times current [A s].

        Raises:
            ParameterError: negative, not a number, or beyond the largest pulse.
        """
        if not 0.0 <= charge <= self.max_charge * (1.0 + _ROUNDING):
            raise ParameterError(
                f"a pulse must have 0 to {self.max_charge:g} A s (width times "
                f"current), not {charge}"
            )
        share = min(charge / self.max_charge, 1.0)
        slope = math.tanh(_STEEPNESS * (share - 0.5))
        return 0.5 + 0.5 * slope / math.tanh(_STEEPNESS / 2)


WRAPPED, STRAIGHT = 0, 1
PATHS = {"quadriceps": WRAPPED, "hamstrings": STRAIGHT}
"""Which way each muscle takes."""


@dataclass(frozen=True)
class KneeGeometry(PositiveNumbers):
    """Lengths at the knee; the manual does not print them, the numbers are assumed.

    Attributes:
        radius: r, of the knee [m].
        origin: L_00, from the knee to where the muscles begin at the thigh [m].
        quadriceps_insertion: L_iq, from the knee to where it ends at the shank [m].
        hamstrings_insertion: L_ii, likewise [m].
        viscosity: F_v, friction of the joint [N m s/rad].
    """

    MAY_BE_ZERO = ("viscosity",)

    radius: float = 0.04
    origin: float = 0.442
    quadriceps_insertion: float = 0.05
    hamstrings_insertion: float = 0.05
    viscosity: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("origin", "quadriceps_insertion"):
            if getattr(self, name) <= self.radius:
                raise ParameterError(f"{name} must lie outside the knee's radius")
        if self.origin == self.hamstrings_insertion:
            raise ParameterError("origin and hamstrings_insertion must differ")

    def path(self, muscle: str) -> np.ndarray:
        """The two numbers of a muscle's path, for :func:`path_length`."""
        r, top = self.radius, self.origin
        if PATHS[muscle] == STRAIGHT:
            end = self.hamstrings_insertion
            return np.array([top**2 + end**2, 2.0 * top * end])
        end = self.quadriceps_insertion
        straight = math.sqrt(top**2 - r**2) + math.sqrt(end**2 - r**2)
        return np.array([straight + r * (math.asin(r / top) + math.asin(r / end)), r])


@kernel
def path_length(kind: int, flexion: float, path: np.ndarray) -> tuple[float, float]:
    """Length of a muscle [m] and its derivative by the flexion angle [m/rad]."""
    if kind == WRAPPED:
        return path[0] + path[1] * flexion, path[1]
    length = math.sqrt(path[0] + path[1] * math.cos(flexion))
    return length, -0.5 * path[1] * math.sin(flexion) / length
