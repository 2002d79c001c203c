# SPDX-License-Identifier: Apache-2.0
"""The files that are made: for every graph and model, with or without the library."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from generate_files import texts, write_urdfs

import humans_sim as hs
from humans_sim.applications.graphs import graph_names

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What Git keeps and the tools read, elsewhere."""
    for folder in ("tools", "config/graphs", "config/params", "config/models"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "urdf").mkdir()
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    return tmp_path


def test_each_graph_has_its_files() -> None:
    """Launch files open RViz with the file of their graph, users the layout."""
    names = {path.relative_to(ROOT).as_posix() for path in texts()}
    graphs = {f"config/rviz/{name}.rviz" for name in graph_names()}
    graphs |= {f"config/foxglove/{name}.json" for name in graph_names()}
    runs = {"config/foxglove/run.json", "config/foxglove/run-small.json"}
    assert names == graphs | runs | {"CHANGELOG.rst"}


def test_all_but_urdfs_are_made_without_the_library(checkout: Path) -> None:
    """A build whose Python has PyYAML alone ends well, with the files of graphs."""
    (checkout / "site").mkdir()
    (checkout / "site" / "yaml").symlink_to(Path(yaml.__file__).parent)
    result = subprocess.run(
        [sys.executable, "-S", str(checkout / "tools" / "generate_files.py")],
        env={"PYTHONPATH": str(checkout / "site")},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "no coal, numba, numpy, pinocchio, scipy here" in result.stdout
    for made, text in texts().items():
        assert (checkout / made.relative_to(ROOT)).read_text() == text
    assert not list((checkout / "urdf").iterdir())


def test_urdfs_are_the_models(
    model: hs.Model, rng: np.random.Generator, urdfs: dict[str, Path]
) -> None:
    """Each URDF with its YAML loads as the model of its name."""
    made = hs.load_model(urdfs[model.name])
    assert made.joint_names == model.joint_names and made.soles == model.soles
    assert made.urdf().count("<visual>") == model.urdf().count("<visual>")
    q = model.random_configuration(rng)
    np.testing.assert_allclose(made.inertia(q), model.inertia(q), atol=1e-9)
    np.testing.assert_allclose(made.tags(q), model.tags(q), atol=1e-12)
    np.testing.assert_allclose(made.upper_limits, model.upper_limits, atol=1e-12)


@pytest.fixture(scope="module")
def urdfs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The URDFs of all models, by name."""
    return {path.stem: path for path in write_urdfs(tmp_path_factory.mktemp("urdf"))}
