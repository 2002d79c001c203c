# SPDX-License-Identifier: Apache-2.0
"""``init-robot`` on damaged URDFs: a typed error, or files that load."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner
from urdf_damage import KINDS, damage

import humans_sim as hs
from humans_sim.cli.commands import app
from humans_sim.control.walking import WalkSettings

SEEDS = 2
"""Robots that each kind of damage is done to in its own way."""


@pytest.fixture(scope="module")
def sound(khr1: hs.Model) -> bytes:
    """The URDF of a biped."""
    return khr1.urdf().encode()


@pytest.mark.study
@pytest.mark.parametrize("kind", dict.fromkeys(KINDS), ids=lambda kind: kind.__name__)
def test_damaged_urdf(kind, sound: bytes, tmp_path: Path) -> None:
    """Refused with an error of one line and no file, or written files load."""
    for seed in range(SEEDS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        urdf = folder / "robot.urdf"
        urdf.write_bytes(damage(sound, kind, random.Random(f"{kind.__name__} {seed}")))
        done = CliRunner().invoke(app, ["init-robot", str(urdf), "--no-trial"])
        names = {path.name for path in folder.iterdir()}
        if done.exit_code:
            assert isinstance(done.exception, hs.HumansError), repr(done.exception)
            assert "\n" not in str(done.exception)
            assert names == {"robot.urdf"}
            continue
        assert names == {"robot.urdf", "robot.yaml", "robot.walk.yaml"}
        model = hs.load_model(urdf)
        assert np.isfinite(model.inertia(model.neutral())).all() and model.mass > 0
        settings = WalkSettings.of_model(model)
        assert 0 < settings.com_height < np.inf and settings.step_duration > 0
        assert "hostname" not in done.output


def test_the_undamaged_one_is_taken(sound: bytes, tmp_path: Path) -> None:
    """The test above can fail: the sound file gives both files."""
    urdf = tmp_path / "robot.urdf"
    urdf.write_bytes(sound)
    done = CliRunner().invoke(app, ["init-robot", str(urdf), "--no-trial"])
    assert done.exit_code == 0
    assert Counter(path.suffix for path in tmp_path.iterdir()) == {
        ".urdf": 1,
        ".yaml": 2,
    }
