# SPDX-License-Identifier: Apache-2.0
"""Networks: their language, laws, momenta, shapes and speed of motion."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import humans_sim.soft as soft
from humans_sim.soft.networks import link_kernels
from humans_sim.soft.networks.link_kernels import state_table


def test_three_connections_are_refused() -> None:
    """Mass to mass, link to link, and two masses at one end are errors."""
    network = soft.Network()
    a, b = (network.add_mass(1.0, (i, 0.0, 0.0)) for i in range(2))
    first = network.add_open_link(soft.ViscoSpring(1.0))
    second = network.add_open_link(soft.ViscoSpring(1.0))
    with pytest.raises(soft.NetworkConnectionError, match="two masses"):
        network.connect(a, b)
    with pytest.raises(soft.NetworkConnectionError, match="two links"):
        network.connect(first[0], second[0])
    network.connect(a, first[0])
    with pytest.raises(soft.NetworkConnectionError, match="would be a second"):
        network.connect(first[0], b)
    with pytest.raises(soft.NetworkConnectionError, match="both ends"):
        network.connect(first[1], a)
    with pytest.raises(soft.NetworkConnectionError, match="end 1 is connected to no"):
        soft.NetworkSimulation(network, 1e-3)


def test_masses_must_be_above_zero() -> None:
    """A negative mass is refused by its name."""
    with pytest.raises(soft.SoftError, match="head: its mass is -1 kg"):
        soft.Network().add_mass(-1.0, (0, 0, 0), name="head")
    with pytest.raises(soft.SoftError, match="Stop: stiffness is -5"):
        soft.Network().add_open_link(soft.Stop(1.0, -5.0))


PERIOD = 1e-3
DISTANCES = np.linspace(0.01, 3.0, 1000)


def law_force(law: soft.LinkLaw, before: float = 0.002) -> np.ndarray:
    """Force of a law at all distances, coming from somewhat farther off."""
    states = state_table([law.automaton()], PERIOD)
    forces = []
    for d in DISTANCES:
        rest = states.numbers[0, 2]
        state, rest, _ = link_kernels.next_state(states, 0, rest, d, -before)
        row, sign = states.numbers[state], states.kinds[state, 1]
        force, _, _ = link_kernels.state_force(row, sign, rest, 0.0, d, -before)
        forces.append(force)
    return np.array(forces)


RATE = -2.0
PIECES = {
    "spring": (soft.ViscoSpring(50.0, 0.0, 1.1), lambda d: -50 * (d - 1.1)),
    "damper": (soft.ViscoSpring(0.0, 3.0), lambda d: 0 * d - 3 * RATE),
    "both": (soft.ViscoSpring(50, 3, 1.1), lambda d: -50 * (d - 1.1) - 3 * RATE),
    "stop": (soft.Stop(1.5, 40.0), lambda d: np.where(d < 1.5, -40 * (d - 1.5), 0)),
    "hollow": (
        soft.HollowStop(1.5, 40.0),
        lambda d: np.where(d > 1.5, -40 * (d - 1.5), 0),
    ),
    "viscosity": (soft.Stop(1.5, 0, 3.0), lambda d: np.where(d < 1.5, -3 * RATE, 0)),
    "visco_stop": (
        soft.Stop(1.5, 40.0, 3.0),
        lambda d: np.where(d < 1.5, -40 * (d - 1.5) - 3 * RATE, 0),
    ),
    "cohesion": (
        soft.Cohesion(1.0, 2.0, 20.0, 80.0),
        lambda d: np.where(
            d < 1.0, 80 * (0.75 - d), np.where(d < 2.0, -20 * (2.0 - d), 0)
        ),
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_laws_are_their_pieces(name: str) -> None:
    """Each law is its piecewise formula at 1000 distances to 1e-12."""
    law, pieces = PIECES[name]
    np.testing.assert_allclose(law_force(law), pieces(DISTANCES), atol=1e-12)


def test_stops_have_one_sign() -> None:
    """A stop never attracts, a hollow one never repels; cohesion rests at d0."""
    assert law_force(PIECES["stop"][0]).min() == 0.0
    assert law_force(PIECES["hollow"][0]).max() == 0.0
    viscous = soft.Stop(1.5, 40.0, 300.0)
    assert law_force(viscous, -0.002).min() < 0.0
    clamped = soft.Stop(1.5, 40.0, 300.0, unilateral=True)
    assert law_force(clamped, -0.002).min() == 0.0
    assert soft.Cohesion(1.0, 2.0, 20.0, 80.0).equilibrium == 0.75


def pulled(law: soft.LinkLaw, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force on a point driven through distances from a fixed one, and rest lengths."""
    network = soft.Network()
    network.add_mass(1.0, (0, 9, 0))
    fixed = network.add_fixed((0, 0, 0))
    driven = network.add_driven((distances[0], 0, 0))
    network.add_link(fixed, driven, law)
    run = soft.NetworkSimulation(network, PERIOD)
    forces, rests = [], []
    for distance in distances:
        run.step(np.array([[distance, 0.0, 0.0]]))
        forces.append(run.forces[driven.index, 0])
        rests.append(run.rest_lengths[0])
    return np.array(forces), np.array(rests)


def test_dry_friction_slides_with_its_limit() -> None:
    """It sticks elastically, slides at its limit, and turns with the motion."""
    path = np.concatenate([np.linspace(1.0, 1.5, 51), np.linspace(1.5, 1.0, 51)[1:]])
    force, _ = pulled(soft.DryFriction(limit=2.0, stiffness=100.0, reach=5.0), path)
    np.testing.assert_allclose(force[:3], [0.0, -1.0, -2.0], atol=1e-9)
    np.testing.assert_allclose(force[3:51], -2.0, atol=1e-9)
    np.testing.assert_allclose(force[55:], 2.0, atol=1e-9)
    work = -np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(path))
    assert work == pytest.approx(2 * 2.0 * 0.5, rel=0.1)


def test_plastic_links_keep_a_set_and_tear() -> None:
    """The permanent set is the closed form with hardening; torn links are gone."""
    path = np.concatenate([np.linspace(1.0, 1.4, 41), np.linspace(1.4, 1.2, 21)[1:]])
    law = soft.Plastic(100.0, 5.0, rest=1.0, hardening=25.0, tears_at=2.0)
    force, rest = pulled(law, path)
    # beyond 5 N of 0.05 m: yielded (40 - 5) / (100 + 25)
    assert rest[40] == pytest.approx(1.0 + 35.0 / 125.0, abs=1e-12)
    assert force[40] == pytest.approx(-(5.0 + 25.0 * 0.28), abs=1e-9)
    np.testing.assert_allclose(rest[41:52], rest[40])
    force, _ = pulled(law, np.array([1.0, 1.5, 2.1, 1.0]))
    np.testing.assert_allclose(force[2:], 0.0)


def test_generic_automaton_follows_force_and_rate() -> None:
    """A link of one's own may leave a state by its force or by its speed."""
    fuse = soft.Automaton(
        (
            soft.LinkState(
                10.0, transitions=(soft.Transition(1, "force", False, -5.0),)
            ),
            soft.LinkState(transitions=(soft.Transition(0, "rate", False, -50.0),)),
        )
    )
    force, _ = pulled(fuse, np.array([0.1, 0.4, 0.51, 0.49, 0.4]))
    np.testing.assert_allclose(force, [-1.0, -4.0, 0.0, 0.0, -4.0], atol=1e-12)


def agglomerate() -> soft.NetworkSimulation:
    """Eight masses that fly, turn and swing."""
    cube = np.array(list(itertools.product((0.0, 0.1), repeat=3)))
    net = soft.agglomerate(cube, 0.1, soft.ViscoSpring(200.0, 0.05))
    rng = np.random.default_rng(1)
    net.velocities = list(rng.normal(0, 0.3, (8, 3)))
    return soft.NetworkSimulation(net, 1e-3)


def test_isolated_network_keeps_its_momenta() -> None:
    """Linear and angular momentum drift by less than 1e-10 over 10 000 steps."""
    run = agglomerate()

    def momenta() -> np.ndarray:
        v = run.velocities
        before = run.positions - run.period * v
        turning = np.cross(before, v).sum(axis=0)
        return 0.1 * np.concatenate([v.sum(axis=0), turning])

    start = momenta()
    for step in range(10_000):
        run.step()
        if step % 1000 == 0:
            force = run.forces
            assert np.abs(force.sum(axis=0)).max() < 1e-12 * max(1, np.abs(force).max())
    assert np.abs(momenta() - start).max() < 1e-10


def test_energy_does_not_grow() -> None:
    """A visco-elastic network loses energy; an elastic one keeps it within 1 %."""
    run = agglomerate()
    energies = []
    for _ in range(40):
        energies.append(run.energy().total)
        run.run(25)
    assert energies[-1] < energies[0]
    # velocities backwards are half a sample late: ripples of K, not growth
    assert max(np.diff(energies)) < 5e-3 * energies[0]
    net = soft.line(2, 1.0, 1.0, soft.ViscoSpring(100.0))
    net.velocities = [np.array([-1.0, 0, 0]), np.array([1.0, 0, 0])]
    elastic = soft.NetworkSimulation(net, 1e-3)
    start = elastic.energy().total
    values = []
    for _ in range(50):
        elastic.run(100)
        values.append(elastic.energy().total)
    assert np.abs(np.array(values) / start - 1).max() < 0.01


@pytest.mark.parametrize(
    ("network", "masses", "links"),
    [
        (soft.line(7, 0.1, 1.0, soft.ViscoSpring(1.0)), 7, 6),
        (soft.ring(7, 0.1, 1.0, soft.ViscoSpring(1.0)), 7, 7),
        (soft.sheet((4, 5), 0.1, 1.0, soft.ViscoSpring(1.0)), 20, 15 + 16 + 2 * 12),
        (soft.box((3, 3, 5), 0.1, 1.0, soft.ViscoSpring(1.0)), 45, 0),
        (soft.agglomerate(np.eye(3), 1.0, soft.ViscoSpring(1.0)), 3, 3),
    ],
)
def test_shapes_have_their_links(
    network: soft.Network, masses: int, links: int
) -> None:
    """Counts of masses and links of each shape; a brick has 45 masses."""
    assert len(network.masses) == masses
    if masses == 45:  # neighbours counted by their distance
        cells = np.array(network.positions) / 0.1
        steps = np.abs(cells[:, None] - cells[None]).max(axis=2)
        links = int(np.sum(np.isclose(steps, 1.0)) / 2)
    assert len(network.links) == links


def test_brick_rests_on_the_floor() -> None:
    """A dropped brick sinks into the floor by its weight over the stiffness, ±1 %."""
    brick = soft.box((3, 3, 5), 0.05, 0.02, soft.ViscoSpring(1500.0, 1.0))
    network = soft.Network()
    network.add_module(brick, "brick.", (0, 0, 0.05))
    floor = soft.Floor(0.0, 1500.0, 2.0)
    run = soft.NetworkSimulation(network, 1e-3, (0, 0, -9.81), floor)
    run.run(6000)
    heights = run.positions[:, 2]
    depth = -heights[heights < 0].mean()
    assert (heights < 0).sum() == 9
    assert depth == pytest.approx(45 * 0.02 * 9.81 / (9 * 1500.0), rel=0.01)
    assert np.abs(run.velocities).max() < 1e-4


def test_near_pairs_are_all_pairs() -> None:
    """A crowd by a tree moves as with every pair linked, to 1e-12."""
    rng = np.random.default_rng(3)
    places = rng.uniform(0, 0.3, (60, 3))
    moves = rng.normal(0, 0.5, (60, 3))
    runs = []
    law = soft.Stop(0.05, 300.0, 0.1)
    for crowd in (True, False):
        net = soft.Network()
        points = [net.add_mass(0.01, x, v) for x, v in zip(places, moves, strict=True)]
        if crowd:
            net.add_crowd(points, law)
        else:
            for a, b in itertools.combinations(points, 2):
                net.add_link(a, b, law)
        runs.append(soft.NetworkSimulation(net, 1e-3))
    tracks = [run.run(300) for run in runs]
    # the same forces summed in another order
    np.testing.assert_allclose(tracks[0], tracks[1], atol=1e-12)
    assert np.abs(tracks[0][-1] - tracks[0][0] - 0.3 * moves).max() > 0.01
    with pytest.raises(soft.SoftError, match="reaches any distance"):
        runs[0].network.add_crowd([], soft.ViscoSpring(1.0))


def test_modules_join_networks() -> None:
    """A module keeps its inner links and takes its place and speed."""
    brick = soft.box((2, 2, 2), 0.1, 1.0, soft.ViscoSpring(10.0))
    network = soft.Network()
    hook = network.add_fixed((0, 0, 1), "hook")
    first = network.add_module(brick, "a.", (0, 0, 0.5))
    second = network.add_module(brick, "b.", (0, 0, 0.0), (1, 0, 0))
    network.add_link(hook, first[0], soft.HollowStop(0.4, 100.0))
    assert len(network.masses) == 17 and len(network.links) == 2 * 28 + 1
    assert network.names[second[0].index] == "b.mass 0"
    run = soft.NetworkSimulation(network, 1e-3)
    np.testing.assert_allclose(run.velocities[9:], [[1, 0, 0]] * 8, atol=1e-9)
