# SPDX-License-Identifier: Apache-2.0
"""What the launch tests share: a launch file under launch_testing, and its graph."""

from __future__ import annotations

import math
import os
import time
import unittest
from collections.abc import Callable
from typing import Any, ClassVar

import launch_testing
import pytest
import rclpy
from launch.actions import IncludeLaunchDescription, SetEnvironmentVariable
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import GetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState

from humans_sim.applications.graphs import read_graph
from humans_sim.core.resources import resource
from humans_sim.nodes.common.compose import FlowCheck
from launch import LaunchDescription

PATIENCE = float(os.environ.get("HUMANS_SIM_TEST_PATIENCE", "60"))
_EXIT = "30"
"""Wall time for a clean end, on a slow machine [s]; launch becomes rude after 5 s."""
_ENDS = [0, -2, -15]
"""Codes of a clean end: by itself, by SIGINT, by SIGTERM."""


def launch_test(graph: str, **arguments: str) -> Callable[[], LaunchDescription]:
    """The function ``generate_test_description`` of a launch test.

    It runs the launch file of a graph without its page, on a domain of this process's
    own.

    Args:
        graph: its name.
        arguments: of the launch file.
    """

    @pytest.mark.launch_test
    def generate_test_description() -> LaunchDescription:
        return _description(graph, arguments)

    return generate_test_description


def _description(graph: str, arguments: dict[str, str]) -> LaunchDescription:
    path = resource("launch", f"{graph}.launch.py")
    given = {"gui": "false", "sigterm_timeout": _EXIT, "sigkill_timeout": _EXIT}
    domain = str(1 + os.getpid() % 101)
    return LaunchDescription(
        [
            SetEnvironmentVariable("ROS_DOMAIN_ID", domain),
            SetEnvironmentVariable("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(path)),
                launch_arguments=(given | arguments).items(),
            ),
            ReadyToTest(),
        ]
    )


class GraphCase(unittest.TestCase):
    """Listens to a graph.

    Attributes:
        graph: its name, as the class says: ``class TestWalk(GraphCase, graph="walk")``.
        node: of the test; it counts the messages of the graph's topics.
        places: of the base, the newest last [m].
    """

    graph: ClassVar[str]

    def __init_subclass__(cls, graph: str = "") -> None:
        """Remember the graph's name; launch_testing derives classes without one."""
        cls.graph = graph or cls.graph

    def setUp(self) -> None:
        """Listen before anything else."""
        chosen = read_graph(self.graph)
        self._nodes = set(chosen.nodes) - chosen.pages
        rclpy.init()
        self.node = FlowCheck(chosen.topics, set(chosen.latched))
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._topics, self._awaited = set(chosen.topics), set[str]()
        self.places: list[tuple[float, float, float]] = []
        self.listen(Odometry, "ground_truth/odom", self._on_odometry)

    def tearDown(self) -> None:
        """Close the node."""
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown()

    def _on_odometry(self, message: Odometry) -> None:
        place = message.pose.pose.position
        self.places.append((place.x, place.y, place.z))

    def listen(self, kind: Any, topic: str, heard: Callable[[Any], None]) -> None:
        """Call ``heard`` with each message; the graph is awaited until one came."""
        if topic in self._topics:
            self._awaited.add(topic)

        def on_message(message: Any) -> None:
            self._awaited.discard(topic)
            heard(message)

        self.node.create_subscription(kind, topic, on_message, 100)

    def joint_angles(self) -> dict[str, float]:
        """The newest angle of each joint, by name; joint_states change it [rad]."""
        angles: dict[str, float] = {}
        self.listen(
            JointState,
            "joint_states",
            lambda m: angles.update(zip(m.name, m.position, strict=True)),
        )
        return angles

    def assert_upright(self) -> None:
        """The base is about as high as it was at first."""
        self.assertGreater(self.places[-1][2], 0.9 * self.places[0][2])

    def wait(
        self,
        condition: Callable[[], bool],
        what: str,
        missing: Callable[[], list[str]] = list,
    ) -> None:
        """Spin until a condition holds; what is missing is said if it does not."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                self.fail(f"waited {PATIENCE} s for {what} {missing() or ''}")
            self._executor.spin_once(timeout_sec=0.05)

    def wait_for_graph(self) -> None:
        """Wait for all nodes and topics, for listeners too; the page is not there."""

        def silent() -> list[str]:
            flows = (flow.topic for flow in self.node.flows() if not flow.count)
            return sorted(self._awaited.union(flows))

        def absent() -> list[str]:
            return sorted(self._nodes - set(self.node.get_node_names()))

        self.wait(lambda: not absent(), "the nodes", absent)
        self.assertNotIn("viewer", self.node.get_node_names())
        self.wait(lambda: not silent(), f"all topics of {self.graph}", silent)

    def parameter(self, node: str, name: str) -> Any:
        """A parameter of a node of the graph."""
        client = self.node.create_client(GetParameters, f"{node}/get_parameters")
        self.wait(client.service_is_ready, f"the parameters of {node}")
        future = client.call_async(GetParameters.Request(names=[name]))
        self.wait(future.done, f"the parameter {name} of {node}")
        return parameter_value_to_python(future.result().values[0])

    @property
    def distance(self) -> float:
        """How far the base has come, over ground [m]."""
        return math.dist(self.places[0][:2], self.places[-1][:2])


@launch_testing.post_shutdown_test()
class ExitCase(unittest.TestCase):
    """What must hold of the processes after the shutdown.

    Attributes:
        processes: of the graph, at least.
    """

    processes: ClassVar[int] = 2

    def test_exit_codes(self, proc_info: Any) -> None:
        """Every process ended cleanly."""
        self.assertGreaterEqual(len(proc_info.process_names()), self.processes)
        assertExitCodes(proc_info, allowable_exit_codes=_ENDS)
