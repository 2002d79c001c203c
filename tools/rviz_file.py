# SPDX-License-Identifier: Apache-2.0
"""What RViz shows of a graph: a display for each of its topics that has one."""

from __future__ import annotations

from itertools import product
from typing import Any

import yaml
from graph_displays import BASE, IMAGE, MAP, TRUE_BASE, WRENCH, WRIST, Graph

_WALK_MARKERS = ("com", "com_on_floor", "zmp", "zmp_planned", "support")
_RECONSTRUCTED = (
    *("measured", "rejected", "unknown", "reconstructed", "occluded", "residuals"),
    "rejected_residuals",
)
_MARKERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "footsteps": ("Footsteps", ("footsteps",)),
    "walk_markers": ("Centre of mass, ZMP, support polygon", _WALK_MARKERS),
    "scene": ("Scene", ()),
    "reconstruction_markers": ("Markers", _RECONSTRUCTED),
    "bones": ("Bones", ("bones",)),
    "wrist_markers": (
        "Ligaments, contacts, names",
        ("ligaments", "contacts", "names"),
    ),
}
"""Name of the display of a topic of markers, and namespaces that it lists."""
_SIDES = {"l_sole": "left sole", "r_sole": "right sole"}
_SMALL = 0.6
"""Height below which a model is small [m]."""


class _Dumper(yaml.SafeDumper):
    """Lists are indented, as RViz writes them, and nothing is shared."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def rviz_file(graph: Graph) -> str:
    """The text of the RViz file of a graph."""
    text = yaml.dump(
        _content(graph), Dumper=_Dumper, sort_keys=False, width=10_000, indent=2
    )
    return f"# RViz beside the graph {graph.name}.\n{text}"


def _content(graph: Graph) -> dict[str, Any]:
    small = graph.robot is None or graph.robot.height < _SMALL
    panels = ("Displays", "Views", "Time")
    tools = ("MoveCamera", "FocusCamera", "Measure")
    return {
        "Panels": [{"Class": f"rviz_common/{x}", "Name": x} for x in panels],
        "Visualization Manager": {
            "Class": "",
            "Enabled": True,
            "Name": "root",
            "Value": True,
            "Global Options": {
                "Background Color": "48; 48; 48",
                "Fixed Frame": graph.fixed_frame,
                "Frame Rate": 30,
            },
            "Displays": _displays(graph, small),
            "Tools": [{"Class": f"rviz_default_plugins/{tool}"} for tool in tools],
            "Views": {
                "Current": _view(graph, small),
                "Saved": None,
            },
        },
        "Window Geometry": {
            "Hide Left Dock": False,
            "Hide Right Dock": True,
            "Width": 1200,
            "Height": 846,
        },
    }


def _view(graph: Graph, small: bool) -> dict[str, Any]:
    view: dict[str, Any] = {
        "Class": "rviz_default_plugins/Orbit",
        "Name": "Current View",
        "Target Frame": f"{graph.prefixes[0]}base_footprint",
        "Focal Point": {"X": 0, "Y": 0, "Z": 0.15 if small else 0.8},
        "Distance": 1 if small else 5,
        "Pitch": 0.35,
        "Yaw": 0.8,
        "Near Clip Distance": 0.01,
        "Value": "Orbit (rviz)",
    }
    if graph.robot is None:  # from the palm: z points out of it
        near = {"Distance": 0.42, "Pitch": 1.35, "Yaw": -1.5708}
        place = {"Target Frame": WRIST, "Focal Point": {"X": 0, "Y": 0, "Z": 0}}
        view |= near | place
    return view


def _displays(graph: Graph, small: bool) -> list[dict[str, Any]]:
    displays = [_grid(0.1 if small else 0.5)]
    if graph.robot is None:
        displays = [_grid(0.01), _tf("wrist|scaphoid|lunate|capitate|radius", 0.02)]
    else:
        axes = 0.1 if small else 0.5
        displays += [_robot(graph, prefix) for prefix in graph.prefixes]
        displays.append(_tf(f"{_frames(graph)}|[lr]_sole", axes))
    own = [prefix for prefix in graph.prefixes if prefix]
    for prefix, (topic, (name, spaces)) in product(["", *own], _MARKERS.items()):
        topic, name = f"{prefix}{topic}", _named(name, prefix)
        if topic in graph.topics:
            shown = {"Namespaces": dict.fromkeys(spaces, True)} if spaces else {}
            made = _display("MarkerArray", name) | shown
            latched = topic in graph.latched
            kept = (1, "Transient Local") if latched else (10, "Volatile")
            displays.append(made | {"Topic": _topic(topic, *kept)})
    for topic, kind in graph.topics.items():
        if kind == WRENCH:
            prefix, _, sole = topic.removesuffix("/wrench").rpartition("/")
            name = _named(_SIDES.get(sole, sole), prefix)
            displays.append(_wrench(topic, name, small))
    displays += [
        _soft_ground(topic, kind)
        for topic, kind in graph.topics.items()
        if kind in (IMAGE, MAP)
    ]
    for prefix in graph.prefixes:
        true, base = f"{prefix}{TRUE_BASE}", f"{prefix}{BASE}"
        name = _named("Base", prefix)
        if true in graph.topics:
            displays.append(_odometry(true, name, small, True))
            if base in graph.topics:
                # By the observer: it covers the true one, so it is switched off.
                displays.append(_odometry(base, f"{name}, as observed", small, False))
        elif base in graph.topics:
            displays.append(_odometry(base, name, small, True))
    return displays


def _named(name: str, prefix: str) -> str:
    """Name of a display of one robot among several."""
    return f"{name} of {prefix.strip('/')}" if prefix else name


def _grid(cell: float) -> dict[str, Any]:
    return _display("Grid", "Floor") | {
        "Reference Frame": "<Fixed Frame>",
        "Plane": "XY",
        "Plane Cell Count": 40,
        "Cell Size": cell,
        "Color": "160; 160; 164",
        "Alpha": 0.5,
    }


def _robot(graph: Graph, prefix: str) -> dict[str, Any]:
    person = "reconstruction_markers" in graph.topics
    name = _named("Person" if person else "Robot", prefix)
    shown = {"TF Prefix": prefix.strip("/")} if prefix else {}
    return (
        _display("RobotModel", name)
        | shown
        | {
            "Alpha": 0.4 if person else 0.8,  # markers are inside of a person
            "Visual Enabled": True,
            "Collision Enabled": False,
            "Description Source": "Topic",
            "Description Topic": _topic(
                f"{prefix}robot_description", 1, "Transient Local"
            ),
        }
    )


def _tf(frames: str, scale: float) -> dict[str, Any]:
    return _display("TF", "Frames") | {
        "Marker Scale": scale,
        "Show Names": False,
        "Show Axes": True,
        "Show Arrows": False,
        "Frame Timeout": 15,
        "Filter (whitelist)": frames,
    }


def _soft_ground(topic: str, kind: str) -> dict[str, Any]:
    """Footprints: a map of depths on the floor, pictures beside it."""
    if kind == MAP:
        return _display("Map", "Depth of the ground") | {
            "Alpha": 0.9,
            "Color Scheme": "costmap",
            "Draw Behind": True,
            "Use Timestamp": False,
            "Topic": _topic(topic) | {"Filter size": 10},
        }
    name = "Footprints" if topic.endswith("picture") else "Heights of the ground"
    return _display("Image", name, topic.endswith("picture")) | {
        "Normalize Range": True,
        "Min Value": 0,
        "Max Value": 1,
        "Median window": 5,
        "Topic": _topic(topic),
    }


def _frames(graph: Graph) -> str:
    own = [
        f"{p}{name}" for p in graph.prefixes for name in ("base_link", "base_footprint")
    ]
    return "|".join(dict.fromkeys((graph.fixed_frame, *own)))


def _wrench(topic: str, name: str, small: bool) -> dict[str, Any]:
    return _display("Wrench", f"Force on the {name}") | {
        # RViz leaves out arrows that are shorter than wide: moments, small forces.
        "Force Arrow Scale": 0.02 if small else 0.001,
        "Torque Arrow Scale": 0,
        "Arrow Width": 0.05 if small else 0.15,
        "Force Color": "204; 51; 51",
        "Alpha": 1,
        "History Length": 1,
        "Topic": _topic(topic) | {"Filter size": 10},
    }


def _odometry(topic: str, name: str, small: bool, shown: bool) -> dict[str, Any]:
    return _display("Odometry", name, shown) | {
        "Keep": 100,
        "Position Tolerance": 0.02 if small else 0.1,
        "Angle Tolerance": 0.1,
        "Shape": {
            "Value": "Axes",
            "Axes Length": 0.03 if small else 0.15,
            "Axes Radius": 0.003 if small else 0.015,
        },
        "Covariance": {"Value": False},
        "Topic": _topic(topic) | {"Filter size": 10},
    }


def _display(kind: str, name: str, shown: bool = True) -> dict[str, Any]:
    known = f"rviz_default_plugins/{kind}"
    return {"Class": known, "Name": name, "Enabled": shown, "Value": shown}


def _topic(name: str, depth: int = 10, durability: str = "Volatile") -> dict[str, Any]:
    return {
        "Value": name,
        "Depth": depth,
        "History Policy": "Keep Last",
        "Reliability Policy": "Reliable",
        "Durability Policy": durability,
    }
