# SPDX-License-Identifier: Apache-2.0
"""From the mesh of a bone to balls: how many, how near to the mesh, and a picture.

    python examples/bone_to_balls.py balls.png [bone.stl]

Without a mesh of yours a bone-like one is made: no bone of any person.
"""

import sys

import numpy as np
import trimesh
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

import humans_sim as hs

if __name__ == "__main__" and len(sys.argv) > 2:
    bone = hs.anatomy.read_bone(sys.argv[2])
else:
    mesh = trimesh.creation.icosphere(4)
    along = mesh.vertices[:, 2]
    waist = 1 - 0.35 * np.exp(-((along - 0.1) ** 2) / 0.08)  # as a scaphoid's
    mesh.vertices *= np.outer(waist, [1.0, 1.0, 0.0]) + [0.0, 0.0, 1.0]
    mesh.vertices[:, 0] += 0.35 * along**2
    bone = hs.anatomy.prepare_mesh(mesh.apply_scale([7.0, 6.5, 13.0]))  # millimetres
for line in bone.repairs:
    print(line)

MODELS = {}
for spacing in (1e-3, 5e-4):
    volume = hs.anatomy.voxelise(bone.mesh, spacing)
    for metric in ("3-4-5", "euclidean"):
        model = hs.ball_model(volume, metric)
        assert np.array_equal(model.reconstruct().inside, volume.inside)
        fewer = hs.anatomy.reduce_cover(model)
        error = hs.anatomy.surface_error(fewer, bone.mesh)
        MODELS[spacing, metric] = fewer
        print(
            f"voxels of {1e3 * spacing:g} mm: {volume.count}; {metric}: {len(model)} "
            f"balls, {len(fewer)} reduced; from the mesh {1e3 * error.rms:.2f} mm rms"
        )


def picture():
    """The mesh, and balls of two grids, from the same side."""
    figure = Figure(figsize=(9.0, 5.0), layout="constrained")
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    panels[0].triplot(
        *(1e3 * bone.mesh.vertices[:, [0, 2]]).T,
        bone.mesh.faces[bone.mesh.face_normals[:, 1] < 0],
        color="0.4",
        linewidth=0.3,
    )
    panels[0].set_title(f"mesh, {len(bone.mesh.faces)} faces", fontsize=10)
    for panel, key in zip(panels[1:], ((1e-3, "3-4-5"), (5e-4, "3-4-5")), strict=True):
        model = MODELS[key]
        order = np.argsort(-model.centres[:, 1] + model.radii)
        size = 2e3 * model.radii[order]
        balls = EllipseCollection(
            size,
            size,
            0 * size,
            units="xy",
            offsets=1e3 * model.centres[order][:, [0, 2]],
            transOffset=panel.transData,
            array=size / 2,
            cmap="YlOrBr",
            edgecolors="0.3",
            linewidths=0.3,
        )
        panel.add_collection(balls)
        panel.set_title(f"{len(model)} balls, voxels {1e3 * key[0]:g} mm", fontsize=10)
        figure.colorbar(balls, ax=panel, label="radius [mm]", shrink=0.6)
    for panel in panels:
        panel.set_aspect("equal")
        panel.set_xlabel("x [mm]")
    panels[0].set_ylabel("z [mm]")
    panels[0].autoscale()
    return figure


if __name__ == "__main__" and len(sys.argv) > 1:
    picture().savefig(sys.argv[1], dpi=110)
