# SPDX-License-Identifier: Apache-2.0
"""Settings of a dataclass as parameters of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from humans_sim.core.doctor import ros_hint
from humans_sim.core.errors import ParameterError
from humans_sim.core.settings import setting

pytestmark = pytest.mark.ros


class Gait(StrEnum):
    """How it walks."""

    SLOW = "slow"
    FAST = "fast"


@dataclass(frozen=True)
class Steps:
    """Settings of every kind, and a field that is none."""

    robot: str
    period: float = setting(0.02, "between two steps [s]", 1e-3, 0.1)
    count: int = setting(10, "how many", 1)
    gait: Gait = setting("slow", "how it walks", choices=tuple(Gait))
    frame: str = setting("odom", "of the steps", name="frame_id")
    stamped: bool = setting(False, "messages have stamps")
    file: Path | None = setting(None, "of the walk; empty: none")
    joints: tuple[str, ...] = setting((), "that move; empty: all")


@pytest.fixture
def node_of() -> Iterator[Callable[..., Any]]:
    """Makes nodes with parameters."""
    rclpy = pytest.importorskip("rclpy", reason=ros_hint())
    from rclpy.parameter import Parameter

    context = rclpy.Context()
    context.init()

    def make(**values: Any) -> Any:
        given = [Parameter(name, value=value) for name, value in values.items()]
        return rclpy.create_node("steps", context=context, parameter_overrides=given)

    yield make
    context.try_shutdown()


def declared(node: Any) -> Steps:
    """The settings by a node's parameters."""
    from humans_sim.nodes.common.parameters import Parameters

    return Steps("khr1", **Parameters(node).settings(Steps))


def test_settings(node_of: Callable[..., Any]) -> None:
    """Defaults, or what is given; names and descriptions are those of the fields."""
    assert declared(node_of()) == Steps("khr1", gait=Gait.SLOW)
    node = node_of(period=1e-2, count=3, gait="fast", frame_id="map", file="a.yaml")
    steps = declared(node)
    assert steps.gait is Gait.FAST and steps.file == Path("a.yaml")
    assert (steps.period, steps.count, steps.frame) == (0.01, 3, "map")
    assert node.describe_parameter("frame_id").description == "of the steps"
    assert "slow, fast" in node.describe_parameter("gait").description
    assert not node.has_parameter("robot") and not node.has_parameter("frame")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("period", 1.0, "period must be 0.001 to 0.1, not 1"),
        ("count", 0, "count must be 1 or more"),
        ("count", 1.5, "count must be a whole number"),
        ("gait", "lame", "gait must be one of slow, fast"),
        ("stamped", "yes", "stamped must be true or false"),
        ("joints", 3, "joints must be a list of texts"),
    ],
)
def test_faults(node_of: Callable[..., Any], name: str, value: Any, words: str) -> None:
    """Each is named."""
    with pytest.raises(ParameterError, match=words):
        declared(node_of(**{name: value}))


def test_descriptors_say_what_a_value_may_be(node_of: Callable[..., Any]) -> None:
    """Types, ranges and words; nothing here may be set once the node lives."""
    from rclpy.parameter import Parameter

    Kind = Parameter.Type  # noqa: N806
    node = node_of(joints=[], count=3.0, period=0.1)
    declared(node)
    described = {name: node.describe_parameter(name) for name in STEPS}
    kinds = {
        name: Kind(described[name].type) for name in ("stamped", "count", "joints")
    }
    expected = {
        "stamped": Kind.BOOL,
        "count": Kind.INTEGER,
        "joints": Kind.STRING_ARRAY,
    }
    assert kinds == expected
    assert node.get_parameter("count").type_ is Kind.INTEGER
    (period,) = described["period"].floating_point_range
    assert (period.from_value, period.to_value) == (1e-3, 0.1)
    (count,) = described["count"].integer_range
    assert (count.from_value, count.to_value) == (1, 2**63 - 1)
    assert described["gait"].additional_constraints == "one of slow, fast"
    assert "[s]" in described["period"].description
    (result,) = node.set_parameters([Parameter("period", value=0.05)])
    assert not result.successful and "read-only" in result.reason


def test_what_may_change_is_judged(node_of: Callable[..., Any]) -> None:
    """The reason says the range; whole numbers are numbers."""
    from rclpy.parameter import Parameter

    from humans_sim.nodes.common.parameters import Parameters

    node, heard = node_of(factor=2), list[float]()
    given = Parameters(node)
    assert given.changeable_number("factor", 1.0, "speed", heard.append, 0.0) == 2.0
    for value in (-1.0, -1, "fast", float("nan")):
        (result,) = node.set_parameters([Parameter("factor", value=value)])
        assert not result.successful and result.reason
    assert node.set_parameters([Parameter("factor", value=3)])[0].successful
    assert node.set_parameters([Parameter("factor", value=0.5)])[0].successful
    assert heard == [3.0, 0.5]
    (speeds,) = node.describe_parameter("factor").floating_point_range
    assert speeds.from_value == 0.0


def test_a_dump_makes_the_same_node(node_of: Callable[..., Any]) -> None:
    """What a node has, given to another, is what that has."""
    first = node_of(period=1e-2, count=3, gait="fast", joints=["knee"])
    steps = declared(first)
    again = node_of(**{name: first.get_parameter(name).value for name in STEPS})
    assert declared(again) == steps
    for name in STEPS:
        assert again.get_parameter(name).type_ is first.get_parameter(name).type_


STEPS = ("period", "count", "gait", "frame_id", "stamped", "file", "joints")
"""Parameters of the settings."""
