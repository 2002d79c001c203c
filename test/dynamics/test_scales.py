# SPDX-License-Identifier: Apache-2.0
"""Machines of 0.6 mm and of 40 m: with gravity the same, they move like one of 0.6 m.

Lengths times s, masses times s^3, inertias times s^5 and times times the root of s
(Froude) leave the equations as they are. Of scales that are even powers of two all
numbers are multiplied without rounding: what differs comes from absolute tolerances.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from press import press

import humans_sim as hs
from humans_sim.contact.geometry.convex_cores import ConvexSolid
from humans_sim.contact.geometry.link_pairs import usual_pairs

SCALES = (2.0**-10, 2.0**-4, 2.0**6)
STEP, END, PERIOD = 1e-3, 0.8, 0.02
"""Of the machine of 0.6 m [s]."""
MEETS = 0.16
"""It falls freely until then [s]."""


def scaled_press(folder: Path, scale: float, power: int = 3) -> hs.Model:
    """The press, so many times as large; of the same material, or masses by a power."""
    press(folder)

    def times(exponent: int, names: str, text: str) -> str:
        def written(found: re.Match[str]) -> str:
            values = [float(x) * scale**exponent for x in found[2].split()]
            return f'{found[1]}="{" ".join(map(repr, values))}"'

        return re.sub(rf'\b({names})="([^"]*)"', written, text)

    text = (folder / "press.urdf").read_text()
    text = times(power, "value", times(1, "size", text))
    text = times(power + 2, "i[xyz]{2}", text)
    parts = re.split(r"(<origin [^>]*>)", text)
    parts[1::2] = [times(1, "xyz", part) for part in parts[1::2]]
    path = folder / "scaled.urdf"
    path.write_text("".join(parts))
    return hs.load_model(path)


def fall(folder: Path, scale: float) -> hs.Run:
    """It falls askew from half its size and comes to lie; times are its own."""
    model, pace = scaled_press(folder, scale), scale**0.5
    q = model.neutral()
    q[2] = 0.35 * scale
    turn = pin.rpy.rpyToMatrix(0.3, 0.4, 0.0)
    q[3:7] = pin.Quaternion(turn).coeffs()
    q[7:] = 0.2, 0.3, -0.4
    sim = hs.Simulation(model, method="time_stepping", time_step=STEP * pace)
    return sim.run(q, t_end=END * pace, sampling_period=PERIOD * pace)


def postures(run: hs.Run, scale: float) -> np.ndarray:
    """Configurations in lengths of the machine of 0.6 m."""
    return np.asarray(run.q / np.where(np.arange(run.q.shape[1]) < 3, scale, 1.0))


@pytest.mark.parametrize("scale", SCALES)
def test_a_fall_is_similar(tmp_path: Path, scale: float) -> None:
    """To the bit until it meets the floor; then it lies where the other one does."""
    expected, run = fall(tmp_path, 1.0), fall(tmp_path, scale)
    free = expected.t < MEETS
    there, here = postures(expected, 1.0), postures(run, scale)
    np.testing.assert_array_equal(here[free], there[free])
    np.testing.assert_allclose(here[-1], there[-1], atol=0.03)
    check = run.check()
    for law in ("least gap", "least normal force", "deepest overlap of solids"):
        assert check[law].ok, check[law]
    assert check["largest growth of energy"].ok
    assert check["deepest overlap of solids"].value < 1e-8 * scale


@pytest.mark.parametrize("scale", [2.0**-14, 2.0**-10, 2.0**6])
def test_the_same_links_may_touch(tmp_path: Path, scale: float) -> None:
    """Links that are apart do not overlap because they are small."""
    apart, overlapping = usual_pairs(scaled_press(tmp_path, scale, power=0))
    expected = usual_pairs(scaled_press(tmp_path, 1.0))
    assert (apart, overlapping) == expected
    assert len(apart) == 3


def test_thin_plates_are_similar() -> None:
    """A flat plate gets sides of its own size, whatever that is below a centimetre."""
    plate = np.array([(0, 0, 0), (0.008, 0, 0), (0.008, 0.004, 0), (0, 0.004, 0)])
    expected = np.ptp(ConvexSolid.of(plate).vertices, axis=0)
    for scale in (2.0**-2, 2.0**-6, 2.0**-10):
        size = np.ptp(ConvexSolid.of(scale * plate).vertices, axis=0)
        np.testing.assert_allclose(size, scale * expected, rtol=1e-9)
    assert np.ptp(ConvexSolid.of(100 * plate).vertices, axis=0)[2] == pytest.approx(
        2e-4
    )
