# SPDX-License-Identifier: Apache-2.0
"""The action ``walk``: a number of steps, then standing.

Also the service ``get_up``, and events of falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pinocchio as pin
from humans_msgs.action import Walk as WalkAction
from humans_msgs.msg import SimulationEvent, WalkStatus
from rclpy.node import Node
from std_srvs.srv import Trigger

from humans_sim.applications.walk_control import rising_walker
from humans_sim.control.falls.rising_walker import RiseState, RisingWalker
from humans_sim.control.walking import Walker, WalkPattern, WalkPhase
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.nodes.common.conversions import duration_of, velocity_of
from humans_sim.nodes.common.services import PatientServer, answered
from humans_sim.nodes.common.simulation_messages import simulation_event
from humans_sim.nodes.walk.settings import ALWAYS, NEVER
from humans_sim.nodes.walk.topics import pose_message
from humans_sim.results.records import Event

Result = WalkAction.Result
_PATIENCE = 5.0
"""So many times its settling time a body that sways is waited for."""
_FEEDBACK = 0.1
"""Time between two feedbacks [s]."""


@dataclass
class _Goal:
    handle: Any
    t_start: float
    place: pin.SE3 | None
    steps: int = 0
    moved: bool = False
    stands_since: float = math.inf
    reported: float = -math.inf


def begin_steps(
    pattern: WalkPattern | RisingWalker, standing: bool, steps: int, velocity: Any
) -> None:
    """Begin a number of steps, or with 0 a walk without an end.

    The velocity is that of a twist (6,). Whoever walks already is refused.
    """
    if not standing:
        raise ParameterError("it walks already: stop it by cmd_vel first")
    command = (velocity[0], velocity[1], velocity[5])
    if steps:
        pattern.walk(steps, *command)
    elif any(command):
        pattern.command(*command)
    else:
        raise ParameterError("neither steps nor a velocity are given")


class WalkGoals:
    """Serves the action; one goal at a time.

    Args:
        begin: called with steps and velocity (6,); begins the walk, or raises.
        stop: called when the goal is cancelled.
        settling: time to stand at the end until the walk is over [s]; more, up to a
            few times of it, while
        calm: is less than the speed of the centre of mass [m/s].
    """

    def __init__(
        self,
        node: Node,
        begin: Callable[[int, Any], None],
        stop: Callable[[], None],
        settling: float,
        calm: float,
    ) -> None:
        self._begin, self._stop = begin, stop
        self._settling, self._calm = settling, calm
        self._goal: _Goal | None = None
        self._now, self._place = 0.0, None
        self._server = PatientServer(node, WalkAction, "walk", self._on_goal)

    @property
    def active(self) -> bool:
        """Whether a goal is walked for."""
        return self._goal is not None

    def tick(self, t: float, place: pin.SE3 | None, status: WalkStatus) -> None:
        """Look at the goal after a tick at a time [s].

        The place is that of base_footprint, None where unknown.
        """
        self._now, self._place = t, place
        goal = self._goal
        if goal is None:
            return
        if status.phase == WalkStatus.FALLEN:
            self.end(Result.FELL, "the robot fell")
            return
        if goal.handle.is_cancel_requested:
            self._stop()
        if status.phase != WalkPhase.STANDING:
            goal.moved, goal.steps = True, status.steps
            goal.stands_since = math.inf
        elif goal.moved or goal.handle.is_cancel_requested:
            goal.stands_since = min(goal.stands_since, t)
        velocity = status.center_of_mass_velocity
        speed = math.hypot(velocity.x, velocity.y, velocity.z)
        patience = self._settling * (1.0 if speed < self._calm else _PATIENCE)
        if t >= goal.stands_since + patience:
            if goal.handle.is_cancel_requested:
                self.end(Result.CANCELLED, "it was cancelled")
            else:
                self.end(Result.DONE, "")
        elif t >= goal.reported + _FEEDBACK:
            goal.reported = t
            feedback = WalkAction.Feedback(status=status)
            feedback.displacement = pose_message(self._moved(goal))
            goal.handle.publish_feedback(feedback)

    def end(self, outcome: int, message: str) -> None:
        """End the goal, if there is one."""
        goal, self._goal = self._goal, None
        if goal is None:
            return
        moved = self._moved(goal)
        if goal.place is None and outcome == Result.DONE:
            message = "without odometry the displacement is not known"
        seconds = max(self._now - goal.t_start, 0.0)
        distance = float(math.hypot(*moved.translation[:2]))
        result = Result(outcome=outcome, message=message, steps=goal.steps)
        result.displacement = pose_message(moved)
        result.duration = duration_of(seconds)
        result.mean_speed = distance / seconds if seconds else 0.0
        self._give(goal.handle, result)

    def _moved(self, goal: _Goal) -> pin.SE3:
        if goal.place is None or self._place is None:
            return pin.SE3.Identity()
        return goal.place.actInv(self._place)

    def _on_goal(self, handle: Any) -> None:
        goal = handle.request
        handle.execute()
        try:
            if self._goal is not None:
                raise HumansError("another goal is walked for")
            self._begin(goal.steps, velocity_of(goal.velocity))
        except HumansError as error:
            self._give(handle, Result(outcome=Result.REFUSED, message=str(error)))
            return
        self._goal = _Goal(handle, self._now, self._place)

    def _give(self, handle: Any, result: Any) -> None:
        done, cancelled = Result.DONE, Result.CANCELLED
        self._server.finish(
            handle, result, result.outcome == done, result.outcome == cancelled
        )


_DEPTH = 100
"""Events kept for a slow listener."""


class Rising:
    """The walker that gets up, where there is one, and what is heard of it.

    Args:
        node: publishes ``events`` and offers ``get_up``.
        walker: leads the robot while it is on its feet.
        get_up: one of ``never``, ``asked``, ``always``; without ``never`` the attribute
            ``walker`` is what gets up.
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
        """The receiver of commands: it remembers them where the robot may get up."""
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
        """Its state, one word or two; that of the walk while it walks."""
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
        def get_up() -> str:
            if self.walker is None:
                raise ParameterError("it never gets up: see the parameter get_up")
            self.walker.get_up()
            return self.walker.text

        return answered(response, get_up)
