# SPDX-License-Identifier: Apache-2.0
"""Runs of scenes with free bodies in the browser: live, or as a page that plays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import trimesh
import viser

from humans_sim.contact import HalfSpace
from humans_sim.results.body_poses import body_poses
from humans_sim.results.record import recorded_ground, recorded_model
from humans_sim.results.run import Run
from humans_sim.view.body_meshes import body_balls, body_meshes
from humans_sim.view.browser.page import recorded_page, silence
from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.scene import STAGE, Scene, free_port
from humans_sim.view.browser.surroundings import lay_terrain

_SIGHT = np.array([0.35, -1.0, 0.45])
_FAR = 0.95
_GRID = 0.1
_HOST = "127.0.0.1"


class BodiesView:
    """A run with free bodies in the browser viewer, a sample at a time.

    Attributes:
        url: of the page, with its token.
    """

    def __init__(
        self,
        run: Run,
        port: int = 8080,
        host: str = _HOST,
        page: PageServer | None = None,
    ) -> None:
        """Build the scene and show its beginning.

        Args:
            run: with its record of bodies.
            port: the next free one is taken.
            host: address to listen on.
            page: to show it on; a new one unless given.

        Raises:
            RunFileError: what is recorded of the bodies is damaged.
        """
        shapes = body_meshes(run.info)
        self._run, self._poses = run, body_poses(run)
        robot = recorded_model(run.info) if "model" in run.info else None
        self._first = robot.nq if robot else 0
        ground = recorded_ground(run.info)
        self._robot: Scene | None = None
        if robot is not None:
            self._robot = Scene(robot, host, port, ground=ground, axes=False, page=page)
            self._page: Scene | PageServer = self._robot
            self.server = self._robot.server
        else:
            self._page = page or PageServer(host, free_port(host, port))
            self.server = self._page.viser
            _floor(self.server, run, shapes)
        self.url = self._page.url
        scene = self.server.scene
        self._bodies = [
            scene.add_mesh_trimesh(f"{STAGE}/bodies/{k}", shape)
            for k, shape in enumerate(shapes)
        ]
        self._time = scene.add_label(f"{STAGE}/time", "")
        centre, size = _extent(run, shapes, self._poses, robot is not None)
        self._time.position = centre + np.array([0.0, 0.0, 0.45 * size])
        camera = self.server.initial_camera
        camera.up = (0.0, 0.0, 1.0)
        camera.look_at = tuple(centre)
        camera.position = tuple(centre + _FAR * size * _SIGHT)
        self.show(0)

    def show(self, k: int) -> None:
        """Show a sample."""
        q = self._run.q[k]
        if self._robot is not None:
            self._robot.show(q[: self._first])
        with self.server.atomic():
            for handle, row in zip(self._bodies, self._poses[k], strict=True):
                handle.position = row[:3]
                handle.wxyz = row[[6, 3, 4, 5]]
            self._time.text = f"{self._run.t[k]:.2f} s"

    def stop(self) -> None:
        """Close the page."""
        self._page.stop()


def bodies_page(run: Run) -> str:
    """The text of a page that plays a run with free bodies, again and again.

    Raises:
        RunFileError: what is recorded of the bodies is damaged.
    """
    with silence():
        view = BodiesView(run, port=0)
    return recorded_page(view, run.t, str(run.info.get("system", "scene")))


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
        cell_color=(215, 217, 220),
        section_color=(170, 174, 180),
        plane_color=(238, 240, 242),
        plane_opacity=1.0,
        shadow_opacity=0.35,
    )


def _extent(
    run: Run, shapes: Sequence[trimesh.Trimesh], poses: np.ndarray, robot: bool
) -> tuple[np.ndarray, float]:
    """Middle and size of what is to be seen [m]."""
    places, radii = body_balls(shapes, poses)
    low, high = (places - radii).min(axis=(0, 1)), (places + radii).max(axis=(0, 1))
    if robot:
        reach = float(radii.max())
        low = np.minimum(low, run.q[:, :3].min(axis=0) - reach)
        high = np.maximum(high, run.q[:, :3].max(axis=0) + reach)
    return (low + high) / 2, float(np.linalg.norm(high - low)) / 1.5
