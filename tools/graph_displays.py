# SPDX-License-Identifier: Apache-2.0
"""What RViz and Foxglove need to know of a graph, from its YAML files alone.

These tools run where the package is built. They need PyYAML, not the library, whose
requirements may not be there yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "config"
TRUE_BASE, BASE = "ground_truth/odom", "odom"
IMAGE, MAP = "sensor_msgs/msg/Image", "nav_msgs/msg/OccupancyGrid"
MARKERS = "visualization_msgs/msg/MarkerArray"
WRENCH = "geometry_msgs/msg/WrenchStamped"
WRIST = "wrist"
"""Frame of graphs with a wrist, which have no robot."""
LEG_JOINTS = ("hip_pitch", "knee", "ankle_pitch")


class Robot(NamedTuple):
    """Size of a model, and where its legs are in ``joint_states``.

    Attributes:
        height: of its highest tag, standing [m].
        left: numbers of the :data:`LEG_JOINTS` of the left leg.
        right: those of the right leg.
    """

    height: float
    left: tuple[int, int, int]
    right: tuple[int, int, int]


ROBOTS = {
    "khr1": Robot(0.328, (2, 3, 4), (10, 11, 12)),
    "bip": Robot(1.691, (2, 3, 4), (8, 9, 10)),
    "human36": Robot(1.741, (0, 3, 4), (6, 9, 10)),
}
"""The models of the graphs; tests compare them with the library's."""


@dataclass(frozen=True)
class Graph:
    """Topics of a graph, and who moves in it.

    Attributes:
        name: its name.
        topics: types by topic.
        latched: topics that are published once.
        robot: its model; None where it moves a wrist.
        prefixes: before names of topics and frames of each robot; empty of a lone one.
    """

    name: str
    topics: dict[str, str]
    latched: frozenset[str]
    robot: Robot | None
    prefixes: tuple[str, ...]

    @property
    def base(self) -> str:
        """Frame of the first robot's base."""
        return f"{self.prefixes[0]}base_link"

    @property
    def fixed_frame(self) -> str:
        """The world of a simulation or of markers; else where the robot is."""
        if self.robot is None:
            return WRIST
        if f"{self.prefixes[0]}{TRUE_BASE}" in self.topics or "markers" in self.topics:
            return "world"
        return "odom" if BASE in self.topics else "base_footprint"


def graph_names() -> list[str]:
    """Names of the graphs of the package."""
    return sorted(path.stem for path in (CONFIG / "graphs").glob("*.yaml"))


def read_graph(name: str) -> Graph:
    """Read a graph of the package."""
    fields = yaml.safe_load((CONFIG / "graphs" / f"{name}.yaml").read_text())
    topics, robot, names = fields["topics"], None, []
    if "bones" not in topics:
        path = CONFIG / fields["parameters"]
        parameters = yaml.safe_load(path.read_text())
        model = parameters["/**"]["ros__parameters"]["model"]
        simulation = parameters.get("/**/dynamics", {}).get("ros__parameters", {})
        names = simulation.get("robots", [])
        if model not in ROBOTS:
            raise SystemExit(f"{path}: model '{model}': add it to ROBOTS of {__file__}")
        robot = ROBOTS[model]
    prefixes = tuple(f"{own}/" for own in names) or ("",)
    return Graph(name, topics, frozenset(fields.get("latched", ())), robot, prefixes)
