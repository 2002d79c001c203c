# SPDX-License-Identifier: Apache-2.0
"""Ligaments and percussions against their own energy and momentum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.anatomy import Ligament, Ligaments, percussion
from humans_sim.bodies import RigidBodies, of_box, of_sphere
from humans_sim.bodies.loads import Moving


def ligament(**changes: object) -> Ligament:
    """From the middle of bone 0 to that of bone 1."""
    numbers = dict(slack=0.01, greatest=0.012, stiffness=2e4)
    return Ligament("test", 0, (0, 0, 0), 1, (0, 0, 0), **{**numbers, **changes})


def test_tension_is_zero_when_slack_then_continuous_and_rising() -> None:
    """No force up to the slack length; then continuous, monotone, steep at the end."""
    pull = Ligaments([ligament()])
    assert pull.tension(np.array([0.0099])) == 0 == pull.tension(np.array([0.01]))
    lengths = np.linspace(0.0095, 0.0125, 4001)
    tension = np.array([pull.tension(np.array([x]))[0] for x in lengths])
    assert (np.diff(tension) >= 0).all() and tension.min() == 0
    slopes = np.array([pull.stiffnesses(np.array([x]))[0] for x in lengths])
    assert (np.abs(np.diff(tension)) <= slopes.max() * np.diff(lengths)[0] * 1.01).all()
    assert pull.stiffnesses(np.array([0.010001]))[0] == pytest.approx(2e4, rel=1e-3)
    assert slopes[-1] > 100 * 2e4


def test_work_is_stored_energy() -> None:
    """The integral of the tension is the energy, on both sides of the limit."""
    pull = Ligaments([ligament()])
    for length in (0.0105, 0.0118, 0.01197, 0.0122):
        work = quad(
            lambda x: pull.tension(np.array([x]))[0], 0.01, length, points=[0.01196]
        )[0]
        assert pull.energies(np.array([length]))[0] == pytest.approx(work, rel=1e-6)


def test_a_closed_cycle_does_no_work() -> None:
    """Bones led around a loop, through slack and taut places, and back."""
    pull = Ligaments([Ligament("x", 0, (2e-3, 0, 0), 1, (0, 1e-3, 0), 9e-3, 0.02, 1e4)])
    still, work = np.zeros((2, 3)), []
    angles = np.linspace(0, 2 * np.pi, 4001)
    middles = 0.5 * (angles[1:] + angles[:-1])

    def place(angle: float) -> Moving:
        x = np.array([[0.0, 0, 0], [0.011, 0, 0]])
        x[1] += 4e-3 * np.array([np.cos(angle), np.sin(angle), np.sin(2 * angle)])
        turn = Rotation.from_rotvec([0, 0, 0.5 * np.sin(angle)]).as_matrix()
        return Moving(x, np.stack([np.eye(3), turn]), still, still)

    for before, middle, after in zip(angles[:-1], middles, angles[1:], strict=True):
        force, torque = np.zeros((2, 3)), np.zeros((2, 3))
        pull.add(0.0, place(middle), force, torque)
        shift = place(after).x[1] - place(before).x[1]
        turned = 0.5 * (np.sin(after) - np.sin(before))
        work.append(force[1] @ shift + torque[1, 2] * turned)
    assert abs(sum(work)) < 1e-6 * np.abs(work).sum()
    assert min(pull.tension(pull.lengths(place(a)))[0] for a in angles) == 0


def test_a_static_load_does_not_exceed_the_greatest_length() -> None:
    """Loads up to twenty times the linear one at the limit leave it below l_max."""
    pull = Ligaments([ligament()])
    for load in (10.0, 40.0, 800.0):
        length = brentq(
            lambda x, load=load: pull.tension(np.array([x]))[0] - load, 0.01, 0.02
        )
        assert length < 0.012


def test_forces_are_the_gradient_of_the_energy_and_moments_arm_times_tension() -> None:
    """By finite differences over positions and rotations of both bones."""
    chance = np.random.default_rng(3)
    pull = Ligaments(
        [Ligament("x", 0, (2e-3, 0, 1e-3), 1, (0, -3e-3, 0), 0.008, 0.02, 1e4)]
    )
    x = np.array([[0.0, 0, 0], [0.012, 0.004, -0.003]])
    frames = Rotation.random(2, random_state=1).as_matrix()
    still = np.zeros((2, 3))
    moving = Moving(x, frames, still, still)
    force, torque = np.zeros((2, 3)), np.zeros((2, 3))
    pull.add(0.0, moving, force, torque)
    ends = pull.ends(moving)
    assert torque[0] == pytest.approx(np.cross(ends[0][0] - x[0], force[0]))
    for body in (0, 1):
        way, h = chance.normal(size=3), 1e-7
        shifted = [x.copy(), x.copy()]
        shifted[0][body] += h * way
        shifted[1][body] -= h * way
        up, down = (pull.energy(moving._replace(x=place)) for place in shifted)
        assert -(up - down) / (2 * h) == pytest.approx(force[body] @ way, rel=1e-5)
        turned = []
        for sign in (1, -1):
            new = frames.copy()
            new[body] = Rotation.from_rotvec(sign * h * way).as_matrix() @ new[body]
            turned.append(pull.energy(moving._replace(frames=new)))
        slope = -(turned[0] - turned[1]) / (2 * h)
        assert slope == pytest.approx(torque[body] @ way, rel=1e-4, abs=1e-9)


def test_damping_never_pushes_and_cut_ligaments_are_gone() -> None:
    """A taut ligament that shortens fast goes slack; a cut one is not there."""
    pull = Ligaments([ligament(damping=1e3)])
    x = np.array([[0.0, 0, 0], [0.011, 0, 0]])
    speeds = np.array([[50.0, 0, 0], [0.0, 0, 0]])
    moving = Moving(x, np.tile(np.eye(3), (2, 1, 1)), speeds, np.zeros((2, 3)))
    assert pull.tensions(moving) == pytest.approx([0.0])
    apart = moving._replace(v=-0.001 * speeds)
    assert pull.tensions(apart) > pull.tension(pull.lengths(apart))
    assert len(pull.without("test")) == 0
    with pytest.raises(hs.errors.AnatomyError, match="no ligament"):
        pull.without("other")


def test_refuses_what_is_no_ligament() -> None:
    """Slack above the greatest length, no stiffness, one bone only are refused."""
    for changes in ({"slack": 0.02}, {"stiffness": 0.0}, {"damping": -1.0}):
        with pytest.raises(hs.errors.AnatomyError):
            ligament(**changes)
    with pytest.raises(hs.errors.AnatomyError, match="itself"):
        Ligament("x", 1, (0, 0, 0), 1, (0, 0, 1), 0.1, 0.2, 1.0)


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_percussion(e: float) -> None:
    """Momenta exact, normal velocity reversed by e, energy lost as it must be."""
    bodies = RigidBodies([of_box(0.4, (0.1, 0.2, 0.3)), of_sphere(1.5, 0.1)])
    state = bodies.state(
        np.array([[0.0, 0, 0], [0.3, 0.05, 0]]),
        velocities=np.array([[0.7, 0.1, -0.2], [-0.3, 0, 0.1]]),
        spins=np.array([[1.0, -2.0, 0.5], [0, 3.0, 0]]),
    )
    normal = np.array([-0.8, -0.6, 0.0])
    point = np.array([0.2, 0.08, 0.02])

    def closing(now: object) -> float:
        v, w = bodies.velocities(now), bodies.spins(now)
        u = [v[k] + np.cross(w[k], point - now.x[k]) for k in (0, 1)]
        return float(normal @ (u[0] - u[1]))

    after, strength = percussion(bodies, state, (0, 1), point, normal, e)
    assert strength > 0
    assert closing(after) == pytest.approx(-e * closing(state), abs=1e-12)
    for one, other in zip(bodies.momentum(state), bodies.momentum(after), strict=True):
        assert one == pytest.approx(other, abs=1e-12)
    loss = bodies.kinetic_energy(state).sum() - bodies.kinetic_energy(after).sum()
    reduced = strength / (-(1 + e) * closing(state))
    assert loss == pytest.approx(
        0.5 * reduced * closing(state) ** 2 * (1 - e * e), abs=1e-12
    )
    assert percussion(bodies, after, (0, 1), point, normal, e)[1] == 0.0 or e == 0
    with pytest.raises(hs.errors.AnatomyError):
        percussion(bodies, state, (0, 1), point, 2 * normal, e)
