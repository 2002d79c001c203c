# SPDX-License-Identifier: Apache-2.0
"""Requests of either version of simulation_interfaces, and answers with their codes."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.dynamics.model_system import ModelSystem

pytest.importorskip("simulation_interfaces")
pytestmark = pytest.mark.ros

CRATE = """<robot name="crate"><link name="crate">
<inertial><mass value="0.2"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>
</link></robot>"""


class FakeNode:
    """A run that goes where it is put, and services that are called by name."""

    def __init__(self, model: hs.Model) -> None:
        """Begin in the neutral posture."""
        from humans_sim.nodes.dynamics.entity_services import EntityServices

        self.model, self.failure, self.stamp = model, "", 0
        ground = hs.Ground()
        self.system = ModelSystem(model, ground)
        self.run = SimpleNamespace(
            q=model.neutral(), v=np.zeros(model.nv), acceleration=lambda: None
        )
        self.spawned: list[Any] = []
        self.settings = SimpleNamespace(
            world="world",
            ground=ground,
            scene=None,
            spawning_problem=lambda: "",
            with_body=lambda body, pose: body,
        )
        entity = SimpleNamespace(entity=model.name)
        self.robots = [SimpleNamespace(settings=entity)]
        self._services: dict[str, tuple[Any, Callable[..., Any]]] = {}
        EntityServices(self)  # type: ignore[arg-type]

    def unframed(self, frame: str) -> str:
        """Its frames have the prefix of the first of two robots."""
        return frame.removeprefix("robot1/")

    def create_service(self, kind: Any, name: str, on_request: Any) -> None:
        """Remember a service."""
        self._services[name] = kind, on_request

    def place(self, q: np.ndarray, v: np.ndarray) -> None:
        """Go on from another state."""
        self.run.q, self.run.v = q, v

    def change_scene(self, settings: Any, q: np.ndarray, v: np.ndarray) -> None:
        """Remember what was spawned."""
        self.spawned.append((settings.name, q[-7:]))

    def call(self, name: str, request: Any) -> Any:
        """Call a service."""
        kind, on_request = self._services[name]
        return on_request(request, kind.Response())


@pytest.fixture
def node(khr1: hs.Model) -> FakeNode:
    """The KHR-1 on the floor."""
    return FakeNode(khr1)


def state(frame: str = "", speed: float = 0.0) -> Any:
    """A state two metres up."""
    from simulation_interfaces.msg import EntityState

    made = EntityState()
    made.header.frame_id = frame
    made.pose.position.z, made.twist.linear.x = 2.0, speed
    return made


def test_states_of_version_1(node: FakeNode) -> None:
    """It has no flags: pose and twist are set."""
    from simulation_interfaces.msg import Result

    request = SimpleNamespace(entity="khr1", state=state(speed=0.3))
    answer = node.call("set_entity_state", request).result
    assert answer.result == Result.RESULT_OK, answer.error_message
    assert node.run.q[2] == 2.0
    assert node.run.v[0] == pytest.approx(0.3)


def test_flags_of_version_2(node: FakeNode) -> None:
    """Without a flag the pose, or the twist, stays."""
    request = SimpleNamespace(
        entity="khr1", state=state(speed=0.3), set_pose=False, set_twist=True
    )
    height = node.run.q[2]
    node.call("set_entity_state", request)
    assert node.run.q[2] == height
    assert node.run.v[0] == pytest.approx(0.3)
    request.set_pose, request.set_twist, request.state = True, False, state(speed=0.5)
    node.call("set_entity_state", request)
    assert node.run.q[2] == 2.0
    assert node.run.v[0] == pytest.approx(0.3)


@pytest.mark.parametrize(("speed", "fails"), [(0.0, False), (0.1, True)])
def test_frames_of_velocities(node: FakeNode, speed: float, fails: bool) -> None:
    """At rest is at rest in any frame; velocities are taken in the world."""
    from simulation_interfaces.msg import Result

    height = node.run.q[2]
    request = SimpleNamespace(entity="khr1", state=state("khr1", speed))
    answer = node.call("set_entity_state", request).result
    if fails:
        assert answer.result == Result.RESULT_OPERATION_FAILED
        assert "world" in answer.error_message
    assert node.run.q[2] == pytest.approx(height if fails else height + 2.0)


def spawn(node: FakeNode, text: str, version: int) -> Any:
    """Spawn a body, as a version has it."""
    from geometry_msgs.msg import PoseStamped

    resource = SimpleNamespace(uri="", resource_string=text)
    common = SimpleNamespace(
        name="crate", allow_renaming=False, entity_namespace="", initial_pose=None
    )
    common.initial_pose = PoseStamped()
    common.initial_pose.pose.position.z = 3.0
    own = vars(resource) if version == 1 else {"entity_resource": resource}
    return node.call("spawn_entity", SimpleNamespace(**vars(common), **own))


@pytest.mark.parametrize("version", [1, 2])
def test_resources(node: FakeNode, version: int) -> None:
    """Version 1 has the resource in the request itself."""
    from simulation_interfaces.msg import Result
    from simulation_interfaces.srv import SpawnEntity

    answer = spawn(node, CRATE, version)
    assert answer.result.result == Result.RESULT_OK, answer.result.error_message
    assert answer.entity_name == "crate"
    ((name, pose),) = node.spawned
    assert name == "crate"
    assert pose[2] == 3.0
    assert spawn(node, "", version).result.result == SpawnEntity.Response.NO_RESOURCE


def test_other_formats(node: FakeNode) -> None:
    """SDFormat is no URDF with a mistake in it."""
    from simulation_interfaces.srv import SpawnEntity

    answer = spawn(node, '<sdf version="1.9"><model name="a"/></sdf>', 2).result
    assert answer.result == SpawnEntity.Response.UNSUPPORTED_FORMAT
    assert "<sdf>" in answer.error_message


def test_spheres(node: FakeNode) -> None:
    """A region has a radius."""
    from geometry_msgs.msg import Vector3
    from simulation_interfaces.msg import Bounds, Result
    from simulation_interfaces.srv import GetEntities

    request = GetEntities.Request()
    request.filters.bounds.type = Bounds.TYPE_SPHERE
    request.filters.bounds.points = [Vector3(), Vector3(x=-1.0)]
    answer = node.call("get_entities", request).result
    assert answer.result == Result.RESULT_OPERATION_FAILED
    request.filters.bounds.points = [Vector3(), Vector3(x=1.0)]
    assert "khr1" in node.call("get_entities", request).entities
