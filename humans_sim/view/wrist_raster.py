# SPDX-License-Identifier: Apache-2.0
"""A wrist drawn with depth: bones, ligaments by their tension, contact points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from PIL import Image
from scipy.ndimage import distance_transform_edt

from humans_sim.anatomy.wrist.wrist_run import TOUCHING_GAP, WristRun
from humans_sim.core.errors import ParameterError
from humans_sim.view.raster import DepthImage, camera_around
from humans_sim.view.wrist_colours import (
    CONTACT,
    bone_colours,
    tension_colours,
    tension_scale,
)

VIEWS = {
    "palmar": np.eye(3),
    "dorsal": np.diag([-1.0, 1.0, -1.0]),
    "radial": np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    "ulnar": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
}
"""Rows: to the right, up, and towards the eye."""
_TIE, _SPOT = 5e-4, 4e-4
"""Radii of ligaments and of contact points [m]."""
_AROUND = 0.3
"""What is seen around the free bones, over their extent."""
_SEEN = 2e-3
"""Share of the picture from which a bone has its name on it."""
_FINER = 2
"""Pixels drawn along an edge of one that is shown."""


def view_of(kind: str) -> str:
    """The side from which a motion of the hand is seen best."""
    return "palmar" if kind in ("adduction", "abduction") else "radial"


class WristPicture(NamedTuple):
    """A sample as it is seen.

    Attributes:
        pixels: (h, w, 3), 0 to 255.
        labels: where names of bones belong, from the left and the top, 0 to 1.
    """

    pixels: np.ndarray
    labels: dict[str, tuple[float, float]]


class WristRaster:
    """Draws samples of a wrist's motion in one scale.

    Args:
        view: one of :data:`VIEWS`.
        shown: what is drawn of the bones: ``bones`` or ``balls``.
        whole: all bones; else the free ones and what is near them.

    Attributes:
        extent: left, right, bottom, top of the picture [mm].
    """

    def __init__(
        self,
        run: WristRun,
        view: str = "palmar",
        pixels: int = 500,
        shown: str = "bones",
        whole: bool = False,
    ) -> None:
        if view not in VIEWS:
            raise ParameterError(f"view is one of {', '.join(VIEWS)}, not '{view}'")
        if shown not in ("bones", "balls"):
            raise ParameterError(f"bones or balls are shown, not '{shown}'")
        self._run, self._balls = run, shown == "balls"
        places = []
        for k in {0, len(run.t) // 2, len(run.t) - 1}:
            poses = run.wrist.poses(run.x[k], run.frames[k])
            for n, bone in enumerate(run.wrist.bones):
                if whole or bone.role == "free":
                    corners = np.asarray(bone.mesh.bounding_box.vertices)
                    places.append(corners @ poses.rotations[n].T + poses.positions[n])
        around, fine = np.concatenate(places), _FINER * pixels
        margin = 0.03 if whole else _AROUND
        self._camera = camera_around(around, VIEWS[view], fine, margin)
        self._scale = tension_scale(run)
        self._bones = bone_colours(run.wrist)
        self._detector = run.wrist.detector()
        rows, columns = self._camera.shape
        left, bottom = self._camera.low
        right = left + columns * self._camera.pixel
        top = bottom + rows * self._camera.pixel
        self.extent = tuple(1e3 * float(x) for x in (left, right, bottom, top))

    @property
    def scale(self) -> float:
        """Tension of the darkest ligament [N]."""
        return self._scale

    def picture(self, k: int) -> WristPicture:
        """A sample, with ligaments and contacts."""
        run, image = self._run, DepthImage(self._camera)
        wrist = run.wrist
        poses = wrist.poses(run.x[k], run.frames[k])
        for n, bone in enumerate(wrist.bones):
            turn, shift = poses.rotations[n], poses.positions[n]
            if self._balls:
                places = bone.model.centres @ turn.T + shift
                image.add_balls(places, bone.model.radii, n)
            else:
                image.add_mesh(bone.mesh, n, (turn, shift))
        labels = self._labels(image.ids)
        table = [self._bones]
        if len(wrist.ligaments):
            ends = np.stack(wrist.ligaments.ends(run.moving(k)), axis=1)
            image.add_rods(ends, _TIE, len(wrist.bones) + np.arange(len(ends)))
            table.append(tension_colours(run.tensions[k], self._scale))
        pixels = image.coloured(np.vstack(table), rim=1.2e-3)
        contacts = self._detector.detect(poses, margin=TOUCHING_GAP)
        if contacts.count:  # they are between bones: shown as if bones were of glass
            spots = DepthImage(self._camera)
            spots.add_balls(contacts.point, np.array(_SPOT), 0)
            pixels = np.where(
                spots.ids[..., None] < 0, pixels, spots.coloured([CONTACT])
            )
        # Means of squares of pixels: edges are smooth.
        rows, columns = (n // _FINER for n in pixels.shape[:2])
        whole = Image.fromarray(pixels[: rows * _FINER, : columns * _FINER])
        smooth = whole.resize((columns, rows), Image.Resampling.BOX)
        return WristPicture(np.asarray(smooth), labels)

    def _labels(self, ids: np.ndarray) -> dict[str, tuple[float, float]]:
        """Where the free bones are seen, from the left and the top."""
        coarse = ids[:: 2 * _FINER, :: 2 * _FINER]
        labels = {}
        for n, bone in enumerate(self._run.wrist.bones):
            if bone.role != "free":
                continue
            seen = coarse == n
            if seen.sum() < _SEEN * coarse.size:
                continue
            # well inside what is seen of it, and as near to its middle as can be
            inside = distance_transform_edt(np.pad(seen, 1))[1:-1, 1:-1]
            rows, columns = np.nonzero(inside >= 0.6 * inside.max())
            away = (rows - np.nonzero(seen)[0].mean()) ** 2
            away += (columns - np.nonzero(seen)[1].mean()) ** 2
            k, (high, wide) = int(away.argmin()), coarse.shape
            labels[bone.name] = (
                float((columns[k] + 0.5) / wide),
                float((rows[k] + 0.5) / high),
            )
        return labels
