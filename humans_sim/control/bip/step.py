# SPDX-License-Identifier: Apache-2.0
"""One step of Bip as a trajectory of its task function.

The manual's OneStepTrajectoryGeneration: the robot stands, shifts its weight over the
right foot, carries the left foot forward, puts it down, and shifts its weight to the
middle. Trunk and pelvis stay upright, feet stay level. In the task space both feet are
seen from the centre of mass, so that a straight line there keeps the feet where they
are to each other. The rows of the base are interpolated as well, and not quite along
with them: in the middle of the swing the wanted place of the standing foot is 4 mm off,
where it lands and in double support 0.1 mm. The ground takes the difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.control.bip.inverse_task import InverseTaskFunction
from humans_sim.control.bip.task import BipTask
from humans_sim.control.trajectories.trajectory import ContactPhase, Trajectory
from humans_sim.core.errors import ParameterError


@dataclass(frozen=True)
class StepShape:
    """What a step looks like (all assumed).

    Attributes:
        length: path of the left foot [m].
        lift: height of the left foot in the middle of its path [m].
        crouch: how much lower than with straight legs the centre of mass is [m].
        forward: centre of mass ahead of the ankles, when standing [m].
        inward: centre of mass inward of the right ankle, in single support [m].
        shift: time to shift the weight [s].
        load: time for a foot to take or give its load [s].
        swing: time of the foot in the air [s].
        rest: time to stand at the start [s].
    """

    length: float = 0.2
    lift: float = 0.05
    crouch: float = 0.04
    forward: float = 0.02
    inward: float = 0.03
    shift: float = 1.5
    load: float = 0.4
    swing: float = 1.4
    rest: float = 0.2

    def __post_init__(self) -> None:
        """Refuse what is no step."""
        for name in ("lift", "crouch", "shift", "load", "swing", "rest"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ParameterError(f"{name} of a step must be above zero: {value}")


class BipPoses:
    """Positions of Bip in its task space, from feet and centre of mass.

    The trunk and the pelvis are upright, the feet level and straight ahead.
    """

    def __init__(self, task: BipTask) -> None:
        """Take the robot's upright posture as the measure."""
        self._task, model = task, task.model
        self._inverse = InverseTaskFunction(task)
        tags = model.tags(model.neutral())
        names = list(model.tag_names)
        self.ankles = {
            side: tags[names.index(f"{side}_ankle")] - [0.0, 0.0, tags[:, 2].min()]
            for side in "rl"
        }
        self.height = float(model.com(model.neutral())[2] - tags[:, 2].min())
        self._upright = task.value(model.humans.from_pin(model.neutral())[0])

    def position(
        self, right: np.ndarray, left: np.ndarray, com: np.ndarray
    ) -> np.ndarray:
        """The task position with the ankles and the centre of mass here [m] (21,).

        Raises:
            UnreachableError: the legs do not reach.
        """
        target = self._upright.copy()
        for first, ankle in ((0, right), (3, left)):
            forward, across, up = com - ankle
            target[first : first + 3] = forward, up, -across
        target[12:] = 0.0
        q_h = self._inverse.posture(target)
        # The base where it brings the centre of mass to its place.
        model = self._task.model
        q = model.humans.to_pin(q_h)[0]
        q[:3] += com - model.com(q)
        return self._task.value(model.humans.from_pin(q)[0])

    def configuration(self, position: np.ndarray) -> np.ndarray:
        """The configuration of a task position (nq,)."""
        return self._task.model.humans.to_pin(self._inverse.posture(position))[0]


def standing(task: BipTask, shape: StepShape | None = None) -> np.ndarray:
    """The task position in which Bip stands on both feet (21,)."""
    shape = StepShape() if shape is None else shape
    poses = BipPoses(task)
    right, left = poses.ankles["r"], poses.ankles["l"]
    return poses.position(right, left, _above(0.5 * (right + left), poses, shape))


def _above(ankles: np.ndarray, poses: BipPoses, shape: StepShape) -> np.ndarray:
    """The centre of mass above a point between the ankles."""
    return np.array([ankles[0] + shape.forward, ankles[1], poses.height - shape.crouch])


def one_step(task: BipTask, shape: StepShape | None = None) -> Trajectory:
    """The trajectory of one step of the left foot, from standing to standing.

    Args:
        task: the task function of Bip.
        shape: what the step looks like.
    """
    shape = StepShape() if shape is None else shape
    poses = BipPoses(task)
    right, left = poses.ankles["r"], poses.ankles["l"]
    landed = left + [shape.length, 0.0, 0.0]
    middle = _above(0.5 * (right + left), poses, shape)
    over = _above(right + [0.0, shape.inward, 0.0], poses, shape)
    last = _above(0.5 * (right + landed), poses, shape)
    air = 0.5 * (left + landed) + [0.0, 0.0, shape.lift]
    # Stable and intermediate positions: left ankle, centre of mass; phase; duration.
    legs = [
        ((left, middle), ContactPhase.DOUBLE, shape.rest),
        ((left, 0.5 * (middle + over)), ContactPhase.DOUBLE, shape.shift),
        ((left, over), ContactPhase.TRANSITION, shape.load),
        ((air, over), ContactPhase.RIGHT_FOOT, shape.swing),
        ((landed, over), ContactPhase.TRANSITION, shape.load),
        ((landed, 0.5 * (over + last)), ContactPhase.DOUBLE, shape.shift),
    ]
    stable = [
        (left, middle),
        (left, middle),
        (left, over),
        (left, over),
        (landed, over),
        (landed, over),
        (landed, last),
    ]
    rows = [poses.position(right, *stable[0])]
    for (between, _, _), end in zip(legs, stable[1:], strict=True):
        rows += [poses.position(right, *between), poses.position(right, *end)]
    times = np.cumsum([0.0, *(duration for _, _, duration in legs)])
    return Trajectory(np.array(rows), list(times), [phase for _, phase, _ in legs])


def start_of(task: BipTask, trajectory: Trajectory) -> np.ndarray:
    """The configuration at the start of a trajectory (nq,)."""
    return BipPoses(task).configuration(trajectory.positions[0])
