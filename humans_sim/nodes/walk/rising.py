# SPDX-License-Identifier: Apache-2.0
"""How the node ``walk`` gets a robot up: service ``get_up``, and events of falls."""

from __future__ import annotations

from humans_msgs.msg import SimulationEvent
from rclpy.node import Node
from std_srvs.srv import Trigger

from humans_sim.applications.robots import rising_walker
from humans_sim.control.falls.rising_walker import RiseState, RisingWalker
from humans_sim.control.walking import Walker, WalkPattern
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.nodes.common.simulation_messages import simulation_event
from humans_sim.nodes.walk.settings import ALWAYS, NEVER
from humans_sim.results.events import Event

_DEPTH = 100
"""Events kept for a slow listener."""


class Rising:
    """The walker that gets up, where there is one, and what is heard of it.

    Args:
        node: publishes ``events`` and offers ``get_up``.
        walker: leads the robot while it is on its feet.
        get_up: one of ``never``, ``asked``, ``always``.

    Attributes:
        walker: that gets up; None: never.
    """

    def __init__(self, node: Node, walker: Walker, get_up: str) -> None:
        self._node, self._pattern, self._reported = node, walker.pattern, 0
        self.walker: RisingWalker | None = None
        if get_up != NEVER:
            self.walker = rising_walker(walker, automatic=get_up == ALWAYS)
        self._events = node.create_publisher(SimulationEvent, "events", _DEPTH)
        node.create_service(Trigger, "get_up", self._on_get_up)

    @property
    def leader(self) -> RisingWalker | WalkPattern:
        """What takes commands: it remembers them where the robot may get up."""
        return self._pattern if self.walker is None else self.walker

    @property
    def text(self) -> str:
        """How a robot fares that fell, in words; empty while it walks."""
        return "" if self.walker is None else self.walker.text

    @property
    def lies(self) -> bool:
        """Whether it fell, and does not walk yet."""
        return self.walker is not None and self.walker.state is not RiseState.WALKING

    @property
    def waits(self) -> bool:
        """Whether it lies, and does nothing about it unless it is asked."""
        return self.walker is not None and self.walker.waits

    def state(self, otherwise: str) -> str:
        """What it does, one word or two; that of the walk while it walks."""
        if self.walker is None or not self.lies:
            return otherwise
        return self.walker.state.name.lower().replace("_", " ")

    def reset(self, t_start: float) -> None:
        """It stands, from a time on."""
        self._reported = 0
        if self.walker is not None:
            self.walker.reset(t_start)

    def report(self) -> None:
        """Publish falls and what follows, each once."""
        events = [] if self.walker is None else self.walker.events
        for event in events[self._reported :]:
            kind, detail = event.state.name.lower(), {"text": event.detail}
            self._events.publish(simulation_event(Event(event.time, kind, "", detail)))
            self._node.get_logger().info(f"{kind}: {event.detail}")
        self._reported = len(events)

    def _on_get_up(
        self, _: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        try:
            if self.walker is None:
                raise ParameterError("it never gets up: see the parameter get_up")
            self.walker.get_up()
            response.success, response.message = True, self.walker.text
        except HumansError as error:
            response.success, response.message = False, str(error)
        return response
