# SPDX-License-Identifier: Apache-2.0
r"""Ground that gives way under points: soil, sand, snow, water.

A point below the surface is pushed up by a unilateral visco-elastic contact,
:math:`f = \max(0, k p + z \dot p)` with the depth p below the pins around it, weighted
bilinearly; the pins take the same force downwards. Friction is Coulomb's with a viscous
beginning. Pins move by the screen's own samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from humans_sim.contact.geometry.ground import Ground, Solid
from humans_sim.contact.geometry.solids import HalfSpace
from humans_sim.core.arrays import PositiveNumbers
from humans_sim.core.budget import PATCH_PINS
from humans_sim.soft.errors import SoftError
from humans_sim.soft.ground.ground_reaction import GroundReaction
from humans_sim.soft.ground.pin_screen import PinScreen
from humans_sim.soft.ground.screen_design import ScreenLaw
from humans_sim.soft.packed_numbers import (
    packed_heights,
    packed_series,
    rounded_heights,
)

PERIOD = 0.04
"""Time between two pictures of the ground, at first [s]."""
MOST = 600
"""Pictures that are kept; beyond them every other one is, from then on as well."""


class HistoryRecorder:
    """Keeps heights of a screen from time to time."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._times: list[float] = []
        self._heights: list[np.ndarray] = []
        self._period = PERIOD

    def note(self, t: float, heights: np.ndarray) -> None:
        """Keep the heights above rest (n, m) [m], where it is time for it [s]."""
        if self._times and t < self._times[-1] + self._period - 1e-9:
            return
        self._times.append(float(t))
        self._heights.append(rounded_heights(heights))
        if len(self._times) > MOST:
            self._times, self._heights = self._times[::2], self._heights[::2]
            self._period *= 2.0

    def record(self) -> dict[str, Any]:
        """As plain data; empty where nothing was noted."""
        if not self._times:
            return {}
        return {"times": self._times, "heights": packed_series(self._heights)}


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
class PointContact(PositiveNumbers):
    """How points touch the ground.

    Attributes:
        stiffness: k of each point [N/m].
        viscosity: z of each point [N s/m].
        friction: Coulomb's coefficient.
        slip: speed at which friction is full [m/s], of points moved by hand; bipeds
            stick exactly.
    """

    MAY_BE_ZERO = ("viscosity", "friction")

    stiffness: float = 2000.0
    viscosity: float = 2.0
    friction: float = 0.7
    slip: float = 0.01

    def times(self, firmness: float) -> PointContact:
        """The same with stiffness and viscosity so many times larger."""
        return replace(
            self,
            stiffness=firmness * self.stiffness,
            viscosity=firmness * self.viscosity,
        )


class DeformableGround:
    """A screen of pins under points.

    Args:
        law: of pins, or the name of one of :data:`PRESETS`.
        shape: numbers of pins along x and y.
        spacing: of pins [m].
        origin: place of the first pin in the world, at rest height (3,) [m].
        contact: of the points.
        firmness: how many times heavier, stiffer and more viscous all is than given:
            behaves the same under a load so many times larger.
        patch: half the width of what a point presses on [m]; the spacing unless given.
        thickness: how far below rest it ends on what never gives way [m].
        name: what messages and contacts call it; that of a preset unless given.

    Attributes:
        screen: its pins.
        origin: (3,) [m].
        contact: as given, times the firmness.
        patch: the same [m].
        thickness: the same [m].
        name: the same.
        history: how it was deformed in the course of a run.
        worst_residual: of the contact problems under a biped [m/s].

    Raises:
        SoftError: there is no such preset, or a length is none.
        UnstableStepError: a mode, free or in contact, leaves the triangle.
    """

    def __init__(
        self,
        law: ScreenLaw | str = "soil",
        shape: tuple[int, int] = (200, 100),
        spacing: float = 0.01,
        origin: tuple[float, float, float] = (-1.0, -0.5, 0.0),
        contact: PointContact | None = None,
        firmness: float = 1.0,
        patch: float | None = None,
        thickness: float = 0.1,
        name: str | None = None,
    ) -> None:
        self.name = "soft_ground" if name is None else name
        if isinstance(law, str):
            if law not in PRESETS:
                raise SoftError(f"'{law}' is no ground (known: {', '.join(PRESETS)})")
            self.name = law if name is None else name
            law = PRESETS[law]
        self.patch = float(spacing if patch is None else patch)
        for word, value, least in (
            ("firmness", firmness, 0.0),
            ("thickness", thickness, 0.0),
            ("patch", self.patch, spacing * (1.0 - 1e-9)),
        ):
            if not (math.isfinite(value) and value > least):
                raise SoftError(
                    f"deformable ground: {word} is {value:g}, must be above {least:g}"
                )
        width = 2.0 * self.patch / spacing + 1.0
        PATCH_PINS.check("patch of a deformable ground", width, width, error=SoftError)
        own = PointContact() if contact is None else contact
        self.contact = own.times(firmness)
        law = law.times(firmness)
        touched = law.in_contact(self.contact.stiffness, self.contact.viscosity)
        touched.check(2, "deformable ground under contact")
        self.screen = PinScreen(shape, law, spacing=spacing)
        self.origin = np.array(origin, dtype=float)
        self.thickness = float(thickness)
        self.history = HistoryRecorder()
        self.worst_residual = 0.0

    @property
    def period(self) -> float:
        """Of its samples [s]."""
        return self.screen.law.period

    def scene(self, friction: float = 0.7, *solids: Solid) -> Ground:
        """A scene that bipeds stand in on this ground, with what else is there."""
        x, y, z = self.origin
        bottom = HalfSpace(point=(x, y, z - self.thickness), name=self.name)
        return Ground(friction=friction, solids=(bottom, *solids), surface=self)

    def reaction(self, system: Any) -> GroundReaction:
        """Its reaction on a biped (a :class:`SurfaceReaction`)."""
        return GroundReaction(self, system)

    def record(self) -> dict[str, Any]:
        """Law, place and the heights of all pins as plain data."""
        law = self.screen.law
        return {
            "name": self.name,
            "compliance": 1.0 / self.contact.stiffness,
            "law": dict(law.__dict__),
            "contact": dict(self.contact.__dict__),
            "spacing": self.screen.spacing,
            "patch": self.patch,
            "thickness": self.thickness,
            "origin": self.origin.tolist(),
            "shape": list(self.screen.shape),
            "heights": packed_heights(self.screen.deviations),
            "residual": self.worst_residual,
            "history": self.history.record(),
        }

    def reset(self) -> None:
        """Put all pins to rest."""
        self.history.forget()
        self.worst_residual = 0.0
        self.screen.set(np.zeros(self.screen.shape))

    def check_on(self, points: np.ndarray) -> None:
        """Refuse points that press on what is not on the screen."""
        spacing = self.screen.spacing
        place = (np.asarray(points, float)[:, :2] - self.origin[:2]) / spacing
        room = self.patch / spacing - 1.0
        last = np.array(self.screen.shape) - 1
        outside = ((place < room) | (place > last - room)).any(axis=1)
        if outside.any():
            x, y = points[int(np.argmax(outside)), :2]
            raise SoftError(
                f"a point at x = {x:.3g} m, y = {y:.3g} m is beside the deformable "
                "ground; make its screen larger"
            )

    def patches(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pins that points press on, and their shares.

        A share falls off evenly to zero along x and along y; with a patch of the
        spacing they are those of bilinear interpolation.

        Args:
            points: in the world (n, 2 or 3) [m].

        Returns:
            numbers of pins, row by row (n, m), and shares, which sum up to 1 (n, m).

        Raises:
            SoftError: a point is beside the screen.
        """
        self.check_on(points)
        place = (points[:, :2] - self.origin[:2]) / self.screen.spacing
        width = self.patch / self.screen.spacing
        count = math.floor(2.0 * width + 1e-9) + 1
        first = np.ceil(place - width - 1e-9).astype(int)
        index = first[:, :, None] + np.arange(count)
        share = np.maximum(0.0, 1.0 - np.abs(index - place[:, :, None]) / width)
        share /= share.sum(axis=2, keepdims=True)
        last = np.array(self.screen.shape)[:, None] - 1
        rows, columns = np.clip(index, 0, last).transpose(1, 0, 2)
        pins = rows[:, :, None] * self.screen.shape[1] + columns[:, None, :]
        weights = share[:, 0, :, None] * share[:, 1, None, :]
        size = count * count
        return pins.reshape(-1, size), weights.reshape(-1, size)

    def heights_at(self, points: np.ndarray) -> np.ndarray:
        """Height of the surface under or over points (n, 2 or 3) [m]."""
        pins, weights = self.patches(np.asarray(points, dtype=float))
        surface = self.screen.deviations.ravel()[pins]
        return self.origin[2] + np.sum(weights * surface, axis=1)

    def step(self, points: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        """One sample under points.

        Args:
            points: in the world (n, 3) [m].
            velocities: of the points (n, 3) [m/s].

        Returns:
            Forces on the points (n, 3) [N].
        """
        points, velocities = np.asarray(points, float), np.asarray(velocities, float)
        pins, weights = self.patches(points)
        contact = self.contact
        surface = np.sum(weights * self.screen.deviations.ravel()[pins], axis=1)
        rising = np.sum(weights * self.screen.velocities.ravel()[pins], axis=1)
        depth = self.origin[2] + surface - points[:, 2]
        nearing = rising - velocities[:, 2]
        push = contact.stiffness * depth + contact.viscosity * nearing
        push = np.where(depth > 0.0, np.maximum(push, 0.0), 0.0)
        speed = np.linalg.norm(velocities[:, :2], axis=1)
        drag = contact.friction * push / np.maximum(speed, contact.slip)
        forces = np.column_stack([-drag[:, None] * velocities[:, :2], push])
        load = np.zeros(int(np.prod(self.screen.shape)))
        np.subtract.at(load, pins, weights * push[:, None])
        self.screen.step(load.reshape(self.screen.shape))
        return forces
