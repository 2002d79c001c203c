# SPDX-License-Identifier: Apache-2.0
"""What launch files start, and when not; skipped where launch is not installed."""

from __future__ import annotations

from typing import Any

import pytest

import humans_sim as hs
from humans_sim.applications.graphs import graph_names, read_graph

pytest.importorskip("launch_ros")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """RViz and ros2_control are there, whether or not they are."""
    from humans_sim.nodes.common import launch_graph

    monkeypatch.setattr(launch_graph, "get_package_prefix", lambda package: "")


def started(graph: str, **arguments: str) -> list[Any]:
    """Nodes that the launch file of a graph starts with these arguments."""
    from launch.actions import DeclareLaunchArgument

    from humans_sim.nodes.common.launch_graph import describe
    from launch import LaunchContext

    context = LaunchContext()
    nodes: list[Any] = []
    for entity in describe(graph).entities:
        if isinstance(entity, DeclareLaunchArgument):
            default = "".join(word.text for word in entity.default_value)
            value = arguments.pop(entity.name, default)
            context.launch_configurations[entity.name] = value
        else:
            assert not arguments, "the launch file has no such arguments"
            nodes = list(entity.execute(context) or [])
    return nodes


def is_node(action: Any) -> bool:
    """Whether an action of a launch file starts a node."""
    from launch_ros.actions import Node

    return isinstance(action, Node)


@pytest.mark.parametrize("graph", ["simulate", "kondo"])
def test_controllers_are_started(graph: str) -> None:
    """The controller manager, beside the nodes of the graph."""
    usual = [node.node_executable for node in started(graph)]
    actions = started(graph, ros2_control="true")
    nodes = [action.node_executable for action in actions if is_node(action)]
    assert nodes == ["ros2_control_node", *usual]


@pytest.mark.parametrize("graph", ["simulate", "kondo"])
def test_controllers_are_loaded_at_the_first_state(graph: str) -> None:
    """A controller that is active before takes no number for where it begins."""
    from launch.actions import RegisterEventHandler

    from humans_sim.nodes.common.launch_graph import FirstState
    from launch import Event

    (register,) = (
        action
        for action in started(graph, ros2_control="true")
        if isinstance(action, RegisterEventHandler)
    )
    handler = register.event_handler
    assert handler.matches(FirstState()) and not handler.matches(Event())
    assert handler.handle_once
    assert [node.node_executable for node in handler.entities] == ["spawner"]


def test_what_cannot_be_ends_the_launch() -> None:
    """Lock-step, models without controllers, and graphs whose nodes command."""
    for wrong, said in (
        ({"sync": "lockstep"}, "sync:=free"),
        ({"model": "human36"}, "controllers_file"),
        ({"ros2_control": "perhaps"}, "true or false"),
    ):
        with pytest.raises(hs.errors.ParameterError, match=said):
            started("simulate", **{"ros2_control": "true"} | wrong)
    with pytest.raises(AssertionError, match="no such arguments"):
        started("walk", ros2_control="true")


def test_what_is_not_there_ends_the_launch() -> None:
    """Files, models, marker sets and packages, before any node."""
    for graph, argument, said in (
        ("walk", "model:=nobody", "no model is called 'nobody'"),
        ("walk", "params_file:=no.yaml", "params_file: there is no file 'no.yaml'"),
        ("walk", "cmd_vel:=[nan, 0, 0]", "three numbers"),
        ("walk", "real_time_factor:=inf", "a number"),
        ("simulate", "controllers_file:=no.yaml", "no file 'no.yaml'"),
        ("reconstruct", "file:=no.trc", "file: there is no file 'no.trc'"),
        ("reconstruct", "subject:=no.yaml", "subject: there is no file"),
        ("reconstruct", "marker_set:=nobody", "no marker set is called 'nobody'"),
    ):
        name, value = argument.split(":=")
        with pytest.raises(hs.HumansError) as caught:
            started(graph, **{name: value})
        assert said in str(caught.value)


def test_missing_packages_end_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """RViz and the controllers are said to be missing by the argument's name."""
    from ament_index_python.packages import PackageNotFoundError

    from humans_sim.nodes.common import launch_graph

    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(launch_graph, "get_package_prefix", missing)
    for argument, package in (
        ("rviz", "rviz2"),
        ("ros2_control", "controller_manager"),
    ):
        with pytest.raises(
            hs.errors.ParameterError, match=f"{argument}:=true.*{package}"
        ):
            started("simulate", **{argument: "true"})


@pytest.mark.parametrize("graph", graph_names())
def test_the_launch_ends_with_its_clock(graph: str) -> None:
    """Nodes that follow a clock do not outlive it; a real robot outlives its walk."""
    from launch.actions import Shutdown

    ends = [
        node.node_executable
        for node in started(graph)
        if isinstance(node._ExecuteLocal__on_exit, Shutdown)
    ]
    assert ends in (["dynamics"], [])
    assert bool(ends) == ("dynamics" in read_graph(graph).nodes)


def words(substitutions: Any) -> str:
    """The text of a launch argument of a node."""
    return "".join(getattr(word, "text", str(word)) for word in substitutions)


@pytest.mark.parametrize("graph", graph_names())
def test_every_graph_can_be_put_into_a_namespace(graph: str) -> None:
    """TF goes with it, and is shared where frames have a prefix."""
    apart = started(graph, namespace="robot1")
    shared = started(graph, namespace="/robot1", frame_prefix="robot1/")
    spaces = [f"/robot1/{own}".rstrip("/") for own in read_graph(graph).namespaces]
    for nodes in (apart, shared):
        assert [words(node._Node__node_namespace) for node in nodes] == spaces
    remapped = [("/tf", "/robot1/tf"), ("/tf_static", "/robot1/tf_static")]
    for nodes, expected in ((apart, remapped), (shared, []), (started(graph), [])):
        for node in nodes:
            pairs = node._Node__remappings
            assert [(words(a), words(b)) for a, b in pairs] == expected
    with pytest.raises(hs.errors.ParameterError, match="a namespace is"):
        started(graph, namespace="robot 1")


def test_robots_of_one_scene_have_prefixes() -> None:
    """Nodes in a namespace have it before their frames, too; others have it not."""
    for prefix in ("", "left/"):
        for node in started("two-robots", frame_prefix=prefix):
            space = words(node._Node__node_namespace).strip("/")
            expected = prefix + (f"{space}/" if space else "")
            assert parameters_of(node).get("frame_prefix", "") == expected


@pytest.mark.parametrize("graph", ["walk", "simulate", "kondo", "carpus"])
def test_prefix_and_clock_become_parameters(graph: str) -> None:
    """The prefix of all nodes, the clock of the simulation alone."""
    simulates = "dynamics" in read_graph(graph).nodes
    arguments = {"frame_prefix": "robot1/"}
    if simulates:
        arguments["publish_clock"] = "false"
    for node in started(graph, **arguments):
        own = parameters_of(node)
        assert own["frame_prefix"] == "robot1/"
        clock = node.node_executable == "dynamics"
        assert own.get("publish_clock") is (False if clock else None)
    for node in started(graph):
        assert not {"frame_prefix", "publish_clock"} & set(parameters_of(node))


def parameters_of(node: Any) -> dict[str, Any]:
    """Parameters that a launch file gives to a node, beside its file."""
    from launch_ros.utilities import evaluate_parameters

    from launch import LaunchContext

    _, own = evaluate_parameters(LaunchContext(), node._Node__parameters)
    return dict(own)
