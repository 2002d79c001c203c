# SPDX-License-Identifier: Apache-2.0
"""Two runs in one figure: one colour a joint, the first wide, the second thin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import humans_sim as hs
from humans_sim.core.errors import ParameterError
from humans_sim.view.reports.comparison_report import plot_comparison, write_comparison


@pytest.fixture(scope="module")
def comparison(khr1: hs.Model) -> hs.RunComparison:
    """A KHR-1 in the air, and the same with joints that turn faster."""
    sim = hs.Simulation(
        khr1, ground=hs.Ground.empty(), contacts=hs.Contacts(limits=False)
    )
    v = np.zeros(khr1.nv)
    v[6:] = np.linspace(-1.0, 1.0, khr1.nv - 6)
    runs = [sim.run(khr1.neutral(), k * v, t_end=0.05) for k in (1.0, 1.5)]
    return hs.compare_runs(*runs, labels=("slow", "fast"))


def test_curves(comparison: hs.RunComparison) -> None:
    """Differences on top; below, both runs' own values in the same colour."""
    axes = plot_comparison(comparison).axes
    titles = [panel.get_title() for panel in axes]
    assert titles[:2] == ["fast minus slow: angles", "fast minus slow: positions"]
    assert [panel.get_ylabel() for panel in axes[:2]] == [
        "difference [°]",
        "difference [mm]",
    ]
    angles = axes[titles.index("joint angles that change")]
    lines = {line.get_label(): line for line in angles.lines}
    knee = comparison.a.position_names.index("l_hip_roll")
    for run, label in ((comparison.a, "slow"), (comparison.b, "fast")):
        x, y = lines[f"{label}: l_hip_roll"].get_data()
        assert np.array_equal(x, run.t)
        assert np.allclose(y, np.degrees(run.q[:, knee]))
    first, second = (lines[f"{label}: l_hip_roll"] for label in ("slow", "fast"))
    assert first.get_color() == second.get_color()
    assert first.get_linewidth() > 2 * second.get_linewidth()
    right = lines["fast: r_hip_roll"]
    assert right.get_color() == first.get_color() and right._unscaled_dash_pattern[1]
    words = [text.get_text() for text in angles.get_legend().get_texts()]
    assert {"slow", "fast", "solid: left", "dashed: right"} <= set(words)
    shown = {line.get_label(): line for line in axes[0].lines}
    names = [part.name for part in comparison.coordinates]
    for name in ("l_hip_roll", "r_elbow"):
        expected = np.degrees(comparison.differences[:, names.index(name)])
        assert np.allclose(shown[name].get_ydata(), expected)


def test_files(comparison: hs.RunComparison, tmp_path: Path) -> None:
    """A picture by its ending; another ending is refused."""
    path = tmp_path / "both.png"
    plot_comparison(comparison, path)
    assert Image.open(path).format == "PNG"
    with pytest.raises(ParameterError, match=r"\.png, \.pdf, \.svg"):
        plot_comparison(comparison, tmp_path / "both.jpg")


def test_page(comparison: hs.RunComparison, tmp_path: Path) -> None:
    """Numbers, differences, picture and checks, in one file; labels stay text."""
    labels = ("<b>slow", "fast")
    page = write_comparison(replace(comparison, labels=labels), tmp_path / "both.html")
    text = page.read_text()
    assert "&lt;b&gt;slow" in text and "<b>slow" not in text
    for word in ("largest kinetic energy", "l_hip_roll", "physically right"):
        assert word in text
    assert text.count("data:image/png;base64") == 1 and "http" not in text
    with pytest.raises(ParameterError, match="html"):
        write_comparison(comparison, tmp_path / "both.txt")


def test_the_same_run(comparison: hs.RunComparison, tmp_path: Path) -> None:
    """A run and itself: the page says so, the panels do not fail."""
    same = hs.compare_runs(comparison.a, comparison.a)
    text = write_comparison(same, tmp_path / "same.html").read_text()
    assert "The same motion" in text
    texts = [t.get_text() for t in plot_comparison(same).axes[0].texts]
    assert texts == ["they do not differ"]


@pytest.mark.study
def test_other_outcomes_come_first(
    comparison: hs.RunComparison, tmp_path: Path
) -> None:
    """Where one fell and the other did not, the page says so at its head."""
    other = replace(comparison, verdicts=("walked", "fell"), labels=("a", "b"))
    text = write_comparison(other, tmp_path / "fall.html").read_text(encoding="utf-8")
    assert "Other outcomes (a: walked, b: fell). Largest differences" in text
    alike = replace(comparison, verdicts=("fell", "fell"))
    text = write_comparison(alike, tmp_path / "alike.html").read_text(encoding="utf-8")
    assert "Other outcomes" not in text
