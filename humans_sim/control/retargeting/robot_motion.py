# SPDX-License-Identifier: Apache-2.0
"""A robot's motion as it was planned from a person's.

Also as a stream of joint angles, one period early.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.signal import butter, filtfilt

from humans_sim.control.retargeting.foot_plan import FootPlan
from humans_sim.control.walking.footsteps import Side
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.dynamics.system import TIME_STEPPING
from humans_sim.models import Model


@dataclass(frozen=True, eq=False)
class RobotMotion:
    """Postures of a robot over time.

    Attributes:
        model: the robot.
        t: times, evenly from 0 (n,) [s].
        q: configurations (n, nq).
        v: velocities (n, nv).
        torques: of the joints (n, njoints) [N m].
        commands: to the servos (n, njoints) [rad]: ahead of the joints by what the
            servos give way to the torques.
        zmp: zero-moment point of the whole motion (n, 2) [m].
        zmp_margin: its distance to the edge of the support, negative outside (n,) [m].
        plan: of the feet.
        errors: angles between limbs of the robot and the person's by name, while the
            recording lasts (m,) [rad].
        frame_time: processor time of a frame, all passes [s].
        remarks: what was changed against the person's motion, and why.
    """

    model: Model
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    torques: np.ndarray
    commands: np.ndarray
    zmp: np.ndarray
    zmp_margin: np.ndarray
    plan: FootPlan
    errors: dict[str, np.ndarray]
    frame_time: float
    remarks: tuple[str, ...]

    @property
    def period(self) -> float:
        """Between two samples [s]."""
        return float(self.t[1] - self.t[0])

    @property
    def joints(self) -> np.ndarray:
        """Joint angles (n, njoints) [rad]."""
        return self.q[:, 7:]

    @property
    def duration(self) -> float:
        """[s]."""
        return float(self.t[-1])

    @property
    def median_error(self) -> float:
        """Median angle between the limbs of robot and person, all limbs [rad]."""
        return float(np.median(np.concatenate(list(self.errors.values()))))

    @property
    def limb_errors(self) -> dict[str, float]:
        """The same of each limb, by its name [rad]."""
        return {name: float(np.median(angles)) for name, angles in self.errors.items()}

    def standing(self, side: Side) -> np.ndarray:
        """Whether a foot stands (n,)."""
        return np.array([self.plan.phase(t).swing is not side for t in self.t])


def nearest_limit(values: np.ndarray, limits: np.ndarray) -> tuple[int, int, float]:
    """Where values (n, njoints) are nearest to limits: sample, joint, share of it."""
    share = np.abs(values) / limits
    k, j = np.unravel_index(int(share.argmax()), share.shape)
    return int(k), int(j), float(share[k, j])


def rates(model: Model, period: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Velocities and accelerations by differences (n, nv); it rests at the ends."""
    n = len(q)
    v, a = np.zeros((n, model.nv)), np.zeros((n, model.nv))
    on = np.array(
        [pin.difference(model.pin, q[k], q[k + 1]) for k in range(n - 1)]
    ) / period  # fmt: skip
    v[1:-1] = 0.5 * (on[1:] + on[:-1])
    a[1:-1] = (on[1:] - on[:-1]) / period
    return v, a


_NYQUIST = 0.45
"""Cut-off over the rate from which on nothing is filtered: half of it is the limit."""


def low_pass(rows: np.ndarray, rate: float, cutoff: float) -> np.ndarray:
    """Rows over time without what is faster than a frequency [Hz], nor a delay."""
    if cutoff >= _NYQUIST * rate:
        return rows
    b, a = butter(2, 2.0 * cutoff / rate)
    flat = rows.reshape(len(rows), -1)
    smooth = filtfilt(b, a, flat, axis=0, padtype="constant",
                      padlen=min(len(rows) - 1, 30))  # fmt: skip
    return smooth.reshape(rows.shape)


class MotionStream(Controller):
    """Commands where the joints of a motion shall be one period later.

    No sensor is used: so do boards that play motions.
    It begins at a time, before which the first posture is held [s].
    """

    def __init__(self, motion: RobotMotion, start: float = 0.0) -> None:
        self._motion, self._start = motion, start
        self.period = motion.period

    def simulation_arguments(self, model: Model) -> Mapping[str, Any]:
        """Time stepping: legs on both feet slip all the time, events are countless."""
        return {"method": TIME_STEPPING}

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Joint angles for the end of the period (njoints,) [rad]."""
        return self.at(t + self._motion.period)

    def at(self, t: float) -> np.ndarray:
        """Joint angles at a time; the ends hold outside (njoints,) [rad]."""
        motion = self._motion
        place = (t - self._start) / motion.period
        place = min(max(place, 0.0), len(motion.t) - 1.0)
        k = min(int(place), len(motion.t) - 2)
        share = place - k
        rows = motion.commands
        row: np.ndarray = (1.0 - share) * rows[k] + share * rows[k + 1]
        return row
