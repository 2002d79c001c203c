# SPDX-License-Identifier: Apache-2.0
r"""Servos that a board leads from pose to pose, all arriving together.

A :class:`~humans_sim.actuation.Servo` makes its own set point, which runs to each
command at one speed; fed with samples of a motion it would rush and wait. The board
sends an even stream of positions instead: each joint has its own speed to each pose.
And it sends positions alone, so that the servo's damping knows the speed of the joint
but not the speed of the set point r:

.. math:: \tau = \operatorname{sat}\bigl(k_p (r - q) - k_d\, \dot q\bigr) - ...

The joint follows an even motion late by :math:`k_d / k_p`.

*Getting up*, from ``config/motions``. ``getup-front``, ``getup-back`` and
``getup-left`` are motion files as any other one: the boards play them, too. From the
right side the left one's mirror image is played.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from humans_sim.actuation.servo import Servo
from humans_sim.actuation.servo_set import ServoSet
from humans_sim.control.falls.fall_detector import Lying, PoseSequence
from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import resource
from humans_sim.dynamics.controller import (
    CommandWithNextCall,
    Controller,
    ControlState,
)
from humans_sim.kondo.motion.channels import ChannelMap, load_channels
from humans_sim.kondo.motion.motion_file import KondoMotion, load_motion
from humans_sim.kondo.motion.player import MotionPlayer, MotionSegment
from humans_sim.models import Model

KONDO_ROBOT = "khr1"
"""Robot whose servos and floor others with the same boards have, without a file."""
_MOTION_NUMBERS = ("delay", "speed", "speed_step")
_AFTERWARDS = 3600.0
"""How often the player is called when its motion is over [s]."""


class PosePlayer(Controller):
    """The controller of :class:`PoseServo`: leads it through a motion.

    It is called at the start and at each pose, and commands the motion to the next one.

    Args:
        player: of the motion.

    Attributes:
        period: between samples of a run, unless another is given [s].
    """

    period = 0.01

    def __init__(self, player: MotionPlayer) -> None:
        self._player = player

    def __call__(self, t: float, state: ControlState) -> CommandWithNextCall:
        """The motion to the next pose, whatever the joints do."""
        segment = self._player.segment(t)
        return CommandWithNextCall(segment, min(segment.arrival - t, _AFTERWARDS))


class PoseServo(Servo):
    """Servos that go from pose to pose.

    A command is the :class:`MotionSegment` to the next pose; a :class:`PosePlayer`
    gives them.

    Args:
        parameters: of :class:`~humans_sim.actuation.Servo`, but for delay and speeds,
            which come from the motion; those of the robot's file in ``config/robots``
            unless given. The damping acts on the joint's speed.
    """

    def __init__(self, model: Model, **parameters: Any) -> None:
        for name in _MOTION_NUMBERS:
            if name in parameters:
                raise ParameterError(f"{name} comes from the motion that is played")
        own = ServoSet.of_model(model, KONDO_ROBOT)
        if "numbers" not in parameters:
            parameters = {"numbers": own.common, "joints": own.joints, **parameters}
        super().__init__(model, **parameters)
        self._lags = self.lags
        self._point = self._origin

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Hold the posture of the start until the first command."""
        z = super().initialise(t, q, v)
        self._point = self._origin
        return z

    def set_point(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Where the board wants the joints, and how fast that moves (njoints,)."""
        return self._point + self._rate * (t - self._start_time), self._rate.copy()

    def command(self, t: float, command: Any) -> None:
        """Let the set points run to a pose, there when it is due.

        Raises:
            ParameterError: it is no segment, or it ends before it begins.
        """
        if not (isinstance(command, MotionSegment) and command.arrival > t):
            raise ParameterError(
                f"must be a MotionSegment that ends after {t:g} s, not {command}: "
                "give the simulation a PosePlayer as its controller"
            )
        self._point, self._target = (
            self.check(command.start),
            self.check(command.angles),
        )
        self._start_time = t
        self._rate = (self._target - self._point) / (command.arrival - t)
        # A set point that trails by the lag takes its speed out of the damping.
        self._origin = self._point - self._lags * self._rate
        if self.nz:
            # Torques jump: motors may leave their ends now.
            self._unsettled = t


FROM_FRONT, FROM_BACK, FROM_LEFT = "getup-front", "getup-back", "getup-left"


def can_get_up(model: Model) -> bool:
    """Whether the package has motions for a model: it needs channels of its own."""
    return resource("config", "kondo", f"{model.name}.yaml").is_file()


def get_up_motions(model: Model) -> dict[Lying, PoseSequence]:
    """The package's motions for a model, by the side on which it lies.

    Raises:
        ParameterError: the model has no channels in ``config/kondo``.
    """
    channels = load_channels(model.name)
    front, back, left = map(load_motion, (FROM_FRONT, FROM_BACK, FROM_LEFT))
    right = channels.mirrored(left, "getup-right")
    motions = {
        Lying.FRONT: front,
        Lying.BACK: back,
        Lying.LEFT: left,
        Lying.RIGHT: right,
    }
    return {
        side: pose_sequence(model, motion, channels) for side, motion in motions.items()
    }


def pose_sequence(
    model: Model, motion: KondoMotion, channels: ChannelMap | None = None
) -> PoseSequence:
    """A motion's key poses, with the boards' timing."""
    player = MotionPlayer(model, motion, channels)
    # The first pose is where the motion begins: it is reached at once.
    moving = np.append(True, np.diff(player.times) > 0.0)
    return PoseSequence(
        motion.name, player.times[moving] - player.times[0], player.angles[moving]
    )
