# SPDX-License-Identifier: Apache-2.0
"""Attitudes and integrators of the thesis against each other and other libraries."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.anatomy.balls.ball_model import ball_model
from humans_sim.anatomy.mechanics import attitude
from humans_sim.anatomy.mechanics.cash_karp import cash_karp, runge_kutta
from humans_sim.anatomy.volumes.volume import of_ellipsoid
from humans_sim.anatomy.wrist.wrist import mass_of_balls, mass_of_mesh, mass_of_volume
from humans_sim.bodies import RigidBodies, move
from humans_sim.bodies.mass_properties import MassProperties

MOMENTS = np.array([1.0, 2.0, 3.0])
SPIN = np.array([0.3, 1.0, 0.2])
ANGLES = np.array([1.2, 0.3, 0.4])


def top(t: float, q: np.ndarray) -> np.ndarray:
    """Rates of (p, q, r, theta, phi, psi) of a top without a torque."""
    rates = attitude.spin_rates(MOMENTS, q[:3], np.zeros(3))
    return np.concatenate([rates, attitude.euler_rates(q[3:], q[:3])])


def test_matrix_of_euler_angles() -> None:
    """E5 is Rz(-psi) Rx(-theta) Rz(phi), and E7 is R^T R'."""
    theta, phi, psi = ANGLES
    turn = Rotation.from_euler("z", -psi) * Rotation.from_euler("x", -theta)
    turn = turn * Rotation.from_euler("z", phi)
    matrix = attitude.euler_matrix(*ANGLES)
    assert matrix == pytest.approx(turn.as_matrix())
    assert attitude.euler_angles(matrix) == pytest.approx(ANGLES)
    rates, h = np.array([0.3, -0.7, 0.5]), 1e-6
    ahead = attitude.euler_matrix(*(ANGLES + h * rates))
    behind = attitude.euler_matrix(*(ANGLES - h * rates))
    skew = matrix.T @ (ahead - behind) / (2 * h)
    spin = attitude.spin_of_rates(ANGLES, rates)
    assert [skew[2, 1], skew[0, 2], skew[1, 0]] == pytest.approx(spin, abs=1e-8)
    assert attitude.euler_rates(ANGLES, spin) == pytest.approx(rates)


def test_top_keeps_energy_and_momentum() -> None:
    """Over 20 s at 1e-8: energy to 1e-8, angular momentum in space to 1e-6."""
    done = cash_karp(top, np.concatenate([SPIN, ANGLES]), 20.0, tolerance=1e-8)
    first, last = done.q[0], done.q[-1]
    energies = [0.5 * MOMENTS @ q[:3] ** 2 for q in (first, last)]
    assert energies[1] == pytest.approx(energies[0], abs=1e-8)
    momenta = [attitude.euler_matrix(*q[3:]) @ (MOMENTS * q[:3]) for q in (first, last)]
    assert np.abs(momenta[1] - momenta[0]).max() < 1e-6
    assert (done.errors <= 1.0).all() and 100 < len(done.steps) < 400
    # the project's own bodies, without angles
    bodies = RigidBodies([MassProperties(1.0, np.zeros(3), np.diag(MOMENTS))])
    start = attitude.euler_matrix(*ANGLES)
    state = bodies.state(np.zeros((1, 3)), start[None], spins=(start @ SPIN)[None])
    motion = move(bodies, state, 20.0, tolerance=1e-9)
    assert np.abs(motion.R[-1, 0] - attitude.euler_matrix(*last[3:])).max() < 1e-5


def test_accelerations_are_pinocchios() -> None:
    """A free body in pinocchio has the same accelerations to 1e-10."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    inertia = pin.Inertia(2.0, np.zeros(3), np.diag(MOMENTS))
    model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    model.gravity.setZero()
    torque = np.array([0.3, -0.1, 0.7])
    wrench = np.concatenate([np.zeros(3), torque])
    v = np.concatenate([np.zeros(3), SPIN])
    a = pin.aba(model, model.createData(), pin.neutral(model), v, wrench)
    assert attitude.spin_rates(MOMENTS, SPIN, torque) == pytest.approx(a[3:], abs=1e-10)


def spin_at(t: float, steady: bool) -> np.ndarray:
    """A spin that stays, or changes with time."""
    if steady:
        return np.array([0.4, -0.7, 0.9])
    return np.array([np.sin(2 * t), 0.8 * np.cos(t), 0.5 + 0.3 * t])


@pytest.mark.parametrize("steady", [True, False])
def test_attitudes_agree(steady: bool) -> None:
    """Cosines, Riccati's variable and the quaternion give one rotation to 1e-8."""
    start = attitude.euler_matrix(*ANGLES)
    tight = {"rtol": 1e-12, "atol": 1e-13}

    def integrate(rates: object, first: np.ndarray) -> np.ndarray:
        return solve_ivp(rates, (0, 1.5), first, **tight).y[:, -1]

    cosines = np.array(
        [
            integrate(lambda t, y: attitude.cosine_rates(y, spin_at(t, steady)), row)
            for row in start
        ]
    )
    x, w, z = Rotation.from_matrix(start).as_quat()[[0, 3, 2]]
    y = Rotation.from_matrix(start).as_quat()[1]
    parameters = integrate(
        lambda t, q: attitude.quaternion_rates(q, spin_at(t, steady)),
        np.array([-x, -y, -z, w]),
    )
    assert attitude.quaternion_matrix(parameters) == pytest.approx(cosines, abs=1e-8)

    def riccati(t: float, q: np.ndarray) -> np.ndarray:
        rate = attitude.riccati_rate(complex(*q), spin_at(t, steady))
        return np.array([rate.real, rate.imag])

    for first, last in zip(start, cosines, strict=True):
        ends = []
        for value in (attitude.stereographic(first), attitude.second_variable(first)):
            ends.append(
                complex(*integrate(riccati, np.array([value.real, value.imag])))
            )
        assert ends[0] == pytest.approx(attitude.stereographic(last), abs=1e-8)
        assert attitude.row_of(*ends) == pytest.approx(last, abs=1e-8)


def test_orders() -> None:
    """The orders observed are 5 and 4."""
    errors = []
    for steps in (20, 40, 80):
        h = 2.0 / steps
        done = cash_karp(
            lambda t, q: np.array([q[1], -q[0]]),
            np.array([1.0, 0.0]),
            2.0,
            tolerance=1e6,
            scale="unit",
            first_step=h,
            largest_step=h,
        )
        errors.append(np.abs(done.q[-1] - [np.cos(2), -np.sin(2)]).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(orders - 5) < 0.4).all()
    fourth = [
        np.abs(runge_kutta(lambda t, q: q, np.ones(1), 1.0, n).q[-1] - np.e).max()
        for n in (10, 20)
    ]
    assert np.log2(fourth[0] / fourth[1]) == pytest.approx(4, abs=0.2)


@pytest.mark.parametrize("scale", ["unit", "tangent", "absolute"])
def test_cash_karp_against_scipy(scale: str) -> None:
    """The oscillator and a nonlinear pendulum agree with scipy's RK45."""

    def pendulum(t: float, q: np.ndarray) -> np.ndarray:
        return np.array([q[1], -np.sin(q[0])])

    start = np.array([2.0, 0.0])
    done = cash_karp(pendulum, start, 10.0, tolerance=1e-9, scale=scale)
    exact = solve_ivp(pendulum, (0, 10), start, rtol=1e-11, atol=1e-12).y[:, -1]
    assert done.q[-1] == pytest.approx(exact, abs=1e-6)
    assert done.t[-1] == 10.0 and (done.errors <= 1).all()
    turning = cash_karp(
        lambda t, q: np.array([q[1], -q[0]]),
        np.array([1.0, 0.0]),
        6.0,
        tolerance=1e-8,
        scale=scale,
    )
    wrong = np.abs(turning.q[-1] - [np.cos(6), -np.sin(6)]).max()
    assert wrong < 1e-8 * len(turning.steps)  # epsilon a step


def test_near_the_singularity_of_the_angles() -> None:
    """A path that passes theta = 0 at 1e-3 rad is integrated; or it is extrapolated."""
    # psi turns at a steady spin about a line almost through the pole
    start = np.array([-0.8, 0.001, 0.0, 0.4, 0.0, 0.3])

    def turning(t: float, q: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(3), attitude.euler_rates(q[3:], q[:3])])

    start[:3] = [0.8, 0.002, 0.0]
    done = cash_karp(turning, start, 1.0, tolerance=1e-6)
    matrix = attitude.euler_matrix(*start[3:])
    exact = matrix @ Rotation.from_rotvec(start[:3]).as_matrix()
    assert np.abs(attitude.euler_matrix(*done.q[-1, 3:]) - exact).max() < 1e-3
    assert done.q[:, 3].min() < 5e-3 and done.rejected > 0

    def jump(t: float, q: np.ndarray) -> np.ndarray:
        return np.array([1.0 if t < 0.5 else 1e9 * np.sign(np.sin(1e12 * t))])

    with pytest.raises(hs.errors.AnatomyError, match="cannot be kept"):
        cash_karp(jump, np.zeros(1), 0.6, least_step=1e-6, tolerance=1e-9)
    along = cash_karp(
        lambda t, q: np.array([1.0]) if abs(t - 0.5) > 4e-3 else np.array([np.nan]),
        np.zeros(1),
        1.0,
        least_step=2e-3,
        extrapolate=True,
        largest_step=1e-2,
    )
    assert along.extrapolated > 0


def test_inertia_of_voxels_balls_and_mesh() -> None:
    """An ellipsoid: moments m/5 (b^2 + c^2) to 1 % from its voxels, near from balls."""
    import trimesh

    a, b, c = 0.02, 0.013, 0.016
    volume = of_ellipsoid((a, b, c), 5e-4, (0.01, -0.02, 0.03))
    whole = mass_of_volume(volume, 1000.0)
    mass = 1000 * 4 / 3 * np.pi * a * b * c
    moments = mass / 5 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    assert whole.mass == pytest.approx(mass, rel=0.01)
    assert np.diag(whole.inertia) == pytest.approx(moments, rel=0.01)
    assert np.abs(whole.inertia - np.diag(np.diag(whole.inertia))).max() < 1e-12
    assert whole.center == pytest.approx([0.01, -0.02, 0.03])
    balls = mass_of_balls(ball_model(volume), 1000.0)
    assert np.diag(balls.inertia) == pytest.approx(moments, rel=0.03)
    mesh = trimesh.creation.icosphere(4)
    mesh.apply_scale([a, b, c])
    assert np.diag(mass_of_mesh(mesh, 1000.0).inertia) == pytest.approx(
        moments, rel=0.01
    )
    with pytest.raises(hs.errors.AnatomyError):
        mass_of_volume(volume, 0.0)
