# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a biped: from feet, centre of mass and base attitude.

The unknowns are the position of the base and the joints of the legs; the other joints
stay. A leg of six joints puts its sole into any pose. One without a yaw joint cannot
turn its sole: on an upright base a flat sole has the heading of the base, and the row
of the sole's yaw is left out. One without a roll joint in its ankle leans with its
foot, and the row of the sole's roll is left out.

Also arms that swing against the legs, and a foot at one time of a walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.task.task_functions import CentreOfMass, FramePose, Stacked
from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.walking.posture_kernels import (
    LONGEST,
    STEPS,
    PostureTask,
    posture_rates,
    search_posture,
)
from humans_sim.control.walking.sole_legs import (
    HIP_YAW,
    SLIP,
    SolePairNames,
    sole_legs,
)
from humans_sim.core.settings import SettingError
from humans_sim.dynamics.pair_contacts import moved_velocities
from humans_sim.dynamics.tree_kernels import tree_table
from humans_sim.models import Model
from humans_sim.models.legs import PITCH, axis_kind, chain
from humans_sim.models.points import frame_index


class FootMotion(NamedTuple):
    """A foot at one time: its sole frame in the world, and its velocity there (6,).

    The velocity is linear, then angular; the yaw is not wrapped [rad].
    """

    pose: pin.SE3
    velocity: np.ndarray
    yaw: float


_BESIDE = 0.05
"""Of the leg's length: shoulders are farther from the middle than this."""


@dataclass(frozen=True)
class Shoulders:
    """The pitch joints of the left and the right shoulder.

    Attributes:
        joints: places in ``model.joint_names`` (2,).
        along: y of their axes: a positive turn about y swings an arm back (2,).
    """

    joints: np.ndarray
    along: np.ndarray


def find_shoulders(
    model: Model, legs: Sequence[int], length: float
) -> Shoulders | None:
    """The first pitch joint of each arm; None where there are not just two of them.

    Legs are given by the places of their joints, and their length [m].
    """
    data = model.data()
    pin.computeJointJacobians(model.pin, data, model.neutral())
    base = data.oMi[1]
    found: dict[int, list[tuple[int, float]]] = {1: [], -1: []}
    chosen: set[int] = set()
    for joint in range(2, model.pin.njoints):
        place = joint - 2
        if place in legs or chosen & set(chain(model, joint)):
            continue
        axis = base.rotation.T @ data.J[3:, model.pin.joints[joint].idx_v]
        aside = float(base.actInv(data.oMi[joint].translation)[1])
        if axis_kind(axis) != PITCH or abs(aside) < _BESIDE * length:
            continue
        found[1 if aside > 0 else -1].append((place, float(axis[1])))
        chosen.add(joint)
    if len(found[1]) != 1 or len(found[-1]) != 1:
        return None
    pairs = [found[1][0], found[-1][0]]
    return Shoulders(
        np.array([place for place, _ in pairs]), np.array([y for _, y in pairs])
    )


class ArmSwing:
    """Angles of the shoulders that belong to the places of the feet.

    The shoulders are at ``rest`` while it stands (2,) [rad], and swing by a gain with
    the distance of the feet along the heading [rad/m].

    Attributes:
        columns: velocities of the shoulders (2,).
    """

    def __init__(
        self, model: Model, shoulders: Shoulders, rest: np.ndarray, gain: float
    ) -> None:
        self._places = 7 + shoulders.joints
        self.columns = 6 + shoulders.joints
        # The left arm goes forwards with the right foot.
        self._slope = -gain * np.array([1.0, -1.0]) / shoulders.along
        self._rest = rest
        self._low = model.lower_limits[shoulders.joints]
        self._high = model.upper_limits[shoulders.joints]

    def put(
        self, q: np.ndarray, left: pin.SE3, right: pin.SE3, attitude: np.ndarray
    ) -> None:
        """Turn the shoulders of a configuration."""
        ahead = float((right.translation - left.translation) @ attitude[:, 0])
        angles = self._rest + self._slope * ahead
        q[self._places] = np.clip(angles, self._low, self._high)

    def rates(self, q: np.ndarray, left: FootMotion, right: FootMotion) -> np.ndarray:
        """Speeds of the shoulders (2,) [rad/s]."""
        heading = pin.Quaternion(q[3:7]).matrix()[:, 0]
        pace = float((right.velocity[:3] - left.velocity[:3]) @ heading)
        angles = q[self._places]
        free = (angles > self._low) & (angles < self._high)
        return np.where(free, self._slope * pace, 0.0)


_CLOSE, _GOOD = 1e-10, 1e-4
"""Error at which a search ends, and the largest that is good [m, rad]: a search that
the ends of joints do not stop ends at the former, and contacts see a sole of any size
that is farther off than the latter."""
_DAMPING = 1e-10
"""Of least squares, where a leg is (almost) straight."""
_LEAST_RANGE = 0.25
"""Of a joint's range, that is left out at each end at most."""
_LEG_JOINTS = {HIP_YAW: 6, SLIP: 5}
"""That put a sole as a walk wants it; one less where the ankle does not roll."""
_UPRIGHT = np.array([np.eye(3), np.eye(3)])


class ReachError(ControlError):
    """Legs do not reach a step.

    Attributes:
        joints: those at the ends of their ranges.
        nearest: configuration as near as was found (nq,).
        missing: largest error that is left there [m, rad].
    """

    def __init__(
        self, message: str, joints: tuple[str, ...], nearest: np.ndarray, missing: float
    ) -> None:
        super().__init__(message)
        self.joints, self.nearest, self.missing = joints, nearest, missing


class WalkKinematics:
    """From feet and centre of mass to joints, by damped Newton steps within limits.

    Args:
        model: the biped.
        settings: its soles, and how it turns.
        room: that joints leave to the ends of their ranges [rad].
        arms: that swing with the feet, if any.

    Raises:
        SettingError: the legs cannot move as the settings say.
    """

    def __init__(
        self,
        model: Model,
        settings: SolePairNames,
        room: float = 0.0,
        arms: ArmSwing | None = None,
    ) -> None:
        self.model = model
        soles = (settings.left, settings.right)
        self._task = Stacked(
            [CentreOfMass(model), *(FramePose(model, sole) for sole in soles)]
        )
        self._frames = [frame_index(model.pin, sole) for sole in soles]
        found = sole_legs(model, *soles)
        legs = [list(leg.joints) for leg in found]
        self._rolls = all(leg.rolls_ankle for leg in found)
        needed = _LEG_JOINTS[settings.turns] - (not self._rolls)
        for sole, leg in zip(soles, legs, strict=True):
            if len(leg) < needed:
                raise SettingError(
                    "turns",
                    f"{settings.turns} needs {needed} joints between the base and "
                    f"{sole}, {model.name} has {len(leg)}",
                )
        self.legs = np.array(sorted(legs[0] + legs[1]))
        low, high = model.lower_limits[self.legs], model.upper_limits[self.legs]
        room = np.minimum(room, _LEAST_RANGE * (high - low))
        self._low, self._high = low + room, high - room
        self._columns = np.r_[0:3, 6 + self.legs]
        left_out = [8, 14] if settings.turns == SLIP else []
        left_out += [] if self._rolls else [6, 12]
        self._rows = np.setdiff1d(np.arange(self._task.size), left_out)
        self._places = np.ix_(self._rows, self._columns)
        self._damping = _DAMPING * np.eye(len(self._columns))
        none = np.zeros(0, dtype=np.int64)
        table = tree_table(model.pin, np.zeros(model.nv), None, none)
        self._tree = None if table is None else tuple(table)
        self._posture = self._posture_task()
        self._arms, spin = arms, np.arange(3, 6)
        self._known = spin if arms is None else np.r_[spin, arms.columns]

    def _posture_task(self) -> tuple[np.ndarray, ...]:
        """The task as kernels take it: fields of a :class:`PostureTask`."""
        soles = [self.model.pin.frames[frame] for frame in self._frames]
        return tuple(
            PostureTask(
                links=np.array([sole.parentJoint - 1 for sole in soles]),
                turn=np.array([sole.placement.rotation for sole in soles]),
                place=np.array([sole.placement.translation for sole in soles]),
                moves=np.array(
                    [moved_velocities(self.model.pin, s.parentJoint) for s in soles]
                ),
                rows=self._rows,
                columns=self._columns,
                low=self._low,
                high=self._high,
            )
        )

    def solve(
        self,
        guess: np.ndarray,
        com: np.ndarray,
        left: pin.SE3,
        right: pin.SE3,
        attitude: np.ndarray,
    ) -> np.ndarray:
        """The configuration near a guess; joints of legs stay within their limits.

        Joints outside the legs are kept, but for arms that swing. The centre of mass
        (3,) [m], the soles' poses and the base's rotation (3, 3) are in the world.

        Raises:
            ControlError: the legs do not reach that far.
        """
        q = np.array(guess, dtype=float)
        q[3:7] = pin.Quaternion(attitude).coeffs()
        if self._arms is not None:
            self._arms.put(q, left, right, attitude)
        if self._tree is not None:
            trial = q.copy()
            target = self._target(np.asarray(com, dtype=float), left, right)
            worst = search_posture(
                self._tree, self._posture, target, trial, _DAMPING, _CLOSE
            )
            if worst < _GOOD:
                return trial
        return self._search(q, com, left, right, attitude)

    def _target(
        self, com: np.ndarray, left: pin.SE3, right: pin.SE3
    ) -> tuple[np.ndarray, ...]:
        """The target as kernels take it."""
        poses = np.array((left.homogeneous, right.homogeneous))
        return com, poses, self._axes(left, right)

    def _axes(self, left: pin.SE3, right: pin.SE3) -> np.ndarray:
        """Axes along which turns of the soles are looked at, as columns (2, 3, 3)."""
        if self._rolls:
            return _UPRIGHT
        return np.array([left.rotation, right.rotation])

    def _search(
        self,
        q: np.ndarray,
        com: np.ndarray,
        left: pin.SE3,
        right: pin.SE3,
        attitude: np.ndarray,
    ) -> np.ndarray:
        """The same for any joints, with words where it fails; changes ``q``."""
        tree, data = self.model.pin, self.model.buffers
        targets = [(pose.translation, pose.rotation) for pose in (left, right)]
        error = np.empty(self._task.size)
        axes = self._axes(left, right)
        joints = 7 + self.legs
        worst = np.inf
        for _ in range(STEPS):
            pin.computeJointJacobians(tree, data, q)
            # As the task's own difference, without rotation vectors in between.
            error[:3] = com - pin.centerOfMass(tree, data, pin.POSITION, False)
            for k, (place, turn) in enumerate(targets):
                pose = pin.updateFramePlacement(tree, data, self._frames[k])
                error[3 + 6 * k : 6 + 6 * k] = place - pose.translation
                away = pin.log3(turn @ pose.rotation.T)
                error[6 + 6 * k : 9 + 6 * k] = axes[k].T @ away
            missing = error[self._rows]
            worst = float(np.abs(missing).max())
            if worst < _CLOSE:
                return q
            step = self._damped(
                _looked_at(self._task.read_jacobian(data), axes), missing
            )
            step *= min(1.0, LONGEST / float(np.abs(step).max()))
            q[:3] += attitude @ step[:3]
            q[joints] = np.clip(q[joints] + step[3:], self._low, self._high)
        if worst < _GOOD:
            return q
        stuck = (q[joints] <= self._low) | (q[joints] >= self._high)
        names = [self.model.joint_names[j] for j in self.legs[stuck]]
        at = f"; at their limits: {', '.join(names)}" if names else ""
        raise ReachError(
            f"{self.model.name} does not reach this step: {worst:.3g} are missing{at}",
            tuple(names),
            q,
            worst,
        )

    def rates(
        self,
        q: np.ndarray,
        com_velocity: np.ndarray,
        left: FootMotion,
        right: FootMotion,
        spin: np.ndarray,
    ) -> np.ndarray:
        """The velocity (nv,) that belongs to a configuration of :meth:`solve`.

        The spin is the angular velocity of the base in its own axes (3,) [rad/s].
        """
        given = spin
        if self._arms is not None:
            given = np.concatenate([spin, self._arms.rates(q, left, right)])
        rates = np.empty(15)
        rates[:3], rates[3:9], rates[9:] = com_velocity, left.velocity, right.velocity
        if self._tree is not None:
            target = self._target(np.zeros(3), left.pose, right.pose)
            motion = (rates, self._known, given)
            v = posture_rates(self._tree, self._posture, target, q, _DAMPING, motion)
            if np.isfinite(v[0]):
                return v
        data = self.model.buffers
        pin.computeJointJacobians(self.model.pin, data, q)
        axes = self._axes(left.pose, right.pose)
        jacobian = _looked_at(self._task.read_jacobian(data), axes)
        for k in range(2):
            turning = slice(6 + 6 * k, 9 + 6 * k)
            rates[turning] = axes[k].T @ rates[turning]
        rates -= jacobian[:, self._known] @ given
        v = np.zeros(self.model.nv)
        v[self._known] = given
        v[self._columns] = self._damped(jacobian, rates[self._rows])
        return v

    def _damped(self, jacobian: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Damped least squares."""
        rows = jacobian[self._places]
        return np.linalg.solve(rows.T @ rows + self._damping, rows.T @ rates)


def _looked_at(jacobian: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Rows of the soles' turns along other axes than the world's."""
    if axes is _UPRIGHT:
        return jacobian
    turned = jacobian.copy()
    for k in range(2):
        rows = slice(6 + 6 * k, 9 + 6 * k)
        turned[rows] = axes[k].T @ jacobian[rows]
    return turned
