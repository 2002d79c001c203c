# SPDX-License-Identifier: Apache-2.0
"""A wrist of three round bones, which moves within a moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh

from humans_sim.anatomy import (
    BallModel,
    Bone,
    HandMotion,
    Ligament,
    Ligaments,
    Wrist,
    WristRun,
    move_wrist,
)
from humans_sim.bodies import of_sphere

RADIUS = 5e-3
GAP = 5e-4
OWN = """title: Three balls
unit: mm
bones:
  radius: {role: fixed, mesh: radius.stl, unit: mm}
  lunate: {role: free, mesh: lunate.stl, unit: mm}
  metacarpal-3: {role: driven, mesh: metacarpal-3.stl, unit: mm}
ligaments:
  near: {bones: [radius, lunate], points: [[5, 0, 0], [5, 10, 0]], strain: 0.1}
  far: {bones: [lunate, metacarpal-3], points: [[-5, 10, 0], [-5, 20, 0]], strain: 0.1}
"""
"""A file of one's own: :func:`write_own` writes its meshes."""
NAMES = {"radius": "fixed", "lunate": "free", "metacarpal-3": "driven"}


def _bone(name: str, role: str, y: float) -> Bone:
    place = np.array([0.0, y, 0.0])
    mesh = trimesh.creation.icosphere(3, RADIUS)
    mesh.apply_translation(place)
    offsets = 1e-3 * np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 0, 1], [0, 0, -1]])
    model = BallModel(place + offsets, np.array([RADIUS, *[RADIUS - 1e-3] * 4]))
    return Bone(
        name, role, mesh, model, of_sphere(3e-3, RADIUS).moved(np.eye(3), place)
    )


def small_wrist() -> Wrist:
    """Forearm, a free bone and a hand, in a row, held by four ligaments."""
    apart = 2 * RADIUS + GAP
    bones = tuple(_bone(*both, k * apart) for k, both in enumerate(NAMES.items()))
    ties = []
    for name, (one, other), slack in (("near", (0, 1), 0.8), ("far", (1, 2), 0.98)):
        for word, x in (("radial", RADIUS), ("ulnar", -RADIUS)):
            side = np.array([x, 0.0, 0.0])
            law = (slack * apart, 1.6 * apart, 2e4, 5.0)
            ties.append(Ligament(f"{name}-{word}", one, side, other, side, *law))
    centre = np.array([0.0, apart, 0.0])
    return Wrist("Three balls", bones, Ligaments(ties), (1, 2, 0, 0), centre, True)


def small_run(kind: str = "adduction", degrees: float = 6.0) -> WristRun:
    """Its hand turned, and held."""
    motion = HandMotion(kind, np.radians(degrees), 0.1, 0.04, 0.04)
    return move_wrist(small_wrist(), motion, step=0.01)


def write_own(folder: Path) -> Path:
    """The same as meshes and a file; where it is."""
    for k, name in enumerate(NAMES):
        ball = trimesh.creation.icosphere(2, 5.0)
        ball.apply_translation([0, 10.5 * k, 0])
        ball.export(folder / f"{name}.stl")
    file = folder / "own.yaml"
    file.write_text(OWN)
    return file
