# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node ``dynamics`` for scene and integration, without ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.contact import Box, HalfSpace
from humans_sim.nodes.dynamics.scene_parameters import (
    declare_gravity,
    declare_integration,
    declare_limits,
    declare_solids,
)


class Given:
    """Parameters as a launch file would give them."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values, self.declared = values, dict[str, Any]()

    def _declare(self, name: str, default: Any, description: str) -> Any:
        assert description
        self.declared[name] = self.values.get(name, default)
        return self.declared[name]

    def number(
        self,
        name: str,
        default: float,
        description: str,
        low: float = -np.inf,
        high: float = np.inf,
    ) -> float:
        """A number."""
        value = float(self._declare(name, default, description))
        assert low <= value <= high
        return value

    def numbers(self, name: str, description: str, size: int) -> tuple[float, ...]:
        """So many numbers, or none."""
        return tuple(self._declare(name, (), description))

    def texts(self, name: str, description: str) -> tuple[str, ...]:
        """Texts."""
        return tuple(self._declare(name, (), description))

    def flag(self, name: str, default: bool, description: str) -> bool:
        """True or false."""
        return bool(self._declare(name, default, description))

    def choice(
        self, name: str, default: str, description: str, choices: Sequence[str]
    ) -> str:
        """A word."""
        value = str(self._declare(name, default, description))
        assert value in choices
        return value


def test_solids() -> None:
    """A box that is turned and a plane, each with what its parameters say."""
    box, plane = declare_solids(
        Given(
            {
                "solids": ["step", "wall"],
                "solid.step.box": [0.3, 1.0, 0.02],
                "solid.step.centre": [0.4, 0.0, 0.01],
                "solid.step.turn": [0.0, 0.0, np.pi / 2],
                "solid.step.friction": 0.5,
                "solid.wall.half_space": [-1.0, 0.0, 0.0],
                "solid.wall.centre": [1.0, 0.0, 0.0],
            }
        )
    )
    assert isinstance(box, Box) and isinstance(plane, HalfSpace)
    assert (box.name, box.friction, plane.friction) == ("step", 0.5, None)
    assert box.rotation is not None
    np.testing.assert_allclose(box.rotation @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    ground = hs.Ground().with_solids(box, plane)
    assert len(ground.table()) == 3
    assert declare_solids(Given({})) == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"solids": ["a", "a"]}, "twice"),
        ({"solids": ["a"]}, "either box or half_space"),
        (
            {"solids": ["a"], "solid.a.box": [1] * 3, "solid.a.half_space": [0, 0, 1]},
            "either",
        ),
        ({"solids": ["a"], "solid.a.box": [1.0, 0.0, 1.0]}, "solid.a: size of a"),
        ({"solids": ["a"], "solid.a.half_space": [0.0] * 3}, "no length"),
        (
            {"solids": ["a"], "solid.a.half_space": [0, 0, 1], "solid.a.turn": [1] * 3},
            "has its normal",
        ),
    ],
)
def test_bad_solids(given: dict[str, Any], said: str) -> None:
    """Each fault is named, with the solid."""
    with pytest.raises(hs.errors.ParameterError, match=said):
        declare_solids(Given(given))


def test_limits_and_gravity(khr1: hs.Model) -> None:
    """Limits of single joints, or none at all; gravity only where it is given."""
    assert declare_limits(Given({}), khr1) is True
    assert declare_limits(Given({"joint_limits": False}), khr1) is False
    narrow = declare_limits(Given({"limits.head_yaw": [-0.1, 0.2]}), khr1)
    assert narrow == {"head_yaw": (-0.1, 0.2)}
    with pytest.raises(hs.errors.ParameterError, match="limits.head_yaw"):
        declare_limits(Given({"limits.head_yaw": [0.2, 0.2]}), khr1)
    assert declare_gravity(Given({})) == ()
    assert declare_gravity(Given({"gravity": [0, 0, -1.62]})) == (0, 0, -1.62)


def test_tolerances_are_the_integrators_unless_given(khr1: hs.Model) -> None:
    """A zero leaves what the integrator has; other numbers reach the simulation."""
    usual = hs.Simulation(khr1, **declare_integration(Given({}), 2e-3)).options
    assert (usual.rtol, usual.atol, usual.time_step) == (1e-9, 1e-12, 2e-3)
    soles = declare_integration(Given({"integrator": "rosenbrock"}), 1e-3)
    assert hs.Simulation(khr1, **soles).options.rtol == 1e-4
    given = Given({"rtol": 1e-6, "impact": "humans", "hand_over": False})
    options = hs.Simulation(khr1, **declare_integration(given, 1e-3)).options
    assert (options.rtol, options.impact, options.hand_over) == (1e-6, "humans", False)
