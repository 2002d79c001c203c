# SPDX-License-Identifier: Apache-2.0
"""From a bare URDF to files with which it stands and walks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.robot_draft import draft_robot
from humans_sim.control.walking import WalkPattern, WalkSettings


@pytest.fixture
def bare(khr1: hs.Model, tmp_path: Path) -> Path:
    """The KHR-1 as a URDF of another name, with nothing beside it."""
    path = khr1.save(tmp_path / "mine.urdf")
    path.with_suffix(".yaml").unlink(missing_ok=True)
    path.write_text(path.read_text().replace('name="khr1"', 'name="mine"', 1))
    return path


def test_files_load_as_what_was_understood(bare: Path) -> None:
    """The written files give the model and the settings of the draft."""
    draft = draft_robot(bare)
    written = draft.save()
    assert [path.name for path in written] == ["mine.yaml", "mine.walk.yaml"]
    model = hs.load_model(bare)
    assert model.contact_names == draft.model.contact_names
    settings = WalkSettings.of_model(model)
    for key in ("com_height", "stance_width", "step_duration", "max_forward"):
        assert getattr(settings, key) == pytest.approx(
            getattr(draft.settings, key), rel=1e-5
        )
    assert dict(settings.posture) == pytest.approx(dict(draft.settings.posture))


def test_every_line_has_its_reason(bare: Path) -> None:
    """All settings stand in the file, those that people change first in force."""
    draft = draft_robot(bare)
    text = draft.files[bare.with_name("mine.walk.yaml")]
    for name in draft.derived:
        lines = [
            line for line in text.splitlines() if line.lstrip("# ").startswith(name)
        ]
        assert lines and "#" in lines[0][1:], name


def test_it_plans_steps(bare: Path) -> None:
    """A walk of the derived settings goes where it is told, soles level."""
    draft_robot(bare).save()
    model = hs.load_model(bare)
    pattern = WalkPattern(model)
    pattern.walk(4, vx=0.04)
    last = None
    for t in np.arange(0.0, 3.5, 0.02):
        last = pattern.tick(float(t))
    assert last is not None and last.com[0] > 0.03
    assert last.left.pose.rotation[2, 2] == pytest.approx(1.0)


def test_what_is_no_urdf(tmp_path: Path) -> None:
    """Tables and other files are refused with their names."""
    table = tmp_path / "robot.yaml"
    table.write_text("name: x")
    with pytest.raises(hs.errors.ModelFileError, match="must be a URDF"):
        draft_robot(table)
    with pytest.raises(hs.errors.ModelFileError):
        draft_robot(tmp_path / "none.urdf")
