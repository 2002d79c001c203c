# SPDX-License-Identifier: Apache-2.0
"""Node ``actuation``: turns commands into joint torques.

Takes ``joint_states`` and ``joint_commands`` (sensor_msgs/JointState) or, with muscles,
``stimulation`` (humans_msgs/Stimulation). Gives ``joint_torques``, stamped with the
time of the state they answer, ``actuator_states`` or, with muscles, ``muscle_states``,
and ``/diagnostics``.

With ``sync: free`` each state is answered at once; with ``sync: lockstep`` when the
command of the same stamp has come. All callbacks run in one thread.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from humans_msgs.msg import ActuatorStates, MuscleStates, Stimulation
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState

from humans_sim.actuation import Servo
from humans_sim.actuation.pulse_trains import PulseTrainMuscles
from humans_sim.actuation.sampled_actuation import JointSample, SampledActuation
from humans_sim.core.errors import ConfigurationError, HumansError
from humans_sim.nodes.actuation.commands import pulse_trains
from humans_sim.nodes.actuation.diagnostics import ActuationDiagnostics
from humans_sim.nodes.actuation.messages import actuator_states, muscle_states
from humans_sim.nodes.actuation.settings import ActuationSettings
from humans_sim.nodes.common.conversions import joint_values, joints_of, nanoseconds_of
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.named_values import named_values
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.refusals import warn_refused

_DEPTH = 100
"""Messages kept while the node is busy."""
_BEAT = 1.0
"""Wall time between diagnostics [s]."""
_REPEAT = 0.5
"""Wall time within which a state that comes again is not answered again [s]."""
_MOST = 1e6
"""Angles [rad] and speeds [rad/s] beyond this are no joint's."""


class Actuation(ModelNode):
    """Answers each state of the joints with their torques."""

    def __init__(self, name: str = "actuation", **options: Any) -> None:
        """Declare everything; begin with the first state."""
        super().__init__(name, **options)
        self._settings = ActuationSettings.declare(Parameters(self), self.model)
        self._actuation = self._settings.actuation
        # First a trial: it may have to compile, and states should be answered at once.
        self._try_out()
        self._sampled = SampledActuation(self._actuation, self._settings.longest_gap)
        self._joints = self.model.neutral()[7:]
        self._speeds = np.zeros_like(self._joints)
        self._last = np.zeros(0)
        self._early: deque[Any] = deque(maxlen=_DEPTH)
        self._open: tuple[Any, JointSample] | None = None
        self._answered = self._answered_at = -math.inf
        self._failure, self._heard = "", False
        self._diagnostics = ActuationDiagnostics(
            self, self.model.name, self._settings.kind
        )
        self._make_topics()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_BEAT, self._beat, clock=steady)

    def _try_out(self) -> None:
        angles = self.model.neutral()[7:]
        trial = SampledActuation(self._actuation)
        for t in (0.0, 1e-3):
            sample = JointSample(t, angles, np.zeros_like(angles))
            (trial.advance if t else trial.begin)(sample)
        self._actuation.states(*trial.state())

    def _make_topics(self) -> None:
        self._torques = self.create_publisher(JointState, "joint_torques", _DEPTH)
        listen = self.create_subscription
        if isinstance(self._actuation, PulseTrainMuscles):
            topic, kind = "muscle_states", MuscleStates
            listen(Stimulation, "stimulation", self._on_command, _DEPTH)
        else:
            topic, kind = "actuator_states", ActuatorStates
            listen(JointState, "joint_commands", self._on_command, _DEPTH)
        self._states = self.create_publisher(kind, topic, _DEPTH)
        listen(JointState, "joint_states", self._on_state, _DEPTH)

    # -- states ----------------------------------------------------------------------

    def _on_state(self, message: JointState) -> None:
        try:
            sample = self._sample_of(message)
        except ConfigurationError as error:
            self._diagnostics.refuse_state(str(error))
            warn_refused(self, "joint_states", error)
            return
        self._heard = True
        self._joints, self._speeds = sample.angles, sample.speeds
        if self._open is not None:
            # Nobody commanded it in time: continue without an answer.
            self._follow(self._open[1])
        self._open = None
        if not self._sampled.continues(sample):
            self._begin(sample)
        while self._early:
            self._on_command(self._early.popleft())
        self._open = (message.header.stamp, sample)
        self._answer()

    def _sample_of(self, message: JointState) -> JointSample:
        if not message.name:
            raise ConfigurationError("no joint is named")
        angles = joints_of(self.model, message, self._joints)
        speeds = joint_values(
            self.model, message.name, message.velocity, self._speeds, "velocity"
        )
        if max(np.abs(angles).max(), np.abs(speeds).max()) > _MOST:
            raise ConfigurationError(f"an angle or a speed is beyond {_MOST:g}")
        return JointSample(_seconds(message.header.stamp), angles, speeds)

    def _begin(self, sample: JointSample) -> None:
        """Initialise the actuation: the first state, a reset, or a long silence."""
        self._diagnostics.starts += 1
        self._failure, self._answered = "", -math.inf
        if isinstance(self._actuation, Servo):
            self._last = sample.angles
        elif not isinstance(self._actuation, PulseTrainMuscles):
            self._last = np.zeros(len(self._actuation.names))
        self._attempt(self._sampled.begin, sample)

    def _answer(self) -> None:
        """Answer the open state, unless it has to wait for its command."""
        if self._open is None:
            return
        stamp, sample = self._open
        if self._settings.lockstep and self._sampled.newest < sample.t:
            return
        self._open = None
        # Before its first command a simulation repeats its state, for who came late.
        now, again = time.monotonic(), sample.t == self._answered
        if not self._follow(sample) or (again and now < self._answered_at + _REPEAT):
            return
        self._answered, self._answered_at = sample.t, now
        message = JointState(name=list(self.model.joint_names))
        message.header.stamp = stamp
        message.effort = [float(x) for x in self._sampled.torques()]
        self._torques.publish(message)
        actuation, state = self._actuation, self._sampled.state()
        if isinstance(actuation, PulseTrainMuscles):
            self._states.publish(muscle_states(stamp, actuation.states(*state)))
        else:
            self._states.publish(actuator_states(stamp, actuation.states(*state)))
        self._diagnostics.states += 1

    def _follow(self, sample: JointSample) -> bool:
        """Integrate to a state; whether that went well."""
        if not self._failure:
            self._attempt(self._sampled.advance, sample)
        return not self._failure

    def _attempt(self, go: Callable[[JointSample], None], sample: JointSample) -> None:
        try:
            go(sample)
            if not np.isfinite(self._sampled.torques()).all():
                raise ConfigurationError("the torques are not finite numbers")
        except Exception as error:  # the node lives on for a reset, whatever it is
            self._failure = f"at {sample.t:.9g} s: {error}"
            self.get_logger().error(f"the actuation failed {self._failure}")
            self._diagnose()
        self._sampled.events.clear()

    # -- commands --------------------------------------------------------------------

    def _on_command(self, message: Any) -> None:
        if math.isinf(self._sampled.t):
            self._early.append(message)
            return
        try:
            t, command = self._command_of(message)
            late = self._sampled.command(t, command)
        except HumansError as error:
            self._diagnostics.refuse_command(str(error))
            warn_refused(self, "command", error)
            return
        self._last = command
        self._diagnostics.commands += 1
        self._diagnostics.late += late
        self._answer()

    def _command_of(self, message: Any) -> tuple[float, np.ndarray]:
        """Time and command of a message."""
        if self._failure:
            raise ConfigurationError("the actuation has failed, reset the simulation")
        actuation, now = self._actuation, self._sampled.t
        t = _seconds(message.header.stamp)
        if self._open is not None:
            now = self._open[1].t
        if t == 0.0 and not self._settings.lockstep:
            t = max(now, self._sampled.newest)
        if t > now + self._settings.longest_gap:
            raise ConfigurationError(
                f"its stamp {t:.9f} s is in the future, the time is {now:.9f} s "
                "(use_sim_time?)"
            )
        if isinstance(actuation, PulseTrainMuscles):
            muscles, stimulator = actuation.muscle_names, actuation.stimulator
            return t, pulse_trains(message, muscles, stimulator)
        if not message.name:
            raise ConfigurationError("nothing is named")
        field = "position" if isinstance(actuation, Servo) else "effort"
        names, values = actuation.names, getattr(message, field)
        owner = self.model.name
        return t, named_values(names, message.name, values, self._last, field, owner)

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
        now = self._sampled.t
        self._diagnostics.publish(state, self._failure, now if now > 0.0 else 0.0)


def _seconds(stamp: Any) -> float:
    """Time of a stamp, the nearest number to it [s]."""
    nanoseconds = nanoseconds_of(stamp)
    if nanoseconds < 0:
        raise ConfigurationError(f"its stamp is {nanoseconds} ns")
    return nanoseconds / 1e9
