# SPDX-License-Identifier: Apache-2.0
"""Motions of a wrist in the browser: bones, ligaments, contacts and their switches."""

from __future__ import annotations

from typing import Any

import numpy as np
import trimesh
import viser
from scipy.spatial.transform import Rotation

from humans_sim.anatomy.wrist.wrist_run import TOUCHING_GAP, WristRun
from humans_sim.view.browser.scene import STAGE, PageView, set_camera
from humans_sim.view.html_templates import render
from humans_sim.view.wrist_colours import (
    CONTACT,
    bone_colours,
    tension_colours,
    tension_scale,
    whole_colour,
)
from humans_sim.view.wrist_raster import VIEWS, view_of

_LARGER = 10.0
"""Bones are drawn so much larger: browsers cut off what is very near."""
_TIE, _SPOT = 9e-4, 8e-4
"""Widths of ligaments and contact points [m]."""
_FAR = 1.5
"""Distance of the camera, over the extent of the free bones."""
_GLASS = 0.35
_SWITCHES = ("Bones", "Names", "Ligaments", "Contacts", "Balls", "See through")
_AT_FIRST = frozenset(_SWITCHES[:4])


class WristView(PageView):
    """A motion of a wrist on a page, as of :class:`PageView`."""

    def __init__(self, run: WristRun, **place: Any) -> None:
        super().__init__(f"{run.wrist.title}: {run.motion.kind}", **place)
        self._run, self._detector = run, run.wrist.detector()
        self._scale, self._colours = tension_scale(run), bone_colours(run.wrist)
        scene = self.server.scene
        scene.set_up_direction("+y")
        self._bones = [
            scene.add_frame(f"{STAGE}/bones/{n}", show_axes=False)
            for n in range(len(run.wrist.bones))
        ]
        self._meshes: list[viser.MeshHandle] = []
        self._names: list[viser.LabelHandle] = []
        self._balls: list[Any] = []
        for n, bone in enumerate(run.wrist.bones):
            path, colour = f"{STAGE}/bones/{n}", whole_colour(self._colours[n])
            corners = _LARGER * (np.asarray(bone.mesh.vertices) - bone.mass.center)
            faces = np.asarray(bone.mesh.faces)
            self._meshes.append(
                scene.add_mesh_simple(f"{path}/mesh", corners, faces, color=colour)
            )
            label = scene.add_label(
                f"{path}/name", bone.name, font_screen_scale=0.7, anchor="center-center"
            )
            self._names.append(label)
        self._ties = scene.add_line_segments(
            f"{STAGE}/ligaments",
            self._ends(0),
            self._tensions(0),
            thickness=_LARGER * _TIE,
        )
        self._contacts = scene.add_point_cloud(
            f"{STAGE}/contacts",
            np.zeros((1, 3)),
            whole_colour(np.array(CONTACT)),
            point_size=_LARGER * _SPOT,
            point_shape="circle",
            precision="float32",
        )
        self._time = scene.add_label(f"{STAGE}/time", "")
        self.legend = self._legend(panel=False)
        self._look()
        self.show(0)

    def show(self, k: int) -> None:
        """Show a sample."""
        run = self._run
        poses = run.wrist.poses(run.x[k], run.frames[k])
        contacts = self._detector.detect(poses, margin=TOUCHING_GAP)
        quaternions = Rotation.from_matrix(run.frames[k]).as_quat()
        with self.server.atomic():
            for n, frame in enumerate(self._bones):
                frame.position = _LARGER * run.x[k, n]
                frame.wxyz = quaternions[n, [3, 0, 1, 2]]
            self._ties.points, self._ties.colors = self._ends(k), self._tensions(k)
            if contacts.count:
                self._contacts.points = (_LARGER * contacts.point).astype(np.float32)
            angle = np.degrees(run.angles[k])
            self._time.text = f"{run.t[k]:.2f} s, {run.motion.kind} {angle:.1f}°"

    def _legend(self, panel: bool) -> str:
        """The legend of the colours, as HTML: beside the scene, or over it."""
        rows = zip(self._colours, self._run.wrist.names, strict=True)
        ramp = tension_colours(self._scale * np.linspace(1e-3, 1, 8), self._scale)
        return render(
            "wrist_legend",
            title=self._run.wrist.title,
            panel=panel,
            symbol="●",
            rows=[(whole_colour(colour), name) for colour, name in rows]
            + [(whole_colour(np.array(CONTACT)), "contact")],
            ramp=[whole_colour(colour) for colour in ramp],
            scale=f"{self._scale:g}",
        )

    def _add_balls(self) -> None:
        """Of the free bones; they are heavy, and so added when they are asked for."""
        sphere = trimesh.creation.icosphere(1)
        for n, bone in enumerate(self._run.wrist.bones):
            if bone.role != "free":
                continue
            count = len(bone.model)
            self._balls.append(
                self.server.scene.add_batched_meshes_simple(
                    f"{STAGE}/bones/{n}/balls",
                    np.asarray(sphere.vertices),
                    np.asarray(sphere.faces),
                    np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
                    _LARGER * (bone.model.centres - bone.mass.center),
                    batched_scales=_LARGER * bone.model.radii,
                    batched_colors=whole_colour(self._colours[n]),
                    lod="off",
                    cast_shadow=False,
                    receive_shadow=False,
                )
            )

    def add_controls(self) -> None:
        """Add switches of what is seen, sides to look from, and the legend."""
        gui = self.server.gui
        for word in _SWITCHES:
            box = gui.add_checkbox(word, word in _AT_FIRST)
            box.on_update(
                lambda _, word=word, box=box: self._switch(word, bool(box.value))
            )
        for side in VIEWS:
            button = gui.add_button(side.capitalize())
            button.on_click(lambda _, side=side: self._look(side))
        gui.add_html(self._legend(panel=True))

    def _switch(self, word: str, on: bool) -> None:
        if word == "See through":
            for mesh in self._meshes:
                mesh.opacity = _GLASS if on else None
            return
        if word == "Balls" and on and not self._balls:
            self._add_balls()
        parts: dict[str, list[Any]] = {
            "Bones": list(self._meshes),
            "Names": list(self._names),
            "Ligaments": [self._ties],
            "Contacts": [self._contacts],
            "Balls": self._balls,
        }
        for part in parts[word]:
            part.visible = on

    def _look(self, side: str | None = None) -> None:
        """Turn the camera to a side; of all browsers, or of those that come."""
        axes = VIEWS[side or view_of(self._run.motion.kind)]
        bones = self._run.wrist.bones
        free = [n for n, bone in enumerate(bones) if bone.role == "free"]
        places = _LARGER * self._run.x[:, free].reshape(-1, 3)
        centre = (places.min(axis=0) + places.max(axis=0)) / 2
        widest = max(float(np.max(bones[n].mesh.extents)) for n in free)
        size = float(np.linalg.norm(np.ptp(places, axis=0))) + _LARGER * widest
        eye = centre + _FAR * size * axes[2]
        if side is None:
            set_camera(self.server, centre, eye, (0.0, 1.0, 0.0))
            self._time.position = centre + size * (0.5 * axes[1] - 0.85 * axes[0])
            return
        for client in self.server.get_clients().values():
            with client.atomic():
                client.camera.up_direction = np.array([0.0, 1.0, 0.0])
                client.camera.position = eye
                client.camera.look_at = centre

    def _ends(self, k: int) -> np.ndarray:
        one, other = self._run.wrist.ligaments.ends(self._run.moving(k))
        return _LARGER * np.stack([one, other], axis=1)

    def _tensions(self, k: int) -> np.ndarray:
        colours = 255 * tension_colours(self._run.tensions[k], self._scale)
        return np.repeat(np.rint(colours).astype(np.uint8)[:, None], 2, axis=1)
