# SPDX-License-Identifier: Apache-2.0
"""Time to make a skin, beside marching tetrahedra and, where installed, scikit-image.

Run it as ``python benchmarks/skin.py``; one core is used. Processor times are printed:
of the first run without the compilation of kernels.
"""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec

import numpy as np

import humans_sim as hs
import humans_sim.soft as soft

TRIANGLES = 60_000


def seconds(call) -> tuple[float, float, object]:
    """Processor time and elapsed time of a call [s], and its result."""
    start, wall = time.process_time(), time.perf_counter()
    result = call()
    return time.process_time() - start, time.perf_counter() - wall, result


class BodyField:
    """A body as a field that is larger inside."""

    def __init__(self, model: hs.Model) -> None:
        self.shape = soft.body_shape(model)

    def value(self, points: np.ndarray) -> np.ndarray:
        """Depth below the surface [m]."""
        return -self.shape.distance(points)


def skin(model: hs.Model, triangles: int) -> None:
    """The whole skin, of at least so many triangles."""
    soft.make_skin(model, 0.0125)  # compiles the kernels
    spacing = 0.0125
    while True:
        cpu, wall, made = seconds(lambda s=spacing: soft.make_skin(model, s))
        mesh = made.mesh()
        if len(made.faces) >= triangles:
            break
        spacing *= 0.98
    print(
        f"skin: {len(made.faces)} triangles in {cpu:.2f} s of processor time "
        f"({wall:.2f} s elapsed), grid {1000 * spacing:.1f} mm"
    )
    print(
        f"  watertight {mesh.is_watertight}, Euler {mesh.euler_number}, "
        f"area {mesh.area:.3f} m2, volume {1000 * mesh.volume:.1f} l"
    )
    q = model.neutral()
    cpu, _, _ = seconds(lambda: [made.posed(model, q) for _ in range(20)])
    print(f"  bent to a posture in {50 * cpu:.1f} ms")


def peers(model: hs.Model) -> None:
    """The same surface on an even grid, by others."""
    field = BodyField(model)
    bounds = np.array([[-0.3, -0.95, -0.05], [0.35, 0.95, 1.85]])
    spacing = 0.0185
    cpu, _, mesh = seconds(lambda: soft.mesh_of(field, 0.0, bounds, spacing))
    print(
        f"marching tetrahedra: {len(mesh.faces)} triangles in {cpu:.2f} s, "
        f"watertight {mesh.is_watertight}, Euler {mesh.euler_number}"
    )
    if find_spec("skimage") is None:
        print("scikit-image: not installed")
        return
    from skimage.measure import marching_cubes

    axes = [np.arange(*bounds[:, k], 0.0105) for k in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    cpu, _, found = seconds(
        lambda: marching_cubes(field.value(grid.reshape(-1, 3)).reshape(grid.shape[:3]))
    )
    print(f"scikit-image: {len(found[1])} triangles in {cpu:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--triangles", type=int, default=TRIANGLES, help="at least")
    chosen = parser.parse_args()
    person = hs.load_model("human36")
    skin(person, chosen.triangles)
    peers(person)
