# SPDX-License-Identifier: Apache-2.0
"""The Foxglove layouts: panels of Foxglove, topics, fields and frames of the graphs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import graph_displays
import numpy as np
import pytest
from foxglove_layout import RUN, RUN_TOPICS, RUNS, foxglove_layout, run_layout
from mcap.reader import make_reader

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.applications.graphs import graph_names, read_graph
from humans_sim.dynamics import Simulation
from humans_sim.models.links import LinkTree
from humans_sim.results.ros_files import definitions

ROOT = Path(__file__).resolve().parents[2]

# Settings of Foxglove's panels, as its exported layouts have them.
PANELS = {
    "3D": {"cameraState", "followMode", "followTf", "scene", "transforms", "topics"}
    | {"layers"},
    "Plot": {"foxglovePanelTitle", "paths", "showXAxisLabels", "showYAxisLabels"}
    | {"showLegend", "legendDisplay", "isSynced", "xAxisVal"}
    | {"lichtblickPanelTitle", "sidebarDimension"},
    "DiagnosticSummary": {"topicToRender", "minLevel", "pinnedIds", "hardwareIdFilter"}
    | {"sortByLevel"},
    "RawMessages": {"topicPath", "diffEnabled", "expansion"},
    "Image": {"imageMode"},
}
DRAWN = {"visualization_msgs/msg/MarkerArray", "nav_msgs/msg/OccupancyGrid"}
OTHERS = {"geometry_msgs/WrenchStamped": "std_msgs/Header header\nWrench wrench\n"}
"""Messages that our files are not written with."""


@pytest.fixture(scope="module")
def layouts() -> dict[str, dict[str, Any]]:
    """Layouts of all graphs, and of files of runs."""
    texts = {
        name: foxglove_layout(graph_displays.read_graph(name)) for name in graph_names()
    } | {name: run_layout(size) for name, size in RUNS.items()}
    return {name: json.loads(text) for name, text in texts.items()}


def panels(layout: Any) -> list[str]:
    """Panels in the order in which they are laid out."""
    if isinstance(layout, str):
        return [layout]
    assert layout["direction"] in ("row", "column")
    assert 0 < layout["splitPercentage"] < 100
    return [*panels(layout["first"]), *panels(layout["second"])]


def definition(kind: str) -> str:
    """Text of a message, by package and name."""
    package, _, name = kind.partition("/")
    if package == "humans_msgs":
        return (ROOT / "msgs" / "msg" / f"{name}.msg").read_text()
    return OTHERS.get(kind) or definitions()[kind]


def kind_of(path: str, topics: dict[str, str]) -> tuple[str, str]:
    """Topic of a message path, and the type of the field that it ends at."""
    topic, *fields = path.split(".")
    kind = topics[topic].replace("/msg/", "/")
    for field in fields:
        name = re.sub(r"\[[\d:]*\]$", "", field)
        lines = [
            line.partition("#")[0].split() for line in definition(kind).split("\n")
        ]
        (inner,) = (line[0] for line in lines if len(line) > 1 and line[1] == name)
        assert inner.endswith("]") == (name != field), path  # an element of a list
        inner = inner.partition("[")[0]
        package = kind.partition("/")[0]
        known = f"{package}/{inner}" in {*definitions(), *OTHERS}
        kind = f"{package}/{inner}" if known else inner
    return topic, kind


def test_panels_are_those_of_foxglove(layouts: dict[str, dict[str, Any]]) -> None:
    """Each panel has its settings and its place, and nothing that is not known."""
    keys = {"configById", "globalVariables", "userNodes", "playbackConfig", "layout"}
    for name, file in layouts.items():
        assert set(file) == keys
        assert sorted(panels(file["layout"])) == sorted(file["configById"]), name
        for panel, settings in file["configById"].items():
            assert set(settings) <= PANELS[panel.partition("!")[0]], (name, panel)


def test_frames_are_loaded_ahead(layouts: dict[str, dict[str, Any]]) -> None:
    """After a jump, Foxglove reads one message of TF: others' frames are missing."""
    for file in layouts.values():
        shown = file["configById"]["3D!scene"]
        assert shown["scene"]["transforms"]["enablePreloading"] is True


def test_each_line_is_one_number(layouts: dict[str, dict[str, Any]]) -> None:
    """A line of a plot is no list: Foxglove draws all its numbers as one zigzag."""
    for file in layouts.values():
        for name, settings in file["configById"].items():
            if name.startswith("Plot!"):
                title = settings["foxglovePanelTitle"]
                assert settings["lichtblickPanelTitle"] == title
                for line in settings["paths"]:
                    assert "[:]" not in line["value"] and line["label"]


@pytest.mark.parametrize("name", graph_names())
def test_topics_are_those_of_the_graph(
    name: str, layouts: dict[str, dict[str, Any]]
) -> None:
    """All drawings of the graph, numbers by fields that its messages have."""
    graph, file = read_graph(name), layouts[name]
    topics = {f"/{topic.lstrip('/')}": kind for topic, kind in graph.topics.items()}
    shown = file["configById"]["3D!scene"]
    assert set(shown["topics"]) == {t for t, kind in topics.items() if kind in DRAWN}
    for panel, settings in file["configById"].items():
        if panel.startswith("Plot!"):
            assert settings["paths"]
            for line in settings["paths"]:
                assert kind_of(line["value"], topics)[1] == "float64", line
        elif panel.startswith("Image!"):
            topic = settings["imageMode"]["imageTopic"]
            assert topics[topic] == "sensor_msgs/msg/Image"
        elif not panel.startswith("3D!"):
            assert (settings.get("topicToRender") or settings["topicPath"]) in topics
    robots = [layer for name, layer in shown["layers"].items() if name != "floor"]
    described = {f"/{t}" for t in topics if t.endswith("/robot_description")}
    assert {f"/{layer['topic']}" for layer in robots} == described
    assert bool(robots) == ("anatomy" not in graph.nodes)
    for layer in robots:  # /robot1/robot_description is of frames as robot1/base_link
        prefix = layer["topic"].removesuffix("robot_description").strip("/")
        assert layer["framePrefix"].strip("/") == prefix


def test_frames_are_there(layouts: dict[str, dict[str, Any]]) -> None:
    """The camera follows a frame of TF, over the floor of the graph's world."""
    for name in graph_names():
        graph = graph_displays.read_graph(name)
        shown = layouts[name]["configById"]["3D!scene"]
        assert shown["layers"]["floor"]["frameId"] == graph.fixed_frame
        follow = graph.fixed_frame if graph.robot is None else graph.base
        assert shown["followTf"] == follow, name


@pytest.mark.parametrize("name", graph_displays.ROBOTS)
def test_robots_are_those_of_the_library(name: str) -> None:
    """Height and joints, which the tools know without the library, are the model's."""
    model, robot = hs.load_model(name), graph_displays.ROBOTS[name]
    assert abs(model.tags(model.neutral())[:, 2].max() - robot.height) < 1e-6
    for side, numbers in (("l", robot.left), ("r", robot.right)):
        names = [f"{side}_{joint}" for joint in graph_displays.LEG_JOINTS]
        assert [model.joint_names[k] for k in numbers] == names
    links = LinkTree(model).moving(model.neutral())
    assert "base_link" in {parent for parent, _, _ in links}


def test_lines_are_labelled_by_their_joints(layouts: dict[str, dict[str, Any]]) -> None:
    """A line of the plot of joints has the name of the joint that it shows."""
    lines = layouts["walk"]["configById"]["Plot!joints"]["paths"]
    names = hs.load_model("khr1").joint_names
    for line in lines:
        (number,) = re.findall(r"\[(\d+)\]", line["value"])
        assert names[int(number)] == line["label"]
    assert len(lines) == 6


def test_layout_of_files(
    khr1: hs.Model, layouts: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    """Topics and fields are those of a file of a run; terrain where there is any."""
    run = Simulation(khr1, actuation=Servo(khr1)).run(khr1.neutral(), t_end=0.02)
    with run.to_mcap(tmp_path / "run.mcap").open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    topics = {
        channel.topic: summary.schemas[channel.schema_id].name
        for channel in summary.channels.values()
    }
    file = layouts[RUN]["configById"]
    shown = set(file["3D!scene"]["topics"])
    assert shown == {f"/{topic}" for topic in RUN_TOPICS}
    drawn = {topic for topic, kind in topics.items() if kind in DRAWN}
    assert shown - {"/terrain", "/reconstruction_markers"} == drawn
    for name in ("Plot!joints", "Plot!base", "Plot!energy"):
        for line in file[name]["paths"]:
            assert kind_of(line["value"], topics)[1] == "float64"
    assert file["RawMessages!events"]["topicPath"] in topics
    assert np.isfinite(file["3D!scene"]["cameraState"]["distance"])
