# SPDX-License-Identifier: Apache-2.0
"""The action ``play_motion``: a recorded motion, with feedback and cancel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from humans_msgs.action import PlayMotion

from humans_sim.core.errors import HumansError
from humans_sim.nodes.common.conversions import duration_of
from humans_sim.nodes.common.model_node import ProcessNode
from humans_sim.nodes.common.services import PatientServer

Result = PlayMotion.Result
_FEEDBACK = 0.1
"""Time of the motion between two feedbacks [s]."""
_LOOK = 0.05
"""Wall time after which a goal that was cancelled is ended [s]."""


@dataclass
class _Goal:
    handle: Any
    duration: float
    played: float = 0.0
    reported: float = -math.inf


class MotionGoals:
    """Serves the action; a new goal takes the place of the old one, which is aborted.

    Args:
        begin: called with the goal; begins its motion in place of any other and gives
            its duration [s], or raises, and all goes on.
        stop: called when the goal is cancelled; the joints stay where they are.
    """

    def __init__(
        self,
        node: ProcessNode,
        begin: Callable[[Any], float],
        stop: Callable[[], None],
    ) -> None:
        self._begin, self._stop = begin, stop
        self._goal: _Goal | None = None
        self._server = PatientServer(node, PlayMotion, "play_motion", self._on_goal)
        node.every(_LOOK, self._look)

    @property
    def active(self) -> bool:
        """Whether a goal is played for."""
        return self._goal is not None

    def report(self, played: float) -> None:
        """The motion of the goal, if there is one, has been played for so long [s]."""
        goal = self._goal
        if goal is None:
            return
        goal.played = min(max(played, 0.0), goal.duration)
        if goal.played >= goal.reported + _FEEDBACK:
            goal.reported = goal.played
            feedback = PlayMotion.Feedback(
                played=duration_of(goal.played), duration=duration_of(goal.duration)
            )
            goal.handle.publish_feedback(feedback)

    def succeed(self) -> None:
        """The motion is over."""
        self._end(Result.DONE, "")

    def abort(self, reason: str) -> None:
        """The motion is not played on."""
        self._end(Result.ABORTED, reason)

    def _on_goal(self, handle: Any) -> None:
        handle.execute()
        try:
            duration = self._begin(handle.request)
        except HumansError as error:
            self._give(handle, Result(outcome=Result.REFUSED, message=str(error)))
            return
        self.abort("another motion took its place")
        self._goal = _Goal(handle, duration)

    def _look(self) -> None:
        if self._goal is not None and self._goal.handle.is_cancel_requested:
            self._stop()
            self._end(Result.CANCELLED, "it was cancelled")

    def _end(self, outcome: int, message: str) -> None:
        goal, self._goal = self._goal, None
        if goal is None:
            return
        result = Result(outcome=outcome, message=message)
        result.duration = duration_of(goal.played)
        self._give(goal.handle, result)

    def _give(self, handle: Any, result: Any) -> None:
        done, cancelled = Result.DONE, Result.CANCELLED
        self._server.finish(
            handle, result, result.outcome == done, result.outcome == cancelled
        )
