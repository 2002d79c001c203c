# SPDX-License-Identifier: Apache-2.0
"""Coupling: admittances, verdicts against simulations, reductions, stages."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

import humans_sim.soft as soft
from humans_sim.soft.networks import admittance as y

OMEGA = np.geomspace(0.1, 1e4, 60)


def test_series_and_parallel() -> None:
    """(3.24) and (3.32) by the rules are their written-out forms, to 1e-12."""
    big, k, z = 2.0, 500.0, 3.0
    worn = y.in_a_row(y.of_mass(big, OMEGA), y.of_link(k, z, OMEGA))
    written = 1 / (1 / (1j * big * OMEGA) + 1 / (k / (1j * OMEGA) + z))
    np.testing.assert_allclose(worn, written, rtol=1e-12)
    cell = y.of_link(7.0, 0.1, OMEGA) + y.of_mass(0.2, OMEGA)
    written = 7.0 / (1j * OMEGA) + 0.1 + 1j * 0.2 * OMEGA
    np.testing.assert_allclose(cell, written, rtol=1e-12)


@pytest.mark.parametrize(
    ("z", "slopes"),
    [(1.0, {1e-2: "mass", 150.0: "spring", 1e6: "damper"}), (1e4, {1.0: "mass"})],
)
def test_asymptotes(z: float, slopes: dict[float, str]) -> None:
    """Each admittance approaches that of its leading part in its band."""
    big, k = 1.0, 1000.0
    for w, part in slopes.items():
        value = abs(y.in_a_row(y.of_mass(big, w), y.of_link(k, z, w)))
        expected = {"mass": big * w, "spring": k / w, "damper": z}[part]
        assert value == pytest.approx(expected, rel=0.1)
    if z == 1e4:  # two asymptotes with one break at Z / M
        assert abs(y.in_a_row(y.of_mass(big, 1e6), y.of_link(k, z, 1e6))) == (
            pytest.approx(z, rel=0.01)
        )


def test_network_is_its_dipoles() -> None:
    """The dynamic stiffness of a cell with a second mass is the composed one."""
    network = soft.Network()
    ground = network.add_fixed((0, 0, 0))
    a = network.add_mass(0.3, (1, 0, 0), name="a")
    b = network.add_mass(0.2, (2, 0, 0), name="b")
    network.add_link(ground, a, soft.ViscoSpring(40.0, 0.5, 1.0))
    network.add_link(a, b, soft.ViscoSpring(90.0, 0.1, 1.0))
    run = soft.NetworkSimulation(network, 1e-3)
    value = y.of_network(run, "a", OMEGA, np.array([1.0, 0, 0]))
    far = y.in_a_row(y.of_mass(0.2, OMEGA), y.of_link(90.0, 0.1, OMEGA))
    expected = y.of_mass(0.3, OMEGA) + y.of_link(40.0, 0.5, OMEGA) + far
    np.testing.assert_allclose(value, expected, rtol=1e-9)


def test_pendulum_feels_like_its_effective_mass() -> None:
    """A link with one joint: Y = j ω I / L² at its tip."""
    value = y.of_inertia(np.array([[0.5]]), np.array([[0.8]]), OMEGA)
    np.testing.assert_allclose(value[:, 0, 0], 1j * OMEGA * 0.5 / 0.64, rtol=1e-12)


def driven_pair(coat: float, steps: int = 40_000) -> float:
    """Measured change of a mass' motion at 3 Hz by a cell that it wears."""
    big, k, z, period = 1.0, 1000.0, 1.0, 1e-3
    w = 2 * np.pi * 3.0
    amplitudes = []
    for worn in (False, True):
        network = soft.Network()
        anchor = network.add_fixed((-1, 0, 0))
        mass = network.add_mass(big, (0, 0, 0), name="body")
        network.add_link(anchor, mass, soft.ViscoSpring(0.0, 0.5))
        if worn:
            cell = network.add_mass(coat, (0.5, 0, 0))
            network.add_link(mass, cell, soft.ViscoSpring(k, z, 0.5))
        run = soft.NetworkSimulation(network, period)
        track = np.empty(steps)
        for n in range(steps):
            run.push("body", (np.cos(w * n * period), 0, 0))
            run.step()
            track[n] = run._motion.now[1, 0]
        late = slice(steps // 2, None)
        times = (np.arange(steps) + 1) * period
        basis = np.stack(
            [np.cos(w * times), np.sin(w * times), np.ones(steps), times], axis=1
        )
        fit = np.linalg.lstsq(basis[late], track[late], rcond=None)[0]
        amplitudes.append(fit[0] - 1j * fit[1])
    return float(abs(amplitudes[0] / amplitudes[1] - 1.0))


@pytest.mark.parametrize(
    ("coat", "expected"), [(0.1, 0.10368), (0.01, 0.010036), (0.001, 0.00100036)]
)
def test_predicted_error_is_the_simulated(coat: float, expected: float) -> None:
    """The error of cutting a coat off is as predicted, within 2 %."""
    w = 2 * np.pi * 3.0
    predicted = float(soft.cut_error(1.0, (1000.0, 1.0), (coat, 0.0, 0.0), w))
    body = y.of_mass(1.0, np.array([w]))
    load = y.in_a_row(y.of_link(1000.0, 1.0, w), y.of_mass(coat, w))
    influence = soft.classify(body, np.atleast_1d(load), np.array([w]))
    assert influence.on_first == pytest.approx(predicted, rel=1e-12)
    if coat == 0.01:
        # the damper of the simulated body is 0.5 / w of its mass
        measured = driven_pair(coat, 16_000)
        assert measured == pytest.approx(predicted, rel=0.02)
        assert influence.verdict == "first drives"
        assert "driven by recorded motion of body" in influence.report("body", "coat")
    assert predicted == pytest.approx(expected, rel=2e-4)


def test_verdicts() -> None:
    """Light on heavy drives one way; equals go both ways; heavy on light reverses."""
    w = np.linspace(5.0, 50.0, 20)
    light, heavy = y.of_mass(0.001, w), y.of_mass(10.0, w)
    assert soft.classify(heavy, light, w).verdict == "first drives"
    assert soft.classify(light, light, w).verdict == "both ways"
    assert soft.classify(light, heavy, w, (0.0, 1.0)).verdict == "second drives"
    zero = soft.classify(light, light, w, (1.0, 1.0))
    assert zero.verdict == "independent" and zero.on_first == 0.0
    with pytest.raises(soft.SoftError, match="frequencies"):
        soft.classify(heavy, light, 0 * w)


def test_coat_window() -> None:
    """(3.36) and (3.37), with and without viscosity."""
    window = soft.coat_window(4.0, (100.0, 2.0), (0.1, 1.0))
    assert window.omega == pytest.approx((0.5, 20.0))
    assert window.duration == pytest.approx(2 * np.pi)
    assert window.rate == pytest.approx(20.0 / np.pi)
    window = soft.coat_window(4.0, (1000.0, 0.0), (0.1, 1.0))
    assert window.omega[1] == pytest.approx(100.0)


def test_reductions() -> None:
    """With k = 100 m ω² loses 1.0101 % and 1 %; barycentres err by (4.47)."""
    losses = soft.transmission_losses(100.0 * 0.2 * 49.0, 0.2, 7.0)
    assert losses == pytest.approx((1 / 99, 0.01), rel=1e-12)
    assert soft.may_be_rigid(100.0 * 0.2 * 49.0, 0.2, 7.0).allowed
    assert not soft.may_be_rigid(50.0 * 0.2 * 49.0, 0.2, 7.0).allowed
    links = [(300.0, 1.0)] * 4
    reduction = soft.may_be_geometric(0.001, links, 20.0)
    single = 300.0 / 20j + 1.0
    expected = abs(1 / (1 + 1j * 0.001 * 20 / (4 * single)) - 1)
    assert reduction.error == pytest.approx(expected, rel=1e-12)
    assert reduction.allowed
    assert not soft.may_be_geometric(1.0, links, 20.0).allowed
    with pytest.raises(soft.SoftError, match="mass is -1"):
        soft.may_be_geometric(-1.0, links, 20.0)


MODELS = [str(number) for number in range(1, 15)]
ONE_WAY = "1-4 4-5 4-9 6-11 6-12 7-12 12-8 11-10 14-13 13-9"
TWO_WAY = "1-2 2-3 3-5 5-6 6-7 11-12 12-14 10-13"


def pairs(text: str) -> list[tuple[str, str]]:
    """Links from a line of text."""
    return [tuple(word.split("-")) for word in text.split()]


def test_fourteen_models() -> None:
    """The thesis' example: parts, ranks, five stages; and its reversed variant."""
    parted = soft.partition(MODELS, pairs(ONE_WAY), pairs(TWO_WAY))
    numbers = [{int(name) for name in part} for part in parted.parts]
    assert numbers == [set(range(1, 8)), {11, 12, 14}, {8}, {10, 13}, {9}]
    assert parted.ranks == (0, 1, 2, 2, 3)
    reversed_way = soft.partition(
        MODELS, pairs(ONE_WAY.replace("4-9", "9-4")), pairs(TWO_WAY)
    )
    numbers = [{int(name) for name in part} for part in reversed_way.parts]
    assert numbers == [set(range(1, 15)) - {8}, {8}]
    with pytest.raises(soft.CouplingError, match="no model '99'"):
        soft.partition(MODELS, [("1", "99")])


def test_random_graphs() -> None:
    """Parts are strongly connected; every link between parts goes up in rank."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        arcs = rng.random((12, 12)) < 0.12
        np.fill_diagonal(arcs, False)
        names = [str(i) for i in range(12)]
        links = [(str(a), str(b)) for a, b in np.argwhere(arcs)]
        parted = soft.partition(names, links)
        count, labels = connected_components(arcs, connection="strong")
        assert len(parted.parts) == count
        rank = {}
        for part, level in zip(parted.parts, parted.ranks, strict=True):
            assert len({labels[int(name)] for name in part}) == 1
            rank |= dict.fromkeys(part, level)
        for a, b in links:
            assert rank[a] < rank[b] or labels[int(a)] == labels[int(b)]


def staged(one_way: bool) -> soft.StagedSimulation:
    """A swinging body with a light coat, and a ribbon on the coat."""
    spring = soft.ViscoSpring(200.0, 0.1)
    body = soft.line(3, 0.2, 0.5, spring)
    body.velocities = [np.array([0.0, 0.3 * i, 0.1]) for i in range(3)]
    coat = soft.line(4, 0.1, 0.01, soft.ViscoSpring(50.0, 0.02))
    ribbon = soft.line(2, 0.1, 0.001, soft.ViscoSpring(5.0, 0.002))
    worn = soft.ViscoSpring(20.0, 0.05, 0.05)
    links = [
        soft.ModelLink(("coat", "mass 3"), ("ribbon", "mass 0"), worn, one_way),
        soft.ModelLink(("body", "mass 1"), ("coat", "mass 0"), worn, one_way),
        soft.ModelLink(("body", "mass 2"), ("coat", "mass 2"), worn, one_way),
    ]
    models = {"body": body, "coat": coat, "ribbon": ribbon}
    return soft.StagedSimulation(models, links, 1e-3, (0.0, 0.0, -1.0))


def test_stages_are_the_joint_run_to_the_bit() -> None:
    """Recorded and replayed, one-way models move as they do together."""
    simulation = staged(True)
    assert simulation.partition.parts == (("body",), ("coat",), ("ribbon",))
    joint, parts = simulation.run_together(300), simulation.run_in_stages(300)
    for name, track in joint.items():
        assert (track == parts[name]).all(), name
    assert "rank 2: ribbon" in simulation.partition.report()


def test_circles_are_not_split() -> None:
    """Models that act on each other refuse to be staged."""
    simulation = staged(False)
    assert simulation.partition.parts == (("body", "coat", "ribbon"),)
    with pytest.raises(soft.CouplingError, match="cannot be a stage"):
        simulation.run_in_stages(10, [["body"], ["coat"], ["ribbon"]])
