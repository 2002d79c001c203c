# SPDX-License-Identifier: Apache-2.0
"""``humans-sim compile``: after it, first runs compile nothing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from humans_sim.cli import graphs
from humans_sim.core.errors import HumansError

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "cold_start.py"
SCENARIOS = (
    *("drop", "khr1-walk", "bip-one-step", "fes-sit-to-stand"),
    *("carpus-adduction", "sand-walk"),
)


@pytest.fixture(scope="module")
def cold_start() -> ModuleType:
    """The benchmark that runs commands in fresh processes."""
    specification = importlib.util.spec_from_file_location("cold_start", BENCHMARK)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["cold_start"] = module
    specification.loader.exec_module(module)
    return module


def test_cold_start(
    cold_start: ModuleType,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The benchmark at its smallest: a command without kernels."""
    monkeypatch.setattr(sys, "argv", ["cold_start.py", "models"])
    assert cold_start.main() == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(",")[1].split()[0] for row in rows[1:]] == ["cold", "warm"]


def test_commands_side_by_side(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command is run and reported; one that fails is named with its reason."""
    monkeypatch.setattr(graphs, "_FIRST_COMMANDS", ("--version", "models --json"))
    graphs.compile(workers=2)
    printed = capsys.readouterr().out
    assert "2 of 2" in printed and "humans-sim models --json" in printed
    monkeypatch.setattr(graphs, "_FIRST_COMMANDS", ("--version", "run nowhere"))
    with pytest.raises(HumansError, match=r"run nowhere ended with 2: .*nowhere"):
        graphs.compile(workers=1)


@pytest.mark.study
def test_first_runs_compile_nothing(cold_start: ModuleType, tmp_path: Path) -> None:
    """Whole scenarios and a reconstruction, after what set-up does; nor does itself."""
    assert cold_start.measure("compile", tmp_path).compiled == 0  # others do
    files = sorted(tmp_path.rglob("*.nbc"))
    assert len(files) > 100
    for command in (*(f"run {name}" for name in SCENARIOS), "reconstruct --example"):
        assert cold_start.measure(command, tmp_path).compiled == 0, command
    cold_start.measure("compile", tmp_path)
    assert sorted(tmp_path.rglob("*.nbc")) == files
