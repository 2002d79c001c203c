# SPDX-License-Identifier: Apache-2.0
"""Services of the node ``dynamics`` for what the standard lacks.

Also pushes that wait for their time, and the record: a disk that is full does not end
the node.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from humans_msgs.srv import Push, Reset

from humans_sim.core.errors import FileWriteError, HumansError, ParameterError
from humans_sim.dynamics.simulation import Simulation
from humans_sim.dynamics.stepper import Stepper
from humans_sim.nodes.common.conversions import (
    base_of,
    joint_values,
    nanoseconds_of,
    time_of,
    vector_of,
    velocity_of,
)
from humans_sim.nodes.common.run_recorder import RunRecorder
from humans_sim.results.records import Event, Sample

if TYPE_CHECKING:
    from humans_sim.nodes.dynamics.node import Dynamics
    from humans_sim.nodes.dynamics.robot import SimulatedRobot


_MOST = 1000
"""Pushes that may wait at once."""


@dataclass(frozen=True)
class _Push:
    robot: SimulatedRobot
    stamp: int
    frame: str
    link: str
    point: np.ndarray
    impulse: np.ndarray
    duration: float


class WaitingPushes:
    """Takes requests of the service ``push``, and applies them on the way.

    Args:
        world: name of the frame of the ground truth.
    """

    def __init__(self, world: str) -> None:
        self._world = world
        self._bodies: frozenset[str] = frozenset()
        self._waiting: list[_Push] = []

    def set_bodies(self, names: Collection[str]) -> None:
        """These free bodies can be pushed, too; what waits for others is forgotten."""
        gone = self._bodies - set(names)
        self._bodies = frozenset(names)
        self._waiting = [push for push in self._waiting if push.link not in gone]

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()

    def add(self, request: Any, robot: SimulatedRobot, now: int) -> int:
        """Keep a request until its time; when it begins [ns].

        Now is the simulation time [ns].

        Raises:
            ParameterError: it lies in the past, or has a wrong number or name.
        """
        stamp = nanoseconds_of(request.header.stamp) or now
        if stamp < now:
            raise ParameterError(
                f"it should begin at {stamp * 1e-9:.9g} s, the time is "
                f"{now * 1e-9:.9g} s"
            )
        frame = request.header.frame_id
        push = _Push(
            robot,
            stamp,
            "" if frame == self._world else robot.unframed(frame),
            request.link_name,
            vector_of(request.point),
            vector_of(request.impulse),
            nanoseconds_of(request.duration) * 1e-9,
        )
        if len(self._waiting) >= _MOST:
            raise ParameterError(f"{_MOST} pushes wait already")
        if push.duration < 0.0:
            raise ParameterError(f"its duration is {push.duration:g} s")
        link = "" if push.link in self._bodies else push.link
        for name in filter(None, (push.frame, link)):
            robot.frame_pose(name)
        self._waiting = sorted([*self._waiting, push], key=lambda p: p.stamp)
        return stamp

    def advance(self, run: Stepper, end: float) -> None:
        """Integrate to ``end`` [s], with the pushes on the way."""
        last = round(end * 1e9)
        while self._waiting and self._waiting[0].stamp < last:
            push = self._waiting.pop(0)
            if push.stamp > round(run.t * 1e9):
                run.advance(push.stamp * 1e-9)
            impulse, link = push.impulse, push.link
            if push.frame:
                impulse = push.robot.frame_pose(push.frame).rotation @ impulse
            if link not in self._bodies:
                link = push.robot.link(link)
            run.push(link, push.point, impulse, push.duration)
        run.advance(end)


class OwnServices:
    """``reset`` of the time and a robot to a posture or a state, and ``push``."""

    def __init__(
        self, node: Dynamics, robot: SimulatedRobot, pushes: WaitingPushes
    ) -> None:
        self._node, self._robot, self._pushes = node, robot, pushes
        serve, topic = node.create_service, robot.settings.topic
        serve(Reset, topic("reset"), self._on_reset)
        serve(Push, topic("push"), self._on_push)

    def _on_reset(self, request: Any, response: Any) -> Any:
        node, robot = self._node, self._robot.settings
        try:
            q, v = node.settings.start(robot, request.posture)
            if request.use_state:
                joints, model = request.joint_state, robot.model
                q[:7] = base_of(request.base_pose)
                v[:6] = velocity_of(request.base_twist)
                q[7:] = joint_values(
                    model, joints.name, joints.position, q[7:], "position"
                )
                if len(joints.velocity):
                    v[6:] = joint_values(
                        model, joints.name, joints.velocity, v[6:], "velocity"
                    )
            node.restart({robot.name: (q, v)})
        except Exception as error:  # whatever it is, the old run stands
            response.message = str(error)
        response.success = not response.message
        response.stamp = time_of(node.stamp)
        return response

    def _on_push(self, request: Any, response: Any) -> Any:
        node = self._node
        try:
            if node.failure:
                raise ParameterError(node.failure)
            stamp = self._pushes.add(request, self._robot, node.stamp)
        except HumansError as error:
            response.success, response.message = False, str(error)
            return response
        response.success = True
        response.message = f"begins at {stamp * 1e-9:.9g} s"
        return response


class Recording:
    """Records runs, if a file is named for them.

    Args:
        path: file that a run is written to; None: nothing is recorded.
        samples: how many of the newest are kept.
    """

    def __init__(self, path: Path | None, samples: int, logger: Any) -> None:
        self._recorder = None if path is None else RunRecorder(path, samples)
        self._logger = logger

    def begin(self, simulation: Simulation) -> None:
        """Write the run so far, and record another one."""
        if self._recorder is not None:
            self.write()
            self._recorder.begin(simulation)

    def keep(self, sample: Sample, events: Sequence[Event]) -> None:
        """Keep a sample."""
        if self._recorder is None:
            return
        try:
            self._recorder.keep(sample, events)
        except FileWriteError as error:
            self._recorder = None
            self._logger.error(f"runs are no longer recorded: {error}")

    def write(self) -> None:
        """Write what was recorded."""
        if self._recorder is None:
            return
        try:
            path = self._recorder.write()
        except (OSError, HumansError) as error:
            self._logger.error(f"the run was not written: {error}")
            return
        if path is not None:
            self._logger.info(f"the run is in {path}")
