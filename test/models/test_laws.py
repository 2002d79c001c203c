# SPDX-License-Identifier: Apache-2.0
"""Laws every model obeys: derivatives, symmetry, energy, round trips."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import humans_sim as hs
from humans_sim.models import NAMES

STEP = 1e-6
load_model = cache(hs.load_model)


def random_view(model: hs.Model, rng: np.random.Generator) -> np.ndarray:
    """HuMAnS coordinates away from the singularity of the base angles."""
    return rng.uniform(-0.8, 0.8, model.humans.size)


def central(function, q: np.ndarray) -> np.ndarray:
    """Derivative of a function of q by central differences, last axis over q."""
    columns = []
    for i in range(q.size):
        step = np.zeros(q.size)
        step[i] = STEP
        columns.append((function(q + step) - function(q - step)) / (2 * STEP))
    return np.stack(columns, axis=-1)


def test_view_jacobians(model: hs.Model, rng: np.random.Generator) -> None:
    """Jacobians of tags and contacts are the derivatives of their positions."""
    view = model.humans
    for _ in range(3):
        q = random_view(model, rng)
        tags = central(lambda x: view.tags(x)[:-1].ravel(), q)
        np.testing.assert_allclose(view.tags_jacobian(q), tags, atol=1e-6)
        contacts = central(view.contact, q)
        np.testing.assert_allclose(view.contact_jacobian(q), contacts, atol=1e-6)


def test_model_jacobians(model: hs.Model, rng: np.random.Generator) -> None:
    """The same in pinocchio's velocities, along integrated configurations."""
    q = model.random_configuration(rng)

    def along(function):
        return central(lambda w: function(model.integrate(q, w)), np.zeros(model.nv))

    expected = along(lambda x: model.tags(x)[:-1])
    np.testing.assert_allclose(model.tags_jacobian(q), expected, atol=1e-6)
    expected = along(model.contact)
    np.testing.assert_allclose(model.contact_jacobian(q), expected, atol=1e-6)


def test_contact_hessian(model: hs.Model, rng: np.random.Generator) -> None:
    """s(q, qdot) is the time derivative of the Jacobian times the rates."""
    view = model.humans
    q, qdot = random_view(model, rng), rng.normal(size=view.size)

    def velocity(t: float) -> np.ndarray:
        return view.contact_jacobian(q + t * qdot) @ qdot

    expected = (velocity(STEP) - velocity(-STEP)) / (2 * STEP)
    np.testing.assert_allclose(
        view.contact_hessian(q, qdot), expected, atol=1e-6 * np.abs(expected).max()
    )


def test_model_contact_hessian(model: hs.Model, rng: np.random.Generator) -> None:
    """The same in pinocchio's velocities, at constant v."""
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)

    def velocity(t: float) -> np.ndarray:
        return model.contact_jacobian(model.integrate(q, t * v)) @ v

    expected = (velocity(STEP) - velocity(-STEP)) / (2 * STEP)
    np.testing.assert_allclose(
        model.contact_hessian(q, v), expected, atol=1e-6 * np.abs(expected).max()
    )


def test_inertia_is_symmetric_positive_definite(
    model: hs.Model, rng: np.random.Generator
) -> None:
    """M = M^T > 0, in both coordinates."""
    for _ in range(5):
        q = model.random_configuration(rng)
        for matrix in (model.inertia(q), model.humans.inertia(random_view(model, rng))):
            np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
            assert np.linalg.eigvalsh(matrix).min() > 0


def test_view_is_lagranges(model: hs.Model, rng: np.random.Generator) -> None:
    r"""N_h follows from M_h alone: d/dt(M qdot) - d(T)/dq + dV/dq."""
    view = model.humans
    q, qdot = random_view(model, rng), rng.normal(size=view.size)

    def momentum(t: float) -> np.ndarray:
        return view.inertia(q + t * qdot) @ qdot

    def lagrangian(x: np.ndarray) -> np.ndarray:
        kinetic = 0.5 * qdot @ view.inertia(x) @ qdot
        return np.array(kinetic - model.potential_energy(view.to_pin(x)[0]))

    expected = (momentum(STEP) - momentum(-STEP)) / (2 * STEP)
    expected = expected - central(lagrangian, q)
    computed = view.nl_effects(q, qdot)
    np.testing.assert_allclose(computed, expected, atol=2e-6 * np.abs(expected).max())


def test_nl_effects_and_inertia_make_inverse_dynamics(
    model: hs.Model, rng: np.random.Generator
) -> None:
    """M a + N is what inverse dynamics says, rotors included."""
    q, v, a = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    expected = model.inertia(q) @ a + model.nl_effects(q, v)
    computed = model.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(computed, expected, atol=1e-9 * np.abs(expected).max())


@settings(max_examples=30, deadline=None)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 2**31))
def test_view_round_trip(name: str, seed: int) -> None:
    """Pinocchio -> HuMAnS -> pinocchio gives the same configuration and velocity."""
    model = load_model(name)
    rng = np.random.default_rng(seed)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    q_h, qdot_h = model.humans.from_pin(q, v)
    back_q, back_v = model.humans.to_pin(q_h, qdot_h)
    if back_q[3:7] @ q[3:7] < 0:
        back_q[3:7] *= -1
    np.testing.assert_allclose(back_q, q, atol=1e-9)
    np.testing.assert_allclose(back_v, v, atol=1e-6)


def legs(model: hs.Model) -> np.ndarray:
    """Velocity indices of the legs' hip pitch, knee and ankle pitch joints."""
    words = ("hip_pitch", "knee", "ankle_pitch")
    free = [i for i, name in enumerate(model.joint_names) if name.endswith(words)]
    assert len(free) == 6
    return 6 + np.array(free)


def accelerate(
    model: hs.Model, q: np.ndarray, v: np.ndarray, free: np.ndarray
) -> np.ndarray:
    """Acceleration without contact, all but the ``free`` velocities locked."""
    a = np.zeros(model.nv)
    inertia = model.inertia(q)[np.ix_(free, free)]
    a[free] = np.linalg.solve(inertia, -model.nl_effects(q, v)[free])
    return a


def energy(model: hs.Model, q: np.ndarray, v: np.ndarray) -> float:
    """Kinetic and potential energy."""
    return model.kinetic_energy(q, v) + model.potential_energy(q)


def test_free_fall_energy(model: hs.Model, rng: np.random.Generator) -> None:
    """A tumbling free fall with kicking legs keeps its energy to 1e-8 over 5 s."""
    start, free = model.neutral(), np.r_[:6, legs(model)]
    v = np.zeros(model.nv)
    v[:3] = rng.normal(size=3)
    v[3:6] = 0.5 * rng.normal(size=3)
    n = model.nv

    # Integrated in the tangent space at the last sample, so the quaternion is exact.
    q, worst = start.copy(), 0.0
    reference = energy(model, q, v)
    scale = model.mass * 9.81 * 9.81 / 2 * 25
    for _ in range(50):
        here = q

        def rates(_: float, x: np.ndarray, here: np.ndarray = here) -> np.ndarray:
            w, speed = x[:n], x[n:]
            now = pin.integrate(model.pin, here, w)
            jacobian = pin.dIntegrate(model.pin, here, w)[1]
            return np.concatenate(
                [
                    np.linalg.solve(jacobian, speed),
                    accelerate(model, now, speed, free),
                ]
            )

        solved = solve_ivp(
            rates, (0, 0.1), np.r_[np.zeros(n), v], "DOP853", rtol=1e-11, atol=1e-11
        )
        q, v = pin.integrate(model.pin, here, solved.y[:n, -1]), solved.y[n:, -1]
        worst = max(worst, abs(energy(model, q, v) - reference))
    assert q[2] < start[2] - 100
    assert worst / scale < 1e-8


def test_swinging_chain_energy(model: hs.Model) -> None:
    """Legs hung by the base swing for 5 s and keep their energy to 1e-8."""
    columns = legs(model)
    q, v = model.neutral(), np.zeros(model.nv)

    def place(x: np.ndarray) -> None:
        q[columns + 1], v[columns] = x[:6], x[6:]

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        place(x)
        return np.concatenate([x[6:], accelerate(model, q, v, columns)[columns]])

    start = np.r_[0.3 * np.cos(np.arange(6)), np.zeros(6)]
    solved = solve_ivp(rates, (0, 5.0), start, "DOP853", rtol=1e-11, atol=1e-11)
    energies, heights = [], []
    for x in solved.y.T:
        place(x)
        energies.append(energy(model, q, v))
        heights.append(model.potential_energy(q))
    assert solved.success
    assert np.ptp(heights) > 1e-3 * abs(energies[0])
    assert np.ptp(energies) < 1e-8 * abs(energies[0])


def test_standing_puts_the_lowest_contact_on_the_ground(
    model: hs.Model, rng: np.random.Generator
) -> None:
    """Whatever the joints, the lowest contact point is at height zero."""
    joints = model.random_configuration(rng)[7:]
    heights = model.contact(model.standing(joints))[:, 2]
    assert heights.min() == pytest.approx(0.0, abs=1e-12)


def test_base_footprint(model: hs.Model) -> None:
    """It lies on the floor between the soles and has the base's heading."""
    q = model.neutral()
    heading = 0.7
    q[3:7] = [0, 0, np.sin(heading / 2), np.cos(heading / 2)]
    pose = model.base_footprint(q)
    soles = [model.frame_pose(q, sole.name).translation for sole in model.soles]
    np.testing.assert_allclose(pose.translation, np.mean(soles, axis=0), atol=1e-12)
    expected = [np.cos(heading), np.sin(heading), 0]
    np.testing.assert_allclose(pose.rotation[:, 0], expected, atol=1e-12)
