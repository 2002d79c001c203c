# SPDX-License-Identifier: Apache-2.0
"""The equations of a simulation under an integrator of one's own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import humans_sim as hs
from humans_sim.actuation.ideal_torque import TorqueLaw
from humans_sim.dynamics import problems
from humans_sim.dynamics.controller import ControlState
from humans_sim.dynamics.event_driven.state_equations import StateEquations


def integrate(equations: StateEquations, end: float) -> np.ndarray:
    """From event to event by scipy's integrator; the state at the end."""

    def event(k: int):  # noqa: ANN202
        def value(t: float, x: np.ndarray) -> float:
            return float(equations.signals(t, x)[k])

        value.terminal, value.direction = True, -1  # type: ignore[attr-defined]
        return value

    t, x = equations.t, equations.x
    events = [event(k) for k in range(len(equations.names))]
    for _ in range(50):
        done = solve_ivp(
            equations.rates, (t, end), x, "DOP853", None, False, events, rtol=1e-10,
            atol=1e-12,
        )  # fmt: skip
        t, x = done.t[-1], done.y[:, -1]
        if done.status == 0:
            return x
        fired = np.array([times.size > 0 for times in done.t_events])
        x = equations.handle(t, x, fired)
    raise AssertionError("more than 50 events")


def test_a_ball_bounces_alike() -> None:
    """Impacts under another integrator come at the same times, with the same speeds."""
    simulation = hs.Simulation(problems.bouncing_ball(0.5))
    expected = simulation.run(np.array([0.2]), t_end=0.7)
    x = integrate(simulation.equations(np.array([0.2])), 0.7)
    np.testing.assert_allclose(x[:1], expected.q[-1], atol=1e-9)
    np.testing.assert_allclose(x[1:], expected.v[-1], atol=1e-8)


def test_a_block_comes_to_rest_alike() -> None:
    """Sliding that ends is an event of its own, and the block stays where it stops."""
    simulation = hs.Simulation(problems.sliding_block(0.0, 0.3))
    q, v = np.zeros(simulation.system.nq), np.zeros(simulation.system.nv)
    v[0] = 1.0
    expected = simulation.run(q, v, t_end=0.6)
    equations = simulation.equations(q, v)
    assert equations.contacts.tolist() == [2]
    x = integrate(equations, 0.6)
    assert equations.contacts.tolist() == [1]
    np.testing.assert_allclose(x[: len(q)], expected.q[-1], atol=1e-8)
    np.testing.assert_allclose(x[len(q) :], 0.0, atol=1e-8)


def law(t: float, state: ControlState) -> np.ndarray:
    """A posture held by springs and dampers, swaying."""
    sway = 0.1 * np.sin(8.0 * t)
    torques: np.ndarray = 2.0 * (sway - state.q[7:]) - 0.05 * state.v[6:]
    return torques


def test_a_robot_with_a_law_flies_alike() -> None:
    """Quaternion and joints follow x under scipy as they do in a run."""
    robot = hs.load_model("khr1")
    simulation = hs.Simulation(
        robot,
        TorqueLaw(robot, law),
        contacts=hs.Contacts(points=[], limits=False),
        rtol=1e-10,
    )
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[2] += 1.0
    v[3:6] = 1.0, -2.0, 0.5
    expected = simulation.run(q, v, t_end=0.1)
    x = integrate(simulation.equations(q, v), 0.1)
    np.testing.assert_allclose(x[: robot.nq], expected.q[-1], atol=1e-7)
    np.testing.assert_allclose(x[robot.nq :], expected.v[-1], atol=1e-6)


def test_rates_are_those_of_the_equations_of_motion(khr1: hs.Model) -> None:
    """M a + N = contact forces: a robot that stands has its weight in its rates."""
    simulation = hs.Simulation(
        khr1, TorqueLaw(khr1, law), contacts=hs.Contacts(whole_body=False)
    )
    x = np.concatenate([khr1.neutral(), np.zeros(khr1.nv)])
    rates = simulation.rates(0.0, x)
    equations = simulation._equations
    assert equations is not None and (equations.contacts > 0).any()
    acceleration = rates[khr1.nq :]
    residual = khr1.inertia(khr1.neutral()) @ acceleration
    residual += khr1.nl_effects(khr1.neutral(), np.zeros(khr1.nv))
    residual[6:] -= law(0.0, ControlState(khr1.neutral(), np.zeros(khr1.nv)))
    jacobian = khr1.contact_jacobian(khr1.neutral()).reshape(-1, khr1.nv)
    force = np.linalg.lstsq(jacobian.T, residual, rcond=None)[0]
    np.testing.assert_allclose(jacobian.T @ force, residual, atol=1e-6)
    assert (simulation.signals(0.0, x) > 0).all()
    assert force.reshape(-1, 3)[:, 2].sum() == pytest.approx(
        khr1.mass * (9.81 + _com_acceleration(khr1, acceleration)), rel=1e-6
    )


def _com_acceleration(model: hs.Model, a: np.ndarray) -> float:
    return float((model.seen_from().com_jacobian(model.neutral()) @ a)[2])


def test_what_cannot_be_integrated(khr1: hs.Model) -> None:
    """Other methods, states of other lengths and bad laws are refused."""
    stepping = hs.Simulation(khr1, method="time_stepping")
    with pytest.raises(hs.errors.ParameterError, match="event_driven"):
        stepping.equations(khr1.neutral())
    flying = hs.Simulation(khr1, contacts=hs.Contacts(points=[]))
    with pytest.raises(hs.errors.ConfigurationError, match="positions"):
        flying.rates(0.0, np.zeros(3))
    equations = flying.equations(khr1.neutral())
    with pytest.raises(hs.errors.ConfigurationError, match="positions"):
        equations.rates(0.0, equations.x[:-1])
    with pytest.raises(hs.errors.ConfigurationError, match="quaternion"):
        equations.rates(0.0, np.zeros_like(equations.x))
    with pytest.raises(hs.errors.ParameterError, match="event functions"):
        equations.handle(0.0, equations.x, np.array([True]))
    short = hs.Simulation(
        khr1, TorqueLaw(khr1, lambda t, s: np.zeros(3)), contacts=hs.Contacts(points=[])
    )
    with pytest.raises(hs.HumansError, match="17 finite joint torques"):
        short.rates(0.0, np.concatenate([khr1.neutral(), np.zeros(khr1.nv)]))
