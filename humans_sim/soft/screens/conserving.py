# SPDX-License-Identifier: Apache-2.0
r"""Pin screens that keep the sum of their heights (EEshco, thesis, section 7.4.3).

Each column is a piston: its height y, and its widths between horizontal masses that
columns share, have together a constant length. With the widths' sums fixed by walls,
what one pin is pushed down, others rise. In two dimensions a piston has two widths
(7.64); the thesis proposes this without trying it.

The energy is :math:`\tfrac12 k_p \sum (y + \sum w)^2` with, by variant, springs from
pins to the ground (VS) and to neighbours (VV), from horizontal masses to the ground
(HS), and across widths (HV).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh, splu

from humans_sim.soft.errors import SoftError, UnstableStepError


@dataclass(frozen=True)
class PistonLaw:
    """Stiffness of a screen that keeps its volume [N/m]; 0 leaves a link out.

    Attributes:
        piston: k_p.
        pin_ground: k_vs.
        pin_pin: k_vv.
        side_ground: k_hs.
        side_side: k_hv.
    """

    piston: float
    pin_ground: float = 0.0
    pin_pin: float = 0.0
    side_ground: float = 0.0
    side_side: float = 0.0


class ConservingScreen:
    """A row or rectangle of columns.

    Args:
        shape: numbers of columns.
        law: stiffness of its links.
        mass: of pins and horizontal masses [kg].
        viscosity: of all of them against the ground [N s/m].
        period: of a sample [s].

    Raises:
        SoftError: a stiffness is negative, or a motion meets none.
        UnstableStepError: the period is too long.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        law: PistonLaw,
        mass: float = 0.01,
        viscosity: float = 0.0,
        period: float = 1e-4,
    ) -> None:
        """All columns at rest."""
        if len(shape) not in (1, 2) or min(shape) < 2:
            raise SoftError(f"a screen of {shape} columns: 1 or 2 sides of 2 or more")
        if min(law.__dict__.values()) < 0.0 or not law.piston > 0.0:
            raise SoftError(f"{law}: stiffness must be 0 or more, the piston's above 0")
        self.shape, self.law = tuple(shape), law
        self._matrix = _stiffness(self.shape, law)
        self._count = int(np.prod(shape))
        lowest = _extreme(self._matrix, "SA")
        if lowest < 1e-9 * law.piston:
            raise SoftError(
                f"{law}: some motion meets no stiffness, the screen has no rest; add "
                "one of the links"
            )
        k, z = (
            _extreme(self._matrix, "LA") * period**2 / mass,
            viscosity * period / mass,
        )
        if k + 2 * z > 4.0:
            raise UnstableStepError("conserving screen: its stiffest mode", k, z)
        self._solver = splu(self._matrix.tocsc())
        self._gain, self._damping = period**2 / mass, z
        self._now = np.zeros(self._matrix.shape[0])
        self._before = self._now.copy()

    @property
    def heights(self) -> np.ndarray:
        """Deviations of the pins now [m]."""
        return self._now[: self._count].reshape(self.shape).copy()

    def static(self, force: np.ndarray) -> np.ndarray:
        """Deviations of the pins at rest under forces [N] on them [m]."""
        shape: np.ndarray = self._solver.solve(self._load(force))[: self._count]
        return shape.reshape(self.shape)

    def step(self, force: np.ndarray) -> None:
        """One sample under forces on the pins [N]."""
        u, v = self._now, self._before
        push = self._load(force) - self._matrix @ u
        new = 2 * u - v - self._damping * (u - v) + self._gain * push
        self._now, self._before = new, u

    def _load(self, force: np.ndarray) -> np.ndarray:
        load = np.zeros(self._matrix.shape[0])
        load[: self._count] = np.asarray(force, dtype=float).ravel()
        return load


def _widths(count: int) -> sp.csr_matrix:
    """Widths of columns from the masses between them; walls do not move."""
    return sp.diags([np.ones(count), -np.ones(count)], [0, -1]).tocsr()[:, : count - 1]


def _along(shape: tuple[int, ...], axis: int, one: sp.csr_matrix) -> sp.csr_matrix:
    """A matrix of one axis, for all rows of the other."""
    if len(shape) == 1:
        return one
    other = sp.identity(shape[1 - axis])
    parts = (one, other) if axis == 0 else (other, one)
    return sp.kron(*parts).tocsr()


def _stiffness(shape: tuple[int, ...], law: PistonLaw) -> sp.csr_matrix:
    """Matrix over pins and horizontal masses."""
    axes = range(len(shape))
    widths = [_along(shape, axis, _widths(shape[axis])) for axis in axes]
    pins = sp.identity(int(np.prod(shape))) * (law.piston + law.pin_ground)
    for axis in axes:
        slopes = _widths(shape[axis]).T
        pins = pins + law.pin_pin * _along(shape, axis, (slopes.T @ slopes).tocsr())
    every = sp.hstack(widths)
    sides = law.piston * (every.T @ every)
    sides = sides + law.side_side * sp.block_diag([w.T @ w for w in widths])
    sides = sides + law.side_ground * sp.identity(sides.shape[0])
    cross = law.piston * every
    return sp.bmat([[pins, cross], [cross.T, sides]]).tocsr()


def _extreme(matrix: sp.csr_matrix, which: str) -> float:
    """Smallest or largest eigenvalue."""
    if matrix.shape[0] <= 600:
        values = np.linalg.eigvalsh(matrix.toarray())
        return float(values[0] if which == "SA" else values[-1])
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    if which == "LA":
        return float(eigsh(matrix, 1, which="LA", v0=start)[0][0])
    shift = -1e-6 * abs(matrix.diagonal()).max()
    return float(eigsh(matrix, 1, sigma=shift, which="LM", v0=start)[0][0])
