# SPDX-License-Identifier: Apache-2.0
"""What Foxglove shows of a graph, and of an MCAP file of a run: panels by topics.

In Foxglove the layouts are opened by *Import from file*.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from graph_displays import IMAGE, LEG_JOINTS, MAP, MARKERS, WRENCH, Graph

Panel = tuple[str, dict[str, Any]]
"""Number of a panel, which begins with its type, and its settings."""

RUN, RUN_SMALL = "run", "run-small"
"""Names of the layouts of MCAP files: of humans and large robots, of small ones."""
RUNS = {RUN: 2.0, RUN_SMALL: 0.4}
"""Heights of what these show [m]."""
RUN_TOPICS = (
    *("robot_markers", "scene", "terrain", "walk_markers", "contact_markers"),
    "reconstruction_markers",
)
"""Drawings of an MCAP file."""
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b")
_TITLES = ("foxglovePanelTitle", "lichtblickPanelTitle")
"""Where Foxglove and Lichtblick, which came from it, look for the title of a panel."""
_WRIST = 0.12
"""Of the bones that are looked at, without the forearm [m]."""
_LEGEND = 170
"""Width of the names beside the lines of a plot [px]."""


def foxglove_layout(graph: Graph) -> str:
    """The text of the layout of a graph."""
    follow = graph.fixed_frame if graph.robot is None else graph.base
    drawn = [topic for topic, kind in graph.topics.items() if kind in (MARKERS, MAP)]
    size = graph.robot.height if graph.robot else _WRIST
    robots = () if graph.robot is None else graph.prefixes
    scene = _scene(drawn, follow, graph.fixed_frame, size, robots)
    return _layout(scene, [*_plots(graph), *_others(graph)])


def run_layout(size: float = RUNS[RUN]) -> str:
    """The text of a layout of MCAP files of runs.

    Args:
        size: height of what they show [m].
    """
    scene = _scene(RUN_TOPICS, "base_link", "world", size, ())
    energies = [
        (f"/energy/{name}.data", name) for name in ("kinetic", "potential", "total")
    ]
    height = [("/odom.pose.pose.position.z", "height")]
    angles = [(f"/joints/{s}_{j}.data", f"{s}_{j}") for j in LEG_JOINTS for s in "lr"]
    plots = [
        _plot("joints", "Joint angles [rad]", angles),
        _plot("base", "Base [m]", height),
        _plot("energy", "Energy [J]", energies),
    ]
    return _layout(scene, [*plots, _messages("events", "/events")])


def _scene(
    topics: Iterable[str], follow: str, world: str, size: float, robots: Sequence[str]
) -> Panel:
    """The 3D panel: floor, robots by the prefixes of their frames, drawings."""
    cell = 0.01 if size < 0.25 else 0.05 if size < 0.6 else 0.25
    layers: dict[str, Any] = {
        "floor": {
            "layerId": "foxglove.Grid",
            "instanceId": "floor",
            "label": "Floor",
            "visible": True,
            "frameLocked": True,
            "frameId": world,
            "size": 40 * cell,
            "divisions": 40,
            "lineWidth": 1,
            "color": "#a0a0a4ff",
            "position": [0, 0, 0],
            "rotation": [0, 0, 0],
            "order": 1,
        }
    }
    for k, prefix in enumerate(robots):
        name = prefix.strip("/") or "robot"
        layers[name] = {
            "layerId": "foxglove.Urdf",
            "instanceId": name,
            "label": name.capitalize(),
            "visible": True,
            "sourceType": "topic",
            "topic": f"/{prefix}robot_description",
            "framePrefix": prefix,
            "displayMode": "auto",
            "order": 2 + k,
        }
    return "3D!scene", {
        "cameraState": {
            "perspective": True,
            "distance": round(2.5 * size, 2),
            "phi": 70,
            "thetaOffset": 55,
            "targetOffset": [0, 0, 0],
            "target": [0, 0, 0],
            "targetOrientation": [0, 0, 0, 1],
            "fovy": 45,
            "near": 0.01,
            "far": 500,
        },
        "followMode": "follow-position",
        "followTf": follow,
        "scene": {
            "transforms": {
                "showLabel": False,
                "axisScale": round(size / 16, 3),
                "lineWidth": 0,
                "enablePreloading": True,  # bags: a jump in time finds all frames
            }
        },
        "transforms": {},
        "topics": {f"/{topic}": {"visible": True} for topic in topics},
        "layers": layers,
    }


def _plots(graph: Graph) -> list[Panel]:
    """Joints, loads of the soles, speed and quality, where the graph has them."""
    plots, topics = [], graph.topics
    first = f"{graph.prefixes[0]}joint_states"
    if graph.robot is not None and first in topics:
        numbers = zip(graph.robot.left, graph.robot.right, strict=True)
        legs = [
            (f"/{first}.position[{number}]", f"{side}_{joint}")
            for joint, pair in zip(LEG_JOINTS, numbers, strict=True)
            for side, number in zip("lr", pair, strict=True)
        ]
        plots.append(_plot("joints", "Joint angles [rad]", legs))
    soles = [topic for topic, kind in topics.items() if kind == WRENCH]
    if soles:
        names = [topic.removesuffix("/wrench") for topic in soles]
        loads = [(f"/{t}.wrench.force.z", n) for t, n in zip(soles, names, strict=True)]
        plots.append(_plot("soles", "Load of the soles [N]", loads))
    for topic, path, label, title in (
        ("walk_status", "support_margin", "margin", "Margin of the support [m]"),
        ("reconstruction_quality", "rms", "rms", "Distance of the markers [m]"),
        ("bone_turns", "position[0]", "hand", "Turn of the hand [rad]"),
    ):
        if topic in topics:
            plots.append(_plot(topic, title, [(f"/{topic}.{path}", label)]))
    return plots


def _others(graph: Graph) -> list[Panel]:
    """Pictures, diagnostics and events, where the graph has them."""
    panels: list[Panel] = []
    for topic, kind in graph.topics.items():
        if kind == IMAGE and topic.endswith("picture"):
            mode = {"imageTopic": f"/{topic}"}
            panels.append(("Image!picture", {"imageMode": mode}))
    if "/diagnostics" in graph.topics:
        shown = {
            "topicToRender": "/diagnostics",
            "minLevel": 0,
            "pinnedIds": [],
            "hardwareIdFilter": "",
            "sortByLevel": True,
        }
        panels.append(("DiagnosticSummary!all", shown))
    if "events" in graph.topics:
        panels.append(_messages("events", "/events"))
    return panels


def _plot(name: str, title: str, paths: Sequence[tuple[str, str]]) -> Panel:
    """Lines over all time: a view that follows stands still in files (Lichtblick)."""
    lines = [
        {
            "value": path,
            "enabled": True,
            "timestampMethod": "receiveTime",
            "label": label,
            "color": _COLOURS[k % len(_COLOURS)],
        }
        for k, (path, label) in enumerate(paths)
    ]
    return f"Plot!{name}", {
        **dict.fromkeys(_TITLES, title),
        "paths": lines,
        "showXAxisLabels": True,
        "showYAxisLabels": True,
        "showLegend": True,
        "legendDisplay": "left",
        "sidebarDimension": _LEGEND,
        "isSynced": True,
        "xAxisVal": "timestamp",
    }


def _messages(name: str, topic: str) -> Panel:
    settings = {"topicPath": topic, "diffEnabled": False, "expansion": "all"}
    return f"RawMessages!{name}", settings


def _layout(scene: Panel, others: Sequence[Panel]) -> str:
    """The scene on the left, everything else in a column beside it."""
    layout = {
        "configById": dict([scene, *others]),
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": {
            "direction": "row",
            "first": scene[0],
            "second": _column([name for name, _ in others]),
            "splitPercentage": 62,
        },
    }
    return json.dumps(layout, indent=2) + "\n"


def _column(names: Sequence[str]) -> str | dict[str, Any]:
    """Panels below each other, of one height."""
    first, *others = names
    if not others:
        return first
    share = round(100 / len(names), 2)
    return {
        "direction": "column",
        "first": first,
        "second": _column(others),
        "splitPercentage": share,
    }
