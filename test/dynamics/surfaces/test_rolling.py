# SPDX-License-Identifier: Apache-2.0
"""Smooth surfaces in the dynamics: coin, rattleback, ellipsoid, cylinder, knee."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from rolling_starts import rolling_start, steady_coin
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.bodies.mass_properties import BodyError, MassProperties
from humans_sim.contact.joint.surface_shapes import Inside, Plane, Sphere, Torus
from humans_sim.contact.joint.surfaces import Ellipsoid, cross
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.surfaces import (
    JointSprings,
    RollingBody,
    SurfaceContact,
    SurfaceSystem,
    rolling_bodies,
)
from humans_sim.dynamics.surfaces.rolling import (
    coin,
    rolling_cylinder,
    rolling_ellipsoid,
    rolling_knee,
)
from humans_sim.dynamics.surfaces.surface_system import TreeChart

TIGHT = {"rtol": 1e-11, "atol": 1e-13}
SHAPES = {
    "ellipsoid on a plane": (Plane(), Ellipsoid((0.05, 0.03, 0.02))),
    "ellipsoid on a sphere": (Sphere(0.3), Ellipsoid((0.05, 0.03, 0.02))),
    "ball in a bowl": (Inside(Sphere(0.3)), Sphere(0.05)),
    "ring on a sphere": (Sphere(0.3), Torus(0.05, 0.01)),
}


def lying(floor: object, shape: object, gap: float) -> tuple[SurfaceSystem, np.ndarray]:
    """A body of that shape over the floor, in an attitude of its own."""
    inertia = np.diag([2e-4, 3e-4, 3.5e-4])
    spread = MassProperties(0.5, np.array([0.001, 0.002, 0.0]), inertia)
    system = rolling_bodies([RollingBody("stone", spread, (shape,), 0.05)], floor)
    q = pin.neutral(system.tree)
    q[:3] = (0.01, 0.02, -0.2 if isinstance(floor, Inside) else 0.4)
    turn = pin.exp3(np.array([0.9, -0.5, 0.3]))
    q[3:7] = pin.Quaternion(turn).coeffs()
    for _ in range(30):
        q[2] -= float(system.gaps(q)[0]) - gap
    return system, q


@pytest.mark.parametrize("gap", [0.0, 0.004])
@pytest.mark.parametrize("name", SHAPES)
def test_rates_of_contacts(name: str, gap: float) -> None:
    """Rates of gaps and of relative velocities are differences of what they rate."""
    system, q = lying(*SHAPES[name], gap)
    assert system.gaps(q)[0] == pytest.approx(gap, abs=1e-10)
    v = np.array([0.3, -0.2, 0.5, 2.0, -1.0, 3.0])
    terms, h = system.terms(q, v, np.array([0])), 1e-6
    ends = [pin.integrate(system.tree, q, s * h * v) for s in (1, -1)]
    gaps = [system.gaps(end)[0] for end in ends]
    assert terms.jacobian[0, 0] @ v == pytest.approx(
        (gaps[0] - gaps[1]) / (2 * h), abs=1e-8
    )
    rates = [system.gap_rates(end, v)[1][0] for end in ends]
    assert terms.drift[0, 0] == pytest.approx((rates[0] - rates[1]) / (2 * h), abs=1e-6)


def test_coordinates_of_a_tree() -> None:
    """Rates of the coordinates of a chart give the velocity back."""
    tree = rolling_knee().tree
    rng = np.random.default_rng(3)
    q, x = pin.neutral(tree), rng.normal(scale=0.4, size=tree.nv)
    chart, v, h = TreeChart(tree, q), rng.normal(size=tree.nv), 1e-6
    rates = chart.rates(x, v)
    ahead, behind = (chart.configuration(x + s * h * rates) for s in (1, -1))
    velocity = pin.difference(tree, behind, ahead) / (2 * h)
    np.testing.assert_allclose(velocity, v, atol=1e-9)
    assert chart.worn(np.full(tree.nv, 1.1))
    assert not chart.worn(0.5 * x)


@pytest.mark.parametrize("tilt", [0.25, 0.9])
def test_coin_precesses(tilt: float) -> None:
    """Euler's disk goes round at its steady rate, its centre at rest."""
    q, v, rate = steady_coin(tilt)
    run = hs.Simulation(coin()).run(q, v, t_end=0.2, sampling_period=0.01)
    assert run.check(), run.check().findings
    turns = [pin.Quaternion(row[3:]).toRotationMatrix()[:, 2] for row in run.q]
    angle = np.unwrap([math.atan2(axis[1], axis[0]) for axis in turns])
    assert angle[-1] - angle[0] == pytest.approx(rate * 0.2, rel=1e-9)
    assert np.abs(run.q[:, :3] - q[:3]).max() < 1e-11


def test_coin_with_a_sharp_edge() -> None:
    """Without a rounding the rate is that of textbooks."""
    _, _, rate = steady_coin(0.3, radius=0.05, edge=0.0)
    assert rate == pytest.approx(math.sqrt(4 * 9.81 / (0.05 * math.sin(0.3))))


@pytest.mark.study
def test_ellipsoid_keeps_its_energy() -> None:
    """An ellipsoid that rolls without sliding neither gains nor loses, nor leaves."""
    system = rolling_ellipsoid()
    q, v = rolling_start(system, np.eye(3), np.array([1.0, 3.0, 0.5]))
    run = hs.Simulation(system, **TIGHT).run(q, v, t_end=0.6, sampling_period=0.05)
    energy = run.energy.sum(axis=1)
    assert np.abs(energy / energy[0] - 1.0).max() < 1e-8
    assert np.abs(run.gaps).max() < 1e-10
    assert np.ptp(run.q[:, 2]) > 4e-4, "it rocks"


def spin_of_rattleback(
    turn: np.ndarray, spin: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """Spins in the body's frame by equations of its own: spin and vertical alone."""
    inertia = np.array([[2e-4, 2e-5, 0.0], [2e-5, 1.6e-3, 0.0], [0.0, 0.0, 1.7e-3]])
    squares, centre = np.array([0.2, 0.03, 0.02]) ** 2, np.array([0.0, 0.0, 0.01])

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        w, up = state[:3], state[3:]
        length, change = math.sqrt(up @ (squares * up)), cross(up, w)
        arm = centre - squares * up / length
        share = (up @ (squares * change)) / length**2
        moved = (share * squares * up - squares * change) / length
        pull = cross(moved, w) + cross(w, cross(arm, w)) + 9.81 * up
        known = cross(arm, pull) - cross(w, inertia @ w)
        whole = inertia + (arm @ arm) * np.eye(3) - np.outer(arm, arm)
        return np.concatenate([np.linalg.solve(whole, known), change])

    start = np.concatenate([spin, turn.T @ [0.0, 0.0, 1.0]])
    solved = solve_ivp(
        rates, (0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-12
    )
    return np.asarray(solved.y[:3].T)


@pytest.mark.study
def test_rattleback_turns_back() -> None:
    """Spun the wrong way it rocks, stops and turns back, as its own equations say."""
    run = read_scenario("rattleback").run(progress=False)
    assert run.check(), run.check().findings
    turn = pin.Quaternion(run.q[0, 3:]).toRotationMatrix()
    own = spin_of_rattleback(turn, run.v[0, 3:], run.t)
    np.testing.assert_allclose(run.v[:, 3:], own, atol=1e-5)
    assert run.v[0, 5] == pytest.approx(2.0)
    assert run.v[:, 5].min() < -0.9


def test_cylinder_rolls() -> None:
    """A cylinder on the rims of its ends rolls by its radius times its angle."""
    system = rolling_cylinder(friction=0.5)
    turn = pin.utils.rotate("x", math.pi / 2)
    q, v = rolling_start(system, turn, turn.T @ np.array([0.0, 5.0, 0.0]))
    run = hs.Simulation(system).run(q, v, t_end=0.4, sampling_period=0.05)
    assert run.check(), run.check().findings
    np.testing.assert_allclose(run.q[-1, :3], [0.4 * 5.0 * 0.03, 0.0, 0.03], atol=1e-10)


def test_ball_slides_then_rolls() -> None:
    """A ball thrown without spin rolls at 5/7 of its speed, after v / 3.5 mu g."""
    spread = MassProperties(1.0, np.zeros(3), 0.4 * 0.05**2 * np.eye(3))
    body = RollingBody("ball", spread, (Sphere(0.05),), 0.05)
    system = rolling_bodies([body], friction=0.3)
    q = pin.neutral(system.tree)
    q[2] = 0.05
    run = hs.Simulation(system).run(q, np.eye(6)[0], t_end=0.2, sampling_period=0.02)
    # A contact sticks from 1e-6 m/s of slip on, which is 1e-7 s earlier.
    stick = next(e for e in run.events if e.kind == "stick")
    assert stick.time == pytest.approx(1.0 / (3.5 * 0.3 * 9.81), abs=2e-7)
    assert np.linalg.norm(run.v[-1, :3]) == pytest.approx(5 / 7, abs=1e-9)


class Springs(Actuation):
    """Springs with dampers at ankle and hip, which keep the leg up."""

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques."""
        bent = np.array([q[0], 2 * math.atan2(q[3], q[5])])
        force = np.zeros(5)
        force[[0, 3]] = -400.0 * bent - 20.0 * v[[0, 3]]
        return force, z


def test_knee_carries_load() -> None:
    """Condyles roll on their plateau without a gap, and bear what stands on them."""
    system = rolling_knee()

    def bent(z: float, angle: float) -> np.ndarray:
        q = pin.neutral(system.tree)
        q[0], q[1] = 0.1, z
        q[2:6] = pin.Quaternion(pin.utils.rotate("y", angle)).coeffs()
        return np.asarray(q)

    def off(x: np.ndarray) -> list[float]:
        q, data = bent(*x), system.tree.createData()
        pin.forwardKinematics(system.tree, data, q)
        knee = data.oMi[3].act(np.array([0.0, 0.0, -0.42]))
        place = data.oMi[1].actInv(knee)
        return [float(place[2]) - 0.422, float(place[0])]

    q = bent(*fsolve(off, [0.84, -0.1], xtol=1e-13))
    simulation = hs.Simulation(system, Springs(), passive=False)
    run = simulation.run(q, t_end=1.0, sampling_period=0.02)
    assert run.check(), run.check().findings
    assert np.abs(run.gaps).max() < 1e-10
    assert (run.forces[:, :, 0] > 0.0).all()
    # The shank's weight does not come from above.
    assert run.forces[-1, :, 0].sum() == pytest.approx(38.0 * 9.81, rel=2e-3)


def test_springs_pull_down_their_energy() -> None:
    """Forces of springs are the gradient of their energy, at a ball joint as well."""
    tree, rng = rolling_knee().tree, np.random.default_rng(5)
    rest, q = (
        pin.integrate(tree, pin.neutral(tree), x) for x in rng.normal(size=(2, 5))
    )
    springs = JointSprings(rng.uniform(1.0, 9.0, 5), np.zeros(5), rest)
    h, v = 1e-6, rng.normal(size=5)
    ahead, behind = (
        springs.energy(tree, pin.integrate(tree, q, s * v)) for s in (h, -h)
    )
    assert springs.force(tree, q, v) @ v == pytest.approx((behind - ahead) / (2 * h))


@pytest.mark.study
def test_leg_stands_up_on_its_knee() -> None:
    """The condyles roll: their centres go by their radius times the knee's angle."""
    scenario = read_scenario("rolling-knee")
    run = scenario.with_changes(end=0.5).run(progress=False)
    assert run.check(), run.check().findings
    assert np.abs(run.gaps).max() < 1e-10
    assert (run.forces[:, :, 0] > 0.0).all()
    tree = rolling_knee().tree
    data, places, angles = tree.createData(), [], []
    for q in run.q:
        pin.forwardKinematics(tree, data, q)
        knee = data.oMi[1].actInv(data.oMi[3])
        places.append(knee.act(np.array([0.0, 0.0, -0.42])))
        angles.append(pin.log3(knee.rotation)[1])
    assert angles[0] - angles[-1] < -0.6
    along = np.array(places)[:, 0]
    # At the start the centres are where those of a straight leg have rolled to.
    np.testing.assert_allclose(along, 0.035 * np.array(angles), atol=1e-10)


def test_bad_surfaces_are_refused() -> None:
    """Unknown joints, equal names and bodies without a surface are typed errors."""
    tree = rolling_knee().tree
    pair = SurfaceContact("one", Plane(), Sphere(0.1), "world", "elbow")
    with pytest.raises(
        hs.errors.ParameterError, match="no joint 'elbow'; there are ankle"
    ):
        SurfaceSystem(tree, [pair])
    same = SurfaceContact("one", Plane(), Sphere(0.1), "world", "hip")
    with pytest.raises(hs.errors.ParameterError, match="two contacts have one name"):
        SurfaceSystem(tree, [same, same])
    with pytest.raises(hs.errors.ParameterError, match="both surfaces belong to hip"):
        SurfaceContact("one", Plane(), Sphere(0.1), "hip", "hip")
    spread = MassProperties(1.0, np.zeros(3), np.eye(3))
    with pytest.raises(BodyError, match="no surface to roll on"):
        rolling_bodies([RollingBody("stone", spread, (), 1.0)])
    system = rolling_ellipsoid()
    with pytest.raises(hs.errors.ConfigurationError, match="length 1"):
        hs.Simulation(system).run(np.zeros(7), t_end=0.1)
