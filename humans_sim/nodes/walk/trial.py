# SPDX-License-Identifier: Apache-2.0
"""A walk of some steps in a graph composed in this process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pinocchio as pin
from humans_msgs.action import Walk as WalkAction
from rclpy.action import ActionClient

from humans_sim.applications.graphs import Graph, Placing
from humans_sim.control.walking import Velocity
from humans_sim.core.errors import HumansError
from humans_sim.nodes.common.compose import Flow, run_graph
from humans_sim.nodes.common.conversions import base_of, nanoseconds_of
from humans_sim.nodes.common.model_node import ProcessNode
from humans_sim.nodes.common.process import Leave

RUN_FILE = "run.npz"
_RETRY = 0.5
"""Wall time between two attempts to begin [s]."""
_Result = WalkAction.Result
_OUTCOMES = {
    _Result.DONE: "done",
    _Result.CANCELLED: "cancelled",
    _Result.FELL: "fell",
    _Result.REFUSED: "refused",
    _Result.ABORTED: "aborted",
}


@dataclass(frozen=True)
class WalkOutcome:
    """How a walk went.

    Attributes:
        outcome: ``done``, ``cancelled``, ``fell``, ``refused``, ``aborted``, or
            ``interrupted`` where its end was not waited for.
        message: why it is not ``done``.
        forwards: displacement of base_footprint, in its own axes at the start [m].
        sideways: to the left [m].
        turn: to the left [rad].
        duration: simulated [s].
        wall_time: from the begin to the end of the walk [s].
        run: the run file; None where none was written.
        flows: what was seen on the graph's topics.
    """

    outcome: str
    message: str
    steps: int
    forwards: float
    sideways: float
    turn: float
    duration: float
    wall_time: float
    run: Path | None
    flows: Sequence[Flow]

    @property
    def done(self) -> bool:
        """Whether it made all its steps and stands."""
        return self.outcome == "done"

    @property
    def speed(self) -> float:
        """Distance over the time [m/s]."""
        distance = math.hypot(self.forwards, self.sideways)
        return distance / self.duration if self.duration else 0.0

    @property
    def real_time_factor(self) -> float:
        """Simulated time over wall time."""
        return self.duration / self.wall_time if self.wall_time else 0.0


class WalkCaller(ProcessNode):
    """Sends one goal as soon as the walker is ready, and ends with its result.

    Args:
        steps: to make, the closing one included.
        end: called when the result is there.

    Attributes:
        result: of the action, None until it is there.
        wall_time: from the goal to the result [s].
    """

    def __init__(self, steps: int, velocity: Velocity, end: Callable[[], None]) -> None:
        super().__init__("walk_trial")
        self._end, self._busy = end, False
        self._goal = WalkAction.Goal(steps=steps)
        self._goal.velocity.linear.x = float(velocity.vx)
        self._goal.velocity.linear.y = float(velocity.vy)
        self._goal.velocity.angular.z = float(velocity.wz)
        self._began = self.wall_time = 0.0
        self.result: Any = None
        self.problem = "the action walk did not answer"
        self._client = ActionClient(self, WalkAction, "walk")
        self.every(_RETRY, self._try)

    def _try(self) -> None:
        if self._busy or not self._client.server_is_ready():
            return
        self._busy, self._began = True, time.monotonic()
        self._client.send_goal_async(self._goal).add_done_callback(self._on_answer)

    def _on_answer(self, future: Any) -> None:
        self.problem = "it was not over yet"
        future.result().get_result_async().add_done_callback(self._on_result)

    def _on_result(self, future: Any) -> None:
        result = future.result().result
        if result.outcome == _Result.REFUSED:
            # The robot may not stand yet: try again until the time is over.
            self._busy, self.problem = False, result.message
            return
        self.wall_time = time.monotonic() - self._began
        self.result = result
        self._end()


def walk_trial(
    graph: Graph,
    overrides: Sequence[str] = (),
    pages: bool = True,
    *,
    steps: int = 20,
    velocity: Velocity = Velocity(0.05),  # noqa: B008
    folder: Path | None = None,
    timeout: float = 600.0,
    check: bool = True,
    defer: Callable[[Leave], None] | None = None,
    placing: Placing = Placing(),  # noqa: B008
) -> WalkOutcome:
    """Run a graph until a walk of some steps is over.

    Args:
        graph: it has the nodes ``dynamics`` and ``walk``.
        overrides: further ROS arguments (``-p name:=value``, ``-r old:=new``).
        pages: whether nodes that open a page are run.
        steps: to make, the closing one included.
        velocity: to walk with.
        folder: where the run file is written; None: nowhere.
        timeout: wall time after which it is interrupted [s].
        check: count the messages of the graph's topics; that costs speed.
        defer: see :class:`~humans_sim.nodes.common.process.NodeProcess`.
        placing: of the graph.

    Raises:
        HumansError: the graph cannot walk, or a node of it failed.
    """
    missing = {"dynamics", "walk"} - set(graph.nodes)
    if missing:
        raise HumansError(
            f"the graph {graph.name} cannot walk: it has no node {sorted(missing)[0]}"
        )
    if any(graph.namespaces):
        raise HumansError(
            f"the graph {graph.name} has several robots: send each its action walk"
        )
    arguments = list(overrides)
    run = None
    if folder is not None:
        run = folder / RUN_FILE
        run.unlink(missing_ok=True)
        arguments += ["-p", f"dynamics:record:={run}"]
    callers: list[WalkCaller] = []

    def make(end: Callable[[], None]) -> WalkCaller:
        callers.append(WalkCaller(steps, velocity, end))
        return callers[0]

    flows = run_graph(
        graph,
        arguments,
        pages,
        timeout,
        check,
        further=[make],
        defer=defer,
        placing=placing,
    )
    written = run if run is not None and run.is_file() else None
    return _outcome(callers, written, flows)


def _outcome(
    callers: Sequence[WalkCaller], written: Path | None, flows: Sequence[Flow]
) -> WalkOutcome:
    nothing = (0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if not callers:  # stopped before it was made
        return WalkOutcome("interrupted", "it had not begun", *nothing, written, flows)
    caller = callers[0]
    result = caller.result
    if result is None:
        return WalkOutcome("interrupted", caller.problem, *nothing, written, flows)
    moved = pin.XYZQUATToSE3(base_of(result.displacement))
    return WalkOutcome(
        _OUTCOMES[result.outcome],
        result.message,
        result.steps,
        float(moved.translation[0]),
        float(moved.translation[1]),
        float(pin.rpy.matrixToRpy(moved.rotation)[2]),
        nanoseconds_of(result.duration) / 1e9,
        caller.wall_time,
        written,
        flows,
    )
