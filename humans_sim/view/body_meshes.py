# SPDX-License-Identifier: Apache-2.0
"""Meshes of free bodies as a run records them, coloured so that one sees them turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from humans_sim.core.errors import MALFORMED_CONTENT, RunFileError

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
    try:
        bodies = list(info["bodies"])
        links = [str(body.get("joint", k)) for k, body in enumerate(bodies)]
        order = {link: k for k, link in enumerate(dict.fromkeys(links))}
        return [
            _coloured(body, np.array(COLOURS[order[link] % len(COLOURS)], dtype=float))
            for body, link in zip(bodies, links, strict=True)
        ]
    except MALFORMED_CONTENT as error:
        raise RunFileError(f"the run's record of its bodies is damaged: {error}") from (
            error
        )


def body_balls(
    meshes: Sequence[trimesh.Trimesh], poses: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Balls that hold bodies at all samples: centres (samples, n, 3), radii (n, 1) [m].

    Args:
        meshes: of the bodies.
        poses: of the bodies (samples, n, 7).
    """
    middles = np.array([mesh.bounds.mean(axis=0) for mesh in meshes])
    radii = np.array([[np.linalg.norm(mesh.extents) / 2] for mesh in meshes])
    turned = Rotation.from_quat(poses[..., 3:].reshape(-1, 4)).apply(
        np.tile(middles, (len(poses), 1))
    )
    return poses[..., :3] + turned.reshape(poses.shape[:2] + (3,)), radii


def _coloured(body: Mapping[str, Any], colour: np.ndarray) -> trimesh.Trimesh:
    mesh, marked = _mesh(body)
    mesh.apply_translation([float(x) for x in body.get("at", (0.0, 0.0, 0.0))])
    pale = colour + _PALE * (255 - colour)
    faces = np.where(marked[:, None], colour, pale)
    opaque = np.full((len(faces), 1), 255.0)
    colours = np.hstack([faces, opaque]).astype(np.uint8)
    mesh.visual = trimesh.visual.ColorVisuals(mesh, face_colors=colours)
    return mesh


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
