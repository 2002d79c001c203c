# SPDX-License-Identifier: Apache-2.0
"""What the distance of a point to a solid costs, by the kind and size of the solid."""

from __future__ import annotations

import argparse
import time

import numpy as np
from numba import njit

import humans_sim as hs
from humans_sim.contact.geometry.mesh_contact_kernels import surface_distance

COUNT = 5000
WORDS = ("nearest contact", "second contact", "third contact")


@njit
def measure(row: np.ndarray, data: np.ndarray, points: np.ndarray) -> float:
    """Sum of the distances of many points."""
    normal, hessian = np.empty(3), np.empty((3, 3))
    total = 0.0
    for k in range(points.shape[0]):
        total += surface_distance(row, data, points[k], normal, hessian)
    return total


def cost(row: np.ndarray, data: np.ndarray, points: np.ndarray) -> float:
    """Processor time of one distance, the least of three trials [us]."""
    measure(row, data, points[:2])
    times = []
    for _ in range(3):
        start = time.process_time()
        measure(row, data, points)
        times.append(time.process_time() - start)
    return 1e6 * min(times) / len(points)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=COUNT)
    count = parser.parse_args().points
    random = np.random.default_rng(1)
    places = random.uniform(0.1, 1.9, (count, 2))
    none = np.zeros(0)
    for solid in (hs.HalfSpace(), hs.Box((1.2, 1.2, 1.2))):
        points = np.column_stack([places, np.full(count, 0.004)])
        print(f"{type(solid).__name__}: {cost(solid.row(), none, points):.2f} us")
    for side in (23, 72, 224):
        for word, height in (("level", 0.0), ("rough", 0.003)):
            heights = height * random.uniform(0.0, 1.0, (side, side))
            field = hs.HeightField(heights, 2.0 / (side - 1))
            for above in (0.004, 0.3):
                points = np.column_stack([places, np.full(count, above)])
                values = [cost(field.row(k), field.data, points) for k in range(3)]
                print(
                    f"height field, {len(field.faces)} triangles, {word}, {above} m "
                    "above it: "
                    + ", ".join(
                        f"{name} {value:.1f} us"
                        for name, value in zip(WORDS, values, strict=True)
                    )
                )


if __name__ == "__main__":
    main()
