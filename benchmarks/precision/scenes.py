# SPDX-License-Identifier: Apache-2.0
"""The scenes that all contenders compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

import humans_sim as hs
from humans_sim.contact.geometry.ground import Ground
from humans_sim.dynamics.problems import rocking_block, rocking_block_start
from humans_sim.dynamics.simulation import Simulation

PERIOD = 0.01
NUDGE = 1e-7

Points = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Scene:
    """A motion that all contenders compute.

    Attributes:
        name: for people.
        end: [s].
        start: configuration.
        simulate: options -> simulation.
        points: configurations (n, nq) -> contact points (n, k, 3) [m].
        nudges: starts that differ by NUDGE [m, rad], to see how errors grow.
        body: what MuJoCo needs to know: keywords of ``rigid_body``.
        to_peer: configuration -> MuJoCo's.
        from_peer: MuJoCo's configurations -> those here, as far as points look at them.
        damping: MuJoCo's damping ratio of contacts, by integrator.
        finest: MuJoCo's finest time step, by integrator [s].
    """

    name: str
    end: float
    start: np.ndarray
    simulate: Callable[..., Simulation]
    points: Points
    nudges: tuple[np.ndarray, ...]
    body: dict[str, Any]
    to_peer: Callable[[np.ndarray], np.ndarray]
    from_peer: Callable[[np.ndarray], np.ndarray]
    damping: dict[str, float]
    finest: dict[str, float]

    @property
    def times(self) -> np.ndarray:
        """Sampling times after the start [s]."""
        return PERIOD * np.arange(1, round(self.end / PERIOD) + 1)


def khr1(name: str, roll: float, damping: dict[str, float]) -> Scene:
    """KHR-1, all joints locked, its lowest corner 1 cm over the floor."""
    model, friction = hs.load_model("khr1"), 0.7
    start = model.neutral()
    start[3:7] = _roll(roll)
    start[2] += 0.01 - model.contact(start)[:, 2].min()
    at_origin = start.copy()
    at_origin[:7] = [0, 0, 0, 0, 0, 0, 1]
    corners = model.contact(at_origin)
    joints = list(range(2, model.pin.njoints))
    rigid = pin.buildReducedModel(model.pin, joints, start).inertias[1]

    def simulate(**options: Any) -> Simulation:
        return Simulation(
            model, ground=Ground(friction=friction), locked=["*"], **options
        )

    def points(qs: np.ndarray) -> np.ndarray:
        turns = [pin.Quaternion(q[3:7]).matrix() for q in qs]
        return np.array([q[:3] + corners @ r.T for q, r in zip(qs, turns, strict=True)])

    raised, rolled = start.copy(), start.copy()
    raised[2] += NUDGE
    rolled[3:7] = _roll(roll + NUDGE)
    rolled[2] += 0.01 - model.contact(rolled)[:, 2].min()
    return Scene(
        name=name,
        end=0.2,
        start=start,
        simulate=simulate,
        points=points,
        nudges=(raised, rolled) if roll else (raised,),
        body={
            "mass": rigid.mass,
            "centre": rigid.lever,
            "inertia": rigid.inertia,
            "points": corners,
            "friction": friction,
            "joints": "FREE",
        },
        to_peer=lambda q: q[[0, 1, 2, 6, 3, 4, 5]],
        from_peer=lambda qs: qs[:, [0, 1, 2, 4, 5, 6, 3]],
        damping=damping,
        finest={"Euler": 1e-6, "RK4": 2e-6},
    )


def block() -> Scene:
    """The rocking block of the classic problems."""
    length, height, mass, friction = 1.0, 0.5, 1.0, 0.5
    corners = np.array([[-length / 2, 0, -height / 2], [length / 2, 0, -height / 2]])

    def points(qs: np.ndarray) -> np.ndarray:
        placed = []
        for x, z, angle in qs:
            c, s = math.cos(angle), math.sin(angle)
            turn = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
            placed.append(np.array([x, 0, z]) + corners @ turn.T)
        return np.array(placed)

    return Scene(
        name="rocking block",
        end=1.5,
        start=rocking_block_start(),
        simulate=lambda **options: Simulation(rocking_block(friction), **options),
        points=points,
        nudges=(rocking_block_start(math.pi / 3 + NUDGE),),
        body={
            "mass": mass,
            "centre": np.zeros(3),
            "inertia": np.eye(3) * mass * (length**2 + height**2) / 12,
            "points": corners,
            "friction": friction,
            "joints": "PLANAR",
        },
        to_peer=lambda q: q,
        from_peer=lambda qs: qs,
        damping={"Euler": 10.0, "RK4": 10.0},
        finest={"Euler": 2e-6, "RK4": 5e-6},
    )


def _roll(angle: float) -> np.ndarray:
    return np.array([math.sin(angle / 2), 0.0, 0.0, math.cos(angle / 2)])


def scenes() -> list[Scene]:
    """All scenes."""
    return [
        khr1("KHR-1, flat feet", 0.0, {"Euler": 2.0, "RK4": 2.0}),
        khr1("KHR-1, edge first", math.radians(2), {"Euler": 2.0, "RK4": 3.0}),
        block(),
    ]
