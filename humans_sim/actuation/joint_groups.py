# SPDX-License-Identifier: Apache-2.0
"""Several kinds of drives in one body, beside its mechanics: which drives which joint.

Muscles bend the knees and servos hold the rest; motors turn the hips and torques are
commanded elsewhere. Each group follows the joints from sample to sample by itself
(:mod:`~humans_sim.actuation.sampled_actuation`), with a delay of its own; the torques
of all groups add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from humans_sim.actuation.delayed_actuation import DelayedActuation
from humans_sim.actuation.fes_muscles import FesMuscles
from humans_sim.actuation.sampled_actuation import JointSample, SampledActuation
from humans_sim.actuation.screw_drive_motors import ScrewDriveMotors
from humans_sim.actuation.servo import Servo
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model

POSITION, EFFORT = "position", "effort"
"""What a command of joints is: angles of servos, or torques and voltages."""
_RATIO = 1e-9
"""Gear ratios below this are none."""


def share_joints(
    model: Model, given: Mapping[str, Sequence[str]], taken: Sequence[str] = ()
) -> dict[str, tuple[str, ...]]:
    """The joints of each kind of drive.

    A kind without names in ``given`` has all joints that no other kind has. It may
    name joints that muscles have ``taken``, and both then act.
    """
    named: dict[str, str] = {}
    for kind, joints in given.items():
        for joint in joints:
            if joint not in model.joint_names:
                raise ParameterError(f"{kind}.joints: {model.name} has no '{joint}'")
            if joint in named:
                raise ParameterError(
                    f"{kind}.joints: '{joint}' is one of {named[joint]}.joints already"
                )
            named[joint] = kind
    rest = tuple(j for j in model.joint_names if j not in named and j not in taken)
    open_kinds = [kind for kind, joints in given.items() if not joints]
    if len(open_kinds) > 1:
        raise ParameterError(
            f"{' and '.join(f'{kind}.joints' for kind in open_kinds)} are both empty: "
            "one kind alone can have the rest of the joints"
        )
    if open_kinds and not rest:
        raise ParameterError(f"{open_kinds[0]}: no joint is left for it")
    return {kind: tuple(joints) or rest for kind, joints in given.items()}


class JointGroup:
    """Drives of one kind on some joints of a model.

    Args:
        kind: a word for the kind.
        actuation: of all joints that this kind can drive.
        joints: those that it drives here; all by default.
        longest_gap: as of :class:`SampledActuation`.

    Attributes:
        sampled: the actuation along the joints' path.
        names: what a command names: joints, motors or muscles.
        field: what a command of joints is, ``position`` or ``effort``; empty: pulses.

    Raises:
        ParameterError: a motor turns joints of which only some are of the group.
    """

    def __init__(
        self,
        model: Model,
        kind: str,
        actuation: DelayedActuation,
        joints: Sequence[str] | None = None,
        longest_gap: float = 1.0,
    ) -> None:
        self.kind, self.actuation = kind, actuation
        self.sampled = SampledActuation(actuation, longest_gap)
        chosen = model.joint_names if joints is None else joints
        self._driven = np.array([name in chosen for name in model.joint_names])
        names = np.array(actuation.actuator_names)
        commanded = np.ones(len(names), dtype=bool)
        self.field = EFFORT
        if isinstance(actuation, FesMuscles):
            self.field = ""
            self._driven[:] = True
        elif isinstance(actuation, ScrewDriveMotors):
            commanded = self._turned_motors(model, kind, actuation)
        else:
            commanded = self._driven
            self.field = POSITION if isinstance(actuation, Servo) else EFFORT
        self._commanded = np.flatnonzero(commanded)
        self.names = tuple(names[self._commanded].tolist())
        self._last = np.zeros(len(names))

    def _turned_motors(
        self, model: Model, kind: str, motors: ScrewDriveMotors
    ) -> np.ndarray:
        """Which motors turn joints of the group."""
        assert model.rotors is not None
        # A little off the neutral posture, where no ratio vanishes by symmetry.
        q = model.neutral()
        q[7:] += 1e-3
        turns = np.abs(model.rotors.jacobian(q)) > _RATIO
        inside, outside = turns[:, self._driven], turns[:, ~self._driven]
        both = inside.any(axis=1) & outside.any(axis=1)
        if both.any():
            motor = int(np.argmax(both))
            joints = np.array(model.joint_names)[turns[motor]]
            raise ParameterError(
                f"{kind}.joints: the motor {motors.names[motor]} turns "
                f"{' and '.join(joints)}, name all of them or none"
            )
        return np.asarray(inside.any(axis=1))

    @property
    def last(self) -> np.ndarray:
        """The last command, in the order of :attr:`names`."""
        return self._last[self._commanded]

    def begin(self, sample: JointSample) -> None:
        """Initialise at a sample: servos hold it, everything else is without force."""
        if isinstance(self.actuation, Servo):
            self._last = sample.angles.copy()
        else:
            self._last = np.zeros(len(self._last))
        self.sampled.begin(sample)

    def command(self, t: float, values: np.ndarray) -> bool:
        """Take a command for :attr:`names`, computed at t; whether it is late."""
        if not self.field:
            return self.sampled.command(t, values)
        whole = self._last.copy()
        whole[self._commanded] = values
        late = self.sampled.command(t, whole)
        self._last = whole
        return late

    def torques(self) -> np.ndarray:
        """Torques on all joints of the model at the last sample (njoints,) [N m]."""
        return np.where(self._driven, self.sampled.torques(), 0.0)

    def states(self) -> tuple[Any, ...]:
        """The state of each of :attr:`names` at the last sample."""
        states = self.actuation.states(*self.sampled.state())
        return tuple(states[i] for i in self._commanded)


class JointGroups:
    """All drives of a body, each group on its joints."""

    def __init__(self, groups: Sequence[JointGroup]) -> None:
        if not groups:
            raise ParameterError("a body needs at least one group of drives")
        self.groups = tuple(groups)

    @property
    def t(self) -> float:
        """Time of the last sample [s]; minus infinity before the first."""
        return self.groups[0].sampled.t

    @property
    def newest(self) -> float:
        """Time up to which every group has its commands [s]."""
        return min(group.sampled.newest for group in self.groups)

    def continues(self, sample: JointSample) -> bool:
        """Whether a sample can follow the last one."""
        return self.groups[0].sampled.continues(sample)

    def begin(self, sample: JointSample) -> None:
        """Initialise all groups at a sample."""
        for group in self.groups:
            group.begin(sample)

    def advance(self, sample: JointSample) -> None:
        """Integrate all groups to the next sample."""
        for group in self.groups:
            group.sampled.advance(sample)
            group.sampled.events.clear()

    def torques(self) -> np.ndarray:
        """The sum of all torques at the last sample (njoints,) [N m]."""
        # Of one group as they are: a sum with zero could change their signs of zero.
        torques = self.groups[0].torques()
        for group in self.groups[1:]:
            torques = torques + group.torques()
        return torques

    def states(self, muscles: bool) -> tuple[Any, ...]:
        """States of all muscles, or of everything else, at the last sample."""
        return tuple(
            state
            for group in self.groups
            if (group.field == "") is muscles
            for state in group.states()
        )
