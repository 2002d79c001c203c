# SPDX-License-Identifier: Apache-2.0
"""The RViz files: displays and properties of RViz, topics and frames of the graphs."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import graph_displays
import pytest
import yaml
from rviz_file import rviz_file

import humans_sim as hs
from humans_sim.applications.graphs import graph_names, read_graph
from humans_sim.models.links import LinkTree

ROOT = Path(__file__).resolve().parents[2]
load_model = cache(hs.load_model)

# Of rviz_common and rviz_default_plugins, ROS 2 Jazzy.
COMMON = {"Class", "Name", "Enabled", "Value"}
QOS = {"Depth", "History Policy", "Reliability Policy", "Durability Policy"}
TOPIC = {"Value", *QOS}
FILTERED = {*TOPIC, "Filter size"}
DISPLAYS: dict[str, dict[str, Any]] = {
    "Grid": dict.fromkeys(
        ("Reference Frame", "Plane", "Plane Cell Count", "Cell Size", "Color", "Alpha")
    ),
    "RobotModel": {
        **dict.fromkeys(("Alpha", "Visual Enabled", "Collision Enabled")),
        "Description Source": None,
        "TF Prefix": None,
        "Description Topic": TOPIC,
    },
    "TF": dict.fromkeys(
        ("Marker Scale", "Show Names", "Show Axes", "Show Arrows", "Frame Timeout")
        + ("Filter (whitelist)",)
    ),
    "MarkerArray": {"Namespaces": None, "Topic": TOPIC},
    "Wrench": {
        **dict.fromkeys(("Force Arrow Scale", "Torque Arrow Scale", "Arrow Width")),
        **dict.fromkeys(("Force Color", "Alpha", "History Length")),
        "Topic": FILTERED,
    },
    "Odometry": {
        **dict.fromkeys(("Keep", "Position Tolerance", "Angle Tolerance")),
        "Shape": {"Value", "Axes Length", "Axes Radius"},
        "Covariance": {"Value"},
        "Topic": FILTERED,
    },
    "Map": {
        **dict.fromkeys(("Alpha", "Color Scheme", "Draw Behind", "Use Timestamp")),
        "Topic": FILTERED,
    },
    "Image": {
        **dict.fromkeys(("Normalize Range", "Min Value", "Max Value", "Median window")),
        "Topic": TOPIC,
    },
}
TYPES = {
    "Map": "nav_msgs/msg/OccupancyGrid",
    "Image": "sensor_msgs/msg/Image",
    "RobotModel": "std_msgs/msg/String",
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
    "Wrench": "geometry_msgs/msg/WrenchStamped",
    "Odometry": "nav_msgs/msg/Odometry",
}
POLICIES = {
    "History Policy": {"Keep Last", "Keep All", "System Default"},
    "Reliability Policy": {"Reliable", "Best Effort", "System Default"},
    "Durability Policy": {"Volatile", "Transient Local", "System Default"},
}
PANELS = {"rviz_common/Displays", "rviz_common/Views", "rviz_common/Time"}
TOOLS = {"MoveCamera", "FocusCamera", "Measure"}
VIEW = {"Class", "Name", "Value", "Target Frame", "Focal Point", "Distance"}
VIEW |= {"Pitch", "Yaw", "Near Clip Distance"}


@pytest.fixture(scope="module")
def contents() -> dict[str, dict[str, Any]]:
    """What stands in the file of each graph."""
    return {
        name: yaml.safe_load(rviz_file(graph_displays.read_graph(name)))
        for name in graph_names()
    }


def kind(display: dict[str, Any]) -> str:
    """Class of a display or tool, without its package."""
    package, name = display["Class"].split("/")
    assert package == "rviz_default_plugins"
    return name


def displays(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of a file."""
    return content["Visualization Manager"]["Displays"]


def test_properties_are_those_of_rviz(contents: dict[str, dict[str, Any]]) -> None:
    """RViz passes over a property that it does not know, without a word."""
    for display in (d for content in contents.values() for d in displays(content)):
        known = DISPLAYS[kind(display)]
        assert set(display) <= COMMON | set(known), display["Name"]
        assert display["Enabled"] == display["Value"]
        for name, inner in known.items():
            if inner is not None:
                assert set(display[name]) == inner, (display["Name"], name)
        topic = display.get("Topic") or display.get("Description Topic") or {}
        for policy, words in POLICIES.items():
            assert topic.get(policy, "System Default") in words


def test_topics_are_those_of_the_graph(contents: dict[str, dict[str, Any]]) -> None:
    """Each topic flows in the graph, with the type that the display takes."""
    all_shown = {}
    for name, content in contents.items():
        graph = read_graph(name)
        shown = set()
        for display in displays(content):
            if kind(display) in TYPES:
                topic = display.get("Topic") or display["Description Topic"]
                assert graph.topics[topic["Value"]] == TYPES[kind(display)], name
                latched = topic["Value"] in graph.latched
                durability = "Transient Local" if latched else "Volatile"
                assert topic["Durability Policy"] == durability, name
                shown.add(topic["Value"])
        assert shown == {
            t for t, kind in graph.topics.items() if kind in TYPES.values()
        } - {"joint_states_source"}, name
        assert {"TF", "Grid"} <= {kind(display) for display in displays(content)}
        all_shown[name] = shown
    expected = {"robot_description", "footsteps", "walk_markers"}
    expected |= {"l_sole/wrench", "r_sole/wrench", "ground_truth/odom"}
    assert expected <= all_shown["walk"]
    person = {"robot_description", "reconstruction_markers", "odom"}
    assert person <= all_shown["reconstruct"]
    assert all_shown["carpus"] == {"bones", "wrist_markers"}


def test_namespaces_are_drawn(contents: dict[str, dict[str, Any]]) -> None:
    """The names of drawings are those that nodes and their markers give them."""
    nodes = "".join(
        path.read_text()
        for folder in ("nodes", "view")
        for path in (ROOT / "humans_sim" / folder).rglob("*.py")
    )
    listed = {
        name
        for content in contents.values()
        for display in displays(content)
        for name in display.get("Namespaces", {})
    }
    assert listed and {name for name in listed if f'"{name}"' not in nodes} == set()


def test_frames_are_there(contents: dict[str, dict[str, Any]]) -> None:
    """The fixed frame is the graph's world; the others are of the model."""
    for name, content in contents.items():
        graph = read_graph(name)
        parameters = yaml.safe_load(graph.parameters.read_text())
        if "anatomy" in graph.nodes:
            world = parameters["/**/anatomy"]["ros__parameters"]["frame_id"]
        elif "marker_player" in graph.nodes:
            world = parameters["/**/marker_player"]["ros__parameters"]["frame_id"]
        elif "dynamics" in graph.nodes:
            given = parameters["/**/dynamics"]["ros__parameters"]
            world = given.get("world_frame", "world")
        else:  # that of the odometry, where there is one
            world = "odom" if "odom" in graph.topics else "base_footprint"
        manager = content["Visualization Manager"]
        assert manager["Global Options"]["Fixed Frame"] == world, name
        if "anatomy" in graph.nodes:
            bones = ROOT / "config" / "anatomy" / "wrist.yaml"
            frames = {world, *yaml.safe_load(bones.read_text())["bones"]}
        else:
            model = load_model(parameters["/**"]["ros__parameters"]["model"])
            links = {link for _, link, _ in LinkTree(model).fixed()}
            own = links | {"base_link", "base_footprint"}
            simulation = parameters.get("/**/dynamics", {}).get("ros__parameters", {})
            prefixes = [f"{name}/" for name in simulation.get("robots", [])] or [""]
            frames = {f"{prefix}{link}" for prefix in prefixes for link in own}
            frames.add(world)
        assert manager["Views"]["Current"]["Target Frame"] in frames
        (filter_,) = (
            display["Filter (whitelist)"]
            for display in displays(content)
            if kind(display) == "TF"
        )
        for word in filter_.split("|"):
            assert any(re.search(word, frame) for frame in frames), (name, word)


def test_window(contents: dict[str, dict[str, Any]]) -> None:
    """Panels, tools and the view are of RViz, and its docks are shown."""
    for content in contents.values():
        assert {panel["Class"] for panel in content["Panels"]} <= PANELS
        manager = content["Visualization Manager"]
        assert {kind(tool) for tool in manager["Tools"]} <= TOOLS
        view = manager["Views"]["Current"]
        assert kind(view) == "Orbit" and set(view) <= VIEW
        assert {"Hide Left Dock", "Hide Right Dock"} <= set(content["Window Geometry"])


def test_robot_fills_the_view(contents: dict[str, dict[str, Any]]) -> None:
    """The camera is two to six heights away; half the weight is an arrow that shows."""
    for name, content in contents.items():
        given = yaml.safe_load(read_graph(name).parameters.read_text())
        view = content["Visualization Manager"]["Views"]["Current"]
        if name == "carpus":  # the synthetic wrist is 0.18 m long
            assert 2 < view["Distance"] / 0.18 < 6
            continue
        model = load_model(given["/**"]["ros__parameters"]["model"])
        height = model.tags(model.neutral())[:, 2].max()
        assert 2 < view["Distance"] / height < 6, name
        for display in displays(content):
            if kind(display) == "Wrench":
                length = display["Force Arrow Scale"] * model.mass * 9.81
                assert 2 * display["Arrow Width"] < length < 1.5 * height, name
