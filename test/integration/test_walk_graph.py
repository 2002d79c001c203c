# SPDX-License-Identifier: Apache-2.0
"""Walking over real topics: composed in one process, and as three processes."""

from __future__ import annotations

import math
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from node_processes import GoalClient, ObservedGraph, is_done, make_steps, set_playing

import humans_sim as hs
from humans_sim.applications.graphs import read_graph
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.walking import Velocity, Walker
from humans_sim.control.walking.walk import ScheduledCommand
from humans_sim.core.doctor import ros_hint

pytestmark = [pytest.mark.ros, pytest.mark.study]

PARAMETERS = read_graph("walk").parameters
VELOCITY = Velocity(0.05, 0.0, 0.0)
PERIOD, END = 0.02, 1.2
"""Of the walk that is compared bit for bit [s]."""
HOLD = 6.0
"""command_timeout of the graph of processes [s]."""
EXIT = 30.0
"""Wall time for a clean end, on a slow machine [s]."""
AGAIN = 60.0
"""Wall time after which a walk that should begin is asked to once more [s]."""


def ends_well(process: subprocess.Popen[str]) -> str:
    """Ask a process to end; what it printed."""
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=EXIT)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    return output


def seconds(stamp: Any) -> float:
    """Time of a stamp [s]."""
    return stamp.sec + 1e-9 * stamp.nanosec


@pytest.fixture(scope="module")
def library_run(ros_environment: dict[str, str], khr1: hs.Model) -> hs.Run:
    """What the library makes of the walk, by the parameters of the graph.

    It comes before any node: kernels are compiled here, with no one waiting.
    """
    pytest.importorskip("humans_msgs", reason=ros_hint())
    given = yaml.safe_load(PARAMETERS.read_text())["/**/dynamics"]["ros__parameters"]
    walker = Walker(khr1, period=PERIOD)
    robot = walking_robot(
        walker,
        [ScheduledCommand(0.0, VELOCITY)],
        servo=given["servo"],
        method=given["method"],
    )
    return robot.simulation.run(walker.start(), t_end=END, sampling_period=PERIOD)


def test_composed_graph_is_pushed_and_walks_on(
    library_run: hs.Run,
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """Six steps by the action, a push on the way; the observer knows where it is."""
    from nav_msgs.msg import Odometry

    seen: dict[str, dict[float, Any]] = {"odom": {}, "ground_truth/odom": {}}

    def keep(topic: str) -> Callable[[Odometry], None]:
        return lambda m: seen[topic].update({seconds(m.header.stamp): m.pose.pose})

    for topic in seen:
        node.create_subscription(Odometry, topic, keep(topic), 100)
    process = start(
        *("-m", "humans_sim", "up", "push", "--headless", "--steps", "6"),
        *("--speed", "0.05", "--seconds", "200", "--folder", str(tmp_path)),
        *("--ros", "p dynamics:real_time_factor:=0.0"),
        *("--ros", "p walk:cmd_vel:=[0.0, 0.0, 0.0]"),
        *("--ros", "p pusher:times:=[1.5]"),
        *("--ros", "p pusher:impulses:=[0.0, 0.03, 0.0]"),
    )
    wait_for(lambda: process.poll() is not None, "the walk to be over")
    output, _ = process.communicate(timeout=EXIT)
    assert process.returncode == 0, output
    printed = re.search(
        r"done: (\d+) steps, ([\d.]+) m forwards", " ".join(output.split())
    )
    assert printed is not None, output
    assert int(printed[1]) == 6
    run = hs.load_run(tmp_path / "run.npz")
    assert run.check().ok
    assert [event.kind for event in run.events].count("push") == 1
    assert run.q[-1, 0] - run.q[0, 0] == pytest.approx(float(printed[2]), abs=0.01)
    assert 0.08 < float(printed[2]) < 0.16
    assert abs(run.v[-1]).max() < 0.1
    estimate, truth = seen.values()
    common = sorted(set(estimate) & set(truth))
    assert len(common) > 100
    for t in common:
        here, there = estimate[t].position, truth[t].position
        assert (
            math.dist((here.x, here.y, here.z), (there.x, there.y, there.z)) < 0.01
        ), t


class Robot(ObservedGraph):
    """Three processes that walk in lock-step, as a test sees them.

    Attributes:
        statuses: of the walk, the newest last.
        levels: of diagnostics, by their names.
        values: of diagnostics, by their names.
        events: kinds of the simulation's events.
        height: of the base [m].
        folder: of the run files.
    """

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        """Start the processes; the simulation is paused."""
        super().__init__("walk_test", PARAMETERS, environment)
        self.folder = folder
        self.statuses: list[Any] = []
        self.levels: dict[str, bytes] = {}
        self.values: dict[str, dict[str, str]] = {}
        self.events: list[str] = []
        self.height = 0.0
        self._listen()
        record = f"record:={folder / 'run.npz'}"
        timeout = f"command_timeout:={HOLD}"
        self.start(
            "dynamics", record, timeout, "start_paused:=true", "real_time_factor:=0.0"
        )
        self.start_walk(VELOCITY)
        self.start("observer")

    def _listen(self) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from geometry_msgs.msg import Twist
        from humans_msgs.msg import SimulationEvent, WalkStatus
        from nav_msgs.msg import Odometry

        def on_odometry(message: Any) -> None:
            self.height = message.pose.pose.position.z

        def on_diagnostics(message: Any) -> None:
            for status in message.status:
                self.levels[status.name] = status.level
                self.values[status.name] = {v.key: v.value for v in status.values}

        listen = self.node.create_subscription
        listen(WalkStatus, "walk_status", self.statuses.append, 100)
        listen(Odometry, "ground_truth/odom", on_odometry, 100)
        listen(DiagnosticArray, "/diagnostics", on_diagnostics, 100)
        listen(SimulationEvent, "events", lambda m: self.events.append(m.kind), 100)
        self.velocity = self.node.create_publisher(Twist, "cmd_vel", 10)

    def start_walk(self, velocity: Velocity) -> None:
        """Start the node walk."""
        self.start("walk", f"cmd_vel:={[float(x) for x in velocity]}")

    @property
    def time(self) -> float:
        """Of the last tick [s]."""
        return seconds(self.statuses[-1].header.stamp) if self.statuses else -1.0

    def pause(self, paused: bool) -> None:
        """Stop the time, or let it resume."""
        assert is_done(set_playing(self.call, not paused))

    def reset(self) -> None:
        """Begin anew, and wait until the walk has."""
        from humans_msgs.srv import Reset

        self.pause(True)
        if self.time == 0.0:  # a walk sees a reset by the time that goes back
            assert is_done(make_steps(self.call, 1))
        self.statuses.clear()
        asked = -math.inf

        def begun() -> bool:
            """Ask again where its first status was lost on the way."""
            nonlocal asked
            if time.monotonic() > asked + AGAIN:
                assert self.call(Reset, "reset", Reset.Request()).success
                asked = time.monotonic()
            return self.time == 0.0

        self.wait(begun, "the walk to begin")

    def go(self) -> None:
        """Let a walk begin once it is ready for time zero."""
        end = time.monotonic() + AGAIN
        self.wait(
            lambda: self.time == 0.0 or time.monotonic() > end, "the walk to begin"
        )
        if self.time != 0.0:
            self.reset()
        self.pause(False)

    def newest_run(self) -> hs.Run:
        """The run that was written last."""
        files = self.folder.glob("run*.npz")
        return hs.load_run(max(files, key=lambda path: path.stat().st_mtime))

    def walked(self, t: float) -> None:
        """Wait for a time."""
        self.wait(lambda: self.time >= t, f"{t} s of the walk")


@pytest.fixture(scope="module")
def robot(
    ros_environment: dict[str, str],
    library_run: hs.Run,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Robot]:
    """The processes, shared by the tests below, which follow each other."""
    made = Robot(ros_environment, tmp_path_factory.mktemp("walk"))
    yield made
    made.close()


def test_three_processes_walk_as_the_library(robot: Robot, library_run: hs.Run) -> None:
    """In lock-step it is the same walk, to the bit."""
    robot.go()
    robot.walked(END + PERIOD)
    robot.reset()
    assert "timeout" not in robot.events
    run, count = robot.newest_run(), len(library_run.t)
    np.testing.assert_array_equal(run.q[:count], library_run.q)
    np.testing.assert_array_equal(run.v[:count], library_run.v)
    assert run.check().ok


def test_hostile_velocities_and_a_second_run(robot: Robot, library_run: hs.Run) -> None:
    """Velocities that make no sense change nothing: the same walk again, to the bit."""
    from geometry_msgs.msg import Twist

    robot.wait(lambda: robot.velocity.get_subscription_count() > 0, "a way to command")
    robot.go()
    robot.walked(0.4)
    for bad in (math.nan, math.inf, -math.inf):
        twist = Twist()
        twist.linear.x = bad
        robot.velocity.publish(twist)
        twist = Twist()
        twist.linear.x, twist.angular.y = 0.03, bad
        robot.velocity.publish(twist)
    robot.walked(END + PERIOD)
    robot.wait(
        lambda: int(robot.values["walk: walk"]["refused_messages"]) == 6,
        "six refusals",
    )
    robot.reset()
    run, count = robot.newest_run(), round(END / PERIOD)
    np.testing.assert_array_equal(run.q[:count], library_run.q[:count])
    np.testing.assert_array_equal(run.v[:count], library_run.v[:count])


def test_speed_is_a_parameter(robot: Robot) -> None:
    """The real-time factor may change while it runs; nonsense is refused."""
    from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
    from rcl_interfaces.srv import SetParameters

    def put(value: float) -> Any:
        given = ParameterValue(
            type=ParameterType.PARAMETER_DOUBLE, double_value=float(value)
        )
        request = SetParameters.Request()
        request.parameters = [Parameter(name="real_time_factor", value=given)]
        answer = robot.call(SetParameters, "/dynamics/set_parameters", request)
        return answer.results[0]

    assert put(2.0).successful
    refused = put(-1.0)
    assert not refused.successful and "0 or more" in refused.reason
    assert not put(math.nan).successful
    assert put(0.0).successful


def test_walk_that_is_killed_and_comes_back(robot: Robot) -> None:
    """The last command is held and reported; the node that comes back lets it stand."""
    robot.go()
    robot.walked(0.7)
    robot.processes["walk"].kill()
    robot.processes["walk"].communicate()
    robot.events.clear()
    robot.wait(lambda: "timeout" in robot.events, "a command that is missed")
    robot.wait(
        lambda: int(robot.values["dynamics: simulation"]["held_commands"]) > 0,
        "diagnostics",
    )
    robot.statuses.clear()
    robot.start_walk(Velocity())
    robot.wait(lambda: len(robot.statuses) > 0, "the node to come back")
    back = robot.time
    assert back > 0.7
    robot.walked(back + 1.5)
    from humans_msgs.msg import WalkStatus

    assert robot.statuses[-1].phase == WalkStatus.STANDING, robot.statuses[-1].message
    assert robot.height > 0.18


def test_a_fall_is_reported_and_ends_the_walk(robot: Robot) -> None:
    """A hard push: FALLEN, an error; it gets up when asked; a reset begins anew."""
    from geometry_msgs.msg import Twist
    from humans_msgs.msg import WalkStatus
    from humans_msgs.srv import Push
    from std_srvs.srv import Trigger

    robot.reset()
    robot.go()
    robot.walked(0.3)
    request = Push.Request()
    request.impulse.y = 1.5
    assert robot.call(Push, "push", request).success
    robot.wait(lambda: robot.statuses[-1].phase == WalkStatus.FALLEN, "the fall")
    robot.wait(lambda: robot.levels["walk: walk"] == b"\x02", "an error")
    refused = int(robot.values["walk: walk"]["refused_messages"])
    twist = Twist()
    twist.linear.x = 0.05
    robot.velocity.publish(twist)
    robot.wait(
        lambda: int(robot.values["walk: walk"]["refused_messages"]) > refused,
        "a refusal",
    )
    assert "fallen" in robot.values["walk: walk"]["last_refusal"]
    assert "fallen" in robot.events
    response = robot.call(Trigger, "get_up", Trigger.Request())
    assert response.success, response.message
    robot.wait(lambda: "getting_up" in robot.events, "it to get up")
    robot.wait(lambda: "gets up from" in robot.statuses[-1].message, "the status")
    assert not robot.call(Trigger, "get_up", Trigger.Request()).success
    robot.reset()
    assert robot.statuses[-1].phase in (WalkStatus.STANDING, WalkStatus.STARTING)
    robot.wait(lambda: robot.levels["walk: walk"] == b"\x00", "all to be well")
    for kind in ("walk", "observer", "dynamics"):
        ends_well(robot.processes[kind])


def test_play_motion(
    library_run: hs.Run,
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., Any],
    tmp_path: Path,
    khr1: hs.Model,
) -> None:
    """A motion of the boards is played, over and over, and the robot stands."""
    from action_msgs.msg import GoalStatus
    from humans_msgs.action import PlayMotion
    from rosgraph_msgs.msg import Clock

    now = [0.0]
    node.create_subscription(
        Clock, "/clock", lambda m: now.append(seconds(m.clock)), 100
    )
    process = start(
        *("-m", "humans_sim", "up", "play-motion", "--headless"),
        *("--ros", "p dynamics:real_time_factor:=0.0"),
        *("--ros", f"p dynamics:record:={tmp_path / 'run.npz'}"),
    )
    action = GoalClient(node, wait_for, PlayMotion, "play_motion")
    wait_for(lambda: now[-1] > 1.2, "the motion")

    def refused(**fields: Any) -> str:
        status, result = action.send(**fields).result()
        assert status == GoalStatus.STATUS_ABORTED
        assert result.outcome == PlayMotion.Result.REFUSED
        return str(result.message)

    assert "no motion is called 'dance'" in refused(file="dance")
    assert "rate must be" in refused(file="greeting", rate=-1.0)
    assert "no board" in refused(source=PlayMotion.Goal.BOARD_MOTION)
    first = action.send(file="greeting", rate=0.05)
    wait_for(lambda: bool(first.feedbacks), "how far it is")
    again = action.send(file="greeting", rate=2.0)
    status, result = first.result()
    assert status == GoalStatus.STATUS_ABORTED and "its place" in result.message
    status, result = again.result()
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert 0.2 < seconds(result.duration) < 2.0
    assert seconds(again.feedbacks[-1].duration) == pytest.approx(
        seconds(result.duration)
    )
    slow = action.send(file="greeting", rate=0.05)
    wait_for(lambda: bool(slow.feedbacks), "how far it is")
    slow.cancel()
    status, result = slow.result()
    assert status == GoalStatus.STATUS_CANCELED
    assert 0.0 < seconds(result.duration) < seconds(slow.feedbacks[-1].duration)
    end = now[-1] + 0.5
    wait_for(lambda: now[-1] > end, "the joints to be held")
    ends_well(process)
    run = hs.load_run(tmp_path / "run.npz")
    arm = run.q[:, 7 + khr1.joint_names.index("r_shoulder_roll")]
    assert arm.max() > math.radians(100)
    assert run.check().ok
    assert abs(run.q[:, 2] - run.q[0, 2]).max() < 0.05
