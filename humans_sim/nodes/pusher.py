# SPDX-License-Identifier: Apache-2.0
"""Node ``pusher``: pushes a simulated model at given times.

Asks the service ``push`` for each push of its parameters as soon as the simulation is
there, and again where its time goes back (``joint_states`` say so): pushes wait in the
simulation, so that they begin on time whatever the load of the machine.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from humans_msgs.srv import Push
from sensor_msgs.msg import JointState

from humans_sim.core.errors import ParameterError
from humans_sim.nodes.common.conversions import (
    duration_of,
    nanoseconds_of,
    set_vector,
    time_of,
)
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters


class Pusher(ModelNode):
    """Asks for pushes."""

    def __init__(self, name: str = "pusher", **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        self._times = given.numbers("times", "when to push [s], simulation time")
        flat = given.numbers(
            "impulses", "x, y, z of each push, one after another [N s]"
        )
        self._link = given.text("link", "", "that is pushed; empty: the base")
        self._frame = given.text("frame", "", "of the impulses; empty: the world")
        self._duration = given.number("duration", 0.0, "of a push [s]; 0: at once", 0.0)
        if len(flat) != 3 * len(self._times):
            raise ParameterError(
                f"impulses must be {3 * len(self._times)} numbers, three for each of "
                f"times, not {len(flat)}"
            )
        if any(time < 0 for time in self._times):
            raise ParameterError("times must be 0 or more")
        self._impulses = np.reshape(flat, (-1, 3))
        self._newest, self._asked = math.inf, False
        self._accepted, self._refusals = 0, list[str]()
        self._diagnostics = Diagnostics(self, "pushes", self.model.name)
        self._service = self.create_client(Push, "push")
        self.create_subscription(JointState, "joint_states", self._on_state, 100)
        self.every(BEAT, self._diagnose)

    def _on_state(self, message: JointState) -> None:
        stamp = nanoseconds_of(message.header.stamp)
        if stamp < self._newest:
            self._asked = False
        self._newest = stamp
        if not self._asked and self._service.service_is_ready():
            self._ask()

    def _ask(self) -> None:
        self._asked, self._accepted, self._refusals = True, 0, []
        for when, impulse in zip(self._times, self._impulses, strict=True):
            request = Push.Request(link_name=self._link)
            request.header.stamp = time_of(round(when * 1e9))
            request.header.frame_id = self._frame
            set_vector(request.impulse, impulse)
            request.duration = duration_of(self._duration)
            self._service.call_async(request).add_done_callback(self._on_answer)

    def _on_answer(self, future: Any) -> None:
        answer = future.result()
        if answer.success:
            self._accepted += 1
            self.get_logger().info(f"push: {answer.message}")
        else:
            self._refusals.append(answer.message)
            self.get_logger().error(f"push refused: {answer.message}")

    def _diagnose(self) -> None:
        state = f"{self._accepted} of {len(self._times)} pushes asked for"
        if not self._asked:
            state = "waiting for the simulation"
        self._diagnostics.publish(state, "; ".join(self._refusals), "", {})
