"""A web page with a model on a floor, served on this machine only by default."""

from __future__ import annotations

import socket

import numpy as np
import pinocchio as pin
import viser

from humans_sim.errors import HumansError
from humans_sim.models import Model
from humans_sim.view.geometry import solids

DEFAULT_PORT = 8080
_PORTS_TRIED = 20


class Scene:
    """A page that shows a model in a configuration.

    Attributes:
        server: the viser server, for additions to the page.
        url: address of the page.
    """

    def __init__(
        self, model: Model, host: str = "127.0.0.1", port: int = DEFAULT_PORT
    ) -> None:
        """Serve the page.

        Args:
            model: what to show.
            host: address to listen on; the default is reached from this machine only.
            port: first port to try; 0 takes any free one.

        Raises:
            HumansError: no port is free or the address is not this machine's.
        """
        self._model = model
        self._data = model.data()
        port = free_port(host, port)
        self.server = viser.ViserServer(
            host=host, port=port, label=f"humans_sim: {model.name}", verbose=False
        )
        self.url = f"http://{host}:{self.server.get_port()}"
        self._size = _body_height(model)
        self._lay_floor()
        self._frames = self._add_robot()
        self.show(model.neutral())
        self._look()

    def _lay_floor(self) -> None:
        scene = self.server.scene
        scene.set_up_direction("+z")
        cell = 0.05 if self._size < 0.6 else 0.25
        extent = 80 * cell
        scene.add_grid(
            "/floor",
            width=extent,
            height=extent,
            cell_size=cell,
            section_size=5 * cell,
            cell_color=(215, 217, 220),
            section_color=(170, 174, 180),
            plane_color=(238, 240, 242),
            plane_opacity=1.0,
            shadow_opacity=0.35,
        )
        axes = self._size / 6
        scene.add_frame("/world", axes_length=axes, axes_radius=axes / 40)

    def _add_robot(self) -> dict[int, viser.FrameHandle]:
        scene = self.server.scene
        frames: dict[int, viser.FrameHandle] = {}
        for solid in solids(self._model):
            if solid.joint not in frames:
                path = f"/robot/{solid.joint:02d}"
                frames[solid.joint] = scene.add_frame(path, show_axes=False)
            mesh = (
                solid.mesh.smooth_shaded if len(solid.mesh.faces) < 5000 else solid.mesh
            )
            quaternion = pin.Quaternion(solid.placement.rotation)
            scene.add_mesh_simple(
                f"/robot/{solid.joint:02d}/{solid.name}",
                np.asarray(mesh.vertices),
                np.asarray(mesh.faces),
                color=solid.colour,
                wxyz=_wxyz(quaternion),
                position=solid.placement.translation,
            )
        return frames

    def _look(self) -> None:
        camera = self.server.initial_camera
        centre = np.array([0.0, 0.0, 0.5 * self._size])
        camera.up = (0.0, 0.0, 1.0)
        camera.look_at = tuple(centre)
        camera.position = tuple(centre + self._size * np.array([1.05, 0.62, 0.3]))

    def show(self, q: np.ndarray) -> None:
        """Show a configuration."""
        q = self._model.check_configuration(q)
        pin.forwardKinematics(self._model.pin, self._data, q)
        with self.server.atomic():
            for joint, frame in self._frames.items():
                pose = self._data.oMi[joint]
                frame.position = pose.translation
                frame.wxyz = _wxyz(pin.Quaternion(pose.rotation))

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

    def stop(self) -> None:
        """Close the page."""
        self.server.stop()


def _wxyz(quaternion: pin.Quaternion) -> np.ndarray:
    return np.array([quaternion.w, quaternion.x, quaternion.y, quaternion.z])


def _body_height(model: Model) -> float:
    """Height of the highest tag or joint in the zero position [m]."""
    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    joints = [float(data.oMi[i].translation[2]) for i in range(1, model.pin.njoints)]
    tags = model.tags(model.neutral())[:, 2]
    return max(0.1, *joints, float(tags.max()))


def free_port(host: str, first: int) -> int:
    """A port nobody listens on, from ``first`` upwards; 0 takes any."""
    reason = ""
    for port in [0] if first == 0 else range(first, first + _PORTS_TRIED):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                return int(probe.getsockname()[1])
            except OSError as error:
                reason = str(error)
    raise HumansError(f"cannot listen on {host}:{first} and the ports above: {reason}")
