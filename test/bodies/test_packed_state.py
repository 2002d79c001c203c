# SPDX-License-Identifier: Apache-2.0
"""States of 18 numbers a body."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from humans_sim.bodies import (
    STATE_SIZE,
    BodyError,
    RigidBodies,
    move,
    of_box,
    of_sphere,
    pack,
    packed_rates,
    unpack,
)
from humans_sim.bodies.loads import Gravity, PointForce, forces_of


def scene() -> tuple[RigidBodies, np.ndarray]:
    """A racket and a ball that spin and fly, packed."""
    bodies = RigidBodies([of_box(0.5, (0.1, 0.3, 0.02)), of_sphere(1.0, 0.1)])
    state = bodies.state(
        positions=np.array([[0, 0, 1.0], [1.0, 0, 1.0]]),
        velocities=np.array([[0.3, -0.1, 2.0], [0, 1.0, 0]]),
        spins=np.array([[6.0, 0.3, 0.1], [0, 0, 3.0]]),
    )
    return bodies, pack(state)


def test_the_layout_is_the_courses() -> None:
    """x, R by rows, P, L, body after body; and back again."""
    bodies, packed = scene()
    assert packed.shape == (2 * STATE_SIZE,)
    state = unpack(packed)
    np.testing.assert_array_equal(packed[18:21], [1.0, 0, 1.0])
    np.testing.assert_array_equal(packed[21:30], np.eye(3).ravel())
    np.testing.assert_array_equal(packed[12:15], 0.5 * np.array([0.3, -0.1, 2.0]))
    np.testing.assert_array_equal(packed[15:18], state.L[0])
    np.testing.assert_array_equal(pack(state), packed)
    np.testing.assert_allclose(bodies.spins(state)[1], [0, 0, 3.0])


def test_any_integrator_gives_the_motion() -> None:
    """Its motion of the packed state is that of the method `lie`, loads included."""
    bodies, packed = scene()
    push = PointForce(0, (0.05, 0.1, 0), lambda t: (0.0, 0.2, 0.1))
    forces = forces_of(bodies, [Gravity(bodies.masses), push])
    rates = packed_rates(bodies, forces)
    done = solve_ivp(rates, (0, 0.5), packed, "DOP853", rtol=1e-11, atol=1e-12)
    motion = move(bodies, unpack(packed), 0.5, forces=forces, tolerance=1e-10)
    np.testing.assert_allclose(done.y[:, -1], pack(motion.state(-1)), atol=1e-7)


def test_one_step_of_the_course() -> None:
    """X + h dX/dt: momenta grow by force and torque, R by the spin's cross product."""
    bodies, packed = scene()
    push = PointForce(1, (0, 0, 0.1), lambda t: (2.0, 0, 0))
    after = unpack(
        packed + 0.1 * packed_rates(bodies, forces_of(bodies, [push]))(0, packed)
    )
    before = unpack(packed)
    np.testing.assert_allclose(after.P[1] - before.P[1], [0.2, 0, 0], atol=1e-15)
    np.testing.assert_allclose(after.L[1] - before.L[1], [0, 0.02, 0], atol=1e-15)
    np.testing.assert_allclose(after.R[1], np.eye(3) + 0.3 * np.array(
        [[0, -1, 0], [1, 0, 0], [0, 0, 0]]), atol=1e-15)  # fmt: skip


@pytest.mark.parametrize(
    ("packed", "words"),
    [
        (np.zeros(17), "18 numbers a body"),
        (np.zeros(0), "18 numbers a body"),
        (np.zeros((2, 18)), "18 numbers a body"),
        (np.full(18, np.nan), "not finite"),
        (np.zeros(54), "a state of 2 bodies"),
    ],
)
def test_what_is_refused(packed: np.ndarray, words: str) -> None:
    """Arrays of another length and bad numbers get typed errors."""
    bodies, _ = scene()
    with pytest.raises(BodyError, match=words):
        packed_rates(bodies)(0.0, packed)
