# SPDX-License-Identifier: Apache-2.0
"""Where graphs and their nodes are: namespaces, prefixes of frames, topics of TF."""

from __future__ import annotations

import pytest

from humans_sim.applications.graphs import Placing, checked_namespace, read_graph
from humans_sim.core.errors import ParameterError


@pytest.mark.parametrize(
    ("given", "expected"),
    [("", ""), ("/", ""), ("robot1", "/robot1"), ("/lab/robot_2/", "/lab/robot_2")],
)
def test_namespaces_have_one_slash_before_each_part(given: str, expected: str) -> None:
    """However they are written; none stays none."""
    assert checked_namespace(given) == expected


@pytest.mark.parametrize("given", ["robot 1", "1st", "a//b", "~", "a-b", "ä"])
def test_what_is_no_namespace_is_refused(given: str) -> None:
    """The error has the word."""
    with pytest.raises(ParameterError, match="a namespace is"):
        checked_namespace(given)


def test_nodes_in_namespaces() -> None:
    """A name before the slash is a namespace in that of the graph."""
    graph = read_graph("two-robots")
    placed = list(zip(graph.nodes, graph.namespaces, strict=True))
    assert ("dynamics", "") in placed and ("viewer", "") in placed
    for name in ("robot1", "robot2"):
        assert {kind for kind, space in placed if space == name} == {
            "walk",
            "observer",
            "state_publisher",
        }
    assert set(read_graph("walk").namespaces) == {""}


@pytest.mark.parametrize(
    ("namespace", "prefix", "arguments"),
    [
        ("", "", []),
        ("a", "", ["-r", "__ns:=/a", "-r", "/tf:=/a/tf"]),
        ("a", "a/", ["-r", "__ns:=/a", "-p", "frame_prefix:=a/"]),
    ],
)
def test_arguments(namespace: str, prefix: str, arguments: list[str]) -> None:
    """TF is in the namespace unless frames have a prefix; nodes share its TF."""
    whole = Placing.of(namespace, prefix)
    own = whole.within("robot1")
    assert whole.arguments()[: len(arguments)] == arguments
    assert whole.within("") == whole and own.remappings == whole.remappings
    assert own.namespace == f"{whole.namespace}/robot1"
    assert f"frame_prefix:={prefix}robot1/" in own.arguments()
