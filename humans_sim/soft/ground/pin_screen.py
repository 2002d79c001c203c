# SPDX-License-Identifier: Apache-2.0
r"""The pin screen: masses on a grid that move along one axis.

Each pin is linked to the ground (k_s, z_s) and to its neighbours (k_v, z_v); markers
press on it through visco-elastic stops. Sample by sample,

.. math:: u_{n+1} = 2 u_n - u_{n-1} - K u_n - Z (u_n - u_{n-1}) + T^2 F / m

with K and Z the matrices of (8.8). Three arrays are kept: 24 bytes a pin.

*EEshco* (thesis, section 7.4.3): screens that keep the sum of heights. Each column is a
piston: its height y, and its widths between horizontal masses that columns share, have
together a constant length. With the widths' sums fixed by walls, what one pin is pushed
down, others rise. In two dimensions a piston has two widths (7.64); the thesis proposes
this without trying it.

The energy is :math:`\tfrac12 k_p \sum (y + \sum w)^2` with, by variant, springs from
pins to the ground (VS) and to neighbours (VV), from horizontal masses to the ground
(HS), and across widths (HV).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh, splu

from humans_sim.core.budget import PINS
from humans_sim.soft.errors import SoftError, UnstableStepError
from humans_sim.soft.ground import screen_kernels as kernels
from humans_sim.soft.ground.screen_design import ScreenLaw

EDGES = {"fixed": kernels.FIXED, "free": kernels.FREE, "periodic": kernels.PERIODIC}
BORDERS = {
    1: kernels.fill_border,
    2: kernels.fill_border_2,
    3: kernels.fill_border_3,
}
STEPS = {1: kernels.step_1, 2: kernels.step_2, 3: kernels.step_3}


@dataclass(frozen=True)
class Markers:
    """Points that press on a screen of two dimensions.

    Positions are x, y and height, from the first pin (p, 3); a marker touches a pin
    within its reach [m, N/m, N s/m].
    """

    positions: np.ndarray
    reach: float
    stiffness: float
    viscosity: float = 0.0


class PinScreen:
    """A screen of pins in one, two or three dimensions.

    Args:
        shape: numbers of pins.
        law: of pins and links; refused where a mode leaves the triangle.
        edges: "fixed" (walls at rest height around), "free" or "periodic".
        spacing: of pins [m].
        rest: height at rest [m].

    Attributes:
        shape: numbers of pins.
        law: as given.
        spacing: [m].
        rest: [m].
        time: of the heights [s].
        stencil: coefficients of a sample.

    Raises:
        SoftError: a shape or edge that is none.
        UnstableStepError: which mode, which bound.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        law: ScreenLaw,
        edges: str = "fixed",
        spacing: float = 0.01,
        rest: float = 0.0,
    ) -> None:
        if len(shape) not in STEPS or min(shape) < 2:
            raise SoftError(f"a screen of {shape} pins: 1 to 3 sides of 2 or more")
        PINS.check("pin screen", *shape, error=SoftError)
        if edges not in EDGES:
            raise SoftError(f"'{edges}' are no edges (known: {', '.join(EDGES)})")
        if not spacing > 0.0:
            raise SoftError(f"the spacing of pins is {spacing:g} m, must be above 0")
        law.check(len(shape), f"pin screen of {' x '.join(map(str, shape))}")
        self.shape, self.law, self.edges = tuple(shape), law, edges
        self.spacing, self.rest, self.time = float(spacing), float(rest), 0.0
        bordered = tuple(count + 2 for count in shape)
        self._buffers = [np.zeros(bordered) for _ in range(3)]
        self._inner = tuple(slice(1, -1) for _ in shape)
        self._force = np.zeros(shape)
        self.stencil = _stencil(law, len(shape), EDGES[edges])
        self._marked: np.ndarray | None = None

    @property
    def deviations(self) -> np.ndarray:
        """Heights above rest now [m]."""
        return self._buffers[0][self._inner].copy()

    @property
    def heights(self) -> np.ndarray:
        """Of all pins now [m]."""
        return self.rest + self._buffers[0][self._inner]

    @property
    def velocities(self) -> np.ndarray:
        """Of all pins, backwards [m/s]."""
        now, before = (b[self._inner] for b in self._buffers[:2])
        return (now - before) / self.law.period

    def set(self, deviations: np.ndarray, before: np.ndarray | None = None) -> None:
        """Set deviations from rest now, and one sample ago: the same where None [m]."""
        if np.shape(deviations) != self.shape:
            raise SoftError(f"deviations are {np.shape(deviations)}, not {self.shape}")
        self._buffers[0][self._inner] = deviations
        self._buffers[1][self._inner] = deviations if before is None else before
        self._buffers[2][self._inner] = 0.0

    def step(self, force: np.ndarray | None = None) -> None:
        """One sample under forces on the pins [N]."""
        self._force[...] = 0.0 if force is None else force
        self._advance()

    def _advance(self) -> None:
        spare, now, before = self.turn_buffers()
        STEPS[len(self.shape)](now, before, spare, self._force, self.stencil)

    def turn_buffers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Begin a sample that a kernel makes: :meth:`bordered`, the first to be filled.

        The one to be filled has the deviations of three samples ago.
        """
        now, before, spare = self._buffers
        self._buffers = [spare, now, before]
        self.time += self.law.period
        return spare, now, before

    def bordered(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Deviations now, one sample and two samples ago, with a border [m].

        Forces F on pins that are found after a sample without them add T² F / m to the
        first one.
        """
        now, before, earlier = self._buffers
        return now, before, earlier

    def run(self, steps: int, force: np.ndarray | None = None) -> None:
        """Many samples under constant forces on the pins [N]."""
        if len(self.shape) != 2:
            for _ in range(steps):
                self.step(force)
            return
        self._force[...] = 0.0 if force is None else force
        buffers = tuple(self._buffers)
        newest = kernels.run_2(buffers, self._force, self.stencil, steps)
        order = (newest, (newest + 1) % 3, (newest + 2) % 3)
        self._buffers = [buffers[index] for index in order]
        self.time += steps * self.law.period

    def imprint(self, markers: Markers) -> np.ndarray:
        """One sample under markers.

        Args:
            markers: as many at each sample as at the one before, or they begin anew.

        Returns:
            What the pins do to the markers (p, 3) [N].
        """
        if len(self.shape) != 2:
            raise SoftError("markers press on screens of two dimensions")
        now = np.ascontiguousarray(markers.positions, dtype=float)
        before = self._marked
        if before is None or before.shape != now.shape:
            before = now
        period = self.law.period
        row = [markers.reach, markers.stiffness, markers.viscosity / period]
        table = kernels.MarkerTable(
            now, before, np.tile(row, (len(now), 1)), self.spacing, self.rest
        )
        reaction = np.empty_like(now)
        self._force[...] = 0.0
        kernels.imprint(
            table, self._buffers[0], self._buffers[1], self._force, reaction
        )
        self._marked = now.copy()
        self._advance()
        return reaction

    def energy(self, ago: int = 0) -> float:
        """Kinetic and elastic energy now, or one sample ``ago`` [J].

        It is the quantity that samples without viscosity keep: half of m v², of
        velocities half a sample before, and half of the product of deviations now and
        one sample before with K.
        """
        now, before = self._buffers[ago : ago + 2]
        law = self.law
        if len(self.shape) == 2:
            numbers = law.mass / law.period**2, law.ground_stiffness, law.stiffness
            return float(kernels.energy_2(now, before, numbers, self.stencil.edges))
        v = (now - before)[self._inner] / law.period
        total = 0.5 * law.mass * float(np.sum(v * v))
        total += 0.5 * law.ground_stiffness * float(np.sum((now * before)[self._inner]))
        for buffer in (now, before):
            BORDERS[len(self.shape)](buffer, self.stencil.edges)
        for axis in range(len(self.shape)):
            count = range(len(self.shape))
            others = tuple(slice(None) if a == axis else slice(1, -1) for a in count)
            a, b = np.diff(now[others], axis=axis), np.diff(before[others], axis=axis)
            if self.edges == "periodic":
                keep = [slice(None)] * len(self.shape)
                keep[axis] = slice(1, None)
                a, b = a[tuple(keep)], b[tuple(keep)]
            total += 0.5 * law.stiffness * float(np.sum(a * b))
        return total


def _stencil(law: ScreenLaw, dimensions: int, edges: int) -> kernels.Stencil:
    """Coefficients of one sample."""
    k_s, z_s = law.mode(0.0)
    k = law.stiffness * law.period**2 / law.mass
    z = law.viscosity * law.period / law.mass
    neighbours = 2 * dimensions
    return kernels.Stencil(
        2.0 - z_s - k_s - neighbours * (k + z),
        z_s - 1.0 + neighbours * z,
        k + z,
        -z,
        law.period**2 / law.mass,
        edges,
    )


@dataclass(frozen=True)
class PistonLaw:
    """Stiffness of a screen that keeps its volume [N/m]; 0 leaves a link out.

    In the order of the fields: k_p, k_vs, k_vv, k_hs, k_hv.
    """

    piston: float
    pin_ground: float = 0.0
    pin_pin: float = 0.0
    side_ground: float = 0.0
    side_side: float = 0.0


class ConservingScreen:
    """A row or rectangle of columns.

    All pins and horizontal masses have a mass [kg] and a viscosity against the ground
    [N s/m]; a period is that of a sample [s].

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
