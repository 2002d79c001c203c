# SPDX-License-Identifier: Apache-2.0
"""Boxes and balls of a scene on a page, as they are seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import viser

from humans_sim.core.errors import ConfigurationError
from humans_sim.view.browser.scene import STAGE, Scene


@dataclass(frozen=True)
class SeenBody:
    """A box or a ball at one time.

    Attributes:
        name: tells it from the others.
        ball: whether it is a ball.
        size: edges of a box, diameters of a ball (3,) [m].
        position: of its centre (3,) [m].
        wxyz: its attitude, a unit quaternion (4,).
        colour: red, green, blue.

    Raises:
        ConfigurationError: a size is not above zero, or the quaternion is zero.
    """

    name: str
    ball: bool
    size: np.ndarray
    position: np.ndarray
    wxyz: np.ndarray
    colour: tuple[int, int, int]

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        if not (np.asarray(self.size) > 0).all():
            raise ConfigurationError(f"'{self.name}' has no size")
        length = float(np.linalg.norm(self.wxyz))
        if not length > 0:
            raise ConfigurationError(f"'{self.name}' has no attitude")
        object.__setattr__(self, "wxyz", np.asarray(self.wxyz) / length)


class BodyLayer:
    """Draws bodies; those of the last picture that are gone are taken away.

    Args:
        scene: the page they are added to.
    """

    def __init__(self, scene: Scene) -> None:
        """Nothing is drawn yet."""
        self._server = scene.server
        self._drawn: dict[str, tuple[tuple[object, ...], viser.SceneNodeHandle]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what is drawn."""
        return tuple(self._drawn)

    def show(self, bodies: Sequence[SeenBody]) -> None:
        """Draw bodies where they are."""
        for name in set(self._drawn) - {body.name for body in bodies}:
            self._drawn.pop(name)[1].remove()
        for body in bodies:
            shape = (body.ball, tuple(np.asarray(body.size).tolist()), body.colour)
            known = self._drawn.get(body.name)
            if known is not None and known[0] != shape:
                known[1].remove()
                known = None
            handle = self._add(body) if known is None else known[1]
            self._drawn[body.name] = (shape, handle)
            handle.position, handle.wxyz = body.position, body.wxyz

    def _add(self, body: SeenBody) -> viser.SceneNodeHandle:
        name, scene = f"{STAGE}/bodies/{body.name}", self._server.scene
        if body.ball:
            radius = 0.5 * float(np.max(body.size))
            return scene.add_icosphere(name, radius=radius, color=body.colour)
        x, y, z = (float(edge) for edge in body.size)
        return scene.add_box(name, dimensions=(x, y, z), color=body.colour)
