# SPDX-License-Identifier: Apache-2.0
"""The node ``dynamics`` over real topics between real processes."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lockstep_controller import torques
from node_processes import call_service, is_done, make_steps, set_playing

import humans_sim as hs
from humans_sim.actuation import IdealTorque, Servo
from humans_sim.actuation.robots import RobotSetup
from humans_sim.core.doctor import ros_hint

pytestmark = pytest.mark.ros

HERE = Path(__file__).parent
SPACE = "/lockstep"
PERIOD, TIMEOUT = 0.005, 4.0
"""Sampling period and command_timeout of the node under test [s]."""
STEPS, NANOSECONDS = 60, 5_000_000
EXIT = 20.0
"""Wall time for a clean end, on a slow machine [s]."""


@pytest.fixture(scope="module")
def library_run(ros_environment: dict[str, str], khr1: hs.Model) -> hs.Run:
    """What the library makes of the lock-step test.

    It comes before any node: kernels are compiled here, with no one waiting.
    """
    q0 = khr1.standing(khr1.neutral()[7:])
    dropped = q0.copy()
    dropped[2] += 0.01
    hs.Simulation(khr1, actuation=Servo(khr1)).run(dropped, t_end=0.1)
    sim = hs.Simulation(
        khr1,
        actuation=IdealTorque(khr1),
        controller=lambda t, state: np.array(
            torques(khr1.joint_names, state.q[7:], state.v[6:])
        ),
        ground=RobotSetup.of_model(khr1).ground(),
    )
    return sim.run(q0, t_end=STEPS * PERIOD, sampling_period=PERIOD)


@pytest.fixture(scope="module")
def running(
    ros_environment: dict[str, str], library_run: hs.Run
) -> Iterator[Callable[[], Any]]:
    """The process of a paused lock-step node; a new one where it has ended."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    processes: list[subprocess.Popen[str]] = []
    remaps = [f"__ns:={SPACE}", "/clock:=clock", "/tf:=tf", "/diagnostics:=diagnostics"]
    options = [f"command_timeout:={TIMEOUT}", "start_paused:=true"]
    arguments = ["-m", "humans_sim.nodes", "dynamics", "--ros-args"]
    arguments += [word for remap in remaps for word in ("-r", remap)]
    arguments += [word for option in options for word in ("-p", option)]
    arguments += ["-p", "real_time_factor:=0", "-p", f"sampling_period:={PERIOD}"]

    def get() -> subprocess.Popen[str]:
        if not processes or processes[-1].poll() is not None:
            processes.append(
                subprocess.Popen(
                    [sys.executable, *arguments],
                    env=ros_environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        return processes[-1]

    yield get
    for process in processes:
        process.kill()
        process.communicate()


class Robot:
    """The simulated robot as a test sees it: paused at time zero, in the air.

    Attributes:
        states: joint_states, by stamp [ns].
        events: (kind, subject) of all events.
        odometry: the last one.
        status: the last diagnostics, by key, with ``level``.
        answers: whether each state is answered with zero torques.
    """

    def __init__(self, node: Any, wait: Callable[..., None]) -> None:
        """Listen, and reset the simulation."""
        from diagnostic_msgs.msg import DiagnosticArray
        from humans_msgs.msg import SimulationEvent
        from nav_msgs.msg import Odometry
        from sensor_msgs.msg import JointState

        self.node, self.wait = node, wait
        self.states: dict[int, Any] = {}
        self.events: list[tuple[str, str]] = []
        self.odometry: Any = None
        self.status: dict[str, Any] = {}
        self.answers = False
        self.commands = node.create_publisher(JointState, f"{SPACE}/joint_torques", 10)
        listen = node.create_subscription
        listen(JointState, f"{SPACE}/joint_states", self._on_state, 100)
        listen(Odometry, f"{SPACE}/ground_truth/odom", self._on_odometry, 100)
        listen(SimulationEvent, f"{SPACE}/events", self._on_event, 100)
        listen(DiagnosticArray, f"{SPACE}/diagnostics", self._on_diagnostics, 10)
        self.reset()
        assert is_done(self.pause(True))
        assert self.drop().success
        wait(lambda: 0 in self.states, "the state at time zero")
        wait(lambda: self.commands.get_subscription_count() > 0, "a way to command")

    def _on_state(self, message: Any) -> None:
        stamp = message.header.stamp
        self.states[stamp.sec * 10**9 + stamp.nanosec] = message
        if self.answers:
            self.command(stamp, message.name, [0.0] * len(message.name))

    def _on_odometry(self, message: Any) -> None:
        self.odometry = message

    def _on_event(self, message: Any) -> None:
        self.events.append((message.kind, message.subject))

    def _on_diagnostics(self, message: Any) -> None:
        status = message.status[0]
        self.status = {value.key: value.value for value in status.values}
        self.status["level"] = status.level

    def command(self, stamp: Any, names: Any, efforts: Any) -> None:
        """Publish joint torques."""
        from sensor_msgs.msg import JointState

        message = JointState(name=names, effort=efforts)
        message.header.stamp = stamp
        self.commands.publish(message)

    def count(self, key: str) -> int:
        """A number of the next diagnostics."""
        self.status = {}
        self.wait(lambda: bool(self.status), "diagnostics")
        return int(self.status[key])

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """Call a service and wait for its answer."""
        return call_service(self.node, self.wait, kind, f"{SPACE}/{name}", request)

    def pause(self, paused: bool) -> Any:
        """Stop the time, or let it run."""
        return set_playing(self.call, not paused)

    def reset(self, **fields: Any) -> Any:
        """Call ``reset``."""
        from humans_msgs.srv import Reset

        return self.call(Reset, "reset", Reset.Request(**fields))

    def drop(self, **fields: Any) -> Any:
        """Reset to one metre of height."""
        from geometry_msgs.msg import Pose

        pose = Pose()
        pose.position.z = 1.0
        return self.reset(use_state=True, base_pose=pose, **fields)

    def step(self, steps: int) -> Any:
        """Make steps while paused."""
        return make_steps(self.call, steps)

    def push(self, link: str, impulse: float) -> Any:
        """Call ``push`` with an impulse along y."""
        from humans_msgs.srv import Push

        request = Push.Request(link_name=link)
        request.impulse.y = impulse
        return self.call(Push, "push", request)


@pytest.fixture
def robot(
    running: Callable[[], Any], node: Any, wait_for: Callable[..., None]
) -> Robot:
    """The robot, reset and paused."""
    running()
    return Robot(node, wait_for)


def test_lockstep_equals_the_library(
    robot: Robot, start: Callable[..., Any], khr1: hs.Model, library_run: hs.Run
) -> None:
    """Two processes in lock-step do what one call of the library does, to the bit."""
    robot.states.clear()
    assert robot.reset().success
    start(str(HERE / "lockstep_controller.py"), "--ros-args", "-r", f"__ns:={SPACE}")
    topic = f"{SPACE}/joint_torques"
    robot.wait(lambda: robot.node.count_publishers(topic) > 1, "the controller")
    assert is_done(robot.pause(False))
    robot.wait(lambda: STEPS * NANOSECONDS in robot.states, "the end of the run")
    assert ("timeout", "") not in robot.events
    run = library_run
    assert len(run.events) > 5
    states = [robot.states[k * NANOSECONDS] for k in range(STEPS + 1)]
    assert tuple(states[0].name) == khr1.joint_names
    positions = np.array([state.position for state in states])
    velocities = np.array([state.velocity for state in states])
    np.testing.assert_array_equal(positions, run.q[:, 7:])
    np.testing.assert_array_equal(velocities, run.v[:, 6:])
    # Efforts are those that led to the state: the torques of the command before.
    efforts = np.array([state.effort for state in states[1:]])
    np.testing.assert_array_equal(efforts, run.torques[:-1, 6:])


def test_services(robot: Robot, khr1: hs.Model) -> None:
    """Step, push and reset do what they say, and say what they do not."""
    from sensor_msgs.msg import JointState

    robot.answers = True
    robot.command(robot.states[0].header.stamp, ["head_yaw"], [0.0])
    stepped = robot.step(3)
    assert is_done(stepped), stepped
    robot.wait(lambda: 3 * NANOSECONDS in robot.states, "the state after three steps")
    assert not is_done(robot.step(0))

    assert "tail" in robot.push("tail", 1.0).message
    assert not robot.push("", math.nan).success
    pushed = robot.push("", 0.2)
    assert pushed.success, pushed.message
    assert abs(robot.odometry.twist.twist.linear.y) < 1e-3
    assert is_done(robot.step(1))
    robot.wait(lambda: ("push", "") in robot.events, "the push")
    robot.wait(lambda: 4 * NANOSECONDS in robot.states, "the state after the push")
    assert robot.odometry.twist.twist.linear.y > 0.1

    refused = robot.reset(posture="handstand")
    assert not refused.success and "handstand" in refused.message
    inside = robot.reset(use_state=True)
    assert not inside.success and "inside" in inside.message
    assert inside.stamp.nanosec == 4 * NANOSECONDS
    robot.answers = False
    robot.states.clear()
    joints = JointState(name=["head_yaw"], position=[0.3], velocity=[0.1])
    done = robot.drop(joint_state=joints)
    assert done.success and done.stamp.nanosec == 0, done.message
    robot.wait(lambda: 0 in robot.states, "the state that was set")
    head = khr1.joint_names.index("head_yaw")
    assert robot.states[0].position[head] == 0.3
    assert robot.states[0].velocity[head] == 0.1
    assert robot.odometry.pose.pose.position.z == 1.0
    assert ("reset", "") in robot.events
    assert is_done(robot.pause(False))
    assert "not paused" in robot.step(1).error_message


def test_imu_in_free_fall(robot: Robot, khr1: hs.Model) -> None:
    """Falling, the unit reads no specific force, and says in which frame."""
    from sensor_msgs.msg import Imu

    messages: list[Any] = []
    robot.node.create_subscription(Imu, f"{SPACE}/imu", messages.append, 100)
    robot.wait(
        lambda: robot.node.count_publishers(f"{SPACE}/imu") > 0, "the inertial unit"
    )
    robot.answers = True
    assert robot.drop().success
    assert is_done(robot.step(5))
    stamps = [5 * NANOSECONDS]
    robot.wait(
        lambda: [m.header.stamp.nanosec for m in messages[-1:]] == stamps, "readings"
    )
    last = messages[-1]
    assert last.header.frame_id == "base_link"
    force = last.linear_acceleration
    assert max(abs(force.x), abs(force.y), abs(force.z)) < 1e-6
    assert last.linear_acceleration_covariance[0] >= 0.0


def test_bad_commands_are_refused(robot: Robot, khr1: hs.Model) -> None:
    """Commands that make no sense change nothing; a run that fails can be reset."""
    from builtin_interfaces.msg import Time

    names, zero = list(khr1.joint_names), [0.0] * len(khr1.joint_names)
    refused, now = robot.count("refused_commands"), Time()
    robot.command(now, ["tail"], [0.0])
    robot.command(now, names, zero[:-1])
    robot.command(now, ["head_yaw", "head_yaw"], [0.0, 1.0])
    robot.command(now, ["head_yaw"], [math.nan])
    robot.command(now, ["head_yaw"], [1e300])
    robot.command(now, [], [])
    robot.command(Time(sec=5), names, zero)
    robot.command(Time(sec=-1), names, zero)
    robot.wait(
        lambda: int(robot.status.get("refused_commands", 0)) == refused + 8,
        "eight refusals",
    )
    assert robot.status["level"] == b"\x01"
    assert "late" in robot.status["last_refusal"]
    robot.command(now, ["head_yaw"], [9e8])
    assert not is_done(robot.step(1))
    robot.wait(lambda: ("failure", "") in robot.events, "the failure")
    robot.wait(lambda: robot.status.get("level") == b"\x02", "an error")
    assert "failed" in robot.pause(False).error_message
    assert robot.reset().success
    assert robot.count("refused_commands") == refused + 8
    assert robot.status["level"] == b"\x00"


def test_timeout_holds_the_last_command(robot: Robot) -> None:
    """Without a command the last one acts on, and that is reported."""
    from builtin_interfaces.msg import Time

    held = robot.count("held_commands")
    robot.command(Time(), ["head_yaw"], [1e-6])
    assert is_done(robot.step(1))
    begin = time.monotonic()
    assert is_done(robot.pause(False))
    robot.wait(
        lambda: 2 * NANOSECONDS in robot.states, "a period with the held command"
    )
    assert time.monotonic() - begin > 0.9 * TIMEOUT
    effort = dict(
        zip(
            robot.states[2 * NANOSECONDS].name,
            robot.states[2 * NANOSECONDS].effort,
            strict=True,
        )
    )
    assert effort.pop("head_yaw") == 1e-6
    assert not any(effort.values())
    robot.wait(lambda: ("timeout", "") in robot.events, "the event")
    robot.command(Time(), ["head_yaw"], [0.5])
    late = int(robot.status["late_commands"])
    robot.wait(lambda: int(robot.status["late_commands"]) > late, "a late command")
    assert int(robot.status["held_commands"]) > held


def test_interrupt_while_waiting(robot: Robot, running: Callable[[], Any]) -> None:
    """A node that owes an answer refuses a second request, and ends with code 0."""
    from simulation_interfaces.srv import StepSimulation

    client = robot.node.create_client(StepSimulation, f"{SPACE}/step_simulation")
    robot.wait(client.service_is_ready, "the service")
    future = client.call_async(StepSimulation.Request(steps=5))
    robot.count("held_commands")
    assert not future.done()
    assert "another request" in robot.step(1).error_message
    ends_well(running(), signal.SIGINT)


def ends_well(process: Any, number: signal.Signals) -> str:
    """Send a signal and expect a clean end; returns what the process said."""
    process.send_signal(number)
    output, _ = process.communicate(timeout=EXIT)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    return str(output)


def test_simulate_graph_on_the_wall_clock(
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., Any],
    khr1: hs.Model,
    library_run: hs.Run,
) -> None:
    """``humans-sim up simulate``: the clock keeps its pace, the robot stands."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from geometry_msgs.msg import WrenchStamped
    from rosgraph_msgs.msg import Clock
    from sensor_msgs.msg import Imu
    from tf2_msgs.msg import TFMessage

    factor = 0.1
    times: list[tuple[float, float]] = []
    frames: dict[str, str] = {}
    loads: dict[str, float] = {}
    felt: list[float] = []

    def on_imu(message: Any) -> None:
        felt.append(message.linear_acceleration.z)

    def on_clock(message: Any) -> None:
        now = message.clock.sec + 1e-9 * message.clock.nanosec
        times.append((time.monotonic(), now))

    def on_tf(message: Any) -> None:
        frames.update({t.child_frame_id: t.header.frame_id for t in message.transforms})

    def on_wrench(message: Any) -> None:
        loads[message.header.frame_id] = message.wrench.force.z

    node.create_subscription(Clock, "/clock", on_clock, 10)
    node.create_subscription(TFMessage, "/tf", on_tf, 100)
    node.create_subscription(Imu, "imu", on_imu, 100)
    for sole in khr1.soles:
        node.create_subscription(WrenchStamped, f"{sole.name}/wrench", on_wrench, 10)
    begin = time.monotonic()
    process = start(
        *("-m", "humans_sim", "up", "simulate", "--headless", "--check"),
        *("--ros", f"p dynamics:real_time_factor:={factor}"),
    )
    wait_for(lambda: bool(times) and times[-1][1] >= 0.35, "the robot to stand")
    # A clock is heard late, if anything, so it is never ahead of its pace.
    assert all(now <= factor * (wall - begin) for wall, now in times)
    assert frames["base_link"] == "world"
    assert frames["base_footprint"] == "base_link"
    assert frames["head"] == "base_link"
    weight = khr1.mass * 9.81
    assert sum(loads.values()) == pytest.approx(weight, rel=0.02)
    assert felt[-1] == pytest.approx(9.81, rel=0.05)
    assert "All topics flowed." in ends_well(process, signal.SIGTERM)
