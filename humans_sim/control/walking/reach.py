# SPDX-License-Identifier: Apache-2.0
"""How far the legs of a robot step: inverse kinematics within the joints' ranges.

A step is looked at in the postures that a walk goes through: both feet down with the
centre of mass on its way from one to the other, and the swing foot in the air half way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.walking.whole_body_ik import ReachError, WalkKinematics
from humans_sim.models import Model

SHARES = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1)
"""Of a wanted length, that are tried in turn."""
ROOM = 0.02
"""That joints leave to the ends of their ranges, for balance [rad]."""
_ON_ITS_WAY = ((0.35, 0.35), (0.5, 0.5), (0.65, 0.65))
"""Shares of the way between the feet, of the centre of mass: along and across. On one
foot a pendulum with steps of 2.6 time constants sways to a quarter, on both to more."""
_SINGLE = (0.25, 0.25)


class _Soles(NamedTuple):
    left: str
    right: str
    turns: str


class Step(NamedTuple):
    """A step of one foot beside the other.

    Attributes:
        forward: [m].
        aside: outwards, beyond the stance [m].
        turn: outwards [rad].
    """

    forward: float = 0.0
    aside: float = 0.0
    turn: float = 0.0

    def share(self, part: float) -> Step:
        """A shorter step."""
        return Step(part * self.forward, part * self.aside, part * self.turn)


class Reach:
    """Steps of one robot in one posture.

    Args:
        model: the robot.
        soles: frames of the left and the right sole.
        turns: how it turns.
        standing: configuration in which it stands.
        height: of the centre of mass [m].
        stance: distance of the soles [m].
        forward: of the centre of mass before the soles [m].
    """

    def __init__(
        self,
        model: Model,
        soles: tuple[str, str],
        turns: str,
        standing: np.ndarray,
        height: float,
        stance: float,
        forward: float,
    ) -> None:
        """Nothing is tried yet."""
        self._kinematics = WalkKinematics(model, _Soles(*soles, turns), ROOM)
        self._standing, self._height = standing, height
        self._stance, self._forward = stance, forward

    def longest(self, wanted: Step, lift: float) -> tuple[float, tuple[str, ...]]:
        """The largest share of a step that both legs reach, and what blocks more.

        Args:
            wanted: the step.
            lift: of the foot half way [m].

        Returns:
            One of :data:`SHARES`, or zero; joints at their limits in the first longer
            one that was tried.
        """
        blocked: tuple[str, ...] = ()
        for share in SHARES:
            joints = self._blocking(wanted.share(share), lift)
            if joints is None:
                return share, blocked
            blocked = joints
        return 0.0, blocked

    def stands(self) -> bool:
        """Whether it reaches the ground in the middle of its feet."""
        return self._blocking(Step(), 0.0) is None

    def _blocking(self, step: Step, lift: float) -> tuple[str, ...] | None:
        """Joints at their limits somewhere in a step of either foot; None: reached."""
        guess = self._standing
        try:
            for side in (1.0, -1.0):
                for along, across in _ON_ITS_WAY:
                    self._solve(guess, step, side, 0.0, (along, across))
                self._solve(guess, step.share(0.5), side, lift, _SINGLE)
                if lift:
                    self._solve(guess, step.share(-0.5), side, lift, _SINGLE)
        except ReachError as error:
            return error.joints
        except ControlError:
            return ()
        return None

    def _solve(
        self,
        guess: np.ndarray,
        step: Step,
        side: float,
        lift: float,
        way: tuple[float, float],
    ) -> None:
        """The posture with one foot at the origin, the other one a step away."""
        apart = self._stance + max(step.aside, 0.0)
        turn = side * max(step.turn, 0.0)
        other = pin.SE3(
            pin.utils.rotate("z", turn), np.array([step.forward, side * apart, lift])
        )
        foot = pin.SE3.Identity()
        com = np.array(
            [
                self._forward + way[0] * step.forward,
                side * way[1] * apart,
                self._height,
            ]
        )
        q = guess.copy()
        q[:2] += com[:2] - np.array([self._forward, 0.0])
        left, right = (other, foot) if side > 0 else (foot, other)
        attitude = pin.utils.rotate("z", 0.5 * turn)
        self._kinematics.solve(q, com, left, right, attitude)
