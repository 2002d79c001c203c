# SPDX-License-Identifier: Apache-2.0
"""Node ``scenario_law``: the controller of a scenario, over topics.

Takes ``joint_states``, the base from ``ground_truth/odom`` and, where it stimulates
muscles, ``muscle_states``, put together by their stamps. Gives ``joint_commands``
(torques, voltages or angles by name), ``stimulation`` (single pulses), or both, with
the stamp of the state that they answer; and ``/diagnostics``. The node ``actuation``
turns them into torques.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from humans_msgs.msg import MuscleStates, Stimulation
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from humans_sim.applications.law_station import LawCommand, LawStation
from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.nodes.common.command_checks import LARGEST
from humans_sim.nodes.common.conversions import (
    base_motion,
    joint_motion,
    joint_state,
    time_of,
)
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics, gone
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.stamp_synchronizer import REPEAT, StampSynchronizer

_DEPTH = 100
_STATES, _MUSCLES = "joint_states", "muscle_states"


class ScenarioLaw(ModelNode):
    """Answers each state with the commands of a scenario's controller."""

    def __init__(self, name: str = "scenario_law", **options: Any) -> None:
        super().__init__(name, **options)
        self._law = self._declare_law(Parameters(self))
        self._joints = self.model.neutral()[7:]
        self._speeds = np.zeros_like(self._joints)
        self._stamp, self._answered_at, self._heard_at = -1, -math.inf, -math.inf
        self._failure = ""
        self._diagnostics = Diagnostics(self, "scenario law", self.model.name)
        self._make_topics()
        self.every(BEAT, self._diagnose)

    def _declare_law(self, given: Parameters) -> LawStation:
        chosen = given.text("scenario", "", "whose controller it is, or its file")
        if not chosen:
            raise ParameterError("scenario must name a scenario, or its file")
        self._base_topic = given.text(
            "odometry_topic", "ground_truth/odom", "where the base is"
        )
        law = LawStation(read_scenario(chosen))
        if law.model.joint_names != self.model.joint_names:
            raise ParameterError(
                f"scenario: {chosen} is one of {law.model.name}, not of the model "
                f"{self.model.name}"
            )
        # First a trial: it may have to compile, and states should be answered at once.
        muscles = () if law.muscles is None else law.muscles.muscle_names
        still = np.zeros(law.model.nv)
        law.command(1.0, law.start, still, dict.fromkeys(muscles, (0.0, 0.0)))
        return law

    def _make_topics(self) -> None:
        make, listen = self.create_publisher, self.create_subscription
        taker = self._diagnostics.taker
        others = [self._base_topic]
        if self._law.names:
            self._commands = make(JointState, "joint_commands", _DEPTH)
        if self._law.muscles is not None:
            self._stimulation = make(Stimulation, "stimulation", _DEPTH)
            muscles = taker(_MUSCLES, self._read_muscles, self._put)
            listen(MuscleStates, _MUSCLES, muscles, _DEPTH)
            others.append(_MUSCLES)
        self._synchronizer = StampSynchronizer(_STATES, others)
        base = taker(self._base_topic, base_motion, self._put)
        listen(Odometry, self._base_topic, base, _DEPTH)
        states = taker(_STATES, self._read_state, self._put)
        listen(JointState, _STATES, states, _DEPTH)

    # -- messages --------------------------------------------------------------------

    def _read_state(self, message: JointState) -> Any:
        self._joints, self._speeds = joint_motion(
            self.model, message, self._joints, self._speeds
        )
        self._heard_at = time.monotonic()
        return self._joints, self._speeds

    def _read_muscles(self, message: MuscleStates) -> Any:
        states = {
            one.name: (one.contractile_stiffness, one.contractile_force)
            for one in message.muscles
        }
        for name, numbers in states.items():
            if not all(abs(x) <= LARGEST for x in numbers):
                raise ConfigurationError(f"the state of '{name}' is {numbers}")
        return states

    def _put(self, topic: str, stamp: int, value: Any) -> None:
        complete = self._synchronizer.put(topic, stamp, value)
        if complete is None:
            return
        now = time.monotonic()
        if stamp == self._stamp and now < self._answered_at + REPEAT:
            return
        (joints, speeds), (base, twist) = complete[_STATES], complete[self._base_topic]
        q, v = np.concatenate([base, joints]), np.concatenate([twist, speeds])
        try:
            command = self._law.command(stamp / 1e9, q, v, complete.get(_MUSCLES))
            if not np.isfinite(command.values).all():
                raise ConfigurationError("the commands are not finite numbers")
        except HumansError as error:
            self._failure = f"at {stamp / 1e9:.9g} s: {error}"
            self._diagnostics.refuse("state", error)
            return
        self._failure, self._stamp, self._answered_at = "", stamp, now
        self._publish(stamp, command)

    def _publish(self, stamp: int, command: LawCommand) -> None:
        law = self._law
        if law.muscles is not None:
            pulses = Stimulation()
            pulses.header.stamp = time_of(stamp)
            if command.charges is not None:
                most = law.muscles.stimulator
                widths = np.minimum(command.charges / most.max_current, most.max_width)
                pulses.muscle_names = list(law.muscles.muscle_names)
                pulses.pulse_width = widths.tolist()
                pulses.pulse_current = [most.max_current] * len(widths)
                pulses.pulse_period = [0.0] * len(widths)
            self._stimulation.publish(pulses)
        if law.names:
            values: dict[str, Any] = {law.field: command.values}
            self._commands.publish(joint_state(time_of(stamp), law.names, **values))

    # -- diagnostics -----------------------------------------------------------------

    def _diagnose(self) -> None:
        state, warning = "waiting for joint_states", ""
        if time.monotonic() <= self._heard_at + BEAT:
            state = "running"
            newest = self._synchronizer.newest
            if newest is not None and newest != self._stamp:
                state = f"waiting for {', '.join(self._synchronizer.missing(newest))}"
        elif self._stamp >= 0:
            warning = gone(self, _STATES)
        warning = self._diagnostics.refused() or warning
        values = {
            "time [s]": f"{max(self._stamp, 0) / 1e9:.9g}",
            **self._diagnostics.refusals(),
        }
        self._diagnostics.publish(state, self._failure, warning, values)
