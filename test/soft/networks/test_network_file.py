# SPDX-License-Identifier: Apache-2.0
"""Networks as YAML files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim.soft as soft
from humans_sim.core.errors import ModelFileError

TEXT = """
period: 0.001
gravity: [0, 0, -9.81]
floor: {height: 0, stiffness: 1500, viscosity: 2}
laws:
  flesh: {type: visco_spring, stiffness: 1500, viscosity: 1}
  touch: {type: stop, reach: 0.05, stiffness: 500, viscosity: 0.5}
  cord: {type: hollow_stop, reach: 0.2, stiffness: 300, viscosity: 1}
masses:
  bob: {mass: 0.1, at: [1, 0, 0.797]}
fixed:
  hook: [1, 0, 1]
boxes:
  lower: {shape: [3, 3, 2], spacing: 0.05, mass: 0.02, law: flesh, at: [0, 0, 0.02]}
  upper: {shape: [2, 2, 2], spacing: 0.05, mass: 0.02, law: flesh,
          at: [0.025, 0.025, 0.13]}
links:
  - {between: [hook, bob], law: cord}
crowds:
  - {of: [lower, upper], law: touch}
"""


def test_file_is_a_network(tmp_path: Path) -> None:
    """A file gives masses, links and crowds; the bob hangs by its closed form."""
    path = tmp_path / "net.yaml"
    path.write_text(TEXT)
    run = soft.load_network(path)
    assert len(run.network.masses) == 2 + 18 + 8
    run.run(2000)
    bob = run.positions[run.network.point("bob").index]
    assert bob[2] == pytest.approx(1 - 0.2 - 0.1 * 9.81 / 300, abs=1e-4)
    upper = run.positions[-8:, 2]
    assert upper.min() > 0.05 and np.abs(run.velocities).max() < 0.2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass: 0.1", "mass: -0.1", "bob: its mass is -0.1 kg"),
        ("type: stop", "type: stopp", "'stopp' is no law"),
        ("[hook, bob]", "[hook, bib]", "no mass 'bib'"),
        ("law: cord", "law: rope", "'rope' is no law of this file"),
        ("reach: 0.2", "range: 0.2", "unknown key"),
        ("[1, 0, 1]", "[1, 0]", "three numbers"),
        ("law: touch", "law: flesh", "cannot be of a crowd"),
    ],
)
def test_faults_name_their_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    """Each fault names the file, the line and the key."""
    path = tmp_path / "net.yaml"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(ModelFileError, match=message) as caught:
        soft.load_network(path)
    assert caught.value.line is not None
