# SPDX-License-Identifier: Apache-2.0
r"""Bip's task function, its inverse and one step (manual section 8.1, table 8.1).

In HuMAnS coordinates q (21), with the centre of mass G, tags by their numbers, P the
pelvis frame (frame 6 of the Denavit-Hartenberg table: x right, y down, z forward), RF
and LF the feet's frames (12 and 19: x down, y left, z forward):

======  ===================================================  ==========================
row     value                                                meaning
======  ===================================================  ==========================
1..3    :math:`z_G - z_5,\; y_5 - y_G,\; x_G - x_5` in P     G from the right ankle,
                                                             along the pelvis: forward,
                                                             up, right [m]
4..6    :math:`z_G - z_{10},\; y_{10} - y_G,\;               the same from the left
        x_G - x_{10}` in P                                   ankle
7..9    :math:`x_{16} - x_{17},\; z_{17} - z_{16},\;         trunk seen from the right
        z_{18} - z_{16}` in RF                               foot: roll to the right,
                                                             yaw to the right, pitch
                                                             forward, as lengths [m]
10..12  the same in LF                                       trunk seen from the left
                                                             foot
13..21  :math:`q_{13} \dots q_{21}`                          trunk joints and base
======  ===================================================  ==========================

Tags 16 and 17 are the trunk's right and left, 22 cm apart; tag 18 is 66 cm above tag
16. Row 7 is 0.22 m times the sine of the trunk's roll, row 8 that of its yaw, row 9
0.66 m times the sine of its pitch. "z18 - x16", printed for the third entry of rows
7..12, is read as z18 - z16.

Where the trunk is pitched by 90 degrees from a foot, or a leg is straight, the Jacobian
is singular and rows 1..12 cannot be followed in every direction.

*One step* as a trajectory of the task function. The manual's
OneStepTrajectoryGeneration: the robot stands, shifts its weight over the right foot,
carries the left foot forward, puts it down, and shifts its weight to the middle. Trunk
and pelvis stay upright, feet stay level. In the task space both feet are seen from the
centre of mass, so that a straight line there keeps the feet where they are to each
other. The rows of the base are interpolated as well, and not quite along with them: in
the middle of the swing the planned place of the standing foot is 4 mm off, where it
lands and in double support 0.1 mm. The ground takes the difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.control.bip.task_kernels import (
    ROWS,
    SIDES,
    BipTree,
    Legs,
    Tolerances,
    invert,
    task_drift,
    task_rows,
)
from humans_sim.control.trajectories.trajectory import ContactPhase, Trajectory
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.models import Model
from humans_sim.models.points import frame_index

_ANKLES = ("r_ankle", "l_ankle")
_TRUNK = ("trunk_right", "trunk_left", "trunk_top_right")
_FEET = ("r_foot", "l_foot")
_DOWN, _FORWARD = np.array([0.0, 0.0, -1.0]), np.array([1.0, 0.0, 0.0])
"""Axes x and z of the frames 12 and 19, on the axes of the feet's links."""
_JOINTS = 15


class BipTask:
    """TaskFunction, TaskJacobian and TaskNLEffects of the manual.

    Attributes:
        model: Bip.
        size: number of rows and of HuMAnS coordinates (21).
        names: of the rows.
        tree: what the compiled kinematics needs.
    """

    def __init__(self, model: Model) -> None:
        missing = [tag for tag in (*_ANKLES, *_TRUNK) if tag not in model.tag_names]
        missing += [foot for foot in _FEET if not model.pin.existFrame(foot)]
        if missing or len(model.joint_names) != _JOINTS:
            raise ParameterError(
                f"the task function of table 8.1 is Bip's; {model.name} has "
                + (f"no '{missing[0]}'" if missing else "other joints")
            )
        self.model = model
        self.size = model.nv
        self.names = (
            *(f"com_{way}_from_{ankle}" for ankle in _ANKLES for way in _WAYS),
            *(f"trunk_{turn}_from_{foot}" for foot in _FEET for turn in _TURNS),
            *model.humans.coordinate_names[ROWS:],
        )
        self.tree = _tree(model)

    def value(self, q_h: np.ndarray) -> np.ndarray:
        """Position in the task space Q(q) (21,)."""
        q_h = self._checked(q_h, "q")
        value = q_h.copy()
        task_rows(self.tree, q_h, value, np.empty((ROWS, _JOINTS)))
        return value

    def jacobian(self, q_h: np.ndarray) -> np.ndarray:
        """H(q) = dQ/dq (21, 21)."""
        q_h = self._checked(q_h, "q")
        rows, jacobian = np.empty((ROWS, _JOINTS)), np.eye(self.size)
        task_rows(self.tree, q_h, np.empty(ROWS), rows)
        jacobian[:ROWS, :_JOINTS] = rows
        return jacobian

    def drift(self, q_h: np.ndarray, qdot_h: np.ndarray) -> np.ndarray:
        """h(q, qdot), the second derivative of Q at zero acceleration (21,)."""
        q_h, qdot_h = self._checked(q_h, "q"), self._checked(qdot_h, "qdot")
        drift = np.zeros(self.size)
        task_drift(self.tree, q_h, qdot_h, drift)
        return drift

    def _checked(self, vector: np.ndarray, name: str) -> np.ndarray:
        vector = np.ascontiguousarray(self.model.humans.sized(vector, name))
        if not np.isfinite(vector).all():
            raise ConfigurationError(f"an entry of {name} is not a finite number")
        return vector


_WAYS = ("forward", "up", "right")
_TURNS = ("roll", "yaw", "pitch")


def _tree(model: Model) -> BipTree:
    """Read the geometry from the pinocchio model; joint 1 there is the base."""
    joints = range(2, model.pin.njoints)
    order = model.humans.coordinate_names
    # The axis of a joint is how it turns its body by one radian.
    data, q = model.data(), pin.neutral(model.pin)
    q[7:] = 1.0
    pin.forwardKinematics(model.pin, data, q)
    placements = [model.pin.jointPlacements[j] for j in joints]
    axes = [
        pin.log3(at.rotation.T @ data.liMi[j].rotation)
        for j, at in zip(joints, placements, strict=True)
    ]
    parent = np.array([model.pin.parents[j] - 1 for j in joints])
    above = np.zeros((len(parent), len(parent) + 1), dtype=bool)
    for i, j in enumerate(joints):
        above[:, i + 1] = above[:, model.pin.parents[j] - 1]
        above[i, i + 1] = True
    inertias = [model.pin.inertias[j] for j in (1, *joints)]
    ankles, trunk = model.tag_points(_ANKLES), model.tag_points(_TRUNK)
    feet = [model.pin.frames[frame_index(model.pin, foot)] for foot in _FEET]
    right, left, top = trunk.local
    return BipTree(
        parent=parent,
        place=np.array([order.index(model.pin.names[j]) for j in joints]),
        rotation=np.array([at.rotation for at in placements]),
        shift=np.array([at.translation for at in placements]),
        axis=np.array(axes),
        share=np.array([inertia.mass for inertia in inertias]) / model.mass,
        lever=np.array([inertia.lever for inertia in inertias]),
        ankle_body=np.array([ankles.joints[row] - 1 for row in ankles.row]),
        ankle=np.ascontiguousarray(ankles.local),
        foot_body=np.array([foot.parentJoint - 1 for foot in feet]),
        down=np.array([foot.placement.rotation @ _DOWN for foot in feet]),
        forward=np.array([foot.placement.rotation @ _FORWARD for foot in feet]),
        trunk_body=trunk.joints[0] - 1,
        across=right - left,
        along=top - right,
        above=above,
    )


TOLERANCE = 1e-13
"""Largest residual at which the iteration ends [m] (assumed)."""
ACCEPTED = 1e-10
"""Largest residual of a solution [m] (assumed)."""
LIMIT_SLACK = 1e-5
"""Angle beyond a limit that still counts as inside [rad] (assumed)."""
_TOLERANCES = Tolerances(TOLERANCE, ACCEPTED, LIMIT_SLACK)

_LEG = (
    ("hip_roll", (1.0, 0.0, 0.0)),
    ("hip_yaw", (0.0, 0.0, 1.0)),
    ("hip_pitch", (0.0, 1.0, 0.0)),
    ("knee", (0.0, 1.0, 0.0)),
    ("ankle_pitch", (0.0, 1.0, 0.0)),
    ("ankle_roll", (1.0, 0.0, 0.0)),
)
"""Joints of a leg from the hip down, and the axes they turn about."""


class UnreachableError(HumansError, ValueError):
    """No posture has this position in the task space; the nearest one was found."""

    def __init__(self, solution: InverseSolution) -> None:
        self.solution = solution
        super().__init__(
            f"{solution.reason}; the nearest posture found misses the target by "
            f"{solution.residual:.3g} m"
        )


@dataclass(frozen=True)
class InverseSolution:
    """A posture for a target.

    Attributes:
        q_h: HuMAnS coordinates (21,).
        residual: largest difference between the task function at q_h and the target.
        converged: whether q_h is an answer: the residual is below 1e-10.
        within_limits: whether the 12 joints of the legs are inside their limits.
        iterations: steps of Newton's method taken in all.
        reason: why there is no answer, or what is to be known of it; may be empty.
    """

    q_h: np.ndarray
    residual: float
    converged: bool
    within_limits: bool
    iterations: int
    reason: str


class InverseTaskFunction:
    """Finds q with TaskFunction(q) = target.

    Rows 13..21 are coordinates themselves; the 12 joints of the legs are sought, by the
    method of :mod:`humans_sim.control.bip.task_kernels`. Several postures may have
    the same task value; the one inside the joint limits is preferred.
    """

    def __init__(self, task: BipTask) -> None:
        self.task = task
        self._legs = _legs(task)

    def solve(
        self, target: np.ndarray, start: np.ndarray | None = None
    ) -> InverseSolution:
        """The posture of a target, or the nearest one found.

        With a start (21,) an answer inside the limits that follows from it is taken;
        any answer will do without it.
        """
        target = self._sized(target, "a task position")
        begin = target if start is None else self._sized(start, "a start")
        q, residual, beyond, steps, twisted, far = invert(
            self.task.tree, self._legs, target, begin, start is not None, _TOLERANCES
        )
        converged, inside = residual < ACCEPTED, beyond <= LIMIT_SLACK
        if converged:
            reason = "" if inside else "the posture is beyond the joint limits"
        elif twisted > 1e-9:
            reason = "no orientation of the feet has rows 7..12 of the target"
        elif far > 1e-9:
            reason = "the legs are too short for rows 1..6 of the target"
        else:
            reason = "no posture was found for rows 1..12 of the target"
        return InverseSolution(q, residual, converged, inside, steps, reason)

    def posture(
        self, target: np.ndarray, start: np.ndarray | None = None
    ) -> np.ndarray:
        """The HuMAnS coordinates of a target (21,); UnreachableError: none has it."""
        solution = self.solve(target, start)
        if not solution.converged:
            raise UnreachableError(solution)
        return solution.q_h

    def _sized(self, vector: np.ndarray, name: str) -> np.ndarray:
        vector = np.ascontiguousarray(vector, dtype=float)
        if vector.shape != (self.task.size,) or not np.isfinite(vector).all():
            raise ConfigurationError(
                f"{name} has {self.task.size} finite entries; this has shape "
                f"{vector.shape}"
            )
        return vector


def inverse_task(
    task: BipTask, target: np.ndarray, start: np.ndarray | None = None
) -> InverseSolution:
    """The posture of one target; for many, keep an :class:`InverseTaskFunction`."""
    return InverseTaskFunction(task).solve(target, start)


def _legs(task: BipTask) -> Legs:
    """Read the legs from the model; refuse those the closed form does not hold for."""
    model, tree = task.model, task.tree
    order = model.humans.coordinate_names
    by_place = {int(place): i for i, place in enumerate(tree.place)}
    place, sign = np.empty((SIDES, 6), dtype=int), np.empty((SIDES, 6))
    shifts = np.empty((SIDES, 6, 3))
    sound = np.allclose(tree.rotation, np.eye(3), atol=1e-12)
    for side, letter in enumerate("rl"):
        for k, (name, axis) in enumerate(_LEG):
            place[side, k] = order.index(f"{letter}_{name}")
            i = by_place[int(place[side, k])]
            sign[side, k] = np.sign(tree.axis[i] @ np.array(axis))
            sound &= np.allclose(tree.axis[i], sign[side, k] * np.array(axis))
            shifts[side, k] = tree.shift[i]
    sound &= np.allclose(shifts[:, (1, 2, 5)], 0.0, atol=1e-12)
    sound &= np.allclose(shifts[:, (3, 4), :2], 0.0, atol=1e-12)
    sound &= np.allclose(tree.ankle, 0.0, atol=1e-12)
    across, along = tree.across, tree.along
    lengths = np.array([np.linalg.norm(across), np.linalg.norm(along)])
    trunk = np.column_stack([across, along, np.cross(across, along)])
    trunk /= np.array([*lengths, lengths.prod()])
    sound &= np.allclose(trunk.T @ trunk, np.eye(3), atol=1e-12)
    if not sound:
        raise ParameterError(
            f"the legs of {model.name} are not Bip's: hip axes that meet in one point, "
            "parallel knee and ankle, ankle axes that meet"
        )
    joints = [model.joint_names.index(name) for name in order[:ROWS]]
    return Legs(
        place=place,
        sign=sign,
        hip=np.ascontiguousarray(shifts[:, 0]),
        thigh=-shifts[:, 3, 2],
        shank=-shifts[:, 4, 2],
        lower=np.array(model.lower_limits[joints]),
        upper=np.array(model.upper_limits[joints]),
        trunk=trunk,
        reach=lengths,
    )


@dataclass(frozen=True)
class StepShape:
    """The shape of a step (all assumed) [m, s].

    Attributes:
        length: path of the left foot.
        lift: height of the left foot in the middle of its path.
        crouch: how much lower than with straight legs the centre of mass is.
        forward: centre of mass ahead of the ankles, when standing.
        inward: centre of mass inward of the right ankle, in single support.
        shift: time to shift the weight.
        load: time for a foot to take or give its load.
        swing: time of the foot in the air.
        rest: time to stand at the start.
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
        """The task position with the ankles and the centre of mass here [m] (21,)."""
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
    # Left ankle, centre of mass: in the middle of each phase, and at its end.
    legs = [
        ((left, middle), (left, middle), ContactPhase.DOUBLE, shape.rest),
        ((left, 0.5 * (middle + over)), (left, over), ContactPhase.DOUBLE, shape.shift),
        ((left, over), (left, over), ContactPhase.TRANSITION, shape.load),
        ((air, over), (landed, over), ContactPhase.RIGHT_FOOT, shape.swing),
        ((landed, over), (landed, over), ContactPhase.TRANSITION, shape.load),
        (
            (landed, 0.5 * (over + last)),
            (landed, last),
            ContactPhase.DOUBLE,
            shape.shift,
        ),
    ]
    rows = [poses.position(right, left, middle)]
    for between, end, _, _ in legs:
        rows += [poses.position(right, *between), poses.position(right, *end)]
    times = np.cumsum([0.0, *(duration for *_, duration in legs)])
    return Trajectory(np.array(rows), list(times), [phase for *_, phase, _ in legs])


def start_of(task: BipTask, trajectory: Trajectory) -> np.ndarray:
    """The configuration at the start of a trajectory (nq,)."""
    return BipPoses(task).configuration(trajectory.positions[0])
