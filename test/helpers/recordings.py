# SPDX-License-Identifier: Apache-2.0
"""Recordings of a body that sways, for tests that need files of markers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import humans_sim as hs
from humans_sim.control.trajectories.trajectory import Sway
from humans_sim.observation.markers import MarkerTrial, write_trc


def swaying(model: hs.Model, samples: int, start: float = 0.0) -> np.ndarray:
    """Configurations of a body that stands and sways, 100 a second (n, nq)."""
    sway = Sway.of_model(model)
    times = start + np.arange(samples) / 100
    return np.array([model.standing(sway.at(t)[0]) for t in times])


def tags_of(model: hs.Model, q: np.ndarray) -> MarkerTrial:
    """The tags of a motion as markers."""
    tags = np.array([model.tags(row)[:-1] for row in q])
    times = np.arange(len(q)) / 100
    return MarkerTrial(model.tag_names, times, tags, np.arange(len(q)) + 1)


def write_recordings(
    model: hs.Model, folder: Path, count: int, samples: int
) -> list[Path]:
    """Write recordings of several people, each in a folder of his own."""
    return [
        write_trc(
            tags_of(model, swaying(model, samples, float(k))),
            folder / f"Subject{k % 3 + 1:02}" / f"walk{k:02}.trc",
        )
        for k in range(count)
    ]
