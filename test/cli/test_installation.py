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


@pytest.mark.study
def test_commands_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command is run and reported; one that fails is named with its reason."""
    graphs.compile(["--version", "models --json"], workers=2)
    printed = capsys.readouterr().out
    assert "2 of 2" in printed and "humans-sim models --json" in printed
    with pytest.raises(HumansError, match=r"run nowhere ended with 2: .*nowhere"):
        graphs.compile(["--version", "run nowhere"], workers=1)


def test_first_commands() -> None:
    """Set-up compiles for what the README begins with."""
    text = " ".join(graphs._FIRST_COMMANDS)
    for words in ("drop", "khr1-walk", "reconstruct --example"):
        assert words in text


@pytest.mark.study
def test_first_runs_compile_nothing(cold_start: ModuleType, tmp_path: Path) -> None:
    """Whole scenarios, after what set-up does for them; nor does itself."""
    walk = "run khr1-walk --end 2"
    assert walk in graphs._FIRST_COMMANDS
    compile_both = f"compile 'run drop' '{walk}'"
    assert cold_start.measure(compile_both, tmp_path).compiled == 0  # others do
    files = sorted(tmp_path.rglob("*.nbc"))
    assert len(files) > 100
    for command in ("run drop", "run khr1-walk"):
        assert cold_start.measure(command, tmp_path).compiled == 0, command
    cold_start.measure(compile_both, tmp_path)
    assert sorted(tmp_path.rglob("*.nbc")) == files
