# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node ``dynamics`` for a ground that gives way, without ROS."""

from __future__ import annotations

from typing import Any

import pytest

import humans_sim as hs
from humans_sim.nodes.dynamics.scene_parameters import declare_soft_ground
from humans_sim.soft import DeformableGround, SoftError, UnstableStepError


class Given:
    """Parameters as a launch file would give them."""

    def __init__(self, **values: Any) -> None:
        self.values = {f"soft_ground.{word}": x for word, x in values.items()}
        self.declared: dict[str, Any] = {}

    def number(self, name: str, default: float, *rest: Any) -> float:
        """A number."""
        self.declared[name] = float(self.values.get(name, default))
        return self.declared[name]

    def numbers(self, name: str, *rest: Any) -> tuple[float, ...]:
        """Some numbers."""
        self.declared[name] = tuple(self.values.get(name, ()))
        return self.declared[name]

    def choice(self, name: str, default: str, text: str, known: Any) -> str:
        """One of some words."""
        value = self.values.get(name, default)
        assert value in known
        return value


def test_none_unless_given() -> None:
    """The scene stays as it is; all parameters of table 8.1 are declared."""
    given, ground = Given(), hs.Ground()
    assert declare_soft_ground(given, ground) is ground
    words = {"ground_stiffness", "ground_viscosity", "stiffness", "viscosity"}
    words |= {"mass", "period", "shape", "spacing", "origin", "firmness", "patch"}
    assert {f"soft_ground.{word}" for word in words} <= set(given.declared)


def test_preset_and_numbers() -> None:
    """A preset lies around the origin; numbers are the law's."""
    soil = declare_soft_ground(Given(law="soil"), hs.Ground(friction=0.4)).surface
    assert isinstance(soil, DeformableGround) and soil.name == "soil"
    assert soil.screen.shape == (200, 100)
    assert soil.origin.tolist() == pytest.approx([-0.995, -0.495, 0.0])
    given = Given(law="own", ground_stiffness=5, shape=(30, 20), firmness=2, patch=0.02)
    own = declare_soft_ground(given, hs.Ground()).surface
    assert own.screen.shape == (30, 20) and own.patch == 0.02
    law = own.screen.law
    assert (law.ground_stiffness, law.ground_viscosity) == (10.0, 20.0)
    assert (law.mass, law.period) == (0.02, 0.001)


def test_faults() -> None:
    """What cannot be is refused: which mode, which bound; two grounds."""
    with pytest.raises(UnstableStepError, match=r"lowest mode.*> 4"):
        declare_soft_ground(Given(law="own", mass=1e-4), hs.Ground())
    with pytest.raises(SoftError, match="mass is -1"):
        declare_soft_ground(Given(law="own", mass=-1.0), hs.Ground())
    scene = DeformableGround("sand", (10, 10)).scene()
    with pytest.raises(hs.errors.ParameterError, match="has its own"):
        declare_soft_ground(Given(law="soil"), scene)
