# SPDX-License-Identifier: Apache-2.0
r"""Design of pin screens: their modes, and exact solutions at rest.

The modes of a screen lie on a segment from :math:`(k_s T^2 / m, z_s T / m)` to
:math:`((k_s + \lambda_N k_v) T^2 / m, (z_s + \lambda_N z_v) T / m)`, with
:math:`\lambda_N` = 4, 8, 12 in one, two, three dimensions. Its two ends are what is
designed: near S marks stay, near O they ring, near C they are smooth, near L all is
free (thesis, chapter 8).

*At rest*: exact solutions, and the kernels of screens without end. There :math:`(k_s +
k_v A) \omega = F`, with A diagonal in sines where edges are fixed, in cosines where
they are free, in waves where they are periodic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.fft
import scipy.special

from humans_sim.core.budget import RATE
from humans_sim.soft.errors import SoftError, UnstableStepError
from humans_sim.soft.networks.stability import cell_radius, is_in_triangle

POINTS = {"O": (1.0, 0.0), "L": (0.0, 0.0), "S": (0.0, 1.0), "C": (1.0, 1.0)}
"""The cardinal points of the plane (K, Z)."""
PROTOTYPES = {
    "O": ("O", "O"),
    "L": ("L", "L"),
    "S": ("S", "S"),
    "C": ("C", "C"),
    "I": ("L", "O"),
    "II": ("L", "S"),
    "III": ("O", "C"),
    "IV": ("S", "C"),
    "V": ("L", "C"),
}
"""Where the lowest and the highest mode of each prototype lie."""


@dataclass(frozen=True)
class ScreenLaw:
    """The material of a screen's pins: mass [kg] of one, and period of a sample [s].

    Stiffness [N/m] and viscosity [N s/m] are k_s, z_s to the ground, k_v, z_v to each
    neighbour.
    """

    mass: float = 0.01
    period: float = 1e-3
    ground_stiffness: float = 0.0
    ground_viscosity: float = 0.0
    stiffness: float = 0.0
    viscosity: float = 0.0

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value):
                raise SoftError(f"pin screen: {name} is {value}, must be a number")
        for name in ("mass", "period"):
            if not getattr(self, name) > 0.0:
                value = getattr(self, name)
                raise SoftError(f"pin screen: {name} is {value:g}, must be above 0")
        RATE.check("pin screen", 1.0 / self.period, error=SoftError)

    def mode(self, eigenvalue: float) -> tuple[float, float]:
        """K and Z of the mode with an eigenvalue of the neighbours' matrix."""
        k = self.ground_stiffness + eigenvalue * self.stiffness
        z = self.ground_viscosity + eigenvalue * self.viscosity
        return k * self.period**2 / self.mass, z * self.period / self.mass

    def segment(self, dimensions: int) -> tuple[tuple[float, float], ...]:
        """Both ends of the modal segment."""
        return self.mode(0.0), self.mode(4.0 * dimensions)

    def in_contact(self, stiffness: float, viscosity: float = 0.0) -> ScreenLaw:
        """The law with markers of a stiffness [N/m] and viscosity [N s/m] on it."""
        return replace(
            self,
            ground_stiffness=self.ground_stiffness + stiffness,
            ground_viscosity=self.ground_viscosity + viscosity,
        )

    def times(self, factor: float) -> ScreenLaw:
        """Heavier, stiffer and more viscous pins with the same modes."""
        larger = {k: factor * x for k, x in self.__dict__.items() if k != "period"}
        return replace(self, **larger)

    def is_stable(self, dimensions: int) -> bool:
        """Whether the whole modal segment is in the triangle."""
        return all(is_in_triangle(*end) for end in self.segment(dimensions))

    def check(self, dimensions: int, where: str = "pin screen") -> None:
        """Refuse a law whose segment leaves the triangle: UnstableStepError."""
        names = ("lowest", "highest")
        for name, end in zip(names, self.segment(dimensions), strict=True):
            if not is_in_triangle(*end):
                raise UnstableStepError(f"{where}: its {name} mode", *end)

    def remanence(self, eigenvalue: float) -> float:
        """Time in which a mode fades to 1/e [s]; infinite where it stays."""
        radius = cell_radius(*self.mode(eigenvalue))
        if radius >= 1.0 - 1e-15:
            return math.inf
        return 0.0 if radius == 0.0 else -self.period / math.log(radius)


def design(
    prototype: str | tuple[tuple[float, float], tuple[float, float]],
    dimensions: int = 1,
    mass: float = 0.01,
    period: float = 1e-3,
) -> ScreenLaw:
    """The law whose modal segment has given ends, for 1 to 3 dimensions.

    Of a prototype (:data:`PROTOTYPES`), or of ends (K, Z) of the segment; the mass is
    that of a pin [kg], the period that of a sample [s].

    Raises:
        SoftError: there is no such prototype.
        UnstableStepError: an end is outside the triangle.
    """
    if isinstance(prototype, str):
        if prototype not in PROTOTYPES:
            known = ", ".join(PROTOTYPES)
            raise SoftError(f"'{prototype}' is no prototype (known: {known})")
        low, high = (POINTS[letter] for letter in PROTOTYPES[prototype])
    else:
        low, high = prototype
    if dimensions not in (1, 2, 3):
        raise SoftError(f"a screen of {dimensions} dimensions: 1, 2 or 3 are known")
    largest = 4.0 * dimensions
    law = ScreenLaw(
        mass,
        period,
        low[0] * mass / period**2,
        low[1] * mass / period,
        (high[0] - low[0]) * mass / (period**2 * largest),
        (high[1] - low[1]) * mass / (period * largest),
    )
    law.check(dimensions)
    return law


def fixed_eigenvalues(shape: tuple[int, ...]) -> np.ndarray:
    """Eigenvalues of the neighbours' matrix with fixed edges, (8.13) to (8.15)."""
    return _eigenvalues(
        [np.pi * np.arange(1, count + 1) / (count + 1) for count in shape]
    )


def _eigenvalues(angles: Sequence[np.ndarray]) -> np.ndarray:
    """Sums of 2 - 2 cos of the angles of all axes."""
    total = np.zeros([len(each) for each in angles])
    for axis, each in enumerate(angles):
        sides = [1] * len(angles)
        sides[axis] = len(each)
        total = total + (2.0 - 2.0 * np.cos(each)).reshape(sides)
    return total


def static_shape(law: ScreenLaw, force: np.ndarray, edges: str = "fixed") -> np.ndarray:
    """Deviations under forces on all pins of 1 to 3 dimensions [N], exact [m].

    Edges are "fixed", "free" or "periodic". SoftError: a mode has no stiffness, so that
    there is no rest.
    """
    force = np.asarray(force, dtype=float)
    if edges == "fixed":
        values = law.ground_stiffness + law.stiffness * fixed_eigenvalues(force.shape)
        _check(values)
        return np.asarray(scipy.fft.idstn(scipy.fft.dstn(force, 1) / values, 1))
    turn = {"free": 1.0, "periodic": 2.0}[edges]
    total = _eigenvalues([turn * np.pi * np.arange(n) / n for n in force.shape])
    values = law.ground_stiffness + law.stiffness * total
    _check(values)
    if edges == "free":
        return np.asarray(scipy.fft.idctn(scipy.fft.dctn(force) / values))
    return np.asarray(scipy.fft.ifftn(scipy.fft.fftn(force) / values).real)


def _check(values: np.ndarray) -> None:
    if not values.min() > 0.0:
        mode = tuple(int(i) for i in np.unravel_index(values.argmin(), values.shape))
        raise SoftError(
            f"the screen has no rest: mode {mode} has the stiffness {values.min():.3g} "
            "N/m, must be above 0"
        )


def decay(law: ScreenLaw) -> float:
    """β of the kernel in one dimension, per pin: log of |r1| of (7.16)."""
    alpha = law.ground_stiffness / law.stiffness
    root = 1 + alpha / 2 + np.sqrt(alpha + alpha**2 / 4)
    return float(abs(np.log(abs(root))))


def line_kernel(law: ScreenLaw, offsets: np.ndarray) -> np.ndarray:
    """Deviations around a force of 1 N on a row of pins without end, (7.23) [m/N].

    Offsets are numbers of pins; k_v may be negative, above -k_s / 4.
    """
    k_s, k_v = law.ground_stiffness, law.stiffness
    square = 4 * k_s * k_v + k_s**2
    if not (k_s > 0.0 and square > 0.0 and k_v != 0.0):
        raise SoftError("the kernel needs k_s > 0 and k_v above -k_s / 4 and not 0")
    steps = np.abs(np.asarray(offsets))
    signs = np.where(steps % 2 == 1, -1.0, 1.0) if k_v < 0 else 1.0
    return np.asarray(signs * np.exp(-decay(law) * steps) / np.sqrt(square))


def membrane_kernel(
    k_s: float, k_v: float, r: np.ndarray, dimensions: int
) -> np.ndarray:
    r"""Deviations of a continuous screen around a unit force.

    :math:`e^{-\sqrt{\alpha} r} / \sqrt{4 k_s k_v}`,
    :math:`K_0(\sqrt{\alpha} r) / 2 \pi k_v`,
    :math:`e^{-\sqrt{\alpha} r} / 4 \pi k_v r` in one, two, three dimensions. The
    printed (7.59) has a 3 where :math:`4 \pi` belongs.

    k_s is the stiffness to the ground [N/m to N/m⁴ with the dimensions], k_v within the
    screen, r are distances [m].
    """
    scaled = np.sqrt(k_s / k_v) * np.asarray(r, dtype=float)
    if dimensions == 1:
        return np.asarray(np.exp(-scaled) / np.sqrt(4 * k_s * k_v))
    if dimensions == 2:
        return np.asarray(scipy.special.k0(scaled) / (2 * np.pi * k_v))
    return np.asarray(np.exp(-scaled) / (4 * np.pi * k_v * np.asarray(r)))
