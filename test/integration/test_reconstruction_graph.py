# SPDX-License-Identifier: Apache-2.0
"""Optical markers over real topics: played by one process, explained by another."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_processes import ObservedGraph

import humans_sim as hs
from humans_sim.applications.graphs import read_graph
from humans_sim.core.doctor import ros_hint
from humans_sim.observation.markers import write_trc
from humans_sim.observation.markers.marker_set import load_marker_set
from humans_sim.observation.markers.synthetic import swaying, synthetic_trial
from humans_sim.observation.posture.live import LivePostures

pytestmark = [pytest.mark.ros, pytest.mark.study]

PARAMETERS = read_graph("reconstruct").parameters
PAIR = ("r_radial_styloid", "l_radial_styloid")
SLOW = 0.1
"""Speed of the player: frames come slowly enough for any machine."""
SUCCEEDED, CANCELED, ABORTED = 4, 5, 6
"""Of action_msgs/GoalStatus."""
EXIT = 30.0
"""Wall time for a clean end, on a slow machine [s]."""


class Laboratory(ObservedGraph):
    """A player and a reconstruction in two processes, as a test sees them.

    Attributes:
        node: of the test.
        joints: messages, by their stamps [ns].
        bases: odometry, by their stamps.
        qualities: messages, by their stamps.
        values: of diagnostics, by their names.
    """

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        """Start the reconstruction; files of its action are in the folder."""
        super().__init__("marker_test", PARAMETERS, environment)
        self.joints: dict[int, Any] = {}
        self.bases: dict[int, Any] = {}
        self.qualities: dict[int, Any] = {}
        self.values: dict[str, dict[str, str]] = {}
        self._listen()
        self.start("reconstruction", f"request_folder:={folder}")

    def _listen(self) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from humans_msgs.msg import MarkerFrame, ReconstructionQuality
        from nav_msgs.msg import Odometry
        from sensor_msgs.msg import JointState

        def keep(found: dict[int, Any]) -> Callable[[Any], None]:
            return lambda message: found.update({stamp_of(message): message})

        def on_diagnostics(message: Any) -> None:
            for status in message.status:
                self.values[status.name] = {v.key: v.value for v in status.values}

        listen = self.node.create_subscription
        listen(JointState, "joint_states", keep(self.joints), 1000)
        listen(Odometry, "odom", keep(self.bases), 1000)
        listen(
            ReconstructionQuality, "reconstruction_quality", keep(self.qualities), 1000
        )
        listen(DiagnosticArray, "/diagnostics", on_diagnostics, 100)
        self.markers = self.node.create_publisher(MarkerFrame, "markers", 100)

    def end(self, kind: str) -> None:
        """Ask a process to end, cleanly."""
        process = self.processes.pop(kind)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=EXIT)
        assert process.returncode == 0, output
        assert "Traceback" not in output

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Spin until a condition holds; no process may end before."""

        def holds() -> bool:
            for kind, process in self.processes.items():
                assert process.poll() is None, (kind, process.communicate()[0])
            return condition()

        super().wait(holds, what)

    def told(self, name: str) -> str:
        """A value of the reconstruction's diagnostics."""
        return self.values.get("reconstruction: reconstruction", {}).get(name, "")

    def state(self, name: str) -> str:
        """State of a part, by its diagnostics."""
        return self.values.get(name, {}).get("state", "")

    def forget(self) -> None:
        """Forget all messages but diagnostics."""
        for found in (self.joints, self.bases, self.qualities):
            found.clear()


def stamp_of(message: Any) -> int:
    """Time of a message [ns]."""
    return int(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)


@pytest.fixture(scope="module")
def lab(
    ros_environment: dict[str, str],
    human: hs.Model,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Laboratory]:
    """A reconstruction that runs; kernels are compiled before, with no one waiting."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    LivePostures(human, load_marker_set("canonical", human))
    found = Laboratory(ros_environment, tmp_path_factory.getbasetemp())
    yield found
    found.close()


@pytest.fixture
def player(lab: Laboratory) -> Iterator[Callable[..., None]]:
    """Starts the player; it is gone at the end, whatever happened."""
    yield lambda *parameters: lab.start("marker_player", *parameters)
    lost = lab.processes.pop("marker_player", None)
    if lost is not None:
        lost.kill()
        lost.communicate()


def test_player_and_reconstruction(
    lab: Laboratory, player: Callable[..., None], human: hs.Model
) -> None:
    """Joints follow the motion played; what was hidden or swapped is told."""
    from humans_msgs.msg import ReconstructionQuality as Quality
    from std_srvs.srv import SetBool, Trigger

    player(
        *(f"rate:={SLOW}", "loop:=false", "end_time:=0.6", "synthetic.noise:=0.001"),
        *("synthetic.dropout:=0.1", f"synthetic.swap:=[{', '.join(PAIR)}]"),
        "synthetic.swap_times:=[0.2, 0.3]",
    )
    lab.wait(lambda: len(lab.qualities) > 8, "postures")
    answer = lab.call(SetBool, "marker_player/pause", SetBool.Request(data=True))
    assert answer.success and answer.message == "paused"
    answer = lab.call(SetBool, "marker_player/pause", SetBool.Request(data=False))
    assert answer.success and answer.message == "playing"
    lab.wait(lambda: lab.state("marker_player: markers") == "ended", "the end")
    assert lab.told("refused_messages") == "0"
    numbers = sorted(message.frame_number for message in lab.qualities.values())
    assert len(numbers) > 40 and set(numbers) <= set(range(1, 62))
    truth = synthetic_trial(human, duration=8.0, noise=0.001, dropout=0.1, gap=0.3)
    motion = swaying(human)
    legs = [
        k for k, n in enumerate(human.joint_names) if n[2:5] in ("hip", "kne", "ank")
    ]
    rejected = 0
    for stamp, quality in lab.qualities.items():
        row = quality.frame_number - 1
        t = truth.times[row]
        assert list(quality.marker_names) == list(truth.names)
        assert quality.header.frame_id == "world"
        status = np.array(quality.marker_status)
        np.testing.assert_array_equal(
            np.array(status == Quality.OCCLUDED)[[0, 5, 9, 16]],
            truth.occluded[row, [0, 5, 9, 16]],
        )
        if 0.2 <= t <= 0.3:
            rejected += int((status == Quality.REJECTED).sum())
        elif not 0.3 < t < 0.45:  # markers that jumped back are trusted after a while
            assert not (status == Quality.REJECTED).any(), t
            assert 0.0005 < quality.rms < 0.004
        q = motion(t)
        joints = lab.joints[stamp]
        assert list(joints.name) == list(human.joint_names)
        np.testing.assert_allclose(
            np.array(joints.position)[legs], q[7:][legs], atol=0.08
        )
        place = lab.bases[stamp].pose.pose.position
        np.testing.assert_allclose([place.x, place.y, place.z], q[:3], atol=0.01)
    assert rejected > 3
    # Once more from the beginning: the numbers go back, the posture begins anew.
    lab.forget()
    before = int(lab.told("starts"))
    lab.call(Trigger, "marker_player/restart", Trigger.Request())
    lab.wait(lambda: len(lab.qualities) > 3, "postures after the restart")
    lab.wait(lambda: int(lab.told("starts")) == before + 1, "another start")
    lab.end("marker_player")


def frame_of(names: Any, positions: np.ndarray, t: float, number: int) -> Any:
    """A MarkerFrame."""
    from geometry_msgs.msg import Point
    from humans_msgs.msg import MarkerFrame

    message = MarkerFrame(names=list(names), frame_number=number)
    message.header.frame_id = "laboratory"
    message.header.stamp.sec = int(t)
    message.header.stamp.nanosec = round(1e9 * (t % 1.0))
    message.positions = [Point(x=x, y=y, z=z) for x, y, z in positions.tolist()]
    message.occluded = np.isnan(positions).any(axis=1).tolist()
    return message


def test_hostile_frames(lab: Laboratory, human: hs.Model) -> None:
    """Frames that make no sense are refused and counted; sound ones go on."""
    trial = synthetic_trial(human, duration=0.2)
    names, positions = trial.names, trial.positions[0]
    lab.wait(lambda: lab.node.count_subscribers("markers") > 0, "the reconstruction")
    lab.forget()
    lab.wait(lambda: bool(lab.told("refused_messages")), "diagnostics")
    before = int(lab.told("refused_messages"))

    def send(message: Any) -> None:
        lab.markers.publish(message)

    def sound(t: float, number: int) -> None:
        send(frame_of(names, positions, t, number))
        stamp = int(t) * 10**9 + round(1e9 * (t % 1.0))
        both = (lab.joints, lab.bases)  # which come in either order
        lab.wait(lambda: all(stamp in found for found in both), f"the posture at {t}")

    sound(1000.0, 1000)
    lab.values.clear()
    lab.wait(lambda: bool(lab.told("starts")), "new diagnostics")
    hostile = [
        frame_of(names[:-1], positions[:-1], 1000.01, 1001),  # a label is gone
        frame_of(names[::-1], positions, 1000.01, 1001),  # another order
        frame_of(names, positions[:5], 1000.01, 1001),  # lengths
        frame_of(names, positions, 1000.0, 1001),  # the same time
        frame_of((), np.zeros((0, 3)), 1000.01, 1001),  # empty
        frame_of(("a",) * len(names), positions, 1000.01, 1001),  # doubled
        frame_of(names, 1000.0 * positions, 1000.01, 1001),  # millimetres
        frame_of(names, np.full_like(positions, np.inf), 1000.01, 1001),
        frame_of([f"x{k}" for k in range(28)], positions, 900.0, 0),  # unknown
    ]
    unmarked = frame_of(names, positions, 1000.01, 1001)
    unmarked.positions[3].x = float("nan")
    short = frame_of(names, positions, 1000.01, 1001)
    short.occluded = short.occluded[1:]
    more = frame_of(names, positions, 1000.01, 1001)
    more.residuals = [0.001]
    hostile += [unmarked, short, more]
    starts, count = lab.told("starts"), before
    # Few at a time: frames that wait too long are missed.
    for first in range(0, len(hostile), 6):
        for message in hostile[first : first + 6]:
            lab.markers.publish(message)
            count += 1
        lab.wait(
            lambda wanted=count: int(lab.told("refused_messages")) >= wanted,
            f"{count} refusals",
        )
    assert lab.told("last_refusal")
    sound(1000.02, 1002)
    assert lab.bases[1000_020000000].header.frame_id == "laboratory"
    # Nobody is seen: the body stays about where it was.
    send(frame_of(names, np.full_like(positions, np.nan), 1000.03, 1003))
    lab.wait(lambda: 1000_030000000 in lab.joints, "a blind posture")
    assert np.isfinite(lab.joints[1000_030000000].position).all()
    # Time goes back: a reset, and other labels may come.
    assert lab.told("starts") == starts
    send(frame_of(names[:-1], positions[:-1], 10.0, 1004))
    lab.wait(lambda: 10_000000000 in lab.joints, "a posture after the reset")
    lab.wait(lambda: int(lab.told("starts")) == int(starts) + 1, "another start")
    assert int(lab.told("refused_messages")) == count
    assert lab.processes["reconstruction"].poll() is None


def test_action(lab: Laboratory, human: hs.Model, tmp_path: Path) -> None:
    """A file is done beside live frames; goals are refused, and cancelled."""
    from humans_msgs.action import Reconstruct
    from rclpy.action import ActionClient

    trial = synthetic_trial(human, duration=0.3, noise=0.001, dropout=0.05)
    short, long = tmp_path / "short.trc", tmp_path / "long.trc"
    write_trc(trial, short)
    write_trc(synthetic_trial(human, duration=80.0), long)
    client = ActionClient(lab.node, Reconstruct, "reconstruct")
    lab.wait(client.server_is_ready, "the action")

    def send(**goal: Any) -> tuple[Any, Any, list[Any]]:
        heard: list[Any] = []
        future = client.send_goal_async(
            Reconstruct.Goal(**goal), lambda m: heard.append(m.feedback)
        )
        lab.wait(future.done, "the goal to be taken")
        handle = future.result()
        return handle, handle.get_result_async(), heard

    def refused(**goal: Any) -> str:
        _, future, _ = send(**goal)
        lab.wait(future.done, "a refusal")
        assert future.result().status == ABORTED
        assert not future.result().result.success
        return str(future.result().result.message)

    assert "names no file" in refused()
    assert "there is no file" in refused(file=str(tmp_path / "none.trc"))
    assert "requests name files there only" in refused(file=str(PARAMETERS))
    assert "request_folder" in refused(file=str(short), output_folder="../../out")
    assert "mode is one of" in refused(file=str(short), mode="quick")
    assert "no marker set" in refused(file=str(short), marker_set="none")
    assert "finite" in refused(file=str(short), end_time=float("nan"))
    assert "no sample" in refused(file=str(short), start_time=50.0)
    broken = tmp_path / "broken.trc"
    broken.write_text("PathFileType\t4\n", "utf-8")
    assert "broken.trc" in refused(file=str(broken))

    folder = tmp_path / "out"
    _, future, _ = send(file=str(short), output_folder=str(folder))
    lab.wait(future.done, "the reconstruction of a file")
    assert future.result().status == SUCCEEDED
    result = future.result().result
    assert result.success, result.message
    assert result.frames == 30
    assert 0.0 < result.rms < 0.005
    assert list(result.marker_names) == list(human.tag_names)
    assert max(result.marker_occlusion) <= 1.0
    assert {Path(path).suffix for path in result.output_files} >= {".csv", ".mot"}
    assert all(Path(path).is_file() for path in result.output_files)
    # The same file by the library: the same postures, prepared in the same way.
    stored = hs.load_reconstruction(folder / "short.npz")
    own = hs.reconstruct(short, "canonical")
    assert own.trial.filled.any()
    for name in ("q", "residuals", "status", "occluded"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(own, name), name)
    assert result.rms == own.rms
    assert result.duration.sec + result.duration.nanosec > 0

    # A long one is cancelled; live frames are answered meanwhile.
    handle, future, heard = send(file=str(long))
    lab.wait(lambda: bool(heard), "feedback")
    assert 0 < heard[-1].frames_done <= heard[-1].frames_total == 8000
    assert len(heard[-1].quality.marker_names) == len(human.tag_names)
    assert "another file" in refused(file=str(short))
    lab.forget()
    lab.markers.publish(frame_of(trial.names, trial.positions[0], 5000.0, 5000))
    lab.wait(lambda: 5000 * 10**9 in lab.joints, "a live posture meanwhile")
    assert not future.done()
    handle.cancel_goal_async()
    lab.wait(future.done, "the cancelled goal")
    assert future.result().status == CANCELED
    assert "cancelled" in future.result().result.message
    lab.end("reconstruction")


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("file:=none.trc", "none.trc"),
        ("rate:=0.0", "rate must be"),
        ("start_time:=100.0", "no sample"),
        ("synthetic.swap:=[a]", "two markers"),
    ],
)
def test_player_refuses(
    start: Callable[..., Any], lab: Laboratory, parameter: str, message: str
) -> None:
    """A parameter that cannot be ends the player with one clear line."""
    process = start(
        *("-m", "humans_sim.nodes", "marker_player", "--ros-args"),
        *("-p", parameter),
    )
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 1, output
    assert message in output
    assert "Traceback" not in output
