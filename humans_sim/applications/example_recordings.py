# SPDX-License-Identifier: Apache-2.0
"""Recordings that come with the package, and their making.

The manual's own recordings (section 9.6.1: a standing subject with the right hand ahead
is pushed forward at the shoulders) are not published with it. The example is synthetic:
a Human36 of 1.741 m makes such a motion, and its 28 tags are written as an Optotrak
would write LEDs, with noise of 0.5 mm and hidden samples.

Recordings of a person who squats and who waves are to be taken over by robots. A
Human36 makes the motion on feet that stay, and its tags are seen with noise and gaps,
as of the example of the reconstruction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import write_lines
from humans_sim.core.resources import resource
from humans_sim.models import Model, load_model
from humans_sim.observation.markers.read import OCCLUDED
from humans_sim.observation.markers.synthetic import synthetic_trial
from humans_sim.observation.markers.trial import MarkerTrial

MARKER_SET, HEIGHT, MASS = "canonical", 1.741, 73.0
"""Who is in the recordings: what ``reconstruct`` needs to know of them [m, kg]."""
WHO: dict[str, Any] = {"marker_set": MARKER_SET, "height": HEIGHT, "mass": MASS}
_DURATION, _HIDDEN, _SEED = 0.8, 0.03, 106
_HELD = {"r_shoulder_pitch": 0.9, "r_elbow_pitch": 0.4}
"""Joints that stay: the right hand ahead [rad]."""
_BENT = {"hip_pitch": 0.25, "knee": -0.4, "ankle_pitch": 0.15}
"""Largest angles of the legs after the push; feet stay flat [rad]."""


def example_file() -> Path:
    """The recording: an Optotrak table of 28 LEDs in millimetres, 0.8 s at 100 Hz."""
    return resource("config", "recordings", "fl_c_dat#106.csv")


def pushed(model: Model, t: float) -> np.ndarray:
    """The person at a time [s]: pushed at 0.1 s, upright again later."""
    since = max(t - 0.1, 0.0) / 0.2
    bend = since**2 * math.exp(2.0 * (1.0 - since))
    angles = {**_HELD, "thorax_pitch": -0.15 * bend}
    for name, largest in _BENT.items():
        angles |= {f"{side}_{name}": largest * bend for side in "rl"}
    joints = np.array([angles.get(name, 0.0) for name in model.joint_names])
    return model.standing(joints)


def _seen(posture: Callable[[Model, float], np.ndarray], **options: Any) -> MarkerTrial:
    """The person's tags at 100 Hz, with noise of 0.5 mm and gaps of 50 ms."""
    model = load_model("human36", height=HEIGHT, mass=MASS)
    return synthetic_trial(
        model,
        MARKER_SET,
        lambda t: posture(model, t),
        rate=100.0,
        noise=0.0005,
        gap=0.05,
        **options,
    )


def write_example(path: Path) -> Path:
    """Make the recording and write it."""
    trial = _seen(pushed, duration=_DURATION, dropout=_HIDDEN, seed=_SEED)
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


_MOTION_DURATION, _MOTION_HIDDEN, _MOTION_SEED = 4.0, 0.02, 7
_SQUAT = {"hip_pitch": 1.5, "knee": -1.6, "ankle_pitch": 0.55, "shoulder_pitch": 1.2}
"""Largest angles of both sides; the feet stay flat [rad]."""


def _squat(t: float) -> dict[str, float]:
    """Down and up once, arms forwards."""
    phase = min(max((t - 0.5) / 3.0, 0.0), 1.0)
    bend = 0.5 - 0.5 * math.cos(2.0 * math.pi * phase)
    return {f"{s}_{name}": angle * bend for s in "lr" for name, angle in _SQUAT.items()}


def _wave(t: float) -> dict[str, float]:
    """The right arm goes up to the side, the forearm to and fro, and down again."""
    up = _smooth(t) * (1.0 - _smooth(t - 3.0))
    elbow = 0.9 + 0.5 * math.sin(2.0 * math.pi * t)
    return {"r_shoulder_roll": 1.9 * up, "r_elbow_pitch": elbow * up}


def _smooth(t: float) -> float:
    """From 0 to 1 within a second."""
    s = min(max(t, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


MOTIONS: Mapping[str, Callable[[float], dict[str, float]]] = {
    "squat": _squat,
    "wave": _wave,
}
"""By name: joint angles at a time [rad]."""


def example_posture(model: Model, motion: str, t: float) -> np.ndarray:
    """The person at a time [s] of a motion, the left foot flat where it stood."""
    if motion not in MOTIONS:
        raise ParameterError(
            f"no example is called '{motion}': it is one of {', '.join(MOTIONS)}"
        )
    angles = MOTIONS[motion](t)
    q = model.standing(np.array([angles.get(n, 0.0) for n in model.joint_names]))
    sole = model.soles[0].name
    stood = model.frame_pose(model.standing(np.zeros(len(model.joint_names))), sole)
    moved = stood * model.frame_pose(q, sole).inverse() * pin.XYZQUATToSE3(q[:7])
    q[:7] = pin.SE3ToXYZQUAT(moved)
    return q


def example_markers(motion: str) -> MarkerTrial:
    """The markers of a motion of :data:`MOTIONS`, 4 s at 100 Hz."""
    return _seen(
        lambda model, t: example_posture(model, motion, t),
        duration=_MOTION_DURATION,
        dropout=_MOTION_HIDDEN,
        seed=_MOTION_SEED,
    )
