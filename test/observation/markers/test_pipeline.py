# SPDX-License-Identifier: Apache-2.0
"""Tests of the steps that prepare markers."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml

import humans_sim as hs
from humans_sim.core.errors import ModelFileError
from humans_sim.observation.markers.filters import fill_gaps, smooth_markers
from humans_sim.observation.markers.pipeline import (
    PipelineSettings,
    change_frame,
    prepare,
    standing_frame,
)
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.search_settings import (
    GateSettings,
    SmootherSettings,
    SolverSettings,
)


@pytest.fixture(scope="module")
def lab(human: hs.Model) -> MarkerTrial:
    """Tags of a person that stands, then sways, somewhere in a laboratory."""
    n = 200
    q = np.tile(human.neutral(), (n, 1))
    knee = 7 + human.joint_names.index("l_knee")
    q[40:, knee] += 0.4 * (1 - np.cos(np.arange(n - 40) / 20))
    tags = np.array([human.tags(row)[:-1] for row in q])
    tags += np.random.default_rng(7).normal(scale=1e-3, size=tags.shape)
    trial = MarkerTrial(human.tag_names, 0.01 * np.arange(n), tags, np.arange(n))
    place = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 1.0), np.array([2.0, 1.0, 0.0]))
    trial = change_frame(trial, place)
    trial.positions[100:105, 3] = np.nan
    trial.positions[150:180, 4] = np.nan
    return trial


def test_steps_in_the_manuals_order(lab: MarkerTrial, human: hs.Model) -> None:
    """Identify, fill, change the frame, filter: each as it is alone."""
    shuffled = lab.select(lab.names[::-1])
    done = prepare(shuffled, PipelineSettings(frame="standing"), human.tag_names[:27])
    expected = fill_gaps(lab)
    frame = standing_frame(expected)
    expected = smooth_markers(change_frame(expected, frame)).select(lab.names[:27])
    assert done.trial.names == expected.names
    assert done.trial.positions == pytest.approx(
        expected.positions, abs=1e-12, nan_ok=True
    )
    assert (done.trial.filled == expected.filled).all()
    assert done.trial.filled.sum() == 5 and done.trial.occluded.sum() == 30
    assert done.transform.isApprox(frame)
    assert (done.missing, done.ignored) == ((), (lab.names[27],))


def test_every_step_can_be_left_out(lab: MarkerTrial) -> None:
    """Nothing wanted, nothing changed."""
    nothing = PipelineSettings(fill=False, filter=False)
    done = prepare(lab, nothing)
    assert done.trial.positions == pytest.approx(lab.positions, nan_ok=True)
    assert done.transform.isIdentity()
    place = pin.SE3(np.eye(3), np.array([1.0, 0.0, 0.0]))
    moved = prepare(lab, replace(nothing, frame=place)).trial.positions
    assert moved[0] == pytest.approx(lab.positions[0] + (1.0, 0.0, 0.0))


def test_settings_file(lab: MarkerTrial, human: hs.Model, tmp_path: Path) -> None:
    """All keys; the correspondence file lies beside the settings."""
    (tmp_path / "lab.csv").write_text(", ".join(map(str, range(28, 0, -1))))
    path = tmp_path / "pipeline.yaml"
    path.write_text(
        "correspondence: lab.csv\nmax_gap: any\nframe: standing\ncutoff: 6\norder: 4\n"
        "standing: {samples: 10, tilt: true, ankle_height: 0.08,\n"
        "  ankles: [r_lateral_malleolus, l_lateral_malleolus]}\n"
    )
    settings = PipelineSettings.load(path)
    assert settings == PipelineSettings(
        correspondence=tmp_path / "lab.csv",
        max_gap=None,
        frame="standing",
        standing_samples=10,
        tilt=True,
        ankle_height=0.08,
        cutoff=6.0,
        order=4,
    )
    shuffled = lab.select(lab.names[::-1])
    unknown = replace(shuffled, names=tuple(f"*{k}" for k in range(28)))
    done = prepare(unknown, settings, human.tag_names)
    assert done.trial.names == human.tag_names and not done.trial.occluded.any()
    ankles = done.trial.select(settings.ankles).positions[:10]
    assert ankles.mean(axis=(0, 1)) == pytest.approx([0.0, 0.0, 0.08], abs=1e-3)
    path.write_text("fill: false\nfilter: false\nframe: {translation: [0, 0, 1]}\n")
    settings = PipelineSettings.load(path)
    assert not settings.fill and not settings.filter
    assert settings.frame.translation[2] == 1.0


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("fill: 3", 1, "not one of true, false"),
        ("fill: true\nfrme: standing", 2, "unknown key"),
        ("fill: true\nframe: upside", 2, "not one of recorded, standing"),
        ("max_gap: -1", 1, "above zero"),
        ("max_gap: [1]", 1, "must be a word"),
        ("cutoff: 0", 1, "above zero"),
        ("order: 2.5", 1, "whole number from 1 to 8"),
        ("standing: {samples: 0}", 1, "whole number"),
        ("standing: {hips: [a]}", 1, "a right and a left"),
        ("- 1", 1, "a mapping"),
    ],
)
def test_bad_settings(tmp_path: Path, text: str, line: int, message: str) -> None:
    """Faults name the file and the line."""
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        PipelineSettings.load(path)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_choices_that_do_not_fit(lab: MarkerTrial) -> None:
    """A frame nobody knows; a correspondence without a set."""
    with pytest.raises(hs.errors.ParameterError, match="not one of the frames"):
        PipelineSettings(frame="lying")
    with pytest.raises(hs.errors.ParameterError, match="markers of a set"):
        prepare(lab, PipelineSettings(correspondence=Path("lab.csv")))


def test_the_file_of_all_settings_has_the_defaults() -> None:
    """The file that lists every number agrees with the code, and lacks none."""
    path = Path(__file__).parents[3] / "config" / "reconstruction" / "settings.yaml"
    assert PipelineSettings.load(path) == PipelineSettings()
    text = yaml.safe_load(path.read_text())
    solver, smoother = SolverSettings(), SmootherSettings()
    parts = {"gate", "tracking", "start", "uncertainty"}
    for part in parts:
        listed = {field.name for field in fields(getattr(solver, part))}
        assert set(text[part]) == listed
    assert set(text["search"]) == {f.name for f in fields(solver)} - parts
    assert set(text["smoothing"]) == {f.name for f in fields(smoother)}


def test_settings_of_the_search_come_from_the_file(tmp_path: Path) -> None:
    """What is changed is, the rest stays; what cannot be is refused with its line."""
    path = tmp_path / "pipeline.yaml"
    path.write_text(
        "search: {outlier: none, iterations: 20}\n"
        "gate: {acceleration: 500}\n"
        "smoothing: {marker_noise: 0.002}\n"
    )
    chosen = PipelineSettings.load(path)
    assert chosen.solver.outlier == np.inf and chosen.solver.iterations == 20
    assert chosen.solver.gate == replace(GateSettings(), acceleration=500.0)
    assert chosen.smoother == SmootherSettings(marker_noise=0.002)
    for text, word in (
        ("gate: {acceleration: -1}", "acceleration"),
        ("gate: {speed: 1}", "speed"),
        ("search: {iterations: 2.5}", "whole"),
        ("smoothing: {memory: 0}", "memory"),
    ):
        path.write_text(text)
        with pytest.raises(ModelFileError, match=word):
            PipelineSettings.load(path)
