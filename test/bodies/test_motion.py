# SPDX-License-Identifier: Apache-2.0
"""Free bodies: the top, momenta, orders of the methods, pinocchio beside them."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation
from scipy.special import ellipj

from humans_sim.bodies import (
    BodyError,
    BodyState,
    MassProperties,
    RigidBodies,
    move,
    of_box,
    of_sphere,
)

MOMENTS = np.array([1.0, 2.0, 3.0])
METHODS = ("explicit_euler", "semi_implicit_euler", "rk4", "lie")


def top() -> RigidBodies:
    """The body with moments 1, 2, 3."""
    return RigidBodies([MassProperties(1.0, np.zeros(3), np.diag(MOMENTS))])


class AnalyticTop:
    """Euler's top by Jacobi's functions; its second spin is zero at first.

    Valid nearer to the third axis (L^2 > 2 E I2).
    """

    def __init__(self, spin: np.ndarray) -> None:
        """Begin with a spin in the body's frame."""
        assert spin[1] == 0.0
        a, b, c = MOMENTS
        energy, square = float(MOMENTS @ spin**2), float(MOMENTS**2 @ spin**2)
        assert square > energy * b
        self.length, self.spin0 = math.sqrt(square), spin
        self.rate = math.sqrt((c - b) * (square - energy * a) / (a * b * c))
        self.m = (b - a) * (energy * c - square) / ((c - b) * (square - energy * a))
        self.second = math.sqrt((energy * c - square) / (b * (c - b)))

    def spin(self, t: float) -> np.ndarray:
        """In the body's frame."""
        sn, cn, dn, _ = ellipj(self.rate * t, self.m)
        return np.array([self.spin0[0] * cn, self.second * sn, self.spin0[2] * dn])

    def rotation(self, t: float) -> np.ndarray:
        """From the body to a frame whose z is along L; the precession by quadrature."""

        def precession(s: float) -> float:
            w = self.spin(s)
            energy, square = MOMENTS[:2] @ w[:2] ** 2, (MOMENTS[:2] ** 2) @ w[:2] ** 2
            return self.length * float(energy / square)

        pieces = np.linspace(0.0, t, 1 + math.ceil(t))
        phi = sum(
            quad(precession, u, v, epsabs=1e-13, epsrel=1e-13)[0]
            for u, v in zip(pieces[:-1], pieces[1:], strict=True)
        )
        momentum = MOMENTS * self.spin(t)
        theta = math.acos(momentum[2] / self.length)
        psi = math.atan2(momentum[0], momentum[1])
        return Rotation.from_euler("ZXZ", [phi, theta, psi]).as_matrix()


def test_the_top_against_the_analytic_solution() -> None:
    """20 s to 1e-8, momentum to round-off, rotations stay rotations."""
    oracle = AnalyticTop(np.array([0.6, 0.0, 1.0]))
    start = oracle.rotation(0.0)
    bodies = top()
    state = bodies.state(
        np.zeros((1, 3)), start[None], spins=(start @ oracle.spin0)[None]
    )
    np.testing.assert_allclose(state.L[0], [0.0, 0.0, oracle.length], atol=1e-12)
    motion = move(bodies, state, 20.0, tolerance=1e-11, sampling_period=1.0)
    for k, t in enumerate(motion.t):
        np.testing.assert_allclose(motion.R[k, 0], oracle.rotation(t), atol=1e-8)
        spin = motion.R[k, 0].T @ bodies.spins(motion.state(k))[0]
        np.testing.assert_allclose(spin, oracle.spin(t), atol=1e-8)
        unit = motion.R[k, 0].T @ motion.R[k, 0]
        assert np.abs(unit - np.eye(3)).max() < 1e-13
    assert np.ptp(motion.L, axis=0).max() == 0.0


class Sling:
    """Bodies on springs to the origin, off their centres: everything is coupled."""

    def __init__(self, bodies: RigidBodies) -> None:
        """At a corner of each."""
        self._bodies, self._corner = bodies, np.array([0.1, 0.15, 0.25])

    def __call__(self, t: float, state: BodyState) -> tuple[np.ndarray, np.ndarray]:
        """Pull."""
        arm = state.R @ self._corner
        force = -30.0 * (state.x + arm)
        return force, np.cross(arm, force)

    def energy(self, state: BodyState) -> float:
        """Kinetic and of the spring."""
        place = state.x + state.R @ self._corner
        spring = 15.0 * float((place**2).sum())
        return float(self._bodies.kinetic_energy(state).sum()) + spring


def slung() -> tuple[RigidBodies, BodyState, Sling]:
    """A box that is thrown."""
    bodies = RigidBodies([of_box(2.0, (0.2, 0.3, 0.5))])
    state = bodies.state(
        np.array([[0.3, 0.0, 0.1]]),
        velocities=np.array([[0.0, 1.0, 0.2]]),
        spins=np.array([[1.0, 2.0, -1.0]]),
    )
    return bodies, state, Sling(bodies)


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        ("explicit_euler", (2e-3, 1e-3, 5e-4)),
        ("semi_implicit_euler", (8e-3, 4e-3, 2e-3)),
    ],
)
def test_first_orders_of_the_energy_error(
    method: str, steps: tuple[float, ...]
) -> None:
    """Halve the step: the largest energy error of a thrown box halves."""
    bodies, state, forces = slung()
    start, errors = forces.energy(state), []
    for step in steps:
        motion = move(bodies, state, 1.0, forces=forces, method=method, step=step)
        energies = [forces.energy(motion.state(k)) for k in range(len(motion))]
        errors.append(np.abs(np.array(energies) - start).max())
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 1.0, atol=0.2)


@pytest.mark.parametrize("method", ["rk4", "lie"])
def test_fourth_orders_of_the_energy_error(method: str) -> None:
    """Halve the step: the energy error of the top, and of a thrown box's place."""
    bodies = top()
    state = bodies.state(np.zeros((1, 3)), spins=np.array([[0.3, 1.0, 0.2]]))
    start, errors = bodies.kinetic_energy(state)[0], []
    for step in (0.04, 0.02, 0.01):
        motion = move(bodies, state, 10.0, method=method, step=step)
        energies = [
            bodies.kinetic_energy(motion.state(k))[0] for k in range(len(motion))
        ]
        errors.append(np.abs(np.array(energies) - start).max())
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 4.0, atol=0.25)
    bodies, state, forces = slung()
    truth = move(bodies, state, 1.0, forces=forces, tolerance=1e-12).x[-1]
    errors = [
        np.abs(
            move(bodies, state, 1.0, forces=forces, method=method, step=h).x[-1] - truth
        ).max()
        for h in (0.04, 0.02, 0.01)
    ]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 4.0, atol=0.4)


@pytest.mark.study
def test_the_energy_of_semi_implicit_euler_stays_bounded() -> None:
    """A hundred times the time, no larger an error; the explicit one runs away."""
    bodies, state, forces = slung()
    start = forces.energy(state)

    def worst(method: str, t_end: float) -> float:
        motion = move(bodies, state, t_end, forces=forces, method=method, step=5e-3)
        every = range(0, len(motion), 7)
        return max(abs(forces.energy(motion.state(k)) - start) for k in every)

    assert worst("semi_implicit_euler", 60.0) < 1.5 * worst("semi_implicit_euler", 3.0)
    assert worst("explicit_euler", 6.0) > 3.0 * worst("explicit_euler", 1.0)


@pytest.mark.parametrize("method", METHODS)
def test_momenta_without_forces(method: str) -> None:
    """Of many bodies at once: to round-off; rotations stay rotations."""
    rng = np.random.default_rng(3)
    bodies = RigidBodies([of_box(m, rng.uniform(0.1, 1.0, 3)) for m in (1, 2, 3, 4)])
    state = bodies.state(
        rng.normal(size=(4, 3)),
        Rotation.random(4, random_state=4).as_matrix(),
        rng.normal(size=(4, 3)),
        rng.normal(size=(4, 3)),
    )
    before = bodies.momentum(state)
    motion = move(bodies, state, 2.0, method=method, step=1e-2)
    after = bodies.momentum(motion.state(-1))
    np.testing.assert_allclose(after[0], before[0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(after[1], before[1], rtol=0, atol=1e-12)
    units = np.swapaxes(motion.R, 2, 3) @ motion.R - np.eye(3)
    assert np.abs(units).max() < (1e-3 if method == "explicit_euler" else 1e-8)
    # and each body goes its own way
    alone = RigidBodies([of_box(2, (0.3, 0.4, 0.5))])
    pair = RigidBodies([of_box(2, (0.3, 0.4, 0.5))] * 2)
    one = alone.state(np.zeros((1, 3)), spins=np.array([[1.0, 2.0, 3.0]]))
    two = pair.state(
        np.zeros((2, 3)), spins=np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 3.0]])
    )
    first = move(alone, one, 0.5, method=method, step=1e-2)
    second = move(pair, two, 0.5, method=method, step=1e-2)
    # One body and two may be summed in another order: alike to round-off.
    np.testing.assert_allclose(first.R[:, 0], second.R[:, 1], rtol=0, atol=1e-12)


def test_pinocchio_gives_the_same_accelerations() -> None:
    """A free flyer under a wrench, to 1e-10."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        moments = rng.uniform(0.5, 1.0, 3)
        turn = Rotation.random(random_state=rng.integers(1 << 30)).as_matrix()
        inertia = turn @ np.diag(moments) @ turn.T
        mass = float(rng.uniform(0.5, 3.0))
        bodies = RigidBodies([MassProperties(mass, np.zeros(3), inertia)])
        frame = Rotation.random(random_state=rng.integers(1 << 30)).as_matrix()
        v, w, force, torque = rng.normal(size=(4, 3))
        state = bodies.state(np.zeros((1, 3)), frame[None], v[None], w[None])
        linear, angular = bodies.accelerations(state, force[None], torque[None])

        model = pin.Model()
        joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
        inertias = pin.Inertia(mass, np.zeros(3), inertia)
        model.appendBodyToJoint(joint, inertias, pin.SE3.Identity())
        model.gravity = pin.Motion.Zero()
        quaternion = pin.Quaternion(frame).coeffs()
        q = np.concatenate([np.zeros(3), quaternion])
        velocity = np.concatenate([frame.T @ v, frame.T @ w])
        wrench = np.concatenate([frame.T @ force, frame.T @ torque])
        a = pin.aba(model, model.createData(), q, velocity, wrench)
        spatial = a[:3] + np.cross(velocity[3:], velocity[:3])
        np.testing.assert_allclose(linear[0], frame @ spatial, atol=1e-10)
        np.testing.assert_allclose(angular[0], frame @ a[3:], atol=1e-10)


@pytest.mark.study
def test_tolerance_and_steps() -> None:
    """A tighter tolerance is nearer to the truth, and samples come when asked."""
    bodies, state, forces = slung()
    truth = move(bodies, state, 2.0, forces=forces, tolerance=1e-12)
    errors = []
    for tolerance in (1e-6, 1e-8, 1e-10):
        motion = move(bodies, state, 2.0, forces=forces, tolerance=tolerance)
        errors.append(np.abs(motion.x[-1] - truth.x[-1]).max())
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    sampled = move(bodies, state, 1.0, method="rk4", step=0.03, sampling_period=0.1)
    np.testing.assert_allclose(sampled.t, np.linspace(0.0, 1.0, 11))
    assert sampled.steps == 40


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "euler"}, "no method is called 'euler'"),
        ({}, "either the step or the tolerance"),
        ({"step": 0.1, "tolerance": 1e-6}, "either the step or the tolerance"),
        ({"step": -0.1}, "step must be positive"),
        ({"method": "rk4", "tolerance": 1e-6}, "only the method 'lie'"),
        ({"step": 0.1, "t_end": math.inf}, "t_end must be positive"),
    ],
)
def test_what_is_refused(change: dict[str, object], words: str) -> None:
    """Numbers that make no sense."""
    bodies = RigidBodies([of_sphere(1.0, 0.1)])
    state = bodies.state(np.zeros((1, 3)))
    with pytest.raises(BodyError, match=words):
        move(bodies, state, **{"t_end": 1.0, **change})  # type: ignore[arg-type]


def test_states_are_checked() -> None:
    """Shapes, numbers, rotations; a scene without bodies."""
    bodies = RigidBodies([of_sphere(1.0, 0.1)] * 2)
    with pytest.raises(BodyError, match="positions: must be 2 x 3 finite"):
        bodies.state(np.zeros((1, 3)))
    with pytest.raises(BodyError, match="spins: must be finite numbers"):
        bodies.state(np.zeros((2, 3)), spins=np.full((2, 3), np.nan))
    mirrored = np.stack([np.eye(3), np.diag([1.0, 1.0, -1.0])])
    with pytest.raises(BodyError, match="body 1 is no rotation"):
        bodies.state(np.zeros((2, 3)), mirrored)
    with pytest.raises(BodyError, match="needs a body"):
        RigidBodies([])
    with pytest.raises(BodyError, match="cannot be kept"):

        def wild(t: float, state: BodyState) -> tuple[np.ndarray, np.ndarray]:
            return np.full_like(state.P, np.nan), np.zeros_like(state.L)

        move(bodies, bodies.state(np.zeros((2, 3))), 1.0, forces=wild, tolerance=1e-6)
