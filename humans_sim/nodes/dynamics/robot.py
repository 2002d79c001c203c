# SPDX-License-Identifier: Apache-2.0
"""A robot of the node ``dynamics``: its commands, sensors, topics and services."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin
from sensor_msgs.msg import JointState

from humans_sim.core.errors import ConfigurationError, HumansError
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.soles import Soles
from humans_sim.dynamics.stepper import Stepper
from humans_sim.models.points import link_on
from humans_sim.nodes.common.scene_robots import NamedRobot
from humans_sim.nodes.dynamics.commands import CommandInbox
from humans_sim.nodes.dynamics.own_services import OwnServices, WaitingPushes
from humans_sim.nodes.dynamics.settings import RobotSettings
from humans_sim.nodes.dynamics.topics import DEPTH, RobotTopics, State
from humans_sim.results.records import Event, Sample

if TYPE_CHECKING:
    from collections import Counter

    from humans_sim.nodes.dynamics.node import Dynamics
    from humans_sim.nodes.dynamics.trajectories import SimulatedTrajectories


class SimulatedRobot:
    """A robot of the simulation, as the graph sees it.

    Attributes:
        settings: its name, model and sensors.
        commands: that came for its joints.
        topics: what is published of it.
        trajectories: what its servos follow; None where none are served.
        soles: its contacts.
        state: what was measured last.
    """

    def __init__(
        self, node: Dynamics, settings: RobotSettings, counts: Counter[str]
    ) -> None:
        self.settings, self._node = settings, node
        servos, lockstep = node.settings.servos, node.settings.lockstep
        self.commands = CommandInbox(settings.model, servos, lockstep, counts)
        self.trajectories: SimulatedTrajectories | None = None

    def make_topics(self, pushes: WaitingPushes) -> None:
        """Publish, listen and serve from now on."""
        node, settings = self._node, self.settings
        topic = settings.topic(self.commands.topic)
        node.create_subscription(JointState, topic, self._on_command, DEPTH)
        self.topics = RobotTopics(node, settings, node.settings)
        if settings.trajectories is not None:
            self.trajectories = self._make_trajectories()
        OwnServices(node, self, pushes)

    def _make_trajectories(self) -> SimulatedTrajectories | None:
        """Serve ``follow_joint_trajectory``; None, and a warning: no control_msgs."""
        node, settings = self._node, self.settings
        try:
            from humans_sim.nodes.dynamics.trajectories import SimulatedTrajectories
        except ImportError as error:
            node.get_logger().warning(f"follow_joint_trajectory is left out: {error}")
            return None
        assert settings.trajectories is not None
        return SimulatedTrajectories(
            node, self, settings.trajectories, node.refuse, node.wake
        )

    def _on_command(self, message: JointState) -> None:
        node = self._node
        try:
            if node.failure:
                raise ConfigurationError(node.failure)
            self.commands.take(message, node.stamp)
        except HumansError as error:
            node.refuse(self.settings.topic("command"), error)
            return
        node.go()

    # -- the run ---------------------------------------------------------------------

    def take(self, system: ModelSystem, number: int, first: NamedRobot) -> None:
        """Be a robot of a system from now on: which, and who is its first one."""
        self.part = part = system.robots[number]
        self.soles = Soles(system, part)
        if number:
            met = system.link_contacts(system.robots[0]) * system.link_contacts(part)
            for k in np.flatnonzero(met):  # the first one has no name in the system
                self.soles.surfaces[k] = first.topic(self.soles.surfaces[k])
        self.settings.sensors.start(system, part)
        self.commands.forget()

    def measure(self, run: Stepper, sample: Sample) -> None:
        """Look at the robot where the run is."""
        points = self.soles.points(sample)
        loads = self.soles.loads(sample, points)
        q, v = sample.q[self.part.q], sample.v[self.part.v]
        readings = self.settings.sensors.read(run, loads)
        effort = run.actuation.dynamics(*sample[:4])[0][self.part.v][6:]
        self.state = State(q, v, effort, points, loads, readings)

    def publish_events(self, events: Iterable[Event]) -> None:
        """Publish events, by the robot's own names."""
        own = self.part.robot.own
        self.topics.publish_events(
            replace(event, subject=own(event.subject)) for event in events
        )

    @property
    def configuration(self) -> np.ndarray:
        """Where it was measured."""
        return self.state.q

    def frame_pose(self, frame: str) -> pin.SE3:
        """Where a frame of it is; refused where it has no such frame."""
        q = self._node.run.q[self.part.q]
        return self.settings.model.frame_pose(q, frame)

    def unframed(self, frame: str) -> str:
        """Its own name of a frame of a message."""
        return self.settings.unframed(self._node, frame)

    def link(self, name: str) -> str:
        """Name in the scene of a link of it; empty: of its base."""
        robot = self.part.robot
        if not robot.name:
            return name
        return robot.named(name or link_on(robot.model.pin, 1))
