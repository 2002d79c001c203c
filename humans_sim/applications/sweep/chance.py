# SPDX-License-Identifier: Apache-2.0
"""What a seed changes: things that an experimenter cannot hold.

The joints at the start, each by up to :data:`JOINTS`; the friction of the floor, by up
to a share of :data:`FRICTION` unless friction is varied; and, where a sweep pushes, the
direction and the time of the push. One seed changes the same things by the same numbers
whatever else is varied: runs of one seed can be compared pairwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from humans_sim.applications.scenarios import Scenario
from humans_sim.applications.sweep.variations import PUSH, Values, varied_scenario
from humans_sim.core.errors import ParameterError
from humans_sim.results.contact_table import POINT

JOINTS = math.radians(0.5)
"""Largest change of a joint's angle at the start [rad]."""
FRICTION = 0.1
"""Largest change of the floor's friction, relative."""
_OTHERS = {"bodies", "coat", "wrist", "puppet"}
"""Sections of scenarios that are not of a biped alone."""
PUSH_SPAN = (0.3, 0.7)
"""Part of a run in which a push comes, in its duration."""


@dataclass(frozen=True)
class Chance:
    """What a seed draws.

    Attributes:
        friction: relative change, of [-1, 1].
        direction: of a push from the base's x axis at the start [rad].
        time: of a push, of [0, 1].
    """

    friction: float
    direction: float
    time: float
    _random: np.random.Generator

    @classmethod
    def of_seed(cls, seed: int) -> Chance:
        """Draw; the joints come last, for there may be any number of them."""
        random = np.random.default_rng(seed)
        friction, turn, time = random.uniform(-1, 1), random.uniform(), random.uniform()
        return cls(friction, 2 * math.pi * turn, time, random)

    def joints(self, count: int) -> np.ndarray:
        """Changes of the joints at the start (count,), of [-1, 1]; drawn once."""
        return self._random.uniform(-1, 1, count)


def check_seeds(scenario: Scenario) -> None:
    """Refuse seeds where they change nothing.

    Raises:
        ParameterError: there is no biped alone in the scenario.
    """
    if scenario.model is None or _OTHERS & set(scenario.sections):
        raise ParameterError(
            f"seeds change the start and the floor of a biped: '{scenario.name}' has "
            "no biped alone (--seeds 0)"
        )


def prepare_seeded(
    name: str, values: Values, seed: int
) -> tuple[Scenario, tuple[Any, np.ndarray, np.ndarray]]:
    """A scenario as a seed makes it: simulation, q0 and v0 beside it."""
    chance, given = Chance.of_seed(seed), dict(values)
    settings: dict[str, str] = {}
    if not {"friction", "ground.friction"} & set(given):
        friction = _floor_friction(name, values) * (1 + FRICTION * chance.friction)
        settings["ground.friction"] = repr(friction)
    scenario = varied_scenario(name, values, settings)
    simulation, q, v = scenario.prepare()
    if PUSH in given:
        _add_push(simulation, float(given[PUSH]), chance, scenario.end)
    return scenario, (simulation, _moved(simulation, q, chance), v)


@lru_cache(maxsize=1024)
def _floor_friction(name: str, values: Values) -> float:
    """Friction of the floor of a scenario without a seed."""
    simulation, _, _ = varied_scenario(name, values).prepare()
    return float(simulation.system.ground.friction)


def _add_push(simulation: Any, impulse: float, chance: Chance, end: float) -> None:
    """One push on the base, besides those of the scenario."""
    from humans_sim.dynamics.pushes import Push

    begin, last = PUSH_SPAN
    time = end * (begin + (last - begin) * chance.time)
    x, y = math.cos(chance.direction), math.sin(chance.direction)
    push = Push(time, (impulse * x, impulse * y, 0.0))
    pushes = (*simulation.pushes, push)
    simulation.pushes = tuple(sorted(pushes, key=lambda planned: planned.time))


def _moved(simulation: Any, q: np.ndarray, chance: Chance) -> np.ndarray:
    """A start with other joint angles; its lowest point is as high as it was."""
    system, model = simulation.system, simulation.system.model
    points = np.array([kind == POINT for kind in system.contacts.kinds], dtype=bool)
    joints = q[7:]
    changed = joints + JOINTS * chance.joints(len(joints))
    low = np.minimum(model.lower_limits, joints)
    high = np.maximum(model.upper_limits, joints)
    moved = np.concatenate([q[:7], np.clip(changed, low, high)])
    if points.any():
        for _ in range(3):  # on a slope a metre up is less than a metre of gap
            gap = np.nanmin(system.gaps(q)[points])
            moved[2] += gap - np.nanmin(system.gaps(moved)[points])
    return moved
