# SPDX-License-Identifier: Apache-2.0
"""Motions that need neither simulation nor reconstruction."""

from __future__ import annotations

import numpy as np

import humans_sim as hs
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import Reconstruction

STRIDE = 1.1
"""Time of a stride of the walk below [s]."""


def walking(model: hs.Model, n: int = 400) -> np.ndarray:
    """A walk along x at 1.3 m/s: swinging hips, knees, arms (n, nq)."""
    t = np.arange(n) / 100
    q = np.tile(model.neutral(), (n, 1))
    q[:, 0] = 1.3 * t
    for side, start in (("l", 0.0), ("r", np.pi)):
        phase = 2 * np.pi * t / STRIDE + start

        def turn(name: str, angle: np.ndarray, side: str = side) -> None:
            q[:, 7 + model.joint_names.index(f"{side}_{name}")] = angle

        turn("hip_pitch", 0.1 + 0.4 * np.sin(phase))
        turn("knee", -0.5 * (1 + np.cos(phase)))
        turn("ankle_pitch", 0.15 * np.cos(phase))
        turn("shoulder_pitch", -0.35 * np.sin(phase))
        turn("elbow_pitch", 0.4 - 0.2 * np.sin(phase))
    return q


def known(model: hs.Model, q: np.ndarray, rate: float = 100.0) -> Reconstruction:
    """A motion that nobody had to reconstruct."""
    n, m = len(q), len(model.tag_names)
    positions = np.array([model.tags(row)[:-1] for row in q])
    trial = MarkerTrial(
        model.tag_names, np.arange(n) / rate, positions, np.arange(1, n + 1)
    )
    return Reconstruction(
        model=model,
        trial=trial,
        q=q,
        differences=np.zeros((n, m, 3)),
        status=np.zeros((n, m), dtype=np.uint8),
        converged=np.ones(n, dtype=bool),
        iterations=np.ones(n, dtype=int),
        solve_times=np.zeros(n),
        unobservable=(),
        mode="static",
    )
