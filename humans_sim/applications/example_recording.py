# SPDX-License-Identifier: Apache-2.0
"""The recording that comes with the package, and how it was made.

The manual's own recordings (section 9.6.1: a standing subject with the right hand ahead
is pushed forward at the shoulders) are not published with it. This one is synthetic: a
Human36 of 1.741 m makes such a motion, and its 28 tags are written as an Optotrak would
write LEDs, with noise of 0.5 mm and hidden samples.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from humans_sim.core.files import write_lines
from humans_sim.core.resources import resource
from humans_sim.models import Model, load_model
from humans_sim.observation.markers.optotrak_file import OCCLUDED
from humans_sim.observation.markers.synthetic import synthetic_trial

MARKER_SET, HEIGHT, MASS = "canonical", 1.741, 73.0
"""Who is in the recording: what ``reconstruct`` needs to know of it [m, kg]."""
_DURATION, _RATE = 0.8, 100.0
_NOISE, _HIDDEN, _SEED = 0.0005, 0.03, 106
_HELD = {"r_shoulder_pitch": 0.9, "r_elbow_pitch": 0.4}
"""Joints that stay: the right hand ahead [rad]."""
_BENT = {"hip_pitch": 0.25, "knee": -0.4, "ankle_pitch": 0.15}
"""Largest angles of the legs after the push; feet stay flat [rad]."""


def example_file() -> Path:
    """The recording: an Optotrak table of 28 LEDs in millimetres, 0.8 s at 100 Hz."""
    return resource("config", "recordings", "fl_c_dat#106.csv")


def pushed(model: Model, t: float) -> np.ndarray:
    """Configuration of the person at a time: pushed at 0.1 s, upright again later.

    Args:
        model: Human36.
        t: [s].
    """
    since = max(t - 0.1, 0.0) / 0.2
    bend = since**2 * math.exp(2.0 * (1.0 - since))
    angles = {**_HELD, "thorax_pitch": -0.15 * bend}
    for name, largest in _BENT.items():
        angles |= {f"{side}_{name}": largest * bend for side in "rl"}
    joints = np.array([angles.get(name, 0.0) for name in model.joint_names])
    return model.standing(joints)


def write_example(path: Path) -> Path:
    """Make the recording and write it.

    Args:
        path: the file.
    """
    model = load_model("human36", height=HEIGHT, mass=MASS)
    trial = synthetic_trial(
        model,
        MARKER_SET,
        lambda t: pushed(model, t),
        duration=_DURATION,
        rate=_RATE,
        noise=_NOISE,
        dropout=_HIDDEN,
        gap=0.05,
        seed=_SEED,
    )
    names = [f"{name} {axis}" for name in trial.names for axis in "xyz"]
    lines = [",".join(["Frame", *names])]
    for frame, row in zip(trial.frames, trial.positions, strict=True):
        words = [
            f"{OCCLUDED:.4E}" if math.isnan(x) else f"{1000 * x:.2f}"
            for x in row.ravel().tolist()
        ]
        lines.append(",".join([str(frame), *words]))
    write_lines(path, lines)
    return path
