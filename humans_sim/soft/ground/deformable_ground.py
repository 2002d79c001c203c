# SPDX-License-Identifier: Apache-2.0
r"""Ground that gives way under points: soil, sand, snow, water.

A point below the surface is pushed up by a unilateral visco-elastic contact,
:math:`f = \max(0, k p + z \dot p)` with the depth p below the pins around it, weighted
bilinearly; the pins take the same force downwards. Friction is Coulomb's with a viscous
beginning. Pins move by the screen's own samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.soft.errors import SoftError
from humans_sim.soft.screens.design import ScreenLaw
from humans_sim.soft.screens.pin_screen import PinScreen

_MASS, _PERIOD = 0.01, 1e-3


def _law(k_s: float, z_s: float, k_v: float = 0.0, z_v: float = 0.0) -> ScreenLaw:
    return ScreenLaw(_MASS, _PERIOD, k_s, z_s, k_v, z_v)


PRESETS: dict[str, ScreenLaw] = {
    "hard": _law(5000.0, 10.0),
    "soil": _law(400.0, 10.0, 600.0),
    "sand": _law(10.0, 10.0),
    "water": _law(200.0, 0.05, 1000.0, 0.1),
    "viscous": _law(100.0, 2.0, 800.0, 0.8),
    "snow": _law(0.0, 12.0),
}
"""Laws of pins of 10 g at 1 ms in two dimensions.

Assumed after the prototypes that the thesis used for such scenes: C, IV with a weak
return, S with a weak return, I with a little viscosity, V, S. Under a constant load
sand and snow sink slowly on, as their viscosity lets them.
"""


@dataclass(frozen=True)
class PointContact:
    """How points touch the ground.

    Attributes:
        stiffness: k of each point [N/m].
        viscosity: z of each point [N s/m].
        friction: Coulomb's coefficient.
        slip: speed at which friction is full [m/s].
    """

    stiffness: float = 2000.0
    viscosity: float = 2.0
    friction: float = 0.7
    slip: float = 0.01


class DeformableGround:
    """A screen of pins under points.

    Args:
        law: of pins, or the name of one of :data:`PRESETS`.
        shape: numbers of pins along x and y.
        spacing: of pins [m].
        origin: place of the first pin in the world, at rest height (3,) [m].
        contact: of the points.

    Attributes:
        screen: its pins.
        origin: (3,) [m].
        contact: as given.

    Raises:
        SoftError: there is no such preset.
        UnstableStepError: a mode, free or in contact, leaves the triangle.
    """

    def __init__(
        self,
        law: ScreenLaw | str = "soil",
        shape: tuple[int, int] = (200, 100),
        spacing: float = 0.01,
        origin: tuple[float, float, float] = (-1.0, -0.5, 0.0),
        contact: PointContact | None = None,
    ) -> None:
        """All pins at rest."""
        if isinstance(law, str):
            if law not in PRESETS:
                raise SoftError(f"'{law}' is no ground (known: {', '.join(PRESETS)})")
            law = PRESETS[law]
        self.contact = PointContact() if contact is None else contact
        touched = law.in_contact(self.contact.stiffness, self.contact.viscosity)
        touched.check(2, "deformable ground under contact")
        self.screen = PinScreen(shape, law, spacing=spacing)
        self.origin = np.array(origin, dtype=float)

    @property
    def period(self) -> float:
        """Of its samples [s]."""
        return self.screen.law.period

    def _around(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pins around points, as flat numbers (n, 4), and their weights (n, 4)."""
        place = (points[:, :2] - self.origin[:2]) / self.screen.spacing
        rows, columns = self.screen.shape
        last = np.array([rows - 1, columns - 1])
        outside = ((place < 0.0) | (place > last)).any(axis=1)
        if outside.any():
            x, y = points[int(np.argmax(outside)), :2]
            raise SoftError(
                f"a point at x = {x:.3g} m, y = {y:.3g} m is beside the deformable "
                "ground; make its screen larger"
            )
        cell = np.minimum(place.astype(int), last - 1)
        a, b = (place - cell).T
        i, j = cell.T
        first = i * columns + j
        pins = np.stack(
            [first, first + 1, first + columns, first + columns + 1], axis=1
        )
        weights = np.stack([(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b], axis=1)
        return pins, weights

    def heights_at(self, points: np.ndarray) -> np.ndarray:
        """Height of the surface under or over points (n, 2 or 3) [m]."""
        pins, weights = self._around(np.asarray(points, dtype=float))
        surface = self.screen.deviations.ravel()[pins]
        height: np.ndarray = self.origin[2] + np.sum(weights * surface, axis=1)
        return height

    def step(self, points: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        """One sample under points.

        Args:
            points: in the world (n, 3) [m].
            velocities: of the points (n, 3) [m/s].

        Returns:
            Forces on the points (n, 3) [N].
        """
        points, velocities = np.asarray(points, float), np.asarray(velocities, float)
        pins, weights = self._around(points)
        contact = self.contact
        surface = np.sum(weights * self.screen.deviations.ravel()[pins], axis=1)
        rising = np.sum(weights * self.screen.velocities.ravel()[pins], axis=1)
        depth = self.origin[2] + surface - points[:, 2]
        push = contact.stiffness * depth + contact.viscosity * (
            rising - velocities[:, 2]
        )
        push = np.where(depth > 0.0, np.maximum(push, 0.0), 0.0)
        speed = np.linalg.norm(velocities[:, :2], axis=1)
        drag = contact.friction * push / np.maximum(speed, contact.slip)
        forces = np.column_stack([-drag[:, None] * velocities[:, :2], push])
        load = np.zeros(int(np.prod(self.screen.shape)))
        np.subtract.at(load, pins, weights * push[:, None])
        self.screen.step(load.reshape(self.screen.shape))
        return forces
