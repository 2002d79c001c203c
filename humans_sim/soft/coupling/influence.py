# SPDX-License-Identifier: Apache-2.0
r"""Which of two coupled models influences the other, by energies at their point.

A and B share a velocity V. What A spends in its own admittance is
:math:`\Gamma_A = Y_A |V|^2`, what passes between them :math:`\Gamma`. B does not count
for A where :math:`|\Gamma| \ll |\Gamma_A|` ((3.10) to (3.23)); then the coupling may be
cut to one way, A moves alone, and B is driven by A's recorded motion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from humans_sim.soft.coupling.admittance import in_a_row, of_link, of_mass
from humans_sim.soft.errors import SoftError

Verdict = Literal["independent", "first drives", "second drives", "both ways"]


@dataclass(frozen=True)
class Influence:
    """What a coupling is.

    Attributes:
        verdict: "independent", "first drives" (cut the way back to the first), "second
            drives" or "both ways" (cut nothing).
        on_first: largest ``|Γ| / |Γ_A|`` in the band: the error where it is cut.
        on_second: largest ``|Γ| / |Γ_B|``.
        omega: frequency at which :attr:`on_first` is largest [rad/s].
        tolerance: below which a ratio counts as nothing.
    """

    verdict: Verdict
    on_first: float
    on_second: float
    omega: float
    tolerance: float

    def report(self, first: str = "A", second: str = "B") -> str:
        """One line: what may be cut, and the error expected."""
        meaning = {
            "independent": f"{first} and {second} may be simulated apart",
            "first drives": f"{second} may be driven by recorded motion of {first}",
            "second drives": f"{first} may be driven by recorded motion of {second}",
            "both ways": f"{first} and {second} must be simulated together",
        }[self.verdict]
        return (
            f"{meaning}: cutting what {second} does to {first} errs by "
            f"{self.on_first:.3g} (at {self.omega:.3g} rad/s), what {first} does to "
            f"{second} by {self.on_second:.3g}; tolerance {self.tolerance:g}"
        )


def classify(
    first: np.ndarray,
    second: np.ndarray,
    omega: np.ndarray,
    sources: tuple[np.ndarray | float, np.ndarray | float] = (1.0, 0.0),
    tolerance: float = 0.02,
) -> Influence:
    """Look at a coupling over a band of frequencies.

    Args:
        first: Y_A at the frequencies (n,) [N s/m].
        second: Y_B (n,) [N s/m].
        omega: the frequencies (n,) [rad/s].
        sources: F_eqA and F_eqB, forces that the models have of their own; a passive
            model has 0.
        tolerance: ratio of energies that counts as nothing.

    Raises:
        SoftError: frequencies that are none.
    """
    omega = np.asarray(omega, dtype=float)
    if not (omega > 0.0).all() or len(omega) != len(first) or len(omega) != len(second):
        raise SoftError("frequencies must be above 0, one for each admittance")
    f_a, f_b = (
        np.broadcast_to(np.asarray(f, dtype=complex), len(omega)) for f in sources
    )
    through = np.abs(first * f_b - second * f_a)
    driving = np.abs(f_a + f_b)
    with np.errstate(divide="ignore", invalid="ignore"):
        on_first = through / (np.abs(first) * driving)
        on_second = through / (np.abs(second) * driving)
    a, b = float(np.nanmax(on_first)), float(np.nanmax(on_second))
    verdict: Verdict = "both ways"
    if a < tolerance and b < tolerance:
        verdict = "independent"
    elif a < tolerance:
        verdict = "first drives"
    elif b < tolerance:
        verdict = "second drives"
    worst = float(omega[int(np.nanargmax(on_first))])
    return Influence(verdict, a, b, worst, tolerance)


def cut_error(
    marker: float,
    link: tuple[float, float],
    cell: tuple[float, float, float],
    omega: np.ndarray | float,
) -> np.ndarray:
    """Error of a mass driven by a force if what it touches is cut off from it.

    Args:
        marker: its mass M [kg].
        link: stiffness [N/m] and viscosity [N s/m] of the interaction.
        cell: mass [kg], stiffness and viscosity of what it touches.
        omega: frequencies [rad/s].
    """
    load = in_a_row(
        of_link(*link, omega), of_mass(cell[0], omega) + of_link(*cell[1:], omega)
    )
    return np.abs(load) / np.abs(of_mass(marker, omega))


@dataclass(frozen=True)
class CoatWindow:
    """Where a coat may be cut off from a mass that it is on, (3.36) and (3.37).

    Attributes:
        omega: lowest and highest frequency [rad/s].
        duration: longest simulation [s]; for errors of about 1 %, a tenth of it.
        rate: highest sampling rate [Hz].
    """

    omega: tuple[float, float]
    duration: float
    rate: float

    @property
    def safe_duration(self) -> float:
        """A tenth of the printed bound, at which the error is 180 % [s]."""
        return 0.1 * self.duration


def coat_window(
    mass: float, link: tuple[float, float], coat: tuple[float, float]
) -> CoatWindow:
    """The window of a coat.

    Args:
        mass: M that wears it [kg].
        link: K [N/m] and Z [N s/m] between them.
        coat: its mass m [kg] and its stiffness k to the ground [N/m].
    """
    stiffness, viscosity = link
    if viscosity > 0.0:
        high = viscosity / coat[0]
    else:
        high = math.sqrt(stiffness / coat[0])
    low = math.sqrt(coat[1] / mass)
    duration = math.pi / low if low > 0.0 else math.inf
    return CoatWindow((low, high), duration, high / math.pi)
