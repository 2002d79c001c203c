# SPDX-License-Identifier: Apache-2.0
"""Trajectories that the simulated servos follow, over a real node."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_client import goal
from node_processes import ObservedGraph

import humans_sim as hs
from humans_sim.core.doctor import ros_hint

pytestmark = [pytest.mark.ros, pytest.mark.study]

PARAMETERS = Path(__file__).parents[2] / "config" / "params" / "simulate.yaml"
LOCKSTEP = (
    "sync:=lockstep",
    "command_timeout:=0.0",
    "real_time_factor:=0.0",
    "start_height:=0.0",
    "method:=time_stepping",
    "allow_partial_joints_goal:=true",
)
PERIOD, SECONDS = 0.01, 0.5
"""Sampling period and time of the trajectories [s]."""
TURN = 20.0
"""Of the head [deg]."""


class Servos:
    """The simulated servos, as a client of the action sees them."""

    def __init__(self, graph: ObservedGraph) -> None:
        """Listen to the joints."""
        from control_msgs.action import FollowJointTrajectory
        from rclpy.action import ActionClient
        from sensor_msgs.msg import JointState

        self.graph = graph
        self.states: dict[int, Any] = {}
        self.feedbacks: list[Any] = []
        graph.node.create_subscription(JointState, "joint_states", self._on_state, 100)
        self.commands = graph.node.create_publisher(JointState, "joint_commands", 10)
        self.action = ActionClient(
            graph.node, FollowJointTrajectory, "follow_joint_trajectory"
        )
        graph.wait(self.action.server_is_ready, "the action")
        graph.wait(lambda: bool(self.states), "a state")
        graph.wait(self.commands.get_subscription_count, "a way to command")

    def _on_state(self, message: Any) -> None:
        stamp = message.header.stamp
        self.states[stamp.sec * 10**9 + stamp.nanosec] = message

    def send(self, goal_message: Any) -> Any:
        """Send a goal; its handle."""
        future = self.action.send_goal_async(
            goal_message, feedback_callback=self.feedbacks.append
        )
        self.graph.wait(future.done, "an answer to the goal")
        return future.result()

    def result(self, handle: Any) -> Any:
        """How a goal ended."""
        assert handle.accepted
        future = handle.get_result_async()
        self.graph.wait(future.done, "the result")
        return future.result()

    def reset(self) -> None:
        """Begin at time zero."""
        from humans_msgs.srv import Reset

        assert self.graph.call(Reset, "reset", Reset.Request()).success

    def head(self, stamp: int) -> float:
        """Angle of the head at a time [deg]."""
        state = self.states[stamp]
        return math.degrees(state.position[list(state.name).index("head_yaw")])


@pytest.fixture
def servos(ros_environment: dict[str, str], khr1: hs.Model) -> Iterator[Servos]:
    """A simulation in lock-step that waits for a command, or a trajectory."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    pytest.importorskip("control_msgs", reason=ros_hint())
    graph = ObservedGraph("trajectories", PARAMETERS, ros_environment)
    graph.start("dynamics", *LOCKSTEP)
    yield Servos(graph)
    graph.close()


def test_goals_are_followed_in_simulated_time(servos: Servos) -> None:
    """Two goals from the same state: the same joint states, to the last bit."""
    from action_msgs.msg import GoalStatus

    end = round(SECONDS / PERIOD) * 10_000_000
    runs = []
    for _ in range(2):
        servos.reset()
        servos.graph.wait(lambda: 0 in servos.states, "the state at time zero")
        servos.states = {0: servos.states[0]}
        done = servos.result(servos.send(goal(["head_yaw"], [TURN], SECONDS)))
        assert done.status == GoalStatus.STATUS_SUCCEEDED, done.result.error_string
        # One period more: the last point of the trajectory is commanded, too.
        servos.graph.wait(lambda: end + 10_000_000 in servos.states, "the end")
        assert max(servos.states) == end + 10_000_000
        runs.append({k: list(m.position) for k, m in servos.states.items()})
    assert runs[0] == runs[1]
    # The servo is behind by its lag, 2.5 / 22 s, and a period of the command.
    lag = 2.5 / 22.0 + PERIOD
    speed = TURN / SECONDS
    assert servos.head(end) == pytest.approx(TURN - speed * lag, abs=1.0)
    for message in servos.feedbacks:
        desired, actual = message.feedback.desired, message.feedback.actual
        t = desired.time_from_start.nanosec
        assert math.degrees(desired.positions[0]) == pytest.approx(speed * t * 1e-9)
        assert math.degrees(actual.positions[0]) == servos.head(t)
    assert len(servos.feedbacks) >= 2 * 8


def test_one_commands_at_a_time(servos: Servos) -> None:
    """Replaced, cancelled, reset and refused, as the bridge of a real robot does."""
    from action_msgs.msg import GoalStatus
    from control_msgs.action import FollowJointTrajectory
    from sensor_msgs.msg import JointState

    codes = FollowJointTrajectory.Result
    long = goal(["head_yaw"], [TURN], 100.0)
    first = servos.send(long)
    second = servos.send(long)
    old = servos.result(first)
    assert old.status == GoalStatus.STATUS_ABORTED
    assert "another trajectory" in old.result.error_string
    cancelling = second.cancel_goal_async()
    servos.graph.wait(cancelling.done, "the cancellation")
    assert servos.result(second).status == GoalStatus.STATUS_CANCELED

    third = servos.send(long)
    servos.reset()
    ended = servos.result(third)
    assert ended.status == GoalStatus.STATUS_ABORTED
    assert "the simulation was reset" in ended.result.error_string
    tight = goal(["head_yaw"], [60.0], 1.0, tolerance=0.01)
    lost = servos.result(servos.send(tight))
    assert lost.result.error_code == codes.PATH_TOLERANCE_VIOLATED
    for wrong in (goal(["tail"], [0.0], 1.0), goal(["head_yaw"], [60.0], 0.01)):
        assert not servos.send(wrong).accepted

    # Who answers the states of a lock-step has the joints for himself.
    servos.reset()
    servos.states.clear()
    servos.graph.wait(lambda: 0 in servos.states, "the state at time zero")
    servos.commands.publish(JointState(name=["head_yaw"], position=[0.1]))
    servos.graph.wait(lambda: 10_000_000 in servos.states, "a period")
    assert not servos.send(goal(["head_yaw"], [TURN], SECONDS)).accepted
