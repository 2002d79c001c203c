# SPDX-License-Identifier: Apache-2.0
"""The standard services of a simulation, used over real topics."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from node_processes import ObservedGraph

import humans_sim as hs
from humans_sim.core.doctor import ros_hint

pytestmark = pytest.mark.ros

ROOT = Path(__file__).parents[2]
PARAMETERS = ROOT / "config" / "params" / "push-box.yaml"
SCRIPT = ROOT / "benchmarks" / "simulation_services.py"
HASHES = {
    "srv/GetSimulatorFeatures": "abb9439c8cf19672",
    "srv/SetSimulationState": "a868b916dce49974",
    "srv/ResetSimulation": "4ce285d7ff9b8ac7",
    "srv/GetEntitiesStates": "0a76170d0c1c90e1",
    "srv/SetEntityState": "fba636c91d38832d",
    "srv/SpawnEntity": "66860313e11009fa",
    "srv/GetEntityBounds": "17be8d36231178a5",
    "action/SimulateSteps": "f0837c898e1219cd",
}
"""How those of upstream begin, version 2.1.0, by ROS 2's own generator."""
FREE = ("sync:=free", "real_time_factor:=0.0", "start_paused:=true")


@pytest.fixture(scope="module")
def compiled(ros_environment: dict[str, str]) -> None:
    """Kernels are compiled here, with no one waiting."""
    hs.simulate("push-box", t_end=0.1)


@pytest.fixture
def graph(ros_environment: dict[str, str], compiled: None) -> Iterator[ObservedGraph]:
    """The simulation alone, on the wall clock, as fast as it can, paused."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    pytest.importorskip("simulation_interfaces", reason=ros_hint())
    graph = ObservedGraph("standard_client", PARAMETERS, ros_environment)
    graph.start("dynamics", *FREE)
    yield graph
    graph.close()


def features(graph: ObservedGraph) -> Any:
    """What the simulator says it can do."""
    from simulation_interfaces.srv import GetSimulatorFeatures

    request = GetSimulatorFeatures.Request()
    return graph.call(GetSimulatorFeatures, "get_simulator_features", request).features


def test_every_feature_does_what_it_says(
    graph: ObservedGraph, ros_environment: dict[str, str]
) -> None:
    """The conformance script uses all that the simulator tells of."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env=ros_environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok  ") == len(features(graph).features) == 18


def test_what_cannot_be_is_answered_with_a_code(graph: ObservedGraph) -> None:
    """Malformed requests change nothing and end nothing."""
    from simulation_interfaces.msg import Bounds, Result
    from simulation_interfaces.srv import (
        DeleteEntity,
        GetEntities,
        ResetSimulation,
        SetEntityState,
        SpawnEntity,
    )

    def names(**filters: Any) -> Any:
        request = GetEntities.Request()
        for key, value in filters.items():
            setattr(request.filters, key, value)
        return graph.call(GetEntities, "get_entities", request)

    assert list(names().entities) == ["khr1", "box", "ground"]
    assert list(names(filter="^(k|b)").entities) == ["khr1", "box"]
    answer = names(filter="(")
    assert answer.result.result == Result.RESULT_OPERATION_FAILED
    assert "is missing" in answer.result.error_message
    hull = Bounds(type=Bounds.TYPE_CONVEX_HULL)
    answer = names(bounds=hull).result
    assert answer.result == Result.RESULT_FEATURE_UNSUPPORTED

    place = SetEntityState.Request(entity="khr1", set_pose=True)
    place.state.pose.position.z = 0.01  # below the floor
    answer = graph.call(SetEntityState, "set_entity_state", place).result
    assert answer.result == SetEntityState.Response.INVALID_POSE
    assert "inside" in answer.error_message
    place.state.header.frame_id = "moon"
    answer = graph.call(SetEntityState, "set_entity_state", place).result
    assert answer.result == Result.RESULT_NOT_FOUND
    place = SetEntityState.Request(entity="ground", set_pose=True)
    answer = graph.call(SetEntityState, "set_entity_state", place).result
    assert "part of the ground" in answer.error_message

    for entity in ("khr1", "ground", "nobody"):
        request = DeleteEntity.Request(entity=entity)
        answer = graph.call(DeleteEntity, "delete_entity", request).result
        assert answer.result != Result.RESULT_OK
    answers = SpawnEntity.Response
    for text, code in {
        "": answers.NO_RESOURCE,
        "<robot": answers.RESOURCE_PARSE_ERROR,
        '<robot name="a"><link name="a"><inertial><mass value="1"/></inertial>'
        "</link></robot>": answers.UNSUPPORTED_ASSETS,
    }.items():
        request = SpawnEntity.Request(name="thing")
        request.entity_resource.resource_string = text
        answer = graph.call(SpawnEntity, "spawn_entity", request).result
        assert answer.result == code, answer.error_message
    answer = graph.call(
        ResetSimulation, "reset_simulation", ResetSimulation.Request(scope=1)
    ).result
    assert answer.result == Result.RESULT_FEATURE_UNSUPPORTED
    assert list(names().entities) == ["khr1", "box", "ground"]


class StepGoals:
    """Goals of the action that makes steps."""

    def __init__(self, graph: ObservedGraph) -> None:
        """Wait for the action."""
        from rclpy.action import ActionClient
        from simulation_interfaces.action import SimulateSteps

        self._graph, self._kind = graph, SimulateSteps
        self._client = ActionClient(graph.node, SimulateSteps, "simulate_steps")
        graph.wait(self._client.server_is_ready, "the action")

    def send(self, steps: int) -> tuple[Any, Any]:
        """Send a goal; its handle, and its end to come."""
        sent = self._client.send_goal_async(self._kind.Goal(steps=steps))
        self._graph.wait(sent.done, "the goal to be taken")
        handle = sent.result()
        return handle, handle.get_result_async()

    def end(self, goal: tuple[Any, Any]) -> tuple[int, Any]:
        """Status and answer of a goal."""
        self._graph.wait(goal[1].done, "the goal to end")
        ended = goal[1].result()
        return ended.status, ended.result.result


def test_goals_in_each_others_way(graph: ObservedGraph) -> None:
    """One goal at a time; a reset or a change of the state ends it, with its reason."""
    from action_msgs.msg import GoalStatus
    from simulation_interfaces.msg import Result, SimulationState
    from simulation_interfaces.srv import (
        ResetSimulation,
        SetSimulationState,
        StepSimulation,
    )

    def let(state: int) -> int:
        request = SetSimulationState.Request(state=SimulationState(state=state))
        answer = graph.call(SetSimulationState, "set_simulation_state", request)
        return int(answer.result.result)

    def refused(goal: tuple[Any, Any], why: str) -> None:
        status, answer = goals.end(goal)
        assert status == GoalStatus.STATUS_ABORTED
        assert answer.result == Result.RESULT_OPERATION_FAILED
        assert why in answer.error_message

    goals, many = StepGoals(graph), 1_000_000
    refused(goals.send(0), "at least 1")
    refused(goals.send(2**64 - 1), "at most")

    first = goals.send(many)
    refused(goals.send(3), "another request")
    step = StepSimulation.Request(steps=1)
    answer = graph.call(StepSimulation, "step_simulation", step).result
    assert answer.result == Result.RESULT_OPERATION_FAILED
    assert "another request" in answer.error_message
    assert not first[1].done()
    reset = graph.call(ResetSimulation, "reset_simulation", ResetSimulation.Request())
    assert reset.result.result == Result.RESULT_OK
    refused(first, "reset")

    played = goals.send(many)
    assert let(SimulationState.STATE_PLAYING) == Result.RESULT_OK
    refused(played, "let run")
    refused(goals.send(1), "not paused")
    assert let(SimulationState.STATE_PAUSED) == Result.RESULT_OK

    cancelled = goals.send(many)
    cancelled[0].cancel_goal_async()
    status, answer = goals.end(cancelled)
    assert status == GoalStatus.STATUS_CANCELED
    assert "cancelled" in answer.error_message
    status, answer = goals.end(goals.send(2))
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert answer.result == Result.RESULT_OK


def test_runs_without_free_bodies_say_so(
    ros_environment: dict[str, str], compiled: None
) -> None:
    """With the event-driven method nothing can be spawned, and none is promised."""
    pytest.importorskip("simulation_interfaces", reason=ros_hint())
    from simulation_interfaces.msg import Result, SimulatorFeatures
    from simulation_interfaces.srv import SpawnEntity

    file = ROOT / "config" / "params" / "walk.yaml"
    graph = ObservedGraph("standard_refused", file, ros_environment)
    try:
        graph.start("dynamics", *FREE, "method:=event_driven")
        told = features(graph)
        assert SimulatorFeatures.SPAWNING not in told.features
        assert "event" not in told.custom_info
        assert "time_stepping" in told.custom_info
        answer = graph.call(SpawnEntity, "spawn_entity", SpawnEntity.Request()).result
        assert answer.result == Result.RESULT_FEATURE_UNSUPPORTED
    finally:
        graph.close()


def test_quitting_ends_the_process(graph: ObservedGraph) -> None:
    """The answer comes first, then the node ends as by a signal."""
    from simulation_interfaces.msg import Result, SimulationState
    from simulation_interfaces.srv import SetSimulationState

    request = SetSimulationState.Request()
    request.state.state = SimulationState.STATE_QUITTING
    answer = graph.call(SetSimulationState, "set_simulation_state", request).result
    assert answer.result == Result.RESULT_OK
    output, _ = graph.processes["dynamics"].communicate(timeout=60)
    assert "Traceback" not in output


def test_types_are_those_of_upstream(ros_environment: dict[str, str]) -> None:
    """Their hashes are those of the released definitions."""
    package = pytest.importorskip("simulation_interfaces", reason=ros_hint())
    tail = Path("share") / "simulation_interfaces"
    parents = Path(package.__file__).parents
    share = next(p / tail for p in parents if (p / tail).is_dir())
    for name, expected in HASHES.items():
        hashes = json.loads((share / f"{name}.json").read_text())["type_hashes"]
        own = {item["type_name"]: item["hash_string"] for item in hashes}
        assert own[f"simulation_interfaces/{name}"].startswith(f"RIHS01_{expected}")
