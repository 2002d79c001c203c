# SPDX-License-Identifier: Apache-2.0
"""The Foxglove layouts: panels of Foxglove, topics, fields and frames of the graphs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.applications.foxglove_layout import (
    RUN,
    RUN_TOPICS,
    RUNS,
    foxglove_layout,
    run_layout,
)
from humans_sim.applications.graphs import Graph, graph_names, read_graph
from humans_sim.applications.rviz_file import fixed_frame, graph_model, has_wrist
from humans_sim.dynamics import Simulation
from humans_sim.models.links import LinkTree
from humans_sim.results.ros_schemas import DEFINITIONS

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "config" / "foxglove"
FILES = sorted(FOLDER.glob("*.json"))
GRAPHS = [path for path in FILES if path.stem not in RUNS]

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


def content(path: Path) -> dict[str, Any]:
    """What stands in a file."""
    return json.loads(path.read_text())


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
    return OTHERS.get(kind) or DEFINITIONS[kind]


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
        known = f"{package}/{inner}" in {*DEFINITIONS, *OTHERS}
        kind = f"{package}/{inner}" if known else inner
    return topic, kind


def test_there_is_one_for_each_graph() -> None:
    """And one for the files of runs."""
    assert {path.stem for path in FILES} == {*graph_names(), *RUNS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_are_written_by_their_module(path: Path) -> None:
    """``python -m humans_sim.applications.foxglove_layout`` changes nothing."""
    if path.stem in RUNS:
        made = run_layout(RUNS[path.stem])
    else:
        made = foxglove_layout(read_graph(path.stem))
    assert path.read_text() == made


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_panels_are_those_of_foxglove(path: Path) -> None:
    """Each panel has its settings and its place, and nothing that is not known."""
    file = content(path)
    keys = {"configById", "globalVariables", "userNodes", "playbackConfig", "layout"}
    assert set(file) == keys
    assert sorted(panels(file["layout"])) == sorted(file["configById"])
    for name, settings in file["configById"].items():
        assert set(settings) <= PANELS[name.partition("!")[0]], name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_frames_are_loaded_ahead(path: Path) -> None:
    """After a jump, Foxglove reads one message of TF: others' frames are missing."""
    shown = content(path)["configById"]["3D!scene"]
    assert shown["scene"]["transforms"]["enablePreloading"] is True


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_line_is_one_number(path: Path) -> None:
    """A line of a plot is no list: Foxglove draws all its numbers as one zigzag."""
    for name, settings in content(path)["configById"].items():
        if name.startswith("Plot!"):
            assert settings["lichtblickPanelTitle"] == settings["foxglovePanelTitle"]
            for line in settings["paths"]:
                assert "[:]" not in line["value"] and line["label"], path.stem


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_topics_are_those_of_the_graph(path: Path) -> None:
    """All drawings of the graph, numbers by fields that its messages have."""
    graph, file = read_graph(path.stem), content(path)
    topics = {f"/{name.lstrip('/')}": kind for name, kind in graph.topics.items()}
    shown = file["configById"]["3D!scene"]
    assert set(shown["topics"]) == {t for t, kind in topics.items() if kind in DRAWN}
    for name, settings in file["configById"].items():
        if name.startswith("Plot!"):
            assert settings["paths"]
            for line in settings["paths"]:
                assert kind_of(line["value"], topics)[1] == "float64", line
        elif name.startswith("Image!"):
            topic = settings["imageMode"]["imageTopic"]
            assert topics[topic] == "sensor_msgs/msg/Image"
        elif not name.startswith("3D!"):
            assert (settings.get("topicToRender") or settings["topicPath"]) in topics
    layers = shown["layers"]
    if "robot" in layers:
        assert topics[layers["robot"]["topic"]] == "std_msgs/msg/String"
    assert ("robot" in layers) == (not has_wrist(graph))


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_frames_and_joints_are_there(path: Path) -> None:
    """The camera follows a frame of TF; lines have the names of their joints."""
    graph, file = read_graph(path.stem), content(path)
    shown = file["configById"]["3D!scene"]
    assert shown["layers"]["floor"]["frameId"] == fixed_frame(graph)
    assert shown["followTf"] in frames(graph)
    if "Plot!joints" in file["configById"]:
        names = graph_model(graph).joint_names
        for line in file["configById"]["Plot!joints"]["paths"]:
            (number,) = re.findall(r"\[(\d+)\]", line["value"])
            assert names[int(number)] == line["label"]


def frames(graph: Graph) -> set[str]:
    """Frames of a graph."""
    if has_wrist(graph):
        return {fixed_frame(graph)}
    model = graph_model(graph)
    links = LinkTree(model).moving(model.neutral())
    return {fixed_frame(graph), *(parent for parent, _, _ in links)}


def test_layout_of_files(khr1: hs.Model, tmp_path: Path) -> None:
    """Topics and fields are those of a file of a run; terrain where there is any."""
    run = Simulation(khr1, actuation=Servo(khr1)).run(khr1.neutral(), t_end=0.02)
    with run.to_mcap(tmp_path / "run.mcap").open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    topics = {
        channel.topic: summary.schemas[channel.schema_id].name
        for channel in summary.channels.values()
    }
    file = content(FOLDER / f"{RUN}.json")["configById"]
    shown = set(file["3D!scene"]["topics"])
    assert shown == {f"/{topic}" for topic in RUN_TOPICS}
    drawn = {topic for topic, kind in topics.items() if kind in DRAWN}
    assert shown - {"/terrain", "/reconstruction_markers"} == drawn
    for name in ("Plot!joints", "Plot!base", "Plot!energy"):
        for line in file[name]["paths"]:
            assert kind_of(line["value"], topics)[1] == "float64"
    assert file["RawMessages!events"]["topicPath"] in topics
    assert np.isfinite(file["3D!scene"]["cameraState"]["distance"])
