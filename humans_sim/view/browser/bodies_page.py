# SPDX-License-Identifier: Apache-2.0
"""Runs of scenes with free bodies in the browser: live, or as a page that plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import trimesh
import viser
from scipy.spatial.transform import Rotation

from humans_sim.contact import HalfSpace
from humans_sim.core.errors import ConfigurationError
from humans_sim.results.record import recorded_ground, sound_record
from humans_sim.results.run import Run, body_poses
from humans_sim.results.run_robots import RunRobot, run_robots
from humans_sim.view.browser.scene import (
    FLOOR_COLOURS,
    STAGE,
    PageView,
    Scene,
    set_camera,
)
from humans_sim.view.browser.scene_layers import lay_terrain


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


COLOURS = (
    (209, 96, 61),
    (61, 122, 184),
    (94, 158, 88),
    (201, 160, 53),
    (135, 92, 163),
    (70, 150, 150),
)
"""Red, green, blue of free bodies, one after the other."""
_PALE = 0.55
"""How pale the other part of a body is."""
_SECTORS = 8
"""Of the faces of a coin, pale and not in turns."""
_ROUND = 64
"""Corners of a circle."""


def body_meshes(info: Mapping[str, Any]) -> list[trimesh.Trimesh]:
    """Meshes of the bodies of a run, in their own frames.

    Bodies on one joint have one colour.

    Raises:
        RunFileError: what is recorded of them is damaged.
    """
    with sound_record("its bodies"):
        bodies = list(info["bodies"])
        links = [str(body.get("joint", k)) for k, body in enumerate(bodies)]
        order = {link: k for k, link in enumerate(dict.fromkeys(links))}
        meshes = []
        for body, link in zip(bodies, links, strict=True):
            mesh, marked = _mesh(body)
            mesh.apply_translation([float(x) for x in body.get("at", (0.0, 0.0, 0.0))])
            colour = np.array(COLOURS[order[link] % len(COLOURS)], dtype=float)
            pale = colour + _PALE * (255 - colour)
            faces = np.where(marked[:, None], colour, pale)
            colours = np.insert(faces, 3, 255.0, axis=1).astype(np.uint8)
            mesh.visual = trimesh.visual.ColorVisuals(mesh, face_colors=colours)
            meshes.append(mesh)
        return meshes


def body_balls(
    meshes: Sequence[trimesh.Trimesh], poses: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Balls that hold bodies of poses (samples, n, 7): centres, radii (n, 1) [m]."""
    middles = np.array([mesh.bounds.mean(axis=0) for mesh in meshes])
    radii = np.array([[np.linalg.norm(mesh.extents) / 2] for mesh in meshes])
    turned = Rotation.from_quat(poses[..., 3:].reshape(-1, 4)).apply(
        np.tile(middles, (len(poses), 1))
    )
    return poses[..., :3] + turned.reshape(poses.shape[:2] + (3,)), radii


def _mesh(body: Mapping[str, Any]) -> tuple[trimesh.Trimesh, np.ndarray]:
    """The mesh of a body, and which of its faces have the full colour."""
    kind = body["shape"]
    if kind == "ball":
        mesh = trimesh.creation.icosphere(3, float(body["radius"]))
        return mesh, mesh.triangles_center[:, 2] > 0
    if kind == "box":
        mesh = trimesh.creation.box([float(x) for x in body["size"]])
        return mesh, np.ones(len(mesh.faces), dtype=bool)
    if kind == "disk":
        radius, thick = float(body["radius"]), float(body["thickness"])
        mesh = trimesh.creation.cylinder(radius, thick, sections=_ROUND)
        x, y, _ = mesh.triangles_center.T
        sector = np.floor(np.arctan2(y, x) / (2 * np.pi) * _SECTORS)
        flat = np.abs(mesh.face_normals[:, 2]) > 0.5
        return mesh, np.where(flat, sector % 2 == 0, True)
    if kind == "ellipsoid":
        radii = np.array([float(x) for x in body["radii"]])
        mesh = trimesh.creation.icosphere(4, 1.0)
        # A body that is cut off is flat there: what is above comes down onto the cut.
        top = float(body["top"]) / radii[2] if "top" in body else 1.0
        points = np.array(mesh.vertices)
        points[:, 2] = np.minimum(points[:, 2], top)
        mesh = trimesh.Trimesh(points * radii, mesh.faces, process=False)
        return mesh, mesh.triangles_center[:, 0] > 0
    raise ValueError(f"no shape is called '{str(kind)[:40]}'")


_SIGHT = np.array([0.35, -1.0, 0.45])
_FAR = 0.95
_GRID = 0.1


class BodiesView(PageView):
    """A run with its record of free bodies on a page, as of :class:`PageView`.

    Raises:
        RunFileError: what is recorded of the bodies is damaged.
    """

    def __init__(self, run: Run, **place: Any) -> None:
        shapes = body_meshes(run.info)
        self._run, self._poses = run, body_poses(run)
        super().__init__(str(run.info.get("system", "scene")), **place)
        self._robots: list[tuple[RunRobot, Scene]] = []
        for robot in run_robots(run):
            if self._robots:
                drawn = self._robots[0][1].beside(robot.prefix.strip("/"), robot.model)
            else:
                ground = recorded_ground(run.info)
                drawn = Scene(robot.model, ground=ground, axes=False, page=self._page)
            self._robots.append((robot, drawn))
        if not self._robots:
            _floor(self.server, run, shapes)
        scene = self.server.scene
        self._bodies = [
            scene.add_mesh_trimesh(f"{STAGE}/bodies/{k}", shape)
            for k, shape in enumerate(shapes)
        ]
        self._time = scene.add_label(f"{STAGE}/time", "")
        low, high = self._bounds(shapes)
        centre, size = (low + high) / 2, float(np.linalg.norm(high - low)) / 1.5
        self._time.position = centre + np.array([0.0, 0.0, 0.45 * size])
        set_camera(self.server, centre, centre + _FAR * size * _SIGHT)
        self.show(0)

    def show(self, k: int) -> None:
        """Show a sample."""
        for robot, drawn in self._robots:
            drawn.show(self._run.q[k, robot.q])
        with self.server.atomic():
            for handle, row in zip(self._bodies, self._poses[k], strict=True):
                handle.position = row[:3]
                handle.wxyz = row[[6, 3, 4, 5]]
            self._time.text = f"{self._run.t[k]:.2f} s"

    def _bounds(self, shapes: Sequence[trimesh.Trimesh]) -> np.ndarray:
        """Lowest and highest corner of what is seen in the whole run (2, 3) [m]."""
        seen = []
        if shapes:
            places, radii = body_balls(shapes, self._poses)
            seen += [
                (places - radii).min(axis=(0, 1)),
                (places + radii).max(axis=(0, 1)),
            ]
        for robot, drawn in self._robots:
            bases, reach = self._run.q[:, robot.q][:, :3], drawn.size / 2
            seen += [bases.min(axis=0) - reach, bases.max(axis=0) + reach]
        return np.array([np.min(seen, axis=0), np.max(seen, axis=0)])


def _floor(
    server: viser.ViserServer, run: Run, shapes: Sequence[trimesh.Trimesh]
) -> None:
    server.scene.set_up_direction("+z")
    ground = recorded_ground(run.info)
    lay_terrain(server.scene, ground, f"{STAGE}/scene")
    if not any(isinstance(solid, HalfSpace) for solid in ground.solids):
        return
    small = max(float(mesh.extents.max()) for mesh in shapes) < _GRID
    cell = 0.1 * _GRID if small else _GRID
    server.scene.add_grid(
        f"{STAGE}/floor",
        width=60.0,
        height=60.0,
        cell_size=cell,
        section_size=5 * cell,
        **FLOOR_COLOURS,
    )
