# SPDX-License-Identifier: Apache-2.0
"""Node ``actuation``: turns commands into joint torques.

Takes ``joint_states`` and ``joint_commands`` (sensor_msgs/JointState) and, with
muscles, ``stimulation`` (humans_msgs/Stimulation). Gives ``joint_torques``, stamped
with the time of the state they answer, ``actuator_states`` and, with muscles,
``muscle_states``, and ``/diagnostics``.

With ``sync: free`` each state is answered at once; with ``sync: lockstep`` when the
commands of the same stamp have come, one of each topic. The states of muscles do not
wait for them: a law may need them for its command. All callbacks run in one thread.

Its messages are those of humans_msgs; its diagnostics follow REP-107.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from humans_msgs.msg import ActuatorState as ActuatorStateMessage
from humans_msgs.msg import ActuatorStates, MuscleStates, Stimulation
from humans_msgs.msg import MuscleState as MuscleStateMessage
from sensor_msgs.msg import JointState

from humans_sim.actuation import ActuatorState, MuscleState
from humans_sim.actuation.pulse_trains import PulseTrainMuscles
from humans_sim.actuation.sampled_actuation import JointSample, SampledActuation
from humans_sim.core.errors import ConfigurationError, HumansError
from humans_sim.nodes.actuation.commands import joint_commands, pulse_trains
from humans_sim.nodes.actuation.settings import ActuationSettings
from humans_sim.nodes.common.conversions import (
    filled,
    joint_motion,
    joint_state,
    nanoseconds_of,
    time_of,
)
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.stamp_synchronizer import REPEAT


def actuator_states(stamp: Any, states: Iterable[ActuatorState]) -> ActuatorStates:
    """ActuatorStates message; the shafts are those of measured joints."""
    message = ActuatorStates()
    message.header.stamp = stamp
    for state in states:
        fields = dict(vars(state))
        one = ActuatorStateMessage(command_kind=int(fields.pop("kind")))
        if fields.pop("saturated"):
            one.status = ActuatorStateMessage.SATURATED
        message.actuators.append(filled(one, fields | {"position_measured": True}))
    return message


def muscle_states(stamp: Any, states: Iterable[MuscleState]) -> MuscleStates:
    """MuscleStates message."""
    message = MuscleStates()
    message.header.stamp = stamp
    for state in states:
        fields = dict(vars(state))
        switch = fields.pop("next_calcium_switch")
        if math.isfinite(switch):
            fields["next_calcium_switch"] = time_of(round(switch * 1e9))
        message.muscles.append(filled(MuscleStateMessage(), fields))
    return message


_DEPTH = 100
"""Messages kept while the node is busy."""
_TROUBLES = ("late_commands", "refused_commands", "refused_states")
_MOST = 1e6
"""Angles [rad] and speeds [rad/s] beyond this are no joint's."""


class Actuation(ModelNode):
    """Answers each state of the joints with their torques."""

    def __init__(self, name: str = "actuation", **options: Any) -> None:
        super().__init__(name, **options)
        settings = ActuationSettings.declare(Parameters(self), self.model)
        self._lockstep, self._drives = settings.lockstep, settings.drives
        groups = self._drives.groups
        self._muscles = [group for group in groups if not group.field]
        self._joint_groups = [group for group in groups if group.field]
        # First a trial: it may have to compile, and states should be answered at once.
        self._joints = self.model.neutral()[7:]
        self._speeds = np.zeros_like(self._joints)
        for group in groups:
            trial = SampledActuation(group.actuation)
            trial.begin(JointSample(0.0, self._joints, self._speeds))
            trial.advance(JointSample(1e-3, self._joints, self._speeds))
            group.actuation.states(*trial.state())
        self._gap = groups[0].sampled.longest_gap
        self._early: deque[Any] = deque(maxlen=_DEPTH)
        self._open: tuple[Any, JointSample] | None = None
        self._answered = self._answered_at = -math.inf
        self._shown = self._shown_at = -math.inf
        self._failure, self._heard = "", False
        kinds = " and ".join(settings.kinds)
        self._diagnostics = Diagnostics(self, kinds, self.model.name)
        self._make_topics()
        self.every(BEAT, self._beat)

    def _make_topics(self) -> None:
        make, listen = self.create_publisher, self.create_subscription
        self._torques = make(JointState, "joint_torques", _DEPTH)
        if self._muscles:
            self._muscle_states = make(MuscleStates, "muscle_states", _DEPTH)
            listen(Stimulation, "stimulation", self._on_command, _DEPTH)
        if self._joint_groups:
            self._actuator_states = make(ActuatorStates, "actuator_states", _DEPTH)
            listen(JointState, "joint_commands", self._on_command, _DEPTH)
        listen(JointState, "joint_states", self._on_state, _DEPTH)

    # -- states ----------------------------------------------------------------------

    def _on_state(self, message: JointState) -> None:
        try:
            angles, speeds = joint_motion(
                self.model, message, self._joints, self._speeds
            )
            if max(np.abs(angles).max(), np.abs(speeds).max()) > _MOST:
                raise ConfigurationError(f"an angle or a speed is beyond {_MOST:g}")
            sample = JointSample(_seconds(message.header.stamp), angles, speeds)
        except ConfigurationError as error:
            self._diagnostics.refuse("joint_states", error, "refused_states")
            return
        self._heard = True
        self._joints, self._speeds = sample.angles, sample.speeds
        self._open = None
        if not self._drives.continues(sample):
            self._begin(sample)
        while self._early:
            self._on_command(self._early.popleft())
        # Without commands it continues all the same, the state before unanswered.
        if not self._follow(sample):
            return
        self._open = (message.header.stamp, sample)
        self._show_muscles()
        self._answer()

    def _begin(self, sample: JointSample) -> None:
        """Initialise the actuation: the first state, a reset, or a long silence."""
        self._diagnostics.counts["starts"] += 1
        self._failure, self._answered, self._shown = "", -math.inf, -math.inf
        self._attempt(self._drives.begin, sample)

    def _show_muscles(self) -> None:
        """Publish the states of muscles, before any command of this time acts."""
        if self._open is None or not self._muscles:
            return
        stamp, sample = self._open
        # Before its first command a simulation repeats its state, for who came late.
        now, again = time.monotonic(), sample.t == self._shown
        if again and now < self._shown_at + REPEAT:
            return
        self._shown, self._shown_at = sample.t, now
        states = self._drives.states(muscles=True)
        self._muscle_states.publish(muscle_states(stamp, states))

    def _answer(self) -> None:
        """Answer the open state, unless it has to wait for its commands."""
        if self._open is None:
            return
        stamp, sample = self._open
        if self._lockstep and self._drives.newest < sample.t:
            return
        self._open = None
        now, again = time.monotonic(), sample.t == self._answered
        if again and now < self._answered_at + REPEAT:
            return
        self._answered, self._answered_at = sample.t, now
        names, torques = self.model.joint_names, self._drives.torques()
        self._torques.publish(joint_state(stamp, names, effort=torques))
        if self._joint_groups:
            states = self._drives.states(muscles=False)
            self._actuator_states.publish(actuator_states(stamp, states))
        self._diagnostics.counts["states"] += 1

    def _follow(self, sample: JointSample) -> bool:
        """Integrate to a state; whether that went well."""
        if not self._failure:
            self._attempt(self._drives.advance, sample)
        return not self._failure

    def _attempt(self, go: Callable[[JointSample], None], sample: JointSample) -> None:
        try:
            go(sample)
            if not np.isfinite(self._drives.torques()).all():
                raise ConfigurationError("the torques are not finite numbers")
        except Exception as error:  # the node lives on for a reset, whatever it is
            self._failure = f"at {sample.t:.9g} s: {error}"
            self.get_logger().error(f"the actuation failed {self._failure}")
            self._diagnose()

    # -- commands --------------------------------------------------------------------

    def _on_command(self, message: Any) -> None:
        if math.isinf(self._drives.t):
            self._early.append(message)
            return
        try:
            late = self._take(message)
        except HumansError as error:
            self._diagnostics.refuse("command", error, "refused_commands")
            return
        self._diagnostics.counts["commands"] += 1
        self._diagnostics.counts["late_commands"] += late
        self._answer()

    def _take(self, message: Any) -> bool:
        """Hand a message to its groups; whether it is late."""
        pulses = isinstance(message, Stimulation)
        groups = self._muscles if pulses else self._joint_groups
        t = self._time_of(message, max(group.sampled.newest for group in groups))
        if pulses:
            drives = groups[0].actuation
            assert isinstance(drives, PulseTrainMuscles)
            commands = [pulse_trains(message, groups[0].names, drives.stimulator)]
        else:
            commands = joint_commands(message, groups, self.model.name)
        pairs = zip(groups, commands, strict=True)
        return any([group.command(t, command) for group, command in pairs])

    def _time_of(self, message: Any, newest: float) -> float:
        """Time of a command, zero in ``sync: free`` meaning now [s]."""
        if self._failure:
            raise ConfigurationError("the actuation has failed, reset the simulation")
        t, now = _seconds(message.header.stamp), self._drives.t
        if t == 0.0 and not self._lockstep:
            t = max(now, newest)
        if t > now + self._gap:
            raise ConfigurationError(
                f"its stamp {t:.9f} s is in the future, the time is {now:.9f} s "
                "(use_sim_time?)"
            )
        return t

    # -- diagnostics -----------------------------------------------------------------

    def _beat(self) -> None:
        self._diagnose()
        self._heard = False

    def _diagnose(self) -> None:
        state = "running"
        if self._failure:
            state = "failed"
        elif self._open is not None:
            state = "waiting for a command"
        elif not self._heard:
            state = "waiting for joint_states"
        now = self._drives.t
        values = {
            "simulation_time [s]": f"{now if now > 0.0 else 0.0:.9g}",
            **self._diagnostics.counted("states", "starts", "commands"),
            **self._diagnostics.refusals(*_TROUBLES),
        }
        worse = self._diagnostics.new(*_TROUBLES)
        warning = "messages were late or refused" if worse else ""
        self._diagnostics.publish(state, self._failure, warning, values)


def _seconds(stamp: Any) -> float:
    """Time of a stamp, the nearest number to it [s]."""
    nanoseconds = nanoseconds_of(stamp)
    if nanoseconds < 0:
        raise ConfigurationError(f"its stamp is {nanoseconds} ns")
    return nanoseconds / 1e9
