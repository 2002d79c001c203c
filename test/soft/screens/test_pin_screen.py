# SPDX-License-Identifier: Apache-2.0
"""Pin screens in motion: table 8.1 of the thesis, modes, markers, energy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim.soft as soft
from humans_sim.soft.ground.screen_design import fixed_eigenvalues

PINS, PIN, PEAK = 96, 49, 0.07


def row(law: soft.ScreenLaw) -> soft.PinScreen:
    """96 pins of which the 50th starts 0.07 m above the others."""
    screen = soft.PinScreen((PINS,), law, rest=0.03)
    start = np.zeros(PINS)
    start[PIN] = PEAK
    screen.set(start)
    return screen


def table(k_s: float, z_s: float, k_v: float, z_v: float) -> soft.ScreenLaw:
    """The law of a row of table 8.1: 10 g, 1 ms."""
    return soft.ScreenLaw(0.01, 1e-3, k_s, z_s, k_v, z_v)


ROWS = {
    "S": ((0, 10, 0, 0), {1: 0.07, 1000: 0.07}),
    "S~": ((10, 10, 0, 0), {1000: 0.0257387}),
    "C": ((10000, 10, 0, 0), {1: 0.0, 50: 0.0}),
    "I": ((0, 0, 2500, 0), {10: -0.013176}),
    "II": ((0, 0, 0, 2.5), {1: 0.07, 1000: 0.07}),
    "II~": ((10, 0, 0, 2.5), {10: 0.06829, 100: 0.04044, 1000: 0.012717}),
    "II~ late": ((10, 0, 0, 2.5), {2000: 0.0043146}),
    "III": ((10000, 0, 0, 2.5), {1: 0.0, 10: 0.0039809}),
    "IV": ((0, 10, 2500, 0), {1: 0.035, 10: 0.0123338, 100: 0.0039444}),
    "IV late": ((0, 10, 2500, 0), {1000: 0.0012485}),
    "IV~": ((10, 10, 2500, 0), {1: 0.03493, 10: 0.0122046, 100: 0.0035671}),
    "IV~ late": ((10, 10, 2500, 0), {1000: 0.00045884}),
    "V": ((0, 0, 2500, 2.5), {1: 0.035, 10: 6.836e-5}),
}


@pytest.mark.parametrize("name", ROWS)
def test_table_8_1(name: str) -> None:
    """Each row of the table to its printed digits."""
    numbers, values = ROWS[name]
    screen = row(table(*numbers))
    for step in range(1, max(values) + 1):
        screen.step()
        if step in values:
            digits = 10 ** (math.floor(math.log10(abs(values[step]) or 1e-9)) - 3)
            assert screen.deviations[PIN] == pytest.approx(values[step], abs=digits)


def test_waves_keep_or_lose_their_field() -> None:
    """Root mean squares of rows I and I~ after 0.1, 1, 2 s, as in the table."""
    for z_v, expected in ((0.0, (0.0520, 0.0510, 0.0519)), (0.1, (0.0260, 0.01476))):
        screen = row(table(0, 0, 2500, z_v))
        for steps, value in zip((100, 900, 1000), expected, strict=False):
            screen.run(steps)
            size = float(np.sqrt(np.sum(screen.deviations**2)))
            assert size == pytest.approx(value, abs=6e-5)


def test_iron_wire_pulls_neighbours_down() -> None:
    """Row II~: neighbours go down, to -0.01883 m at the lowest."""
    screen = row(table(10, 0, 0, 2.5))
    lowest = 0.0
    for _ in range(1000):
        screen.step()
        lowest = min(lowest, screen.deviations.min())
    assert lowest == pytest.approx(-0.01883, abs=2e-5)


def test_prototypes_are_the_table() -> None:
    """Letters give the numbers of table 8.1, a half and a third in 2-D and 3-D."""
    expected = {
        "S": (0, 10, 0, 0),
        "C": (10000, 10, 0, 0),
        "I": (0, 0, 2500, 0),
        "II": (0, 0, 0, 2.5),
        "III": (10000, 0, 0, 2.5),
        "IV": (0, 10, 2500, 0),
        "V": (0, 0, 2500, 2.5),
    }
    for name, (k_s, z_s, k_v, z_v) in expected.items():
        for dimensions in (1, 2, 3):
            law = soft.design(name, dimensions)
            given = law.ground_stiffness, law.ground_viscosity
            assert given == pytest.approx((k_s, z_s))
            inner = law.stiffness * dimensions, law.viscosity * dimensions
            assert inner == pytest.approx((k_v, z_v))


def test_marks_stay_fade_and_spread() -> None:
    """S keeps marks to the bit; S~ fades with 0.9995 s; IV spreads as √(2 D t)."""
    screen = row(soft.design("S"))
    start = screen.deviations
    screen.run(2000)
    assert (screen.deviations == start).all()
    assert table(10, 10, 0, 0).remanence(0.0) == pytest.approx(0.9995, abs=1e-6)
    assert soft.design("S").remanence(0.0) == math.inf
    soil = soft.PinScreen((401,), soft.design("IV"), edges="periodic")
    start = np.zeros(401)
    start[200] = 0.07
    soil.set(start)
    offsets = np.arange(401) - 200
    last = 0.0
    diffusion = soil.law.stiffness / soil.law.ground_viscosity
    for step in range(1, 40):
        soil.step()
        u = soil.deviations
        variance = float(u @ offsets**2 / u.sum())
        assert variance - last == pytest.approx(0.5, abs=1e-9)
        last = variance
        spread = math.sqrt(2 * diffusion * step * soil.law.period)
        assert math.sqrt(variance) == pytest.approx(spread, rel=1e-9)
    assert u.sum() == pytest.approx(0.07, abs=1e-15)


@pytest.mark.parametrize("shape", [(7,), (4, 5), (3, 4, 5)])
def test_eigenvalues_and_matrices(shape: tuple[int, ...]) -> None:
    """Closed eigenvalues are those of the matrix that one sample applies, to 1e-12."""
    law = soft.ScreenLaw(0.01, 1e-3, 100.0, 1.0, 300.0, 0.2)
    columns = []
    for pin in range(math.prod(shape)):
        screen = soft.PinScreen(shape, law)
        start = np.zeros(math.prod(shape))
        start[pin] = 1.0
        screen.set(start.reshape(shape))
        screen.step()
        columns.append(screen.deviations.ravel())
    # from rest: u1 = (1 - K) u0
    stiffness = np.eye(len(columns)) - np.array(columns).T
    values = np.sort(np.linalg.eigvalsh(0.5 * (stiffness + stiffness.T)))
    k_s, k_v = (law.mode(0.0)[0], law.stiffness * 1e-6 / 0.01)
    expected = np.sort((k_s + k_v * fixed_eigenvalues(shape)).ravel())
    np.testing.assert_allclose(values, expected, atol=1e-12)


def test_radius_is_one_within_the_triangle_alone() -> None:
    """A screen grows as soon as one end of its segment leaves the triangle."""
    rng = np.random.default_rng(5)
    eigenvalues = fixed_eigenvalues((30,))
    seen = set()
    for _ in range(300):
        low, high = rng.uniform(0, 3, 2), rng.uniform(0, 3, 2)
        law = soft.ScreenLaw(
            0.01, 1e-3, *(low * (1e4, 10)), *((high - low) * (2500, 2.5))
        )
        radii = [
            soft.cell_radius(*law.mode(value)) for value in (0.0, 4.0, *eigenvalues)
        ]
        assert law.is_stable(1) == (max(radii) <= 1 + 1e-12)
        seen.add(law.is_stable(1))
        if not law.is_stable(1):
            with pytest.raises(soft.UnstableStepError, match="mode: unstable"):
                soft.PinScreen((30,), law)
    assert seen == {True, False}


def test_contact_moves_the_segment() -> None:
    """Prototype C is stable under markers of 9999 N/m, unstable under 10 001 N/m."""
    law = soft.design("C")
    assert law.in_contact(9999.0).is_stable(1)
    assert not law.in_contact(10001.0).is_stable(1)
    with pytest.raises(soft.UnstableStepError, match=r"K \+ 2 Z"):
        law.in_contact(10001.0).check(1)


def test_markers_push_and_are_pushed() -> None:
    """Pins take what markers give; a held marker sinks in until all is in balance."""
    law = soft.ScreenLaw(0.01, 1e-3, 200.0, 3.0, 100.0, 0.5)
    screen = soft.PinScreen((21, 21), law, spacing=0.01)
    places = np.array([[0.1, 0.1, 0.004], [0.083, 0.124, 0.006]])
    markers = soft.Markers(places, 0.012, 400.0)
    for _ in range(3000):
        reaction = screen.imprint(markers)
    before = screen.deviations
    pushed = soft.static_shape(law, screen._force)
    np.testing.assert_allclose(before, pushed, atol=1e-9)
    assert screen.deviations.min() < -1e-3 and reaction[:, 2].min() > 0.1
    total = screen._force.sum() + reaction[:, 2].sum()
    assert abs(total) < 1e-12


def test_energy_is_kept_without_viscosity_and_falls_with_it() -> None:
    """Elastic screens keep their energy to 1e-12, viscous ones lose it each sample."""
    rng = np.random.default_rng(0)
    for edges in ("fixed", "free", "periodic"):
        for shape in ((40,), (9, 11), (5, 6, 7)):
            for viscosity in (0.0, 0.3):
                law = soft.ScreenLaw(0.01, 1e-3, 500, viscosity, 600, viscosity)
                screen = soft.PinScreen(shape, law, edges)
                screen.set(rng.normal(0, 0.01, shape))
                screen.step()
                energies = []
                for _ in range(30):
                    energies.append(screen.energy())
                    screen.step()
                steps = np.diff(energies) / energies[0]
                if viscosity:
                    assert steps.max() < 0.0
                else:
                    assert np.abs(steps).max() < 1e-12


def test_runs_are_steps() -> None:
    """Many samples in one call are the same samples, to the bit."""
    law = soft.ScreenLaw(0.01, 1e-3, 20.0, 0.4, 300.0, 0.2)
    rng = np.random.default_rng(0)
    start, force = rng.normal(0, 1, (8, 9)), rng.normal(0, 1, (8, 9))
    screens = [soft.PinScreen((8, 9), law) for _ in range(2)]
    for screen in screens:
        screen.set(start)
    screens[0].run(10, force)
    for _ in range(10):
        screens[1].step(force)
    assert (screens[0].deviations == screens[1].deviations).all()
    assert (screens[0].velocities == screens[1].velocities).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": (5, 1)}, "2 or more"),
        ({"edges": "open"}, "no edges"),
        ({"spacing": 0.0}, "spacing of pins is 0"),
    ],
)
def test_faults_are_typed(arguments: dict[str, object], message: str) -> None:
    """Shapes, edges, masses and prototypes that are none are refused."""
    given = {"shape": (5, 5), "law": soft.design("IV", 2), **arguments}
    with pytest.raises(soft.SoftError, match=message):
        soft.PinScreen(**given)
    with pytest.raises(soft.SoftError, match="mass is -1"):
        soft.ScreenLaw(mass=-1.0)
    with pytest.raises(soft.SoftError, match="no prototype"):
        soft.design("VI")
