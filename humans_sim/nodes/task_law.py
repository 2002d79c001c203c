# SPDX-License-Identifier: Apache-2.0
"""Node ``task_law``: Bip's control law in its task space, from what Bip measures.

Takes ``joint_states``, or what encoders read of them, and ``<sole>/wrench`` of every
sole, put together by their stamps; the position observer adds the base. Gives
``joint_commands``: the voltages of the motors in ``effort``, by the names of the
motors, with the stamp of the state that they answer; and ``/diagnostics``. The node
``actuation`` (``kind: motors``) turns them into torques.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from humans_sim.applications.bip_station import MOTIONS, STAND, BipStation
from humans_sim.control.bip.task import StepShape
from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import ConfigurationError, HumansError, ParameterError
from humans_sim.nodes.common.conversions import (
    joint_motion,
    joint_state,
    load_of,
    time_of,
)
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics, gone
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.stamp_synchronizer import REPEAT, StampSynchronizer

_DEPTH = 100


class TaskLaw(ModelNode):
    """Answers each state of Bip with the voltages of its motors."""

    usual_model = "bip"

    def __init__(self, name: str = "task_law", **options: Any) -> None:
        super().__init__(name, **options)
        self._station = self._declare_station(Parameters(self))
        self._joints = self.model.neutral()[7:]
        self._speeds = np.zeros_like(self._joints)
        soles = [sole.name for sole in self.model.soles]
        self._topics = {f"{sole}/wrench": sole for sole in soles}
        self._synchronizer = StampSynchronizer(self._states, list(self._topics))
        self._stamp, self._answered_at, self._heard_at = -1, -math.inf, -math.inf
        self._failure = ""
        self._diagnostics = Diagnostics(self, "task law", self.model.name)
        self._commands = self.create_publisher(JointState, "joint_commands", _DEPTH)
        listen = self.create_subscription
        taker = self._diagnostics.taker
        for topic in self._topics:
            listen(WrenchStamped, topic, taker(topic, load_of, self._put), _DEPTH)
        states = taker(self._states, self._read_state, self._put)
        listen(JointState, self._states, states, _DEPTH)
        self.every(BEAT, self._diagnose)

    def _declare_station(self, given: Parameters) -> BipStation:
        self._states = given.text(
            "joint_states_topic", "joint_states", "or measured_joint_states"
        )
        motion = given.text("motion", STAND, "stand, step, or the path of a .traj3")
        if motion not in MOTIONS and not motion.endswith(".traj3"):
            raise ParameterError(
                f"motion must be {', '.join(MOTIONS)} or a .traj3 file, not '{motion}'"
            )
        defaults = StepShape()
        shape = StepShape(
            length=given.number(
                "step.length", defaults.length, "of a step [m]", -0.3, 0.3
            ),
            lift=given.number("step.lift", defaults.lift, "of the foot [m]", 1e-3, 0.2),
        )
        station = BipStation(
            self.model,
            motion,
            shape,
            delay=given.number("delay", 0.0, "of the motors [s]", 0.0, 0.1),
            period=given.number("period", 0.005, "between states [s]", 1e-4, 0.05),
            stiffness=given.number("stiffness", 60.0, "Kp [1/s^2]", 1.0, 1e4),
            friction=given.number("friction", 0.4, "that forces may use", 0.01, 10.0),
        )
        # First a trial: it may have to compile, and states should be answered at once.
        joints, weight = station.start[7:], GRAVITY * self.model.mass
        forces = dict.fromkeys((s.name for s in self.model.soles), 0.5 * weight)
        station.voltages(0.0, joints, np.zeros_like(joints), forces)
        station.reset()
        return station

    def _read_state(self, message: JointState) -> Any:
        self._joints, self._speeds = joint_motion(
            self.model, message, self._joints, self._speeds
        )
        self._heard_at = time.monotonic()
        return self._joints, self._speeds

    def _put(self, topic: str, stamp: int, value: Any) -> None:
        complete = self._synchronizer.put(topic, stamp, value)
        if complete is None:
            return
        now = time.monotonic()
        if stamp == self._stamp and now < self._answered_at + REPEAT:
            return
        joints, speeds = complete[self._states]
        forces = {sole: complete[topic] for topic, sole in self._topics.items()}
        try:
            voltages = self._station.voltages(stamp / 1e9, joints, speeds, forces)
            if not np.isfinite(voltages).all():
                raise ConfigurationError("the voltages are not finite numbers")
        except HumansError as error:
            self._failure = f"at {stamp / 1e9:.9g} s: {error}"
            self._diagnostics.refuse("measurement", error)
            return
        self._failure, self._stamp, self._answered_at = "", stamp, now
        motors = self._station.motors
        self._commands.publish(joint_state(time_of(stamp), motors, effort=voltages))

    def _diagnose(self) -> None:
        base, state, warning = self._station.estimate, f"waiting for {self._states}", ""
        if time.monotonic() <= self._heard_at + BEAT:
            state = "waiting for wrenches" if base is None else "running"
        elif base is not None:
            warning = gone(self, self._states)
        warning = self._diagnostics.refused() or warning
        values = {
            "time [s]": f"{max(self._stamp, 0) / 1e9:.9g}",
            "reference": "" if base is None else base.reference,
            **self._diagnostics.refusals(),
        }
        self._diagnostics.publish(state, self._failure, warning, values)
