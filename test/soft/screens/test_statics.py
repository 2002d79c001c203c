# SPDX-License-Identifier: Apache-2.0
"""Pin screens at rest: closed kernels, lattices, screens that keep their volume."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim.soft as soft
from humans_sim.soft.ground import screen_design


def law(k_s: float, k_v: float) -> soft.ScreenLaw:
    """A law of stiffness alone."""
    return soft.ScreenLaw(1.0, 1e-3, k_s, 0.0, k_v)


def impulse(shape: tuple[int, ...], value: float = 1.0) -> np.ndarray:
    """A force on the pin in the middle."""
    force = np.zeros(shape)
    force[tuple(count // 2 for count in shape)] = value
    return force


@pytest.mark.parametrize(
    ("k_s", "k_v", "beta", "peak"),
    [(10, 2500, 0.063235, 0.00316070), (100, 100, 0.962424, 0.00447214)],
)
def test_line_kernel(k_s: float, k_v: float, beta: float, peak: float) -> None:
    """Widths and peaks of section 2.3; the kernel is the exact solution; sum 1/k_s."""
    assert screen_design.decay(law(k_s, k_v)) == pytest.approx(beta, abs=5e-7)
    offsets = np.arange(1201) - 600
    kernel = soft.line_kernel(law(k_s, k_v), offsets)
    assert kernel[600] == pytest.approx(peak, abs=5e-9)
    exact = soft.static_shape(law(k_s, k_v), impulse((1201,)))
    np.testing.assert_allclose(kernel, exact, atol=1e-16)
    assert kernel.sum() == pytest.approx(1 / k_s, rel=1e-9)


def test_negative_stiffness_alternates() -> None:
    """k_s = 100, k_v = -20: neighbours at -0.381966 of a peak of 0.0223607."""
    kernel = soft.line_kernel(law(100, -20), np.arange(3))
    assert kernel[0] == pytest.approx(0.0223607, abs=5e-8)
    assert kernel[1] / kernel[0] == pytest.approx(-0.381966, abs=5e-7)
    exact = soft.static_shape(law(100, -20), impulse((201,)))
    np.testing.assert_allclose(exact[100:103], kernel, atol=1e-15)


def test_lines_approach_strings() -> None:
    """Peaks and decays of 10 to 100 pins a metre approach the string's."""
    for n, amplitude, ratio in (
        (10, 0.8944, 0.9624),
        (20, 0.9701, 0.9899),
        (50, 0.9950, 0.9983),
        (100, 0.9988, 0.9996),
    ):
        discrete = law(100 / n, 1.0 * n)
        peak = soft.line_kernel(discrete, np.zeros(1))[0]
        string = soft.membrane_kernel(100.0, 1.0, np.zeros(1), 1)[0]
        assert peak / string == pytest.approx(amplitude, abs=6e-5)
        assert screen_design.decay(discrete) * n / 10 == pytest.approx(ratio, abs=6e-5)


def test_plane_lattice_is_a_bessel_function() -> None:
    """201² pins beside K0 at r = 1, 2, 5, 10, and alike along the diagonal."""
    shape = soft.static_shape(law(1, 100), impulse((201, 201)))
    r = np.array([1, 2, 5, 10])
    ratio = shape[100, 100 + r] / soft.membrane_kernel(1, 100, r, 2)
    np.testing.assert_allclose(ratio, [1.018, 1.014, 1.0029, 1.0010], atol=6e-4)
    for step in (4, 6, 9):
        along = soft.membrane_kernel(1, 100, np.array([step * np.sqrt(2)]), 2)[0]
        assert shape[100 + step, 100 + step] / along == pytest.approx(1.0, abs=7e-3)


def test_space_lattice_is_a_yukawa_potential() -> None:
    """61³ pins beside exp(-√α r) / 4 π k r at r = 1, 5, 12."""
    shape = soft.static_shape(law(1, 25), impulse((61, 61, 61)))
    r = np.array([1, 5, 12])
    ratio = shape[30, 30, 30 + r] / soft.membrane_kernel(1, 25, r, 3)
    np.testing.assert_allclose(ratio, [1.095, 1.026, 1.010], atol=1e-3)


@pytest.mark.parametrize("edges", ["fixed", "free", "periodic"])
def test_static_shapes_do_not_move(edges: str) -> None:
    """A screen set to its static shape stays there under the force."""
    rng = np.random.default_rng(0)
    soil = soft.ScreenLaw(0.01, 1e-3, 300.0, 2.0, 400.0, 0.1)
    for shape in ((20,), (8, 9), (4, 5, 6)):
        force = rng.normal(0, 1, shape)
        rest = soft.static_shape(soil, force, edges)
        screen = soft.PinScreen(shape, soil, edges)
        screen.set(rest)
        for _ in range(20):
            screen.step(force)
        np.testing.assert_allclose(screen.deviations, rest, atol=1e-14)
    with pytest.raises(soft.SoftError, match=r"mode \(0,\) has the stiffness 0"):
        soft.static_shape(law(0, 10), impulse((5,)), "free")


N, F, KP = 41, 2.0, 1e4


def pushed(**links: float) -> np.ndarray:
    """Heights of 41 columns with a force on the middle one, from the middle on."""
    screen = soft.ConservingScreen((N,), soft.PistonLaw(KP, **links), period=1e-5)
    return screen.static(impulse((N,), F))[N // 2 :]


def test_conserving_screens_are_their_closed_forms() -> None:
    """VS, VV, HS, HV, HSHV as their closed forms, to 1e-7."""
    k = 200.0
    others = -F * KP / (N * k * (k + KP))
    y = pushed(pin_ground=k)
    np.testing.assert_allclose(y, [F / k + others, *[others] * (N // 2)], atol=1e-7)
    y = pushed(pin_pin=k)
    np.testing.assert_allclose(np.diff(y, 2)[1:], F / (N * k), atol=1e-7)
    y = pushed(side_ground=k)
    expected = [F * (1 / KP + 2 / k), -F / k, *[0.0] * (N // 2 - 1)]
    np.testing.assert_allclose(y, expected, atol=1e-7)
    y = pushed(side_side=k)
    expected = [F / KP + F / k * (1 - 1 / N), *[-F / (N * k)] * (N // 2)]
    np.testing.assert_allclose(y, expected, atol=1e-7)
    hs, hv = 300.0, 150.0
    y = pushed(side_ground=hs, side_side=hv)
    offsets = np.arange(N // 2 + 1)
    expected = -hs / hv * F * soft.line_kernel(law(hs, hv), offsets)
    expected[0] += F * (1 / KP + 1 / hv)
    np.testing.assert_allclose(y, expected, atol=1e-7)


def test_hsvv_is_a_band_pass() -> None:
    """The response to each mode of free ends is C / (1 + k_vv λ C)."""
    hs, vv = 300.0, 120.0
    links = soft.PistonLaw(KP, side_ground=hs, pin_pin=vv)
    screen = soft.ConservingScreen((N,), links, period=1e-5)
    for number in (1, 5, 20, 40):
        mode = np.cos(np.pi * number * (np.arange(N) + 0.5) / N)
        eigenvalue = 2 - 2 * np.cos(np.pi * number / N)
        c = 1 / KP + eigenvalue / hs
        expected = mode * c / (1 + vv * eigenvalue * c)
        np.testing.assert_allclose(screen.static(mode), expected, atol=1e-10)


@pytest.mark.parametrize("shape", [(N,), (9, 11)])
def test_volume_is_kept(shape: tuple[int, ...]) -> None:
    """Heights sum up to f / k_p; HS raises a rim; nothing moves without a force."""
    links = soft.PistonLaw(KP, side_ground=200.0, pin_pin=100.0)
    screen = soft.ConservingScreen(shape, links, viscosity=1.0, period=5e-5)
    force = impulse(shape, -F)
    rest = screen.static(force)
    assert rest.sum() == pytest.approx(-F / KP, rel=1e-6)
    assert rest.max() > 0.0 > rest.min()
    for _ in range(20):
        screen.step(0 * force)
    assert np.abs(screen.heights).max() == 0.0
    for _ in range(6000):
        screen.step(force)
    np.testing.assert_allclose(screen.heights, rest, atol=1e-5)


def test_conserving_screens_without_rest_are_refused() -> None:
    """The elementary screen is neutral; too long a period is refused by its mode."""
    with pytest.raises(soft.SoftError, match="meets no stiffness"):
        soft.ConservingScreen((N,), soft.PistonLaw(KP))
    with pytest.raises(soft.UnstableStepError, match="stiffest mode"):
        soft.ConservingScreen((N,), soft.PistonLaw(KP, side_ground=1.0), period=1e-2)
