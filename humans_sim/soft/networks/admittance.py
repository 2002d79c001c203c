# SPDX-License-Identifier: Apache-2.0
r"""Admittances, and which of two coupled models influences the other.

Of masses, springs, dampers, networks and bodies. The thesis calls F / V an admittance
(force as what flows through, (3.1)); robotics calls it a mechanical impedance. Side by
side (one velocity) admittances add; one after the other (one force) their inverses add.
The text of the thesis has them exchanged.

*Influence* of two coupled models, by energies at their point. A and B share a velocity
V. What A spends in its own admittance is :math:`\Gamma_A = Y_A |V|^2`, what passes
between them :math:`\Gamma`. B does not count for A where :math:`|\Gamma| \ll
|\Gamma_A|` ((3.10) to (3.23)); then the coupling may be cut to one way, A moves alone,
and B is driven by A's recorded motion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks.simulation import NetworkSimulation
from humans_sim.soft.networks.stability import matrices


def of_mass(mass: float, omega: np.ndarray | float) -> np.ndarray:
    """Of a mass: j m ω, (3.2) [N s/m]."""
    return np.asarray(1j * mass * np.asarray(omega, dtype=float))


def of_link(
    stiffness: float, viscosity: float, omega: np.ndarray | float
) -> np.ndarray:
    """Of a spring and damper: k / j ω + z, (3.3) and (3.4) [N s/m]."""
    return np.asarray(stiffness / (1j * np.asarray(omega, dtype=float)) + viscosity)


def in_a_row(*admittances: np.ndarray) -> np.ndarray:
    """Inverse of the sum of inverses, of admittances that share a force."""
    return np.asarray(1.0 / sum(1.0 / y for y in admittances))


def of_network(
    simulation: NetworkSimulation,
    mass: str,
    omega: np.ndarray | float,
    direction: np.ndarray,
) -> np.ndarray:
    """Admittance of a network at a mass, along a direction (3,) [N s/m].

    One for each angular frequency [rad/s]. It is linearised where it is: links count in
    their states of now. SoftError: the mass cannot move.
    """
    index = simulation.network.point(mass).index
    free = np.flatnonzero(np.array(simulation.network.masses) > 0.0)
    if index not in free:
        raise SoftError(f"'{mass}' does not move: its admittance is without bounds")
    row = int(np.flatnonzero(free == index)[0])
    sparse_k, sparse_z, masses = matrices(simulation)
    k, z = sparse_k.toarray(), sparse_z.toarray()
    along = np.zeros(len(masses))
    along[3 * row : 3 * row + 3] = direction / np.linalg.norm(direction)
    values = []
    for w in np.atleast_1d(omega):
        dynamic = 1j * w * np.diag(masses) + z + k / (1j * w)
        values.append(1.0 / (along @ np.linalg.solve(dynamic, along)))
    return np.array(values)


def of_inertia(
    inertia: np.ndarray, jacobian: np.ndarray, omega: np.ndarray | float
) -> np.ndarray:
    r"""Admittance at a point of an articulated body with a mass matrix (nv, nv).

    :math:`Y = [J (j \omega M)^{-1} J^T]^{-1}`

    Args:
        inertia: the mass matrix M.
        jacobian: of the point's velocity: one to three rows (r, nv).
        omega: angular frequencies [rad/s].

    Returns:
        Matrices (frequencies, r, r) [N s/m].
    """
    jacobian = np.atleast_2d(jacobian)
    values = []
    for w in np.atleast_1d(omega):
        dynamic = 1j * w * inertia
        values.append(np.linalg.inv(jacobian @ np.linalg.solve(dynamic, jacobian.T)))
    return np.array(values)


Verdict = Literal["independent", "first drives", "second drives", "both ways"]


@dataclass(frozen=True)
class Influence:
    """The influence of a coupling.

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
    """Look at a coupling over a band of frequencies (n,) [rad/s].

    Args:
        first: Y_A at the frequencies (n,) [N s/m].
        second: Y_B (n,) [N s/m].
        omega: the frequencies.
        sources: F_eqA and F_eqB, forces that the models have of their own; a passive
            model has 0.
        tolerance: ratio of energies that counts as nothing.
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

    A marker of some mass [kg] touches, through a link of stiffness [N/m] and viscosity
    [N s/m], a cell of mass [kg], stiffness and viscosity; at frequencies [rad/s].
    """
    cell_load = of_mass(cell[0], omega) + of_link(*cell[1:], omega)
    load = in_a_row(of_link(*link, omega), cell_load)
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
    """The window of a coat of mass m [kg] and stiffness k to the ground [N/m].

    It is linked by K [N/m] and Z [N s/m] to the mass M that wears it [kg].
    """
    stiffness, viscosity = link
    high = viscosity / coat[0] if viscosity > 0.0 else math.sqrt(stiffness / coat[0])
    low = math.sqrt(coat[1] / mass)
    duration = math.pi / low if low > 0.0 else math.inf
    return CoatWindow((low, high), duration, high / math.pi)


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

    A velocity is imposed on one end, a mass [kg] is at the other: ``m ω² / |k - m ω²|``
    and m ω² / k, from (4.29) to (4.32), up to a frequency [rad/s].
    """
    inertia = mass * omega**2
    gap = abs(stiffness - inertia)
    return (inertia / gap if gap > 0.0 else np.inf), inertia / stiffness


def may_be_rigid(
    stiffness: float, mass: float, omega: float, tolerance: float = 0.0102
) -> Reduction:
    """Whether a spring may be a rigid link, (4.33): k at least 100 m ω² for 1 %.

    The spring moves a mass [kg] up to a frequency [rad/s]. The tolerance is one of
    energy lost; trajectories need about 150 m ω² for 1 %.
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
    of its links' admittances, of stiffness [N/m] and viscosity [N s/m] each, up to a
    frequency [rad/s].
    """
    _check(mass=mass, omega=omega)
    total = sum(of_link(k, z, omega) for k, z in links)
    error = float(np.abs(1.0 / (1.0 + 1j * mass * omega / total) - 1.0))
    return Reduction(error <= tolerance, error, tolerance)


def _check(**values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0.0):
            raise SoftError(f"{name} is {value:g}, must be above 0")
