# SPDX-License-Identifier: Apache-2.0
"""The node ``actuation`` over real topics between real processes."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from actuation_listener import Listener, stamp_time, stamped
from node_processes import is_done, set_playing

import humans_sim as hs
from humans_sim.actuation import QUADRICEPS, IdealTorque, simulate_muscle
from humans_sim.actuation.pulse_trains import PulseTrainMuscles
from humans_sim.actuation.robots import RobotSetup
from humans_sim.actuation.sampled_actuation import JointSample, SampledActuation
from humans_sim.core.doctor import ros_hint

pytestmark = [pytest.mark.ros, pytest.mark.study]

HERE = Path(__file__).parent
PARAMETERS = HERE.parents[1] / "config" / "params" / "servos.yaml"
NANOSECONDS, PERIOD = 5_000_000, 0.005
STEPS, TURN = 60, 10
"""Periods of the lock-step run, and the one whose time its command carries."""
ARMATURE, ANGLE = 1.5e-3, 0.3
CHARGE, KNEE = 3e-5, -0.8
"""Pulse [A s] and angle [rad] of the knee under stimulation."""
EXIT = 20.0


def seconds(k: int) -> float:
    """Time of the k-th state, as the node takes it from the stamp [s]."""
    return k * NANOSECONDS / 1e9


@dataclass(frozen=True)
class Seen:
    """What the library's controller saw and answered, at each period."""

    angles: list[np.ndarray]
    speeds: list[np.ndarray]
    torques: list[np.ndarray]


@pytest.fixture(scope="module")
def library_run(ros_environment: dict[str, str], khr1: hs.Model) -> Seen:
    """What the library makes of the lock-step run, by the servos alone.

    It comes before any node: kernels are compiled here, with no one waiting.
    """
    seen = Seen([], [], [])
    given = yaml.safe_load(PARAMETERS.read_text())["/**/actuation"]["ros__parameters"]
    robot = RobotSetup.of_model(khr1)
    servo, ideal = robot.servos(khr1, **given["servo"]), IdealTorque(khr1)
    ideal.armature = np.repeat([0.0, ARMATURE], [6, 17])
    q0 = khr1.standing(khr1.neutral()[7:])
    servo.initialise(0.0, q0, np.zeros(khr1.nv))
    target = khr1.neutral()[7:]
    target[khr1.joint_names.index("head_yaw")] = ANGLE

    def control(t: float, state: hs.ControlState) -> np.ndarray:
        k, q, v = round(t / PERIOD), state.q, state.v
        if k == TURN:
            servo.command(seconds(k), target)
        while (due := servo.next_time(seconds(k))) <= seconds(k):
            servo.handle(due, q, v, np.zeros(0), np.zeros(0, dtype=bool))
        seen.angles.append(q[7:].copy())
        seen.speeds.append(v[6:].copy())
        seen.torques.append(servo.dynamics(seconds(k), q, v, np.zeros(0))[0][6:])
        return seen.torques[-1]

    sim = hs.Simulation(
        khr1, actuation=ideal, controller=control, ground=robot.ground()
    )
    sim.run(q0, t_end=STEPS * PERIOD, sampling_period=PERIOD)
    return seen


@pytest.fixture(scope="module")
def processes(
    ros_environment: dict[str, str],
    library_run: Seen,
    human: hs.Model,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """A paused robot and its servos, with the parameters of the graph ``servos``."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    trial = SampledActuation(PulseTrainMuscles(human))
    trial.begin(JointSample(0.0, human.neutral()[7:], np.zeros(36)))
    settings = ["real_time_factor:=0", "start_paused:=true", "start_height:=0"]
    options = [f"dynamics:{one}" for one in (*settings, "command_timeout:=0")]
    # The robot's alone: bodies in other namespaces share its process.
    parameters = tmp_path_factory.mktemp("servos") / "servos.yaml"
    parameters.write_text(PARAMETERS.read_text().replace("/**/", "/"))
    words = ["--ros-args", "--params-file", str(parameters)]
    words += [word for option in options for word in ("-p", option)]
    programs = {
        "bodies": [str(HERE / "bodies_and_muscles.py")],
        "servos": ["-m", "humans_sim.nodes", "actuation"],
    }
    started = {
        name: subprocess.Popen(
            [sys.executable, *program, *words],
            env=ros_environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name, program in programs.items()
    }
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


def test_servos_in_lockstep(
    processes: Any,
    node: Any,
    wait_for: Callable[..., None],
    khr1: hs.Model,
    library_run: Seen,
) -> None:
    """Dynamics and servos in two processes do what the library does, to the bit."""
    from humans_msgs.srv import Reset
    from sensor_msgs.msg import JointState

    heard = Listener(node, wait_for, "servo", "")
    commands = heard.publisher(JointState, "joint_commands")
    wait_for(lambda: 0 in heard.torques, "the answer to the first state")
    # A command of a time to come: it acts from then on, whoever is fast or slow.
    turn = JointState(name=["head_yaw"], position=[ANGLE])
    commands.publish(stamped(turn, TURN * NANOSECONDS))
    heard.wait_count("commands", 1)
    assert is_done(set_playing(heard.call, True))
    last = STEPS * NANOSECONDS
    wait_for(lambda: last in heard.actuators and last in heard.states, "the end")
    stamps = [k * NANOSECONDS for k in range(STEPS + 1)]
    states = [heard.states[stamp] for stamp in stamps]
    np.testing.assert_array_equal([s.position for s in states], library_run.angles)
    np.testing.assert_array_equal([s.velocity for s in states], library_run.speeds)
    efforts = [heard.torques[stamp].effort for stamp in stamps]
    np.testing.assert_array_equal(efforts, library_run.torques)
    assert tuple(heard.torques[0].name) == khr1.joint_names

    head = khr1.joint_names.index("head_yaw")
    actuators = [heard.actuators[stamp].actuators[head] for stamp in stamps]
    assert actuators[0].name == "head_yaw"
    assert actuators[0].command_kind == actuators[0].POSITION
    assert [one.command for one in actuators[TURN - 1 : TURN + 1]] == [0.0, ANGLE]
    assert (
        actuators[TURN + 1].status == actuators[0].SATURATED
    )  # the set point is on its way
    assert actuators[-1].position == states[-1].position[head]
    assert actuators[-1].position == pytest.approx(ANGLE, abs=5e-3)
    assert actuators[-1].torque == efforts[-1][head]

    assert is_done(set_playing(heard.call, False))
    starts = int(heard.status["starts"])
    assert heard.call(Reset, "reset", Reset.Request()).success
    heard.wait_count("starts", starts + 1)
    heard.actuators.clear()
    assert heard.call(Reset, "reset", Reset.Request()).success
    wait_for(lambda: 0 in heard.actuators, "the state after the reset")
    assert heard.actuators[0].actuators[head].command == 0.0


def test_bad_messages_are_refused(
    processes: Any, node: Any, wait_for: Callable[..., None], khr1: hs.Model
) -> None:
    """Messages that make no sense are counted; the last good command stays."""
    from sensor_msgs.msg import JointState

    heard = Listener(node, wait_for, "servo", "")
    commands = heard.publisher(JointState, "joint_commands")
    states = heard.publisher(JointState, "joint_states")
    wait_for(lambda: bool(heard.status), "diagnostics")
    names, zero = list(khr1.joint_names), [0.0] * 17
    wrong, absent = (int(heard.status[f"refused_{k}"]) for k in ("commands", "states"))
    commands.publish(JointState(name=["head_yaw"], position=[0.1]))
    taken = int(heard.status["commands"])
    heard.wait_count("commands", taken + 1)
    for bad in (
        JointState(name=["tail"], position=[0.0]),
        JointState(name=["head_yaw"], position=[math.nan]),
        JointState(name=["head_yaw"], position=[0.0, 0.0]),
        JointState(name=["head_yaw", "head_yaw"], position=[0.0, 0.1]),
        JointState(name=["head_yaw"], effort=[0.0]),
        JointState(),
        stamped(JointState(name=["head_yaw"], position=[0.2]), 1_700_000_000 * 10**9),
        stamped(JointState(name=["head_yaw"], position=[0.2]), -NANOSECONDS),
    ):
        commands.publish(bad)
    for bad in (
        JointState(name=names, position=zero),
        JointState(name=names, position=zero, velocity=[math.inf] * 17),
        JointState(name=names, position=[1e300] * 17, velocity=zero),
        JointState(name=["tail"], position=[0.0], velocity=[0.0]),
        JointState(),
    ):
        states.publish(bad)
    heard.wait_count("refused_commands", wrong + 8)
    heard.wait_count("refused_states", absent + 5)
    assert heard.status["level"] == b"\x01"
    heard.actuators.clear()
    good = JointState(name=names, position=zero, velocity=zero)
    # Time advanced without a body: a state of the next period.
    states.publish(stamped(good, NANOSECONDS))
    wait_for(lambda: NANOSECONDS in heard.actuators, "an answer to a good state")
    head = names.index("head_yaw")
    assert heard.actuators[NANOSECONDS].actuators[head].command == 0.1


def test_lockstep_waits_for_the_command(
    processes: Any, node: Any, wait_for: Callable[..., None], bip: hs.Model
) -> None:
    """With ``sync: lockstep`` a state is answered by the command of its own stamp."""
    from sensor_msgs.msg import JointState

    heard = Listener(node, wait_for, "motors", "/motors")
    commands = heard.publisher(JointState, "joint_commands")
    states = heard.publisher(JointState, "joint_states")
    assert bip.rotors is not None
    motors, q = list(bip.rotors.names), bip.neutral()
    state = JointState(name=list(bip.joint_names), position=q[7:].tolist())
    state.velocity = [0.0] * len(motors)

    def command(k: int, volts: float) -> None:
        message = JointState(name=motors, effort=[volts] * len(motors))
        commands.publish(stamped(message, k * NANOSECONDS))

    # The command of the first state comes before it, that of the second after.
    command(0, 5.0)
    states.publish(stamped(state, 0))
    wait_for(lambda: 0 in heard.actuators, "an answer")
    states.publish(stamped(state, NANOSECONDS))
    heard.status = {}
    wait_for(lambda: heard.status.get("state") == "waiting for a command", "it to wait")
    assert NANOSECONDS not in heard.torques
    command(1, 100.0)
    wait_for(lambda: NANOSECONDS in heard.actuators, "the second answer")
    first, second = (heard.actuators[k * NANOSECONDS].actuators[0] for k in (0, 1))
    assert (first.name, first.voltage, first.status) == (motors[0], 5.0, first.OK)
    assert (second.voltage, second.status) == (48.0, second.SATURATED)
    torques = [one.torque for one in heard.actuators[0].actuators]
    expected = bip.rotors.jacobian(q).T @ torques
    # The node's kernel sums in another order: alike to the round-off of the largest.
    round_off = 1e-12 * np.abs(expected).max()
    np.testing.assert_allclose(heard.torques[0].effort, expected, atol=round_off)


class Body:
    """A knee that does not move, in lock-step with its muscles."""

    def __init__(self, heard: Listener, human: hs.Model) -> None:
        """Start at time zero."""
        from humans_msgs.msg import Stimulation
        from sensor_msgs.msg import JointState

        self._heard, self._k = heard, 0
        self._knee = human.joint_names.index("r_knee")
        self._message = JointState(name=list(human.joint_names))
        self._message.position = [0.0] * 36
        self._message.position[self._knee] = KNEE
        self._message.velocity = [0.0] * 36
        self._states = heard.publisher(JointState, "joint_states")
        self._stimulation = heard.publisher(Stimulation, "stimulation")
        self.go_on(0)

    def go_on(self, steps: int) -> None:
        """Publish states, each when the one before was answered."""
        for k in range(self._k, self._k + steps + 1):
            self._states.publish(stamped(self._message, k * NANOSECONDS))
            for answers in (self._heard.actuators, self._heard.torques):
                self._heard.wait(
                    lambda k=k, answers=answers: k * NANOSECONDS in answers, "an answer"
                )
        self._k += steps

    def stimulate(self, k: int, muscle: str, width: float, period: float) -> None:
        """Send a train with the stamp of a period."""
        from humans_msgs.msg import Stimulation

        message = Stimulation(muscle_names=[muscle], pulse_width=[width])
        message.pulse_current, message.pulse_period = [0.1], [period]
        self._stimulation.publish(stamped(message, k * NANOSECONDS))

    def history(self, muscle: str) -> list[Any]:
        """States of a muscle, one for each period."""
        states = []
        for k in range(self._k + 1):
            muscles = self._heard.actuators[k * NANOSECONDS].muscles
            states.append(next(m for m in muscles if m.name == muscle))
        return states

    def torque(self, k: int) -> float:
        """Torque on the knee [N m]."""
        return float(self._heard.torques[k * NANOSECONDS].effort[self._knee])


def test_stimulation(
    processes: Any, node: Any, wait_for: Callable[..., None], human: hs.Model
) -> None:
    """One pulse is a twitch after its delay, a train more; bad pulses are none."""
    heard = Listener(node, wait_for, "muscles", "/muscles")
    body = Body(heard, human)
    body.stimulate(0, "r_quadriceps", CHARGE / 0.1, 0.0)
    heard.wait_count("commands", 1)
    body.go_on(40)
    twitch = body.history("r_quadriceps")
    assert all(m.calcium_state == m.RELAXED and m.force == 0.0 for m in twitch[:10])
    assert twitch[10].calcium_state == twitch[0].STIMULATED  # at 50 ms sharp
    assert stamp_time(twitch[10].next_calcium_switch) == pytest.approx(0.07)
    assert twitch[-1].calcium_state == twitch[0].RELAXED
    assert stamp_time(twitch[-1].next_calcium_switch) == 0.0

    body.stimulate(40, "r_quadriceps", CHARGE / 0.1, 0.02)
    heard.wait_count("commands", 2)
    body.go_on(30)
    body.stimulate(70, "r_quadriceps", 0.0, 0.0)
    heard.wait_count("commands", 3)
    for muscle, width, period in (
        ("biceps", 1e-4, 0.0),
        ("r_quadriceps", -1e-4, 0.0),
        ("r_quadriceps", math.nan, 0.0),
        ("r_quadriceps", 1.0, 0.0),
        ("r_quadriceps", 1e-4, 1e-9),
        ("r_quadriceps", 1e-4, -1.0),
    ):
        body.stimulate(70, muscle, width, period)
    heard.wait_count("refused_commands", 6)
    body.go_on(50)

    # The same muscle on the bench: eight pulses 20 ms apart, the stop took no more.
    pulses = [0.05, *(0.25 + 0.02 * i for i in range(8))]
    bench = simulate_muscle(
        QUADRICEPS,
        [(t, CHARGE) for t in pulses],
        strain=twitch[0].strain,
        t_end=120 * PERIOD,
        sampling_period=PERIOD,
    )
    history = body.history("r_quadriceps")
    forces = np.array([m.contractile_force for m in history])
    np.testing.assert_allclose(forces, bench.contractile_force, atol=1e-5)
    assert forces[:41].max() > 20.0
    assert forces[41:].max() > 2 * forces[:41].max()
    assert not any(m.force for m in body.history("l_quadriceps"))
    # It stretches the knee: flexion is negative.
    torques = np.array([body.torque(k) for k in range(121)])
    assert torques[:10].max() == 0.0 < torques[20] < torques[75]
    np.testing.assert_array_equal(torques, [m.torque for m in history])


def test_fes_moves_the_knee(
    processes: Any, node: Any, wait_for: Callable[..., None], human: hs.Model
) -> None:
    """The nodes of the graph ``fes``: pulses flex one knee, nothing else moves."""
    from humans_msgs.msg import Stimulation
    from humans_msgs.srv import Reset

    heard = Listener(node, wait_for, "muscles", "/fes")
    stimulation = heard.publisher(Stimulation, "stimulation")
    assert heard.call(Reset, "reset", Reset.Request()).success
    wait_for(lambda: 0 in heard.torques, "the answer to the first state")
    train = Stimulation(muscle_names=["r_hamstrings"], pulse_width=[5e-4])
    train.pulse_current, train.pulse_period = [0.1], [0.02]
    stimulation.publish(train)
    heard.wait_count("commands", 1)
    assert is_done(set_playing(heard.call, True))
    wait_for(lambda: max(heard.states) >= 150_000_000, "a few periods")
    assert is_done(set_playing(heard.call, False))
    state = heard.states[150_000_000]
    knee = human.joint_names.index("r_knee")
    assert state.position[knee] < 0.0
    assert not np.delete(state.position, knee).any()
    names = [muscle.name for muscle in heard.actuators[0].muscles]
    assert names == ["r_quadriceps", "r_hamstrings"]
    assert heard.actuators[100_000_000].muscles[1].force > 20.0
    # At a straight knee the hamstrings have hardly a lever; friction is the rest.
    pulls = sum(muscle.torque for muscle in heard.actuators[100_000_000].muscles)
    friction = 0.5 * heard.states[100_000_000].velocity[knee]
    effort = heard.torques[100_000_000].effort[knee]
    assert pulls < 0.0
    assert effort == pytest.approx(pulls - friction, abs=1e-12)
    # It was answered in time: torques of one state act in the next one.
    efforts = [heard.torques[k * 10_000_000].effort[knee] for k in range(14)]
    shown = [heard.states[(k + 1) * 10_000_000].effort[knee] for k in range(14)]
    assert efforts == shown


def test_interrupt(
    processes: dict[str, Any], node: Any, wait_for: Callable[..., None]
) -> None:
    """SIGINT ends each node with code 0 and without a trace."""
    last = {("actuation", "/motors"), ("actuation", "/")}
    wait_for(
        lambda: last <= set(node.get_node_names_and_namespaces()), "all nodes to run"
    )
    for process in processes.values():
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
    for name, process in processes.items():
        output, _ = process.communicate(timeout=EXIT)
        assert process.returncode == 0, f"{name}: {output}"
        assert "Traceback" not in output
