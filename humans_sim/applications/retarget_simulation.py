# SPDX-License-Identifier: Apache-2.0
"""A planned motion tried on the simulated robot before the real one gets it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from humans_sim.actuation import Servo
from humans_sim.actuation.robots import RobotSetup
from humans_sim.applications.retarget import board_settings
from humans_sim.control.retargeting.robot_motion import MotionStream, RobotMotion
from humans_sim.control.walking.footsteps import Side
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.dynamics.controller import Controller
from humans_sim.dynamics.system import TIME_STEPPING
from humans_sim.kondo.motion.motion_file import KondoMotion
from humans_sim.kondo.motion.player import MotionPlayer
from humans_sim.kondo.motion.pose_servo import PosePlayer, PoseServo
from humans_sim.results.run import Run

REST = 0.5
"""Time that the robot stands before the motion and after it [s]."""
MOST_SLIP = 0.003
"""A foot that moves farther while it should stand has slipped [m]."""
SETTLED = 0.06
"""Time after a landing from which a foot has to stay, and before it leaves [s]."""


@dataclass(frozen=True, eq=False)
class RetargetTrial:
    """The result of a motion on a simulated robot.

    Attributes:
        run: the simulation; the motion begins after :data:`REST`.
        fallen: whether the base tilted beyond the robot's limit.
        tilt: largest tilt of the base against the plan [rad].
        slip: farthest that a foot moved over the floor while it should stand [m].
        slip_time: when, in the time of the motion [s].
        tracking: median distance of the joints to the plan, all joints [rad].
    """

    run: Run
    fallen: bool
    tilt: float
    slip: float
    slip_time: float
    slip_sole: str
    tracking: float

    @property
    def fault(self) -> str:
        """Why the motion should not be sent; empty: nothing speaks against it."""
        if self.fallen:
            return f"the simulated robot falls: it tilts by {self.tilt:.2f} rad"
        if self.slip > MOST_SLIP:
            return (
                f"{self.slip_sole} slips by {1e3 * self.slip:.1f} mm while it should "
                f"stand (at {self.slip_time:.2f} s)"
            )
        return ""


def simulate_motion(motion: RobotMotion, **changes: Any) -> RetargetTrial:
    """Let a robot's servos play a motion, without sensors, on its floor.

    The changes are arguments of the simulation instead of the robot's own.
    """
    model = motion.model
    setup = RobotSetup.of_model(model)
    stream = MotionStream(motion, REST)
    servos = setup.servos(model, command_period=stream.period)
    return _tried(motion, setup, servos, stream, changes)


def simulate_boards(
    motion: RobotMotion, poses: KondoMotion, **changes: Any
) -> RetargetTrial:
    """Let a robot's boards play the poses of a motion: whole degrees, positions alone.

    The poses are those of ``board_motion``; changes as of :func:`simulate_motion`.
    """
    model = motion.model
    player = MotionPlayer(model, poses, board_settings(model).channels, start=REST)
    setup = RobotSetup.of_model(model)
    return _tried(motion, setup, PoseServo(model), PosePlayer(player), changes)


def _tried(
    motion: RobotMotion,
    setup: RobotSetup,
    servos: Servo,
    controller: Controller,
    changes: dict[str, Any],
) -> RetargetTrial:
    model = motion.model
    simulation = setup.simulation(
        model, servos, controller, **{"method": TIME_STEPPING, **changes}
    )
    start = motion.q[0].copy()
    start[2] -= min(float(model.contact(start)[:, 2].min()), 0.0)
    run = simulation.run(
        start,
        np.zeros(model.nv),
        t_start=0.0,
        t_end=motion.duration + 2.0 * REST,
        sampling_period=motion.period,
    )
    # The run begins earlier than the motion, by REST.
    times = run.t - REST
    rows = np.clip(np.round(times / motion.period).astype(int), 0, len(motion.t) - 1)
    up = _upright(run.q) - _upright(motion.q)[rows]
    tilts = 2.0 * np.arcsin(np.clip(0.5 * np.linalg.norm(up, axis=1), 0.0, 1.0))
    tilt = float(np.nan_to_num(tilts, nan=math.pi).max())
    slip, when, sole = _slip(motion, run, times)
    inside = (times >= 0.0) & (times <= motion.duration)
    away = np.abs(run.q[inside, 7:] - motion.joints[rows[inside]])
    return RetargetTrial(
        run, tilt > setup.fall_tilt, tilt, slip, when, sole, float(np.median(away))
    )


def _upright(q: np.ndarray) -> np.ndarray:
    """The base's z axis in the world (n, 3)."""
    x, y, z, w = q[:, 3:7].T
    return np.column_stack(
        [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    )


def _slip(motion: RobotMotion, run: Run, times: np.ndarray) -> tuple[float, float, str]:
    """Farthest move of a standing foot from where it settled [m], when [s], which."""
    walk = WalkSettings.of_model(motion.model)
    worst, when, which = 0.0, 0.0, ""
    for side, sole in ((Side.LEFT, walk.left), (Side.RIGHT, walk.right)):
        for start, end in _stances(motion, side):
            rows = np.flatnonzero((times >= start) & (times <= end))
            if len(rows) < 2:
                continue
            places = np.array(
                [motion.model.frame_pose(run.q[k], sole).translation[:2] for k in rows]
            )
            away = np.linalg.norm(places - places[0], axis=1)
            k = int(away.argmax())
            if away[k] > worst:
                worst, when, which = float(away[k]), float(times[rows[k]]), sole
    return worst, when, which


def _stances(motion: RobotMotion, side: Side) -> list[tuple[float, float]]:
    """From when to when a foot has to stay, by the plan [s]."""
    stances: list[tuple[float, float]] = []
    start: float | None = -REST
    for phase in motion.plan.phases:
        if phase.swing is side:
            if start is not None:
                stances.append((start, phase.start - SETTLED))
            start = phase.end + SETTLED
    if start is not None:
        stances.append((start, motion.duration + REST))
    return stances
