# SPDX-License-Identifier: Apache-2.0
"""Tests of the page of a reconstruction."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from strolls import walking
from tab import Tab, wait

import humans_sim as hs
from humans_sim.analysis.footfalls import find_strides
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import (
    POSTURE_ARRAYS,
    MarkerStatus,
    Reconstruction,
)
from humans_sim.view.plots import posture_plots
from humans_sim.view.plots import posture_plots as joint_plots
from humans_sim.view.reports import posture_report
from humans_sim.view.reports import posture_report as stick_figure
from humans_sim.view.reports.posture_report import write_posture_report


@pytest.fixture(scope="module")
def result(human: hs.Model) -> Reconstruction:
    """A walk with noise, gaps, filled gaps and a marker that jumps away."""
    rng = np.random.default_rng(5)
    q = walking(human)
    n = len(q)
    exact = np.array([human.tags(row)[:-1] for row in q])
    scale = np.linspace(0.003, 0.012, exact.shape[1])
    measured = exact + scale[:, None] * rng.normal(size=exact.shape)
    measured[100:160, 4] = np.nan
    measured[200:250, 9] += (0.5, 0.0, 0.3)
    status = np.zeros(exact.shape[:2], dtype=int)
    status[100:160, 4] = MarkerStatus.OCCLUDED
    status[200:250, 9] = MarkerStatus.REJECTED
    status[300:320, 12] = MarkerStatus.INTERPOLATED
    filled = status == MarkerStatus.INTERPOLATED
    trial = MarkerTrial(
        human.tag_names,
        np.arange(n) / 100,
        measured,
        np.arange(1, n + 1),
        filled=filled,
        source=Path("walk.trc"),
    )
    converged = np.ones(n, dtype=bool)
    converged[7] = False
    return Reconstruction(
        human,
        trial,
        q,
        measured - exact,
        status,
        converged,
        np.full(n, 3),
        np.full(n, 4e-4),
        ("l_wrist_roll", "r_wrist_roll"),
        "static",
    )


@dataclass(frozen=True)
class Forces:
    """What inverse dynamics give."""

    t: np.ndarray
    torques: np.ndarray
    ground: np.ndarray | None


@pytest.fixture
def one_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with one of their plots: drawing takes most of the time."""

    def figures(result: Reconstruction, *_: Any) -> dict[str, Figure]:
        return {"Distances": posture_plots.distances(result)}

    monkeypatch.setattr(posture_report, "posture_figures", figures)


def embedded(text: str) -> dict[str, Any]:
    """What the stick figure of a page draws."""
    found = re.search(r'<script type="application/json">(.*?)</script>', text, re.S)
    assert found is not None
    return dict(json.loads(found.group(1)))


def shorts(text: str, *shape: int) -> np.ndarray:
    """Packed numbers."""
    return np.frombuffer(base64.b64decode(text), "<i2").reshape(*shape).astype(float)


@pytest.mark.study
def test_page_of_a_walk(result: Reconstruction, tmp_path: Path) -> None:
    """Fit, gaps, worst frames, markers, plots, film; in one file of its own."""
    n, joints = len(result.t), len(result.model.joint_names)
    forces = Forces(result.t, np.ones((n, joints)), np.ones((n, 6)))
    path = write_posture_report(
        result, tmp_path / "new" / "walk.html", extra={"seed": 7}, dynamics=forces
    )
    assert [file.name for file in path.parent.iterdir()] == ["walk.html"]
    text = path.read_text()
    assert path.stat().st_size < 4_000_000
    assert "<h1>walk.trc</h1>" in text and "<td>seed</td><td>7</td>" in text
    assert f"{1e3 * result.rms:.1f} mm rms over 28 markers" in text
    assert "1 frame ended at no minimum" in text
    assert "No marker sees l_wrist_roll, r_wrist_roll" in text
    assert "<td>frames</td><td>400</td>" in text and "<td>100 Hz</td>" in text
    assert re.findall(r"<h2>(.*?)</h2>", text) == [
        "Summary",
        "Stick figure",
        "Distance between measured and reconstructed markers",
        "Distance of each marker",
        "Occlusions and rejections",
        "Joint angles",
        "Strides, left and right",
        "Joint torques",
        "Ground reaction",
        "Worst frames",
        "Markers",
        "How it was made",
    ]
    # each marker has its row: rms, mean, largest, occluded, rejected
    row = re.search(r"<td>l_calcaneous_post</td>(.*?)</tr>", text)
    assert row is not None
    cells = re.findall(r"<td>(.*?)</td>", row.group(1))
    assert cells[0] == f"{1e3 * result.marker_rms[9]:.1f}"
    assert cells[3:] == ["0.0 %", "12.5 %"]
    assert "<td>15.0 %</td>" in text  # the marker that was hidden
    # nothing is loaded from elsewhere
    assert re.findall(r'(?:src|href)="(?!data:)', text) == []
    assert "url(" not in text and "http" not in text


def test_film_holds_the_motion(result: Reconstruction) -> None:
    """Body and markers come back from the page to a tenth of a millimetre."""
    data = stick_figure.stick_figure_data(result)
    n, m = 400, 28
    middle, step = np.array(data["middle"]), data["step"]
    assert step < 2e-4
    markers = shorts(data["markers"], n, m, 3)
    hidden = markers[..., 0] == -32768
    assert (hidden == result.trial.occluded).all()
    markers = middle + step * markers
    assert markers[~hidden] == pytest.approx(result.trial.positions[~hidden], abs=step)
    differences = data["fine"] * shorts(data["differences"], n, m, 3)
    assert differences[~hidden] == pytest.approx(result.differences[~hidden], abs=1e-4)
    body = shorts(data["body"], n, -1, 3) * step + middle
    assert body[:, 0] == pytest.approx(result.q[:, :3], abs=step)
    # lines of the legs keep their length, and join what belongs together
    lengths = {
        (a, b): np.linalg.norm(body[:, a] - body[:, b], axis=1)
        for a, b, _ in data["lines"]
    }
    for length in lengths.values():
        assert np.ptp(length) < 1e-3 and 0.005 < length[0] < 0.6
    assert {a for a, _ in lengths} | {b for _, b in lengths} == set(
        range(body.shape[1])
    )
    status = np.frombuffer(base64.b64decode(data["status"]), np.uint8).reshape(n, m)
    assert (status == result.status).all()


def test_long_films_are_thinned(
    result: Reconstruction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a long trial every so many frames, at their own times."""
    monkeypatch.setattr(stick_figure, "MOST_FRAMES", 150)
    data = stick_figure.stick_figure_data(result)
    assert data["t"] == pytest.approx(result.t[::3]) and data["frames"][1] == 4


def test_far_markers_do_not_shrink_the_figure(result: Reconstruction) -> None:
    """A marker a kilometre away is left out of the film."""
    positions = result.trial.positions.copy()
    positions[3, 3] = 1000.0
    far = replace(result, trial=result.trial.moved(positions))
    data = stick_figure.stick_figure_data(far)
    assert data["step"] < 2e-4
    assert shorts(data["markers"], 400, 28, 3)[3, 3, 0] == -32768


@pytest.mark.usefixtures("one_picture")
def test_hostile_names_stay_text(result: Reconstruction, tmp_path: Path) -> None:
    """What comes from a file or a caller cannot become a part of the page."""
    evil = '</script><script>alert("$1_{")</script>'
    trial = replace(
        result.trial, names=(evil, *result.names[1:]), source=Path(evil[-9:])
    )
    bad = replace(result, trial=trial, unobservable=(evil,), mode=evil)
    path = write_posture_report(bad, tmp_path / "e.html", evil, {evil: evil})
    text = path.read_text()
    assert text.count("<script") == 2 and "<script>alert" not in text
    assert embedded(text)["names"][0] == evil
    posture_plots.marker_bars(bad).draw_without_rendering()


@pytest.mark.study
def test_poor_reconstructions(result: Reconstruction, tmp_path: Path) -> None:
    """One frame; nothing seen at all; no minimum: the page says so."""
    one = replace(
        result,
        trial=result.trial.samples(slice(0, 1)),
        **{name: getattr(result, name)[:1] for name in POSTURE_ARRAYS},
    )
    rows = dict(posture_report._summary(one)["Recording"].rows)
    assert rows["frames"] == "1" and "rate" not in rows
    for figure in posture_plots.posture_figures(one).values():
        assert len(figure.axes) > 0
    nothing = replace(
        one,
        differences=np.full_like(one.differences, np.nan),
        status=np.full_like(one.status, MarkerStatus.OCCLUDED),
        trial=one.trial.moved(np.full_like(one.trial.positions, np.nan)),
        converged=np.zeros(1, dtype=bool),
    )
    text = write_posture_report(nothing, tmp_path / "none.html").read_text()
    assert 'class="verdict bad">failed: – mm rms' in text
    assert "No marker was used" in text
    assert "Worst frames" not in text and "Strides" not in text
    assert "nan" not in re.sub(r"<(img|script).*?>", "", text).lower()


def test_verdicts(result: Reconstruction) -> None:
    """Green below 20 mm, red above 40 mm or where most frames failed."""

    def kind(factor: float, failed: int = 0) -> str:
        converged = np.arange(len(result.t)) >= failed
        scaled = replace(
            result, differences=factor * result.differences, converged=converged
        )
        return posture_report._notes(scaled)[0].kind

    unit = 0.01 / result.rms
    assert [kind(k * unit) for k in (1.9, 2.1, 3.9, 4.1)] == [
        "good",
        "plain",
        "plain",
        "bad",
    ]
    frames = len(result.t)
    kinds = [kind(unit, failed=int(share * frames)) for share in (0.09, 0.11, 0.51)]
    assert kinds == ["good", "plain", "bad"]


def test_other_endings_are_refused(result: Reconstruction, tmp_path: Path) -> None:
    """A report is a page."""
    with pytest.raises(hs.errors.ParameterError, match=r"written to \.html"):
        write_posture_report(result, tmp_path / "walk.pdf")


def test_joint_panels(result: Reconstruction) -> None:
    """Left and right share a panel in degrees; limits are shaded; unseen has none."""
    figure = joint_plots.joint_angles(result)
    panels = {panel.get_title(): panel for panel in figure.axes if panel.get_visible()}
    assert len(panels) == 20 and "wrist roll" not in panels
    knee = panels["knee"]
    place = result.model.joint_names.index("l_knee")
    left = knee.lines[0].get_ydata()
    assert left == pytest.approx(np.degrees(result.q[:, 7 + place]))
    # the knee comes near its limit of 5 degrees, and that is shaded
    assert len(knee.patches) == 1
    assert knee.patches[0].get_y() == pytest.approx(5.0)
    assert not panels["hip pitch"].patches
    bottom, top = panels["hip yaw"].get_ylim()
    assert top - bottom >= 10.0


def test_panels_of_a_convention(result: Reconstruction) -> None:
    """Names and signs are the convention's; limits only where they are the model's."""
    figure = joint_plots.joint_angles(result, "rajagopal")
    panels = {panel.get_title(): panel for panel in figure.axes if panel.get_visible()}
    assert len(panels) == 20 and "wrist dev" not in panels
    place = result.model.joint_names.index("r_knee")
    right = panels["knee angle"].lines[0].get_ydata()
    assert right == pytest.approx(-np.degrees(result.q[:, 7 + place]))
    assert panels["knee angle"].patches[0].get_y() == pytest.approx(-5.0)
    strides = find_strides(result.model, result.t, result.q)
    figure = joint_plots.stride_curves(result, strides, "plug-in-gait")
    titles = {panel.get_title() for panel in figure.axes if panel.get_visible()}
    assert {"HipAngles X", "KneeAngles X", "PelvisAngles Y"} <= titles
    assert not any("Elbow" in title for title in titles)


def test_worst_moments(result: Reconstruction) -> None:
    """The worst frames, but not the neighbours of one bad moment."""
    differences = np.full_like(result.differences, 1e-3)
    for row, factor in ((50, 9.0), (51, 10.0), (52, 9.0), (200, 5.0)):
        differences[row] *= factor
    bad = replace(result, differences=differences, status=np.zeros_like(result.status))
    assert posture_plots.worst_moments(bad, 2) == [51, 200]
    assert len(posture_plots.worst_moments(bad, 1000)) <= 40
    # all markers used in all frames: no panel of how many
    assert len(posture_plots.distances(bad).axes) == 1
    assert len(posture_plots.distances(result).axes) == 2


def test_symmetric_walks_have_one_curve(result: Reconstruction) -> None:
    """Over their own strides left and right coincide."""
    strides = find_strides(result.model, result.t, result.q)
    figure = joint_plots.stride_curves(result, strides)
    panels = {panel.get_title(): panel for panel in figure.axes if panel.get_visible()}
    assert set(panels) == {
        "hip pitch",
        "hip yaw",
        "hip roll",
        "knee",
        "ankle pitch",
        "ankle roll",
    }
    means = [line for line in panels["knee"].lines if line.get_linewidth() == 2.0]
    assert len(means) == 2
    assert means[0].get_ydata() == pytest.approx(means[1].get_ydata(), abs=0.5)
    assert np.ptp(means[0].get_ydata()) > 50


def test_map_of_markers(result: Reconstruction) -> None:
    """Markers that were ever amiss, in the colours of what became of them."""
    figure = posture_plots.marker_map(result)
    assert figure is not None
    shown = np.asarray(figure.axes[0].images[0].get_array())
    colours = [to_rgba(posture_plots.STATUS_COLOURS[kind]) for kind in MarkerStatus]
    expected = np.rint(255 * np.array(colours))[result.status[:, [4, 9, 12]].T]
    assert (shown == expected).all()
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == [result.names[k] for k in (4, 9, 12)]
    assert "used in every frame: 25" in figure.axes[0].get_xlabel()
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["used", "occluded", "interpolated", "rejected"]
    calm = replace(result, status=np.zeros_like(result.status))
    assert posture_plots.marker_map(calm) is None


@pytest.mark.study
@pytest.mark.browser
@pytest.mark.usefixtures("one_picture")
def test_page_in_a_browser(result: Reconstruction, tmp_path: Path) -> None:
    """The figure is drawn in its colours, plays, stops, steps, and turns."""
    path = write_posture_report(result, tmp_path / "walk.html")
    tab = Tab(path.as_uri(), tmp_path / "profile", (1100, 1300))
    try:
        wait(
            lambda: tab.value("document.querySelector('canvas')?.dataset.frame") == "0",
            "it",
        )
        first = _canvas(tab)
        blue, orange, green = (
            (np.abs(first - colour).sum(axis=2) < 30).sum()
            for colour in ((31, 119, 180), (255, 127, 14), (10, 125, 90))
        )
        assert min(blue, orange, green) > 300
        tab.click("play")
        frame = "Number(document.querySelector('canvas').dataset.frame)"
        wait(lambda: tab.value(frame) > 5, "frames")
        tab.click("pause")
        stopped = tab.value(frame)
        assert tab.value("document.querySelector('.stick output').value").startswith(
            f"{result.t[stopped]:.2f} s, frame {stopped + 1}, rms "
        )
        tab.value(
            "(() => { const s = document.querySelector('.stick input[type=range]');"
            "s.value = 0; s.dispatchEvent(new Event('input')); })()"
        )
        assert tab.value(frame) == 0
        assert (_canvas(tab) == first).all()
        x, y = tab.value(
            "(() => { const r = document.querySelector('canvas')"
            ".getBoundingClientRect(); return [r.x + 200, r.y + 200]; })()"
        )
        for kind, dx in (("mousePressed", 0), ("mouseMoved", 150)):
            tab.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x + dx,
                y=y,
                button="left",
                buttons=1,
                clickCount=1,
            )
        wait(lambda: bool((_canvas(tab) != first).sum() > 3000), "a turned figure")
    finally:
        tab.close()


def _canvas(tab: Tab) -> np.ndarray:
    """What the canvas shows."""
    x, y, w, h = (
        int(v)
        for v in tab.value(
            "(() => { const r = document.querySelector('canvas')"
            ".getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()"
        )
    )
    return tab.picture()[y : y + h, x : x + w]
