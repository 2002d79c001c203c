# SPDX-License-Identifier: Apache-2.0
"""Classic problems of nonsmooth mechanics, in general coordinates.

Ball, block, rod, pendulum, beads, slider: the data are textbook ones. The woodpecker
toy is Glocker's (Dynamik von Starrkoerpersystemen mit Reibung und Stoessen, 1995),
with the numbers used by Leine, van Campen and Glocker (2003).

:class:`GeneralSystem` is any system of mass matrix, forces and gaps. Rigid bodies in
the plane touch the floor corner by corner.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import ConfigurationError
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.surfaces.rolling import (
    coin,
    rattleback,
    rolling_cylinder,
    rolling_ellipsoid,
    rolling_knee,
)
from humans_sim.dynamics.surfaces.surface_system import SurfaceSystem
from humans_sim.dynamics.system import (
    EVENT_DRIVEN,
    TIME_STEPPING,
    FlatChart,
    Terms,
    closing_terms,
)
from humans_sim.results.records import LIMIT, POINT, ContactTable


@kernel
def corner_gaps(corners, q):
    """Heights of the corners (n,) [m], which are (n, 2) at angle zero."""
    c, s = math.cos(q[2]), math.sin(q[2])
    gaps = np.empty(corners.shape[0])
    for k in range(corners.shape[0]):
        gaps[k] = q[1] + s * corners[k, 0] + c * corners[k, 1]
    return gaps


@kernel
def corner_rows(corners, q):
    """Jacobians of the corners, normal and one tangent (n, 3, 3)."""
    c, s = math.cos(q[2]), math.sin(q[2])
    rows = np.zeros((corners.shape[0], 3, 3))
    for k in range(corners.shape[0]):
        rows[k, 0, 1] = rows[k, 1, 0] = 1.0
        rows[k, 0, 2] = c * corners[k, 0] - s * corners[k, 1]
        rows[k, 1, 2] = -(s * corners[k, 0] + c * corners[k, 1])
    return rows


@kernel
def corner_drifts(corners, q, v):
    """Accelerations of the corners at zero acceleration (n, 3) [m/s^2]."""
    c, s = math.cos(q[2]), math.sin(q[2])
    drifts = np.zeros((corners.shape[0], 3))
    for k in range(corners.shape[0]):
        drifts[k, 0] = -(v[2] ** 2) * (s * corners[k, 0] + c * corners[k, 1])
        drifts[k, 1] = -(v[2] ** 2) * (c * corners[k, 0] - s * corners[k, 1])
    return drifts


@dataclass(frozen=True)
class GeneralSystem:
    """A system given by functions of its coordinates q and velocities v = dq/dt.

    Attributes:
        name: what messages call it.
        position_names: the coordinates.
        mass: q -> (nv, nv).
        force: (q, v) -> (nv,): all forces but contact, gyroscopic terms included.
        potential: q -> potential energy of those forces [J].
        contacts: the contacts it may have.
        gap: q -> (nc,).
        jacobian: q -> (nc, 3, nv); rows normal and tangents, unused rows zero.
        drift: (q, v) -> (nc, 3): the rates of the rows times v; None where the rows
            do not change.
        conservative: whether the forces come from the potential, apart from what
            damps: then time stepping lets no step with contacts add energy. False
            where a force drives the system.
        position_units: of the coordinates, each ``m`` or ``rad``, for plots; without
            them the names decide.
    """

    methods: ClassVar[tuple[str, ...]] = (EVENT_DRIVEN, TIME_STEPPING)
    thinnest: ClassVar[float] = math.inf
    locked: ClassVar[Vector] = np.zeros(0, dtype=np.int64)

    name: str
    position_names: tuple[str, ...]
    mass: Callable[[Vector], Vector]
    force: Callable[[Vector, Vector], Vector]
    potential: Callable[[Vector], float]
    contacts: ContactTable
    gap: Callable[[Vector], Vector]
    jacobian: Callable[[Vector], Vector]
    drift: Callable[[Vector, Vector], Vector] | None = None
    conservative: bool = True
    position_units: tuple[str, ...] = ()

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.position_names)

    nv = nq

    def record(self) -> dict[str, Any]:
        """The record of the system in a run."""
        units = list(self.position_units)
        return {"position_units": units} if units else {}

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocities: those of the coordinates."""
        return self.position_names

    def chart(self, q: Vector) -> FlatChart:
        """Coordinates around q."""
        return FlatChart(q)

    def check_state(self, q: Vector, v: Vector) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used."""
        for name, vector in (("q", q), ("v", v)):
            if vector.shape != (self.nq,):
                raise ConfigurationError(
                    f"{name} of {self.name} has {self.nq} entries "
                    f"({', '.join(self.position_names)}), not shape {vector.shape}"
                )
            if not np.isfinite(vector).all():
                raise ConfigurationError(f"{name} of {self.name} is not finite")

    def terms(self, q: Vector, v: Vector, which: Vector) -> Terms:
        """The equations of motion with the contacts ``which``."""
        if len(which) == 0:
            none = np.zeros((0, 3))
            rows = np.zeros((0, 3, self.nv))
            return Terms(self.mass(q), -self.force(q, v), np.zeros(0), rows, none)
        rows = self.jacobian(q)[which]
        drift = np.zeros((len(which), 3))
        if self.drift is not None:
            drift = self.drift(q, v)[which]
        gap = self.gap(q)[which]
        return Terms(self.mass(q), -self.force(q, v), gap, rows, drift)

    def active_contact_terms(
        self, q: Vector, v: Vector, time: float, closed: Vector
    ) -> tuple[Vector, Terms]:
        """The contacts that are closed or close within a time, and their equations."""
        return closing_terms(self, q, v, time, closed)

    def gaps(self, q: Vector) -> Vector:
        """Gaps of all contacts."""
        return np.asarray(self.gap(q), dtype=float)

    def gap_rates(self, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Gaps of all contacts and their rates."""
        return self.gaps(q), self.jacobian(q)[:, 0] @ v

    def energies(self, q: Vector, v: Vector) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        return float(0.5 * v @ self.mass(q) @ v), float(self.potential(q))


Vector = np.ndarray


def bouncing_ball(restitution: float = 0.9, mass: float = 1.0) -> GeneralSystem:
    """A ball that falls on the floor; the coordinate is its lowest point's height."""
    table = ContactTable.of(("floor",), (POINT,), np.array([0]), 0.0, restitution)
    row = np.array([[[1.0], [0.0], [0.0]]])
    weight = np.array([-mass * GRAVITY])
    inertia = np.array([[mass]])
    return GeneralSystem(
        name="bouncing ball",
        position_names=("height",),
        mass=lambda q: inertia,
        force=lambda q, v: weight,
        potential=lambda q: mass * GRAVITY * q[0],
        contacts=table,
        gap=lambda q: q.copy(),
        jacobian=lambda q: row,
    )


def sliding_block(
    angle: float, friction: float, mass: float = 1.0, law: str = "coulomb"
) -> GeneralSystem:
    """A block on a slope: coordinates along the slope (downhill) and off it."""
    mu = math.inf if law == "sticking" else friction
    table = ContactTable.of(("slope",), (POINT,), np.array([1]), mu, 0.0)
    row = np.array([[[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]])
    pull = mass * GRAVITY * np.array([math.sin(angle), -math.cos(angle)])
    inertia = mass * np.eye(2)
    return GeneralSystem(
        name="block on a slope",
        position_names=("downhill", "height"),
        mass=lambda q: inertia,
        force=lambda q, v: pull,
        potential=lambda q: -float(pull @ q),
        contacts=table,
        gap=lambda q: q[1:].copy(),
        jacobian=lambda q: row,
    )


def planar_body(
    name: str,
    corners: Vector,
    mass: float,
    inertia: float,
    friction: float,
    restitution: float,
) -> GeneralSystem:
    """A rigid body in the plane whose corners may touch the floor.

    Coordinates: x, z of its centre of mass and its angle, counterclockwise.
    """
    corners = np.asarray(corners, dtype=float)
    n = len(corners)
    names = tuple(f"corner_{k}" for k in range(n))
    table = ContactTable.of(names, (POINT,) * n, 1, friction, restitution)
    matrix = np.diag([mass, mass, inertia])
    weight = np.array([0.0, -mass * GRAVITY, 0.0])

    return GeneralSystem(
        name=name,
        position_names=("x", "z", "angle"),
        mass=lambda q: matrix,
        force=lambda q, v: weight,
        potential=lambda q: mass * GRAVITY * q[1],
        contacts=table,
        gap=lambda q: corner_gaps(corners, q),
        jacobian=lambda q: corner_rows(corners, q),
        drift=lambda q, v: corner_drifts(corners, q, v),
    )


def rocking_block(
    friction: float = 0.5,
    restitution: float = 0.0,
    length: float = 1.0,
    height: float = 0.5,
    mass: float = 1.0,
) -> GeneralSystem:
    """A block that rocks on its two lower corners."""
    corners = np.array([[-length / 2, -height / 2], [length / 2, -height / 2]])
    inertia = mass * (length**2 + height**2) / 12
    return planar_body("rocking block", corners, mass, inertia, friction, restitution)


def rocking_block_start(
    angle: float = math.pi / 3, length: float = 1.0, height: float = 0.5
) -> Vector:
    """The block tilted about its left lower corner, that corner at the origin."""
    c, s = math.cos(angle), math.sin(angle)
    arm = np.array([length / 2, height / 2])
    return np.array([c * arm[0] - s * arm[1], s * arm[0] + c * arm[1], angle])


def falling_rod(
    friction: float, restitution: float = 0.0, length: float = 1.0, mass: float = 1.0
) -> GeneralSystem:
    """A slender rod whose tips may touch the floor; upright at angle zero."""
    tips = np.array([[0.0, -length / 2], [0.0, length / 2]])
    return planar_body(
        "falling rod", tips, mass, mass * length**2 / 12, friction, restitution
    )


def pendulum(
    limit: float, restitution: float = 0.0, length: float = 1.0, mass: float = 1.0
) -> GeneralSystem:
    """A pendulum, hanging at angle zero, that may not swing below ``limit`` [rad]."""
    table = ContactTable.of(("stop",), (LIMIT,), np.array([0]), 0.0, restitution)
    row = np.array([[[1.0], [0.0], [0.0]]])
    inertia = np.array([[mass * length**2]])
    return GeneralSystem(
        name="pendulum",
        position_names=("angle",),
        mass=lambda q: inertia,
        force=lambda q, v: -mass * GRAVITY * length * np.sin(q),
        potential=lambda q: -mass * GRAVITY * length * math.cos(q[0]),
        contacts=table,
        gap=lambda q: q - limit,
        jacobian=lambda q: row,
    )


def chain(limit: float, restitution: float = 0.0) -> GeneralSystem:
    """A double pendulum of unit links whose second joint may not go below ``limit``."""
    table = ContactTable.of(("stop",), (LIMIT,), np.array([0]), 0.0, restitution)
    row = np.array([[[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]])

    def mass(q: Vector) -> Vector:
        c = math.cos(q[1])
        return np.array([[3 + 2 * c, 1 + c], [1 + c, 1.0]])

    def force(q: Vector, v: Vector) -> Vector:
        s = math.sin(q[1])
        both, lower = math.sin(q[0]), math.sin(q[0] + q[1])
        return np.array(
            [
                s * v[1] * (2 * v[0] + v[1]) - GRAVITY * (2 * both + lower),
                -s * v[0] ** 2 - GRAVITY * lower,
            ]
        )

    return GeneralSystem(
        name="chain with a limit",
        position_names=("upper", "lower"),
        position_units=("rad", "rad"),
        mass=mass,
        force=force,
        potential=lambda q: -GRAVITY * (2 * math.cos(q[0]) + math.cos(q[0] + q[1])),
        contacts=table,
        gap=lambda q: q[1:] - limit,
        jacobian=lambda q: row,
    )


def beads(
    count: int = 3, radius: float = 0.1, restitution: float = 0.9, cradle: bool = False
) -> GeneralSystem:
    """A column of beads over the floor, or a row of them without gravity (cradle)."""
    gravity = 0.0 if cradle else GRAVITY
    pairs = [(i, i + 1) for i in range(count - 1)]
    names = tuple(f"bead_{i}/bead_{j}" for i, j in pairs)
    rows = np.zeros((len(pairs), 3, count))
    for k, (i, j) in enumerate(pairs):
        rows[k, 0, i], rows[k, 0, j] = -1.0, 1.0
    if not cradle:
        names = ("floor", *names)
        floor = np.zeros((1, 3, count))
        floor[0, 0, 0] = 1.0
        rows = np.concatenate([floor, rows])
    n = len(names)
    table = ContactTable.of(names, (POINT,) * n, 0, 0.0, restitution)

    def gap(q: Vector) -> Vector:
        between = np.diff(q) - 2 * radius
        return between if cradle else np.concatenate([[q[0] - radius], between])

    weight, inertia = np.full(count, -gravity), np.eye(count)
    return GeneralSystem(
        name="beads",
        position_names=tuple(f"bead_{i}" for i in range(count)),
        mass=lambda q: inertia,
        force=lambda q, v: weight,
        potential=lambda q: gravity * float(q.sum()),
        contacts=table,
        gap=gap,
        jacobian=lambda q: rows,
    )


def slider_in_clearance(
    clearance: float = 0.1,
    restitution: float = 0.8,
    stiffness: float = 0.0,
    mass: float = 1.0,
) -> GeneralSystem:
    """A slider between two walls, pulled to the middle by a spring."""
    table = ContactTable.of(
        ("left", "right"), (POINT,) * 2, np.array([0, 0]), 0.0, restitution
    )
    rows = np.array([[[1.0], [0.0], [0.0]], [[-1.0], [0.0], [0.0]]])
    inertia = np.array([[mass]])
    return GeneralSystem(
        name="slider in a clearance",
        position_names=("x",),
        mass=lambda q: inertia,
        force=lambda q, v: -stiffness * q,
        potential=lambda q: 0.5 * stiffness * float(q[0] ** 2),
        contacts=table,
        gap=lambda q: np.array([q[0] + clearance / 2, clearance / 2 - q[0]]),
        jacobian=lambda q: rows,
    )


def woodpecker() -> GeneralSystem:
    """The woodpecker toy: sleeve on a pole, bird on a spring.

    Coordinates: height of the sleeve, angle of the sleeve, angle of the bird.
    """
    r_pole, r_sleeve, h_sleeve = 0.0025, 0.0031, 0.0058
    l_sleeve, l_bird, h_bird, l_beak = 0.010, 0.015, 0.02, 0.0201
    m_sleeve, m_bird, j_sleeve, j_bird = 0.0003, 0.0045, 5.0e-9, 7.0e-7
    spring = 0.0056
    matrix = np.array(
        [
            [m_bird + m_sleeve, m_bird * l_sleeve, m_bird * l_bird],
            [
                m_bird * l_sleeve,
                j_sleeve + m_bird * l_sleeve**2,
                m_bird * l_sleeve * l_bird,
            ],
            [m_bird * l_bird, m_bird * l_sleeve * l_bird, j_bird + m_bird * l_bird**2],
        ]
    )
    weight = -GRAVITY * np.array(
        [m_bird + m_sleeve, m_bird * l_sleeve, m_bird * l_bird]
    )
    table = ContactTable.of(
        ("beak", "sleeve_lower", "sleeve_upper"),
        (POINT,) * 3,
        np.array([1, 1, 1]),
        0.3,
        np.array([0.5, 0.0, 0.0]),
    )
    rows = np.zeros((3, 3, 3))
    rows[0, 0] = [0.0, 0.0, -h_bird]
    rows[1, 0] = [0.0, h_sleeve, 0.0]
    rows[2, 0] = [0.0, -h_sleeve, 0.0]
    rows[0, 1] = [1.0, l_sleeve, l_bird - l_beak]
    rows[1, 1] = rows[2, 1] = [1.0, r_sleeve, 0.0]
    offset = np.array(
        [l_sleeve + l_bird - l_beak - r_pole, r_sleeve - r_pole, r_sleeve - r_pole]
    )

    def force(q: Vector, v: Vector) -> Vector:
        pull = spring * (q[2] - q[1])
        return weight + np.array([0.0, pull, -pull])

    return GeneralSystem(
        name="woodpecker",
        position_names=("height", "sleeve_angle", "bird_angle"),
        mass=lambda q: matrix,
        force=force,
        potential=lambda q: (
            -float(weight @ q) + 0.5 * spring * float((q[2] - q[1]) ** 2)
        ),
        contacts=table,
        gap=lambda q: offset + rows[:, 0] @ q,
        jacobian=lambda q: rows,
    )


WOODPECKER_START = (
    np.array([0.0, -0.1036, -0.2788]),
    np.array([-0.3411, 0.0, -7.4583]),
)
"""Near the periodic motion."""

_PROBLEMS = (
    *(bouncing_ball, sliding_block, rocking_block, falling_rod, pendulum, chain, beads),
    *(slider_in_clearance, woodpecker, coin, rattleback, rolling_ellipsoid),
    *(rolling_cylinder, rolling_knee),
)
PROBLEMS: dict[str, Callable[..., GeneralSystem | SurfaceSystem]] = {
    problem.__name__: problem for problem in _PROBLEMS
}
"""By the names that scenario files use."""
