# SPDX-License-Identifier: Apache-2.0
"""Where graphs are put: namespaces, and topics of TF."""

from __future__ import annotations

import pytest

from humans_sim.applications.graphs import checked_namespace, tf_remappings
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


def test_tf_is_shared_only_by_frames_with_a_prefix() -> None:
    """Without names of their own two robots would both be base_link."""
    apart = [("/tf", "tf"), ("/tf_static", "tf_static")]
    assert tf_remappings("/robot1", "") == apart
    assert tf_remappings("/robot1", "robot1/") == tf_remappings("", "") == []
