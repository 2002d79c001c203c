# SPDX-License-Identifier: Apache-2.0
"""What the reference says of nodes, against the files that lead them."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def nodes() -> dict[str, Any]:
    """What is found in the code of each node."""
    script = run_path(str(ROOT / "docs" / "_ext" / "node_declarations.py"))
    found: dict[str, Any] = script["nodes_of"](ROOT / "humans_sim" / "nodes")
    return found


def flat(values: dict[str, Any], prefix: str = "") -> list[str]:
    """Names of parameters of a file, nested ones with dots."""
    names = []
    for key, value in values.items():
        inner = isinstance(value, dict)
        names += flat(value, f"{prefix}{key}.") if inner else [f"{prefix}{key}"]
    return names


def known(name: str, declared: set[str]) -> bool:
    """Whether a parameter is declared, or has the form of one that is."""
    forms = (re.sub(r"\\?<[^>]*>", r"[\\w./-]+", re.escape(d)) for d in declared)
    return any(re.fullmatch(form, name) for form in forms)


@pytest.mark.study
def test_parameters_of_the_files_are_described(nodes: dict[str, Any]) -> None:
    """Every parameter that a graph's file sets is one that the reference has."""
    common = {"use_sim_time", "qos_overrides"}
    count = 0
    for path in sorted((ROOT / "config" / "params").glob("*.yaml")):
        for key, content in yaml.safe_load(path.read_text()).items():
            node = key.removeprefix("/**/")
            names = flat(content["ros__parameters"])
            for name in names:
                if node in nodes and name.split(".")[0] not in common:
                    declared = {row[0] for row in nodes[node].parameters}
                    assert known(name, declared), f"{path.name}: {node}: {name}"
                    count += 1
    assert count > 100


def test_topics_of_the_graphs_are_described(nodes: dict[str, Any]) -> None:
    """Every topic that must flow in a graph is one that its nodes give or take."""
    for path in sorted((ROOT / "config" / "graphs").glob("*.yaml")):
        graph = yaml.safe_load(path.read_text())
        described = {
            topic.lstrip("/")
            for node in graph["nodes"]
            for way in ("Publishes", "Takes")
            for topic, _ in nodes[node.rpartition("/")[2]].interfaces[way]
        }
        spaces = {node.rpartition("/")[0] for node in graph["nodes"]} - {""}
        for topic in map(str, graph.get("topics", [])):
            first, _, rest = topic.partition("/")
            name = rest if first in spaces else topic.lstrip("/")
            assert known(name, described), f"{path.name}: {topic}"


def test_a_node_as_its_code_has_it(nodes: dict[str, Any]) -> None:
    """Topics, services, actions and parameters of one node, by hand."""
    walk = nodes["walk"]
    assert ("walk_status", "humans_msgs/WalkStatus") in walk.interfaces["Publishes"]
    assert ("imu", "sensor_msgs/Imu") in walk.interfaces["Takes"]
    assert walk.interfaces["Services"] == [("get_up", "std_srvs/Trigger")]
    assert walk.interfaces["Actions"] == [("walk", "humans_msgs/Walk")]
    assert ("period", "0.02", "between two states [s]") in walk.parameters
    push = ("push", "humans_msgs/Push")
    assert push in nodes["dynamics"].interfaces["Services"]


def test_qualities_of_service_are_those_of_the_guide(nodes: dict[str, Any]) -> None:
    """The column QoS of docs/ros.md is what the code asks for."""
    text = (ROOT / "docs" / "ros.md").read_text()
    sections = re.split(r"^## The nodes? (.+)$", text, flags=re.M)[1:]
    count = 0
    for heading, section in zip(sections[::2], sections[1::2], strict=True):
        if heading not in nodes:
            continue
        qualities = nodes[heading].qos
        pattern = r"^\| (`[^|]*?) \|[^|]*\| (reliable, \d+|latched) \|"
        for cell, quality in re.findall(pattern, section, re.M):
            for form in re.findall(r"`([^`]+)`", cell):
                topic = re.sub(r"<[^>]*>", "l_sole", form)
                known_as = {q for (_, t), q in qualities.items() if known(topic, {t})}
                assert quality in known_as, f"{heading}: {topic}: {known_as}"
                count += 1
    assert count > 50


def test_parameters_of_a_loop_are_described(nodes: dict[str, Any]) -> None:
    """Tolerances are declared in a loop over a table; each has its own row."""
    rows = {
        name: (default, text) for name, default, text in nodes["dynamics"].parameters
    }
    assert rows["rtol"][0] == "0.0"
    assert rows["zeno_time"][1].startswith("impacts of one contact")
    assert ("model", "bip", "name, or file of a URDF") in nodes["task_law"].parameters
