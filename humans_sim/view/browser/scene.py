# SPDX-License-Identifier: Apache-2.0
"""A web page with a model in its scene, served on this machine only by default."""

from __future__ import annotations

import math
import socket
from typing import Any

import numpy as np
import pinocchio as pin
import viser

from humans_sim.contact import HalfSpace
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import HumansError
from humans_sim.models import Model
from humans_sim.soft.ground.footprints import Footprints
from humans_sim.soft.skin.skin import Skin, has_skin, skin_of
from humans_sim.view.browser.page_server import PageServer
from humans_sim.view.browser.scene_layers import (
    BOX_COLOUR,
    CABLE_COLOUR,
    GroundLayer,
    SkinLayer,
    body_height,
    drawn_boxes,
    lay_terrain,
    solids,
    wxyz,
)

HOST, DEFAULT_PORT = "127.0.0.1", 8080
"""Where pages are served: for this machine alone, on this port or the next free one."""
FLOOR_COLOURS: dict[str, Any] = {
    "cell_color": (215, 217, 220),
    "section_color": (170, 174, 180),
    "plane_color": (238, 240, 242),
    "plane_opacity": 1.0,
    "shadow_opacity": 0.35,
}
"""Of grids that are floors."""
FORCE_COLOUR = (214, 39, 40)
"""Red, green, blue of the arrows of forces."""
_PORTS_TRIED = 20
STAGE = "/stage"
"""Name of what carries everything of the scene on the page."""
_CELLS = 80
"""Cells of a floor along each side."""
_SECTION = 5
"""Cells between two darker lines of a floor."""
_SIGHT = (1.05, 0.62, 0.3)
_GLASS = 0.35
"""Opacity of a body that is seen through."""


class Scene:
    """A page that shows a model in a configuration.

    Args:
        host: address to listen on; the default is reached from this machine only.
        port: first port to try; 0 takes any free one.
        ground: the scene around it; a floor unless given.
        axes: whether the axes of the world are shown.
        page: that has others on it already; a new one unless given.
        stage: name of what carries everything of this scene on the page.
        beside: where this scene stands on the page (3,) [m].
        floor: whether the floor is laid; of scenes with the same one, once.
        lane: how wide the floor is, so that others have their own [m]; to the
            horizon unless given.

    Attributes:
        server: the viser server, for additions to the page.
        url: address of the page, with its token.
        size: height of the body [m].

    Raises:
        HumansError: no port is free or the address is not this machine's.
    """

    def __init__(
        self,
        model: Model,
        host: str = HOST,
        port: int = DEFAULT_PORT,
        ground: Ground | None = None,
        axes: bool = True,
        *,
        page: PageServer | None = None,
        stage: str = STAGE,
        beside: np.ndarray | None = None,
        floor: bool = True,
        lane: float | None = None,
    ) -> None:
        self._model = model
        self._data = model.data()
        if page is None:
            label = f"humans_sim: {model.name}"
            page = PageServer(host, free_port(host, port), label)
        self._page, self._root = page, stage
        self._beside = np.zeros(3) if beside is None else beside
        self._lays_floor, self._lane = floor, lane
        self.server, self.url = self._page.viser, self._page.url
        self.size = body_height(model)
        self._time: viser.LabelHandle | None = None
        self._arrows: viser.ArrowsHandle | None = None
        self._cables: viser.LineSegmentsHandle | None = None
        self._soft: GroundLayer | None = None
        self._stage = self.server.scene.add_frame(
            stage, show_axes=False, position=self._beside
        )
        self._floors: list[tuple[viser.GridHandle, np.ndarray]] = []
        self._meshes: list[viser.MeshHandle | viser.MeshSkinnedHandle] = []
        self._transparent = False
        self._skin: SkinLayer | None = None
        self._surround(Ground() if ground is None else ground)
        if axes:
            length = self.size / 6
            self.server.scene.add_frame(
                f"{self._root}/world", axes_length=length, axes_radius=length / 40
            )
        self._frames = self._add_body(skin_of(model) if has_skin(model) else None)
        self.show(model.neutral())
        self.look_at(np.array([0.0, 0.0, 0.5 * self.size]))

    def _surround(self, ground: Ground) -> None:
        scene = self.server.scene
        scene.set_up_direction("+z")
        extent, up = _CELLS * self._cell, np.array([0.0, 0.0, 1.0])
        for k, solid in enumerate(ground.solids if self._lays_floor else ()):
            if not isinstance(solid, HalfSpace):
                continue
            point, normal = np.array(solid.point, float), np.array(solid.normal, float)
            if self._lane is not None and normal[2] > 0.0:  # a lane is below its body
                point = np.array([0.0, 0.0, normal @ point / normal[2]])
            grid = scene.add_grid(
                f"{self._root}/scene/{k}_{solid.name}",
                width=extent,
                height=extent if self._lane is None else self._lane,
                cell_size=self._cell,
                section_size=_SECTION * self._cell,
                **FLOOR_COLOURS,
                wxyz=wxyz(pin.Quaternion.FromTwoVectors(up, normal)),
                position=point,
            )
            self._floors.append((grid, point))
        for k, box in enumerate(drawn_boxes(ground)):
            turn = np.eye(3) if box.rotation is None else np.asarray(box.rotation)
            scene.add_box(
                f"{self._root}/scene/box_{k}_{box.name}",
                color=BOX_COLOUR,
                dimensions=box.size,
                wxyz=wxyz(pin.Quaternion(turn)),
                position=box.centre,
            )
        lay_terrain(scene, ground, f"{self._root}/scene")

    @property
    def _cell(self) -> float:
        """Side of a cell of the floor [m]."""
        return 0.05 if self.size < 0.6 else 0.25

    def _add_body(self, skin: Skin | None) -> dict[int, viser.FrameHandle]:
        """Add the model with its skin, or with the solids of its links."""
        scene, robot = self.server.scene, f"{self._root}/robot"
        glass = _GLASS if self._transparent else None
        frames: dict[int, viser.FrameHandle] = {}
        if skin is not None:
            self._skin = SkinLayer(self.server, robot, self._model, skin, glass)
            self._meshes += self._skin.meshes
            return frames
        for solid in solids(self._model):
            path = f"{robot}/{solid.joint:02d}"
            if solid.joint not in frames:
                frames[solid.joint] = scene.add_frame(path, show_axes=False)
            mesh = solid.mesh
            mesh = mesh.smooth_shaded if len(mesh.faces) < 5000 else mesh
            handle = scene.add_mesh_simple(
                f"{path}/{solid.name}",
                np.asarray(mesh.vertices),
                np.asarray(mesh.faces),
                color=solid.colour,
                wxyz=wxyz(pin.Quaternion(solid.placement.rotation)),
                position=solid.placement.translation,
                opacity=glass,
            )
            self._meshes.append(handle)
        return frames

    def beside(self, name: str, model: Model) -> Scene:
        """Another body in this scene, by a name of its own."""
        return Scene(
            model,
            ground=Ground.empty(),
            axes=False,
            page=self._page,
            stage=f"{self._root}/{name}",
            floor=False,
        )

    def change_model(self, model: Model, q: np.ndarray) -> None:
        """Show another model in place of the one before."""
        with self.server.atomic():
            for frame in self._frames.values():
                frame.remove()
            self._meshes.clear()
            self._model, self._data = model, model.data()
            old, self._skin, skin = self._skin, None, None
            if old is not None:
                old.remove()
            if has_skin(model):
                skin = skin_of(model) if old is None else old.skin.fitted(model)
            self._frames = self._add_body(skin)
            self.show(q)

    def look_at(
        self,
        centre: np.ndarray,
        distance: float = 1.0,
        sight: tuple[float, float, float] = _SIGHT,
    ) -> None:
        """Look at a place [m] of the page; distance in body heights or so."""
        eye = centre + distance * self.size * np.array(sight)
        set_camera(self.server, centre, eye)

    def show(self, q: np.ndarray) -> None:
        """Show a configuration."""
        q = self._model.check_configuration(q)
        pin.forwardKinematics(self._model.pin, self._data, q)
        with self.server.atomic():
            if self._skin is not None:
                self._skin.show(q)
            for joint, frame in self._frames.items():
                pose = self._data.oMi[joint]
                frame.position = pose.translation
                frame.wxyz = wxyz(pin.Quaternion(pose.rotation))

    def centre(self, place: np.ndarray) -> None:
        """Bring a place of the world to the middle of the page (2,) [m].

        The scene is moved, not the cameras: who looks at it may turn and zoom at the
        same time. The floor is laid around the place, by whole sections, so that nobody
        sees that it ends.
        """
        place = np.append(np.asarray(place, float), 0.0)
        self._stage.position = self._beside - place
        section = _SECTION * self._cell
        for grid, point in self._floors:
            turn = pin.Quaternion(*grid.wxyz).matrix()
            local = turn.T @ (place - point)
            steps = section * np.round(local / section)
            grid.position = point + turn[:, :2] @ steps[:2]

    def see_through(self, transparent: bool) -> None:
        """Make the body transparent, or solid again."""
        self._transparent = transparent
        with self.server.atomic():
            for mesh in self._meshes:
                mesh.opacity = _GLASS if transparent else None

    def show_time(self, text: str, place: np.ndarray) -> None:
        """Write the time, or anything short, at a place in the world."""
        if self._time is None:
            self._time = self.server.scene.add_label(
                f"{self._root}/time", text, position=place, anchor="bottom-center"
            )
        self._time.text, self._time.position = text, place

    def show_arrows(self, arrows: np.ndarray) -> None:
        """Show forces as arrows from their places to their tips (n, 2, 3) [m]."""
        radius = self.size / 150
        if self._arrows is None:
            self._arrows = self.server.scene.add_arrows(
                f"{self._root}/forces",
                np.zeros((1, 2, 3), np.float32),
                FORCE_COLOUR,
                shaft_radius=radius,
                head_radius=2.5 * radius,
                head_length=5 * radius,
            )
        self._arrows.visible = len(arrows) > 0
        if len(arrows):
            self._arrows.points = arrows.astype(np.float32)

    def show_ground(
        self,
        field: Footprints,
        touched: tuple[int, int, int, int] | None = None,
    ) -> None:
        """Show a ground that gives way, not floors; all pins move unless given."""
        if self._soft is None:
            self._soft = GroundLayer(self.server.scene, f"{self._root}/ground", touched)
            for grid, _ in self._floors:
                grid.remove()
            self._floors.clear()
        with self.server.atomic():
            self._soft.show(field)

    def show_cables(self, lines: np.ndarray) -> None:
        """Show cables as lines between their ends (n, 2, 3) [m]."""
        if self._cables is None:
            if not len(lines):
                return
            self._cables = self.server.scene.add_line_segments(
                f"{self._root}/cables",
                lines.astype(np.float32),
                CABLE_COLOUR,
                thickness=self.size / 300,
            )
        self._cables.visible = len(lines) > 0
        if len(lines):
            self._cables.points = lines.astype(np.float32)

    def add_sliders(self) -> None:
        """Add a slider for each joint, in degrees, and a button back to zero.

        The model stands on its lowest contact point, whatever the joints do.
        """
        model = self._model
        gui = self.server.gui
        sliders: list[viser.GuiSliderHandle[float]] = []

        def update() -> None:
            angles = np.radians([slider.value for slider in sliders])
            self.show(model.standing(angles))

        zero = gui.add_button("Zero position")
        with gui.add_folder("Joints [deg]"):
            limits = zip(model.lower_limits, model.upper_limits, strict=True)
            for name, (lower, upper) in zip(model.joint_names, limits, strict=True):
                bounds = np.degrees(np.clip([lower, upper], -np.pi, np.pi))
                low, high = bounds.tolist()
                slider = gui.add_slider(
                    name,
                    round(low, 1),
                    round(high, 1),
                    0.5,
                    float(np.clip(0, low, high)),
                )
                slider.on_update(lambda _: update())
                sliders.append(slider)

        @zero.on_click
        def _(_: object) -> None:
            for slider in sliders:
                slider.value = float(np.clip(0.0, slider.min, slider.max))
            update()

    @property
    def refused(self) -> int:
        """How many messages of browsers were refused."""
        return self._page.incoming.refused

    def stop(self) -> None:
        """Close the page."""
        self._page.stop()


def set_camera(
    server: viser.ViserServer,
    centre: np.ndarray,
    eye: np.ndarray,
    up: tuple[float, float, float] = (0.0, 0.0, 1.0),
) -> None:
    """Have browsers that come look from a place to another one."""
    camera = server.initial_camera
    camera.up, camera.look_at, camera.position = up, tuple(centre), tuple(eye)


def free_port(host: str, first: int) -> int:
    """A port nobody listens on, from ``first`` upwards; 0 takes any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reason = ""
    for port in [0] if first == 0 else range(first, first + _PORTS_TRIED):
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                return int(probe.getsockname()[1])
            except OSError as error:
                reason = str(error)
    raise HumansError(f"cannot listen on {host}:{first} and the ports above: {reason}")


class PageView:
    """Something on a page that shows samples of a run.

    Args:
        title: of the run.
        port: first one to try; 0: any.
        host: address to listen on.
        page: to show it on; a new one unless given.

    Attributes:
        legend: of its colours, as HTML over the scene; empty where there are none.
    """

    legend = ""

    def __init__(
        self,
        title: str,
        port: int = DEFAULT_PORT,
        host: str = HOST,
        page: PageServer | None = None,
    ) -> None:
        self.title, self._page = title, page or PageServer(host, free_port(host, port))
        self.server = self._page.viser

    def show(self, k: int) -> None:
        """Show a sample."""
        raise NotImplementedError

    def stop(self) -> None:
        """Close the page."""
        self._page.stop()


_LAG = 0.4
"""Time in which the follower comes to where the body is [s]."""
_JUMP = 1.0
"""Distance that no body goes at once: the follower jumps along [body heights]."""


class Follower:
    """A place on the ground that goes along with a body.

    Attributes:
        on: whether it follows; else it stays.
        place: where it is (2,) [m].
    """

    def __init__(self, size: float) -> None:
        """At the origin, following a body of some height [m]."""
        self._size, self._last = size, -math.inf
        self.on, self.place = True, np.zeros(2)

    def update(self, body: np.ndarray, wall: float) -> np.ndarray:
        """Go along with a body, x and y first [m], by the wall's time [s]."""
        distance = np.array(body[:2], float) - self.place
        share = 1.0 - math.exp(-max(0.0, wall - self._last) / _LAG)
        self._last = wall
        if self.on:
            far = float(np.linalg.norm(distance)) > _JUMP * self._size
            self.place = self.place + (1.0 if far else share) * distance
        return self.place
