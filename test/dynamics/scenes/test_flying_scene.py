# SPDX-License-Identifier: Apache-2.0
"""Bodies of contact scenes that touch nothing: order of flight, energy, landing."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.bodies import RigidBodies, move
from humans_sim.bodies.loads import Gravity, Spring, forces_of
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.scenes import FlyingScene, SceneBody, SceneSystem
from humans_sim.dynamics.scenes.scene_system import SceneActuation

RACKET = SceneBody.box("racket", 0.5, (0.1, 0.3, 0.02))
SLED = SceneBody.box("sled", 2.0, (0.2, 0.2, 0.1))
SPIN = np.array([6.0, 0.5, 0.3])
TIME = 0.4


def flown(step: float, flight: str | None, spring: Spring | None = None) -> hs.Run:
    """A racket tumbles above a sled that slides to rest on the floor."""
    bodies, ground = [RACKET, SLED], hs.Ground(friction=0.3)
    scene: SceneSystem = SceneSystem(bodies, ground)
    if flight is not None:
        scene = FlyingScene(bodies, ground, flight=flight)
    q = scene.configuration({"racket": (0.0, 0.0, 3.0), "sled": (0.0, 0.0, 0.05)})
    v = np.zeros(12)
    v[:3], v[3:6], v[6] = (0.3, 0.0, 1.0), SPIN, 1.0
    actuation = None if spring is None else SceneActuation(scene, None, [spring])
    simulation = hs.Simulation(scene, actuation, method="time_stepping", time_step=step)
    return simulation.run(q, v, t_end=TIME, sampling_period=TIME)


def reference(spring: Spring | None = None) -> np.ndarray:
    """Place and rotation of the racket at the end, to a tight tolerance (12,)."""
    bodies = RigidBodies([RACKET.properties])
    state = bodies.state(
        np.array([[0.0, 0.0, 3.0]]),
        velocities=np.array([[0.3, 0.0, 1.0]]),
        spins=SPIN[None],
    )
    loads = [Gravity(bodies.masses), *([] if spring is None else [spring])]
    acting = forces_of(bodies, loads)
    end = move(bodies, state, TIME, forces=acting, tolerance=1e-12).state(-1)
    return np.concatenate([end.x[0], end.R[0].ravel()])


def racket(run: hs.Run) -> np.ndarray:
    """The same of a run."""
    q = run.q[-1, :7]
    turn = rotation(q[3:7])
    return np.concatenate([q[:3], turn.ravel()])


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """Matrix of a quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


@pytest.mark.study
@pytest.mark.parametrize("sprung", [False, True])
@pytest.mark.parametrize(
    ("flight", "order"), [(None, 2), ("lie", 4), ("rk4", 4), ("explicit_euler", 1)]
)
def test_order_of_flight_beside_a_body_that_slides(
    flight: str | None, order: int, sprung: bool
) -> None:
    """Halving the step divides the error by two to the order, with springs too."""
    spring = None
    if sprung:
        if flight is None:
            order = 1  # steps take loads at their beginning
        spring = Spring(0, (0.02, 0.1, 0.0), (0.0, 0.0, 3.0), 30.0)
    exact = reference(spring)
    # Longer time steps than these are halved where their energy is off.
    steps = (8e-3, 4e-3) if flight else (4e-3, 2e-3)
    errors = [
        np.abs(racket(flown(step, flight, spring)) - exact).max() for step in steps
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.45)


def test_energy_and_momentum_of_a_flight() -> None:
    """The racket keeps both; the sled beside it slides to rest as ever."""
    run, plain = flown(4e-3, "lie"), flown(4e-3, None)
    inertia = RACKET.properties.inertia

    def kept(k: int) -> tuple[float, np.ndarray]:
        spin, turn = run.v[k, 3:6], rotation(run.q[k, 3:7])
        return 0.5 * float(spin @ inertia @ spin), turn @ inertia @ spin

    (first, before), (last, after) = kept(0), kept(-1)
    assert last == pytest.approx(first, rel=1e-8)
    assert after == pytest.approx(before, rel=1e-9)
    assert run.v[-1, 2] == pytest.approx(1.0 - 9.81 * TIME, rel=1e-12)
    assert run.q[-1, 7:] == pytest.approx(plain.q[-1, 7:], abs=1e-9)
    assert run.check().ok


def test_a_flight_ends_on_the_floor() -> None:
    """A tumbling box lands, and lies still within the floor's tolerance."""
    scene = FlyingScene([SLED], hs.Ground(friction=0.5))
    q = scene.configuration({"sled": (0.0, 0.0, 0.4)})
    v = np.zeros(6)
    v[3:] = (3.0, 2.0, 1.0)
    simulation = hs.Simulation(scene, method="time_stepping", time_step=2e-3)
    run = simulation.run(q, v, t_end=1.5, sampling_period=0.01)
    assert run.check().ok
    assert run.info["flight"] == "lie"
    assert np.abs(run.v[-1]).max() < 1e-3
    assert 0.04 < run.q[-1, 2] < 0.11


def test_unknown_flights_are_refused() -> None:
    """By name."""
    with pytest.raises(ParameterError, match="explicit_euler"):
        FlyingScene([SLED], flight="leapfrog")
