# SPDX-License-Identifier: Apache-2.0
"""The node ``anatomy`` in a process of its own: a motion, playback, ball models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from node_processes import GoalClient, ObservedGraph
from small_wrists import small_run, write_own

from humans_sim.anatomy import WristRun, load_ball_model
from humans_sim.core.doctor import ros_hint
from humans_sim.core.errors import HumansError

pytestmark = [pytest.mark.ros, pytest.mark.study]

PARAMETERS = Path(__file__).parents[2] / "config" / "params" / "carpus.yaml"
URDF = """<robot name="arm"><link name="bone"><collision><geometry>
<mesh filename="ball.stl" scale="0.001 0.001 0.001"/>
</geometry></collision></link></robot>"""


@pytest.fixture(scope="module")
def run() -> WristRun:
    """A motion of three balls, which compiles what nodes need."""
    return small_run()


@pytest.fixture
def graph(
    ros_environment: dict[str, str], run: WristRun, tmp_path: Path
) -> Iterator[ObservedGraph]:
    """Nothing runs yet."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    graph = ObservedGraph("wrist_listener", PARAMETERS, ros_environment)
    yield graph
    graph.close()


def test_a_stored_motion_is_played(
    graph: ObservedGraph, run: WristRun, tmp_path: Path
) -> None:
    """Frames, ligaments, turns and contacts are those of the file's samples."""
    from humans_msgs.msg import ContactStates
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import JointState
    from std_srvs.srv import SetBool, Trigger
    from tf2_msgs.msg import TFMessage
    from visualization_msgs.msg import Marker, MarkerArray

    heard: dict[str, list[Any]] = {}

    def listen(kind: Any, topic: str, qos: Any = 50) -> None:
        heard[topic] = []
        graph.node.create_subscription(kind, topic, heard[topic].append, qos)

    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    listen(MarkerArray, "bones", latched)
    listen(MarkerArray, "wrist_markers")
    listen(JointState, "ligaments")
    listen(JointState, "bone_turns")
    listen(ContactStates, "bone_contacts")
    listen(TFMessage, "/tf")
    file = run.save(tmp_path / "motion.npz")
    graph.start("anatomy", f"file:={file}", "rate:=0.5", "publish_rate:=60.0")
    graph.wait(
        lambda: all(heard.values()) and len(heard["bone_turns"]) > 40, "the motion"
    )
    (bones,) = heard["bones"]
    assert [m.header.frame_id for m in bones.markers] == list(run.wrist.names)
    assert all(m.type == Marker.TRIANGLE_LIST for m in bones.markers)
    assert len(bones.markers[0].points) == 3 * len(run.wrist.bones[0].mesh.faces)
    angles = {round(m.position[0], 9) for m in heard["bone_turns"]}
    assert angles <= {round(float(a), 9) for a in run.angles} and len(angles) > 3
    message = heard["ligaments"][-1]
    assert list(message.name) == list(run.wrist.ligaments.names)
    assert any(np.allclose(message.effort, row) for row in run.tensions)
    moved = heard["/tf"][-1].transforms[2]
    assert (moved.header.frame_id, moved.child_frame_id) == ("wrist", "metacarpal-3")
    place = moved.transform.translation
    places = np.linalg.norm(run.x[:, 2] - [place.x, place.y, place.z], axis=1)
    assert places.min() < 1e-12
    point = heard["bone_contacts"][-1].points[0]
    assert (point.link_name, point.surface) == ("radius", "lunate")
    force = np.array([point.force.x, point.force.y, point.force.z])
    assert 10 < np.linalg.norm(force) < 100 and force[1] < 0  # pushed away from it
    spaces = {m.ns for m in heard["wrist_markers"][-1].markers}
    assert spaces == {"ligaments", "contacts", "names"}
    paused = graph.call(SetBool, "anatomy/pause", SetBool.Request(data=True))
    assert paused.success and paused.message == "paused"
    heard["bone_turns"].clear()
    graph.wait(lambda: len(heard["bone_turns"]) > 20, "frames while paused")
    assert len({m.position[0] for m in heard["bone_turns"][5:]}) == 1
    assert graph.call(Trigger, "anatomy/restart", Trigger.Request()).success


def test_a_motion_is_computed(graph: ObservedGraph, tmp_path: Path) -> None:
    """Bones stand at rest first; the state is on /diagnostics; then the hand turns."""
    from diagnostic_msgs.msg import DiagnosticArray
    from sensor_msgs.msg import JointState

    states: list[str] = []
    turns: list[float] = []
    graph.node.create_subscription(
        DiagnosticArray, "/diagnostics", lambda m: states.append(m.status[0].message), 9
    )
    graph.node.create_subscription(
        JointState, "bone_turns", lambda m: turns.append(m.position[0]), 50
    )
    words = ("motion:=flexion", "angle:=5.0", "step:=0.02", "resolution:=0.002")
    graph.start("anatomy", f"wrist:={write_own(tmp_path)}", *words)
    graph.wait(lambda: max(turns, default=0.0) > np.radians(4.9), "the hand to turn")
    assert turns[0] == 0.0
    graph.wait(lambda: any("playing" in state for state in states), "the state")


def test_ball_models_are_made_of_files_below_the_folder(
    graph: ObservedGraph, run: WristRun, tmp_path: Path
) -> None:
    """A mesh, a link of a URDF; nothing from elsewhere."""
    from action_msgs.msg import GoalStatus
    from humans_msgs.action import MakeBallModel

    folder = tmp_path / "meshes"
    folder.mkdir()
    trimesh.creation.icosphere(3, 6.0).export(folder / "ball.stl")
    trimesh.creation.icosphere(3, 20.0).export(folder / "large.stl")
    trimesh.creation.icosphere(3, 6.0).export(tmp_path / "outside.stl")
    (folder / "arm.urdf").write_text(URDF)
    (folder / "away.urdf").write_text(URDF.replace("ball.stl", "../outside.stl"))
    graph.start(
        "anatomy", f"file:={run.save(tmp_path / 'm.npz')}", f"request_folder:={folder}"
    )

    action = GoalClient(
        graph.node, graph.wait, MakeBallModel, "anatomy/make_ball_model"
    )

    def ask(**values: str) -> Any:
        return action.send(**values).result()[1]

    assert not ask(file="").success
    cancelled = action.send(file="large.stl", spacing=2e-4)  # takes seconds
    assert "ask again later" in ask(file="ball.stl").message
    cancelled.cancel()
    status, result = cancelled.result()
    assert status == GoalStatus.STATUS_CANCELED and result.message == "it was cancelled"
    assert cancelled.feedbacks[0].stage
    assert not (folder / "large.npz").exists()
    answer = ask(file="ball.stl")
    assert answer.success, answer.message
    assert answer.output_file == str(folder / "ball.npz")
    assert answer.balls > 0 and 0.0 < answer.rms < 5e-4
    radius = load_ball_model(folder / "ball.npz").radii.max()
    assert radius == pytest.approx(6e-3, abs=5e-4)
    linked = ask(file="arm.urdf", link="bone")
    assert linked.success and (folder / "bone.npz").is_file(), linked.message
    for values, word in (
        ({"file": "../outside.stl", "link": ""}, "request_folder"),
        ({"file": "away.urdf", "link": "bone"}, "request_folder"),
        ({"file": "arm.urdf", "link": "tail"}, "tail"),
        ({"file": "none.stl", "link": ""}, "none"),
        ({"file": "ball.stl", "link": "", "output": "../x.npz"}, "request_folder"),
        ({"file": "ball.stl", "spacing": 1.0}, "spacing must be"),
    ):
        refused = ask(**values)
        assert not refused.success and word in refused.message, (values, refused)
    assert not (tmp_path / "x.npz").exists()


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"motion": "twist"}, "motion must be one of"),
        ({"angle": 120.0}, "angle must be 0 to 90"),
        ({"resolution": 1.0}, "resolution must be"),
        ({"method": "magic"}, "method must be one of"),
        ({"friction": -1.0}, "friction must be"),
        ({"rate": 0.0}, "rate must be"),
        ({"duration": 0.01, "step": 0.05}, "step"),
    ],
)
def test_bad_parameters(node: Any, parameters: dict, reason: str) -> None:
    """Parameters that make no sense are named, before anything is computed."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from rclpy.parameter import Parameter

    from humans_sim.nodes.anatomy import Anatomy

    given = [Parameter(key, value=value) for key, value in parameters.items()]
    with pytest.raises(HumansError, match=reason):
        Anatomy(context=node.context, parameter_overrides=given)
