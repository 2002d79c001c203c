# SPDX-License-Identifier: Apache-2.0
"""The report of a run: one page that says what happened, for any run."""

from __future__ import annotations

import base64
import dataclasses
import io
import re
from pathlib import Path

import numpy as np
import pytest
from browser import screenshot
from matplotlib.figure import Figure
from PIL import Image
from typer.testing import CliRunner
from walks import kinematic_run, planned_walk

import humans_sim as hs
from humans_sim.analysis.gait import WalkSummary
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.applications.scenarios import read_scenario
from humans_sim.cli.commands import app
from humans_sim.results.records import Event
from humans_sim.results.run import Run
from humans_sim.view.plots import walk_plots
from humans_sim.view.reports import report
from humans_sim.view.reports.report import write_report

LIMIT = 8_000_000
"""Largest page [bytes]."""


@pytest.fixture(scope="module")
def walk(khr1: hs.Model) -> Run:
    """The KHR-1 makes two steps."""
    return planned_walk(khr1, 2, (0.05, 0.0, 0.0), 2.5)[0]


@pytest.fixture
def one_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with one of their plots: drawing takes most of the time."""

    def figures(motion: RunMotion, summary: WalkSummary) -> dict[str, Figure]:
        return {"Body": walk_plots.body(motion, summary)}

    monkeypatch.setattr(report, "walk_figures", figures)


def pictures(text: str) -> list[Image.Image]:
    """The pictures in a page."""
    images = re.findall(r'src="data:image/\w+;base64,([^"]+)"', text)
    return [Image.open(io.BytesIO(base64.b64decode(data))) for data in images]


def headings(text: str) -> list[str]:
    """The headings of a page."""
    return re.findall(r"<h2>(.*?)</h2>", text)


@pytest.mark.study
def test_page_of_a_walk(walk: Run, tmp_path: Path) -> None:
    """Result, checks, film, plots, steps, scene, origin; in one file of its own."""
    path = tmp_path / "new" / "walk.html"
    summary = write_report(walk, path, extra={"seed": 7})
    assert summary is not None and len(summary.steps) == 2
    assert path.stat().st_size < LIMIT
    assert [file.name for file in path.parent.iterdir()] == ["walk.html"]
    text = path.read_text()
    assert "Walked 2 steps" in text and "<td>seed</td><td>7</td>" in text
    assert f"humans_sim {hs.__version__}" in text and "least gap" in text
    assert {"Summary", "Film", "Feet", "Body", "Steps", "Joints", "Scene"} <= set(
        headings(text)
    )
    film, *plots = pictures(text)
    assert film.format == "GIF" and film.n_frames > 10
    assert max(film.size) == pytest.approx(report.FILM_PIXELS, abs=2)
    assert len(plots) == 5
    assert all(plot.width >= 1000 and plot.height >= 300 for plot in plots)
    # nothing is loaded from elsewhere
    outside = re.sub(r'srcdoc="[^"]*"', "", text)
    assert re.findall(r'(?:src|href)="(?!data:)', outside) == []
    assert "url(" not in outside and "http" not in outside
    assert 'srcdoc="' in text


@pytest.mark.usefixtures("one_picture")
def test_page_without_animation(walk: Run, tmp_path: Path) -> None:
    """Neither film nor scene, and the same page again."""
    for name in ("a.html", "b.html"):
        write_report(walk, tmp_path / name, animation=False)
    text = (tmp_path / "a.html").read_text()
    assert not {"Film", "Scene"} & set(headings(text)) and "<iframe" not in text
    assert text == (tmp_path / "b.html").read_text()


@pytest.mark.study
@pytest.mark.usefixtures("one_picture")
def test_heavy_scenes_are_left_out(
    walk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scene above the limit is not in the page, which says so."""
    monkeypatch.setattr(report, "HEAVIEST_PAGE", 1000)
    short = dataclasses.replace(
        walk, **{name: getattr(walk, name)[:20] for name in ARRAYS}
    )
    write_report(short, tmp_path / "walk.html")
    text = (tmp_path / "walk.html").read_text()
    assert "<iframe" not in text and "too long for a scene" in text


ARRAYS = ("t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy")


@pytest.mark.usefixtures("one_picture")
def test_runs_that_are_no_walks(human: hs.Model, tmp_path: Path) -> None:
    """Standing: no table of steps."""
    q = np.tile(human.neutral(), (30, 1))
    run = kinematic_run(human, 0.02 * np.arange(30), q)
    summary = write_report(run, tmp_path / "r.html", animation=False)
    text = (tmp_path / "r.html").read_text()
    assert summary is not None and summary.verdict == "stood"
    assert "Stood for 0.58 s" in text and "Steps" not in headings(text)
    assert human.title in text


def test_other_systems(tmp_path: Path) -> None:
    """A block has no feet: checks and one picture."""
    run = read_scenario("rocking-block").with_changes(end=0.2).run(progress=False)
    assert write_report(run, tmp_path / "block.html") is None
    text = (tmp_path / "block.html").read_text()
    assert "Simulated for 0.2 s" in text and len(pictures(text)) == 1
    assert "Is it physically right?" in headings(text)


@pytest.mark.usefixtures("one_picture")
def test_failed_runs(khr1: hs.Model, tmp_path: Path) -> None:
    """A run that ended at its start, with forces that nobody knows."""
    run = kinematic_run(khr1, np.zeros(1), khr1.neutral()[None])
    event = Event(0.0, "failure", "", {"text": "no contact forces <were> found"})
    bad = dataclasses.replace(
        run,
        forces=np.full_like(run.forces, np.nan),
        torques=np.full_like(run.torques, np.nan),
        events=(event,),
    )
    summary = write_report(bad, tmp_path / "failed.html")
    text = (tmp_path / "failed.html").read_text()
    assert summary is not None and summary.verdict == "failed"
    assert "no contact forces &lt;were&gt; found" in text
    assert "The simulation failed after 0.00 s" in text


@pytest.mark.usefixtures("one_picture")
def test_hostile_names_stay_text(walk: Run, tmp_path: Path) -> None:
    """What comes from a file or a caller cannot become a part of the page."""
    evil = '"><script>alert(1)</script>'
    events = (*walk.events, Event(1.0, evil, evil))
    info = {**walk.info, "method": evil, "options": {evil: evil}, "system": evil}
    bad = dataclasses.replace(walk, events=events, info=info)
    write_report(bad, tmp_path / "e.html", evil, {evil: evil}, animation=False)
    text = (tmp_path / "e.html").read_text()
    assert "<script" not in text and text.count("&lt;script&gt;") >= 6


def test_bad_paths(walk: Run, tmp_path: Path) -> None:
    """Another ending is refused; what was there stays where writing fails."""
    with pytest.raises(hs.errors.ParameterError, match=r"written to \.html"):
        write_report(walk, tmp_path / "walk.pdf")
    old = tmp_path / "old.html"
    old.write_text("old")
    moved = dataclasses.replace(walk, info={**walk.info, "model": {"name": "gone"}})
    with pytest.raises(hs.errors.UnknownModelError):
        write_report(moved, old)
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


def test_film_shows_the_fall(khr1: hs.Model) -> None:
    """Of a long run the film shows the middle, or what leads to a fall."""
    q = np.tile(khr1.neutral(), (1001, 1))
    run = kinematic_run(khr1, 0.02 * np.arange(1001), q)
    shown = report._excerpt(run, WalkSummary.of_run(run))
    assert (shown.t[0], shown.t[-1]) == pytest.approx((6.0, 14.0), abs=0.03)
    q[750:, 3:7] = (0.0, np.sin(0.4), 0.0, np.cos(0.4))
    fallen = kinematic_run(khr1, run.t, q)
    shown = report._excerpt(fallen, WalkSummary.of_run(fallen))
    assert (shown.t[0], shown.t[-1]) == pytest.approx((8.0, 16.0), abs=0.03)


@pytest.mark.study
def test_axes_of_the_pictures(walk: Run) -> None:
    """Every axis has a unit, legends stand beside the panels, metres are metres."""
    motion = RunMotion.of_run(walk)
    summary = WalkSummary.of_motion(motion)
    figures = walk_plots.walk_figures(motion, summary)
    assert len(figures) == 5
    for figure in figures.values():
        for panel in figure.axes:
            assert re.search(r"\[.+\]$", panel.get_ylabel())
            assert len(panel.lines) > 0
        assert re.search(r"\[(s|m)\]", figure.axes[-1].get_xlabel())
    above, *others = figures.values()
    assert above.axes[0].get_aspect() == 1.0
    for figure in others:
        figure.draw_without_rendering()
        for panel in figure.axes:
            legend = panel.get_legend().get_window_extent()
            assert legend.x0 >= panel.get_window_extent().x1


def test_legs_and_loads(walk: Run) -> None:
    """A joint and its twin share a colour, right is dashed; loads jump at impacts."""
    time = float(walk.t[60] + walk.t[61]) / 2
    hit = dataclasses.replace(walk, events=[Event(time, "impact", "l_foot_heel_left")])
    motion = RunMotion.of_run(hit)
    summary = WalkSummary.of_motion(motion)
    lines = [
        {line.get_label(): line for line in panel.lines}
        for panel in walk_plots.legs(motion, summary).axes
    ]
    left, right = sorted(lines, key=lambda own: "r_knee" in own)
    for name in ("hip_roll", "hip_pitch", "knee", "ankle_pitch", "ankle_roll"):
        one, other = left[f"l_{name}"], right[f"r_{name}"]
        assert one.get_color() == other.get_color()
        assert one._unscaled_dash_pattern[1] is None
        assert other._unscaled_dash_pattern[1] is not None
    assert len({line.get_color() for name, line in left.items() if "l_" in name}) > 4
    loads = {line.get_label(): line for line in walk_plots.feet(motion, summary).axes[1]
             .lines}  # fmt: skip
    for sole in motion.soles:
        t, load = loads[sole.name].get_data()
        (before, after) = np.flatnonzero(t == time)
        assert (load[before], load[after]) == (sole.load[60], sole.load[61])


def test_long_paths_are_cut_into_rows(khr1: hs.Model) -> None:
    """A path much longer than wide: rows in one scale, each from where one ends."""
    q = np.tile(khr1.neutral(), (200, 1))
    q[:, 0] += np.linspace(0.0, 4.0, 200)
    motion = RunMotion.of_run(kinematic_run(khr1, 0.02 * np.arange(200), q))
    figure = walk_plots.from_above(motion, WalkSummary.of_motion(motion))
    limits = [panel.get_xlim() for panel in figure.axes]
    assert len(limits) > 1
    assert [left for left, _ in limits[1:]] == pytest.approx(
        [right for _, right in limits[:-1]]
    )
    assert limits[0][0] < -0.04 and limits[-1][1] > 4.0


def test_single_blows_do_not_flatten_the_forces(walk: Run) -> None:
    """A force of a million newtons is beyond the panel, and the title says so."""
    forces = walk.forces.copy()
    forces[50, 0, 0] = 1e6
    motion = RunMotion.of_run(dataclasses.replace(walk, forces=forces))
    summary = WalkSummary.of_motion(motion)
    assert summary.largest_load >= 1e6
    loads = walk_plots.feet(motion, summary).axes[1]
    assert loads.get_ylim()[1] < 10 * motion.weight
    assert "not drawn: 1" in loads.get_title()


@pytest.mark.study
@pytest.mark.usefixtures("one_picture")
def test_command(walk: Run, tmp_path: Path) -> None:
    """``humans-sim report`` prints the table, writes beside the run, and ends well."""
    file = walk.save(tmp_path / "walk.npz")
    done = CliRunner().invoke(app, ["report", str(file), "--no-animation"])
    assert done.exit_code == 0, done.output
    assert "Walked 2 steps" in done.output and "step length" in done.output
    assert "Walked 2 steps" in (tmp_path / "walk.html").read_text()
    # what is physically wrong is reported, and is no error of the command
    wrong = dataclasses.replace(walk, gaps=walk.gaps - 1e-7)
    file = wrong.save(tmp_path / "wrong.npz")
    page = tmp_path / "page.html"
    options = ["--no-animation", "--output", str(page), "--title", "Mine"]
    done = CliRunner().invoke(app, ["report", str(file), *options])
    assert done.exit_code == 0
    assert "1 of 5 physical checks does not hold" in page.read_text()
    assert "<h1>Mine</h1>" in page.read_text()
    (tmp_path / "bad.npz").write_bytes(b"no run")
    done = CliRunner().invoke(app, ["report", str(tmp_path / "bad.npz")])
    assert isinstance(done.exception, hs.errors.RunFileError)
    assert not (tmp_path / "bad.html").exists()


@pytest.mark.study
@pytest.mark.browser
@pytest.mark.usefixtures("one_picture")
def test_page_in_a_browser(walk: Run, tmp_path: Path) -> None:
    """The page opens from its file: the verdict is green, and cards lie below it."""
    page = tmp_path / "walk.html"
    write_report(walk, page, animation=False)
    image = screenshot(page.as_uri(), tmp_path, 3000)
    red, green, blue = image[:250].transpose(2, 0, 1)
    verdict = (green > red + 12) & (green > blue + 10) & (green > 230)
    assert verdict.sum() > 5000
    white = (image[200:650] == 255).all(axis=2)
    assert white.mean() > 0.3


def test_many_steps_are_shown_close_by(walk: Run) -> None:
    """Of a walk of many steps the feet are shown for some; the body for all."""
    motion = RunMotion.of_run(walk)
    summary = WalkSummary.of_motion(motion)
    times = np.linspace(0.1, 2.4, 60)
    many = tuple(
        dataclasses.replace(summary.steps[0], landing=float(t), duration=0.04)
        for t in times
    )
    summary = dataclasses.replace(summary, steps=many)
    feet = walk_plots.feet(motion, summary).axes[-1]
    assert np.diff(feet.get_xlim())[0] < 1.5 and "s of 2.49 s" in feet.get_xlabel()
    body = walk_plots.body(motion, summary).axes[-1]
    assert body.get_xlim() == (walk.t[0], walk.t[-1])
