# SPDX-License-Identifier: Apache-2.0
"""The layer of a walk: footprints, support, centre of mass, pressure, push.

Footprints are where soles stood flat and loaded; planned steps are outlines of soles on
the ground.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import viser

from humans_sim.control.walking import PatternPoint, WalkSettings
from humans_sim.control.walking.com_estimator import PlanPlacement
from humans_sim.control.walking.footsteps import Side
from humans_sim.core.convex_polygon import convex_hull
from humans_sim.models import Model
from humans_sim.models.legs import corner_places, load_tags
from humans_sim.view.browser.replay import WEIGHT_LENGTH
from humans_sim.view.browser.scene import STAGE, Scene
from humans_sim.view.browser.scene_layers import wxyz
from humans_sim.view.browser.touches import Touches

LENGTH = 24
"""Footprints kept of each sole."""
_LOADED = 0.1
"""Share of the weight that makes a footprint."""
_FAR, _TURNED = 1 / 60, 0.09
"""What makes another footprint: distance [body heights] or turn [rad]."""
_FLAT = 0.1
"""Tilt of a sole that still is flat on the ground [rad]."""


@dataclass(frozen=True)
class Outline:
    """A sole in its own frame.

    Attributes:
        name: of its frame.
        contacts: names of the tags through which it carries load.
        corners: counter-clockwise (n, 2) [m].
    """

    name: str
    contacts: frozenset[str]
    corners: np.ndarray


def outlines(model: Model) -> list[Outline]:
    """The soles of a model that have an area."""
    drawn = []
    for sole in model.soles:
        corners = convex_hull(corner_places(model, sole)[:, :2])
        if len(corners) > 2:
            drawn.append(Outline(sole.name, frozenset(load_tags(sole)), corners))
    return drawn


class Trail:
    """Follows the soles of a model and keeps their footprints, the last ones only.

    A footprint begins when a sole stands flat and loaded, moves along where the sole
    slides, and stays where the sole leaves it.

    Args:
        size: height of the body [m].

    Attributes:
        prints: poses of the soles, by sole, the oldest first.
    """

    def __init__(self, model: Model, soles: list[Outline], size: float) -> None:
        self._model, self._soles = model, soles
        self._weight = weight_of(model)
        self._far = _FAR * size
        self.clear()

    def clear(self) -> None:
        """Forget all footprints."""
        self.prints: dict[str, deque[pin.SE3]] = {
            sole.name: deque(maxlen=LENGTH) for sole in self._soles
        }
        self._standing = {sole.name: False for sole in self._soles}

    def update(self, q: np.ndarray, touches: Touches) -> bool:
        """Look at the soles; whether a footprint came or moved."""
        changed = False
        for sole in self._soles:
            stood = self._standing[sole.name]
            pose = self._print(q, sole, touches.only(sole.contacts))
            self._standing[sole.name] = pose is not None
            if pose is None:
                continue
            kept = self.prints[sole.name]
            if kept and (stood or self._same(kept[-1], pose)):
                if not kept[-1].isApprox(pose, 1e-4):
                    kept[-1], changed = pose, True
            else:
                kept.append(pose)
                changed = True
        return changed

    def _print(self, q: np.ndarray, sole: Outline, touches: Touches) -> pin.SE3 | None:
        """Where a sole that stands would leave its print, flat on the ground."""
        load = np.clip(touches.load, 0.0, None)
        if load.sum() < _LOADED * self._weight:
            return None
        pose = self._model.frame_pose(q, sole.name)
        normal = load @ touches.normal
        normal /= np.linalg.norm(normal)
        if float(pose.rotation[:, 2] @ normal) < math.cos(_FLAT):
            return None
        ground = load @ touches.position / load.sum()
        flat = pin.Quaternion.FromTwoVectors(pose.rotation[:, 2], normal).matrix()
        place = pose.translation
        place = place - float((place - ground) @ normal) * normal
        return pin.SE3(flat @ pose.rotation, place)

    def _same(self, last: pin.SE3, now: pin.SE3) -> bool:
        change = last.actInv(now)
        far = float(np.linalg.norm(change.translation))
        turned = float(np.linalg.norm(pin.log3(change.rotation)))
        return far < self._far and turned < _TURNED


def weight_of(model: Model) -> float:
    """Weight of a model [N]."""
    return float(model.mass * np.linalg.norm(model.pin.gravity.linear))


SOLE_COLOURS = ((41, 98, 184), (222, 120, 31))
"""Red, green, blue of the footprints of the first sole of a model and of the second."""


@dataclass(frozen=True)
class PlannedStep:
    """A step of a plan.

    Attributes:
        corners: of the sole where it lands, in the world (n, 3) [m].
        colour: red, green, blue, 0 to 255.
    """

    corners: np.ndarray
    colour: tuple[int, int, int]

    def moved(self, pose: pin.SE3) -> PlannedStep:
        """The step of a plan in a frame that has a pose in the world."""
        corners = self.corners @ pose.rotation.T + pose.translation
        return PlannedStep(corners, self.colour)


class StepPlan:
    """Predicts where the real feet will make the steps of a plan.

    The plan is moved along with the foot that stands: see :class:`PlanPlacement`.
    """

    def __init__(self, model: Model, settings: WalkSettings) -> None:
        self._placement = PlanPlacement(model, settings)
        names = {settings.left: Side.LEFT, settings.right: Side.RIGHT}
        self._soles = {
            names[sole.name]: (_at_zero(sole.corners), colour)
            for sole, colour in zip(outlines(model), SOLE_COLOURS, strict=False)
            if sole.name in names
        }

    def reset(self) -> None:
        """A new walk begins."""
        self._placement.reset()

    def steps(self, plan: PatternPoint, q: np.ndarray) -> tuple[PlannedStep, ...]:
        """The step under way and those to come, at a configuration in the world."""
        self._placement.see(plan, q)
        steps = []
        for step in plan.footsteps:
            pose = self._placement.pose * step.place.pose()
            corners, colour = self._soles[step.side]
            world = corners @ pose.rotation.T + pose.translation
            steps.append(PlannedStep(world, colour))
        return tuple(steps)


def _at_zero(corners: np.ndarray) -> np.ndarray:
    return np.column_stack([corners, np.zeros(len(corners))])


ZMP_COLOUR, COM_COLOUR = (196, 38, 158), (30, 30, 34)
SUPPORT_COLOUR, PUSH_COLOUR = (46, 139, 87), (240, 170, 0)
_PALE = 0.3
"""How far the colour of a footprint that was made fades to white."""
_PLANNED = 2
"""Planned footprints of each sole that are drawn."""
_CORNERS = 16
"""Most corners of an outline."""
_STEP = 1 / 1000
"""Height of one layer above another [body heights]: none flickers through another."""
_LINE, _THIN = 1 / 110, 1 / 130
"""Thickness of outlines of what is planned, and of what was made [body heights]."""
_NEAR = 1 / 50
"""Distance to the ground that counts as touching, of a loaded foot [body heights]."""
_PUSH_LENGTH = 0.45
"""Length of the arrow of a push [body heights]."""


class WalkLayer:
    """Draws a walk into a scene; everything is in the world [m].

    Attributes:
        trail: the footprints that were made.
    """

    def __init__(self, scene: Scene, model: Model) -> None:
        self._scene, self._api, self._size = scene, scene.server.scene, scene.size
        self._model, self._weight = model, weight_of(model)
        self._soles = outlines(model)
        self.trail = Trail(model, self._soles, self._size)
        self._made: dict[str, list[viser.MeshHandle]] = {}
        self._laid: dict[str, list[pin.SE3 | None]] = {}
        for sole, colour in zip(self._soles, SOLE_COLOURS, strict=False):
            self._made[sole.name] = self._patches(sole, colour)
            self._laid[sole.name] = [None] * LENGTH
        self._planned = {
            colour: [self._rim(f"planned/{n}_{k}", colour) for k in range(_PLANNED)]
            for n, colour in enumerate(SOLE_COLOURS)
        }
        self._support = self._rim("support", SUPPORT_COLOUR)
        ball = self._size / 32
        self._zmp = self._ball("zmp", ZMP_COLOUR, ball)
        self._com = self._ball("com", COM_COLOUR, ball)
        self._below = self._ball("com_on_ground", COM_COLOUR, 0.6 * ball)
        self._plumb = self._api.add_cylinder(
            f"{STAGE}/walk/com_plumb",
            radius=self._size / 300,
            height=1.0,
            color=COM_COLOUR,
            cast_shadow=False,
            visible=False,
        )
        self._push = self._api.add_arrows(
            f"{STAGE}/walk/push",
            np.zeros((1, 2, 3), np.float32),
            PUSH_COLOUR,
            shaft_radius=self._size / 60,
            head_radius=self._size / 25,
            head_length=self._size / 10,
            visible=False,
        )

    def _patches(
        self, sole: Outline, colour: tuple[int, int, int]
    ) -> list[viser.MeshHandle]:
        """Filled outlines of a sole, as many as are kept, each with a darker rim."""
        red, green, blue = (round(c + _PALE * (255 - c)) for c in colour)
        count = len(sole.corners)
        fan = np.array([(0, k, k + 1) for k in range(1, count - 1)])
        corners = _at_zero(sole.corners)
        rim = _at_zero(_ring(sole.corners, _THIN * self._size))
        rim[:, 2] = _STEP * self._size / LENGTH
        patches = []
        for k in range(LENGTH):
            name = f"{STAGE}/walk/made/{sole.name}_{k:02d}"
            patches.append(self._flat(name, corners, fan, (red, green, blue)))
            faces = _ring_faces(count)
            self._flat(f"{name}/rim", rim, faces, colour).visible = True
        return patches

    def _rim(self, name: str, colour: tuple[int, int, int]) -> viser.MeshHandle:
        """An outline that may have any shape."""
        nothing = np.zeros((2 * _CORNERS, 3))
        faces = _ring_faces(_CORNERS)
        return self._flat(f"{STAGE}/walk/{name}", nothing, faces, colour)

    def _flat(
        self,
        name: str,
        vertices: np.ndarray,
        faces: np.ndarray,
        colour: tuple[int, int, int],
    ) -> viser.MeshHandle:
        """Something that lies on the ground."""
        return self._api.add_mesh_simple(
            name,
            vertices,
            faces,
            color=colour,
            side="double",
            cast_shadow=False,
            visible=False,
        )

    def _ball(
        self, name: str, colour: tuple[int, int, int], radius: float
    ) -> viser.IcosphereHandle:
        path = f"{STAGE}/walk/{name}"
        return self._api.add_icosphere(
            path, radius=radius, color=colour, cast_shadow=False, visible=False
        )

    def clear(self) -> None:
        """Take all footprints away."""
        self.trail.clear()
        self._show_trail()

    def show(
        self, q: np.ndarray, touches: Touches, planned: Sequence[PlannedStep] = ()
    ) -> None:
        """Show a walk at one time."""
        self._scene.show_arrows(
            touches.arrows(self._weight, WEIGHT_LENGTH * self._size)
        )
        if self.trail.update(q, touches):
            self._show_trail()
        # The next steps, each in the nearest of the colours of the soles.
        colours = np.array(SOLE_COLOURS)
        apart = (np.abs(colours - step.colour).sum(axis=1) for step in planned)
        nearest = [SOLE_COLOURS[int(np.argmin(each))] for each in apart]
        for colour, handles in self._planned.items():
            mine = [s for s, n in zip(planned, nearest, strict=True) if n == colour]
            for k, handle in enumerate(handles):
                corners = mine[k].corners if k < len(mine) else np.zeros((0, 3))
                self._draw_rim(handle, corners, 3.5)
        support = touches.support(self._weight, _NEAR * self._size)
        self._draw_rim(self._support, support, 4.5)
        centre = touches.centre(self._weight)
        self._zmp.visible = centre is not None
        if centre is not None:
            self._zmp.position = centre
        com = self._model.com(q)
        ground = 0.0 if centre is None else float(centre[2])
        self._com.position = com
        self._below.position = (com[0], com[1], ground)
        self._plumb.position = (com[0], com[1], (com[2] + ground) / 2)
        self._plumb.scale = (1.0, 1.0, max(1e-6, float(com[2] - ground)))
        self._com.visible = self._below.visible = self._plumb.visible = True

    def show_push(self, place: np.ndarray, direction: np.ndarray | None) -> None:
        """Show a push to a place by its unit direction; None takes it away."""
        self._push.visible = direction is not None
        if direction is not None:
            start = place - _PUSH_LENGTH * self._size * direction
            self._push.points = np.array([[start, place]], np.float32)

    def _show_trail(self) -> None:
        for name, handles in self._made.items():
            prints, laid = self.trail.prints[name], self._laid[name]
            for k, handle in enumerate(handles):
                pose = prints[k] if k < len(prints) else None
                if pose is laid[k]:
                    continue
                laid[k] = pose
                handle.visible = pose is not None
                if pose is not None:
                    # Later prints over earlier ones, else they would flicker.
                    layer = 1.0 + 2.0 * k / LENGTH
                    lift = layer * _STEP * self._size * pose.rotation[:, 2]
                    handle.position = pose.translation + lift
                    handle.wxyz = wxyz(pin.Quaternion(pose.rotation))

    def _draw_rim(
        self, handle: viser.MeshHandle, corners: np.ndarray, layer: float
    ) -> None:
        """Draw the outline of a convex shape on the ground (n, 3), or nothing."""
        handle.visible = 2 < len(corners) <= _CORNERS
        if handle.visible:
            rim = _ring(corners[:, :2], _LINE * self._size)
            height = np.tile(corners[:, 2] + layer * _STEP * self._size, 2)
            loops = np.column_stack([rim, height]).reshape(2, -1, 3)
            # The mesh keeps its triangles: those that are too many have no area.
            rows = np.minimum(np.arange(_CORNERS), len(corners) - 1)
            handle.vertices = loops[:, rows].reshape(-1, 3).astype(np.float32)


def _ring(corners: np.ndarray, width: float) -> np.ndarray:
    """Corners of a convex polygon, then the same moved inwards (2 n, 2)."""
    edges = np.roll(corners, -1, axis=0) - corners
    inwards = np.column_stack([-edges[:, 1], edges[:, 0]])
    inwards /= np.linalg.norm(inwards, axis=1, keepdims=True)
    before = np.roll(inwards, 1, axis=0)
    turn = 1.0 + np.einsum("ij,ij->i", before, inwards)
    shift = (before + inwards) / np.maximum(turn, 0.2)[:, None]
    return np.vstack([corners, corners + width * shift])


def _ring_faces(count: int) -> np.ndarray:
    """Triangles between two loops of so many corners (2 count, 3)."""
    here = np.arange(count)
    after = np.roll(here, -1)
    return np.vstack(
        [
            np.column_stack([here, after, after + count]),
            np.column_stack([here, after + count, here + count]),
        ]
    )
