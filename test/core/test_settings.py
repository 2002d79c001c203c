# SPDX-License-Identifier: Apache-2.0
"""Settings that are declared once: files, options, checks."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from humans_sim.cli.options import options_of
from humans_sim.core.errors import ModelFileError
from humans_sim.core.settings import (
    REQUIRED,
    SettingError,
    check_settings,
    describe,
    of_section,
    setting,
)
from humans_sim.core.yaml_file import parse_yaml


@describe
@dataclass(frozen=True)
class Spring:
    """A spring."""

    kind: str = setting("soft", "which one", choices=("soft", "own"))
    stiffness: float = setting(10.0, "of the spring [N/m]", above=0.0)
    turn: float = setting(math.radians(5.0), "of its end [rad]", -1.0, 1.0)
    ends: tuple[int, ...] = setting((0, 1), "which it joins")

    def __post_init__(self) -> None:
        """Refuse what it cannot be."""
        check_settings(self)


def read(text: str) -> Spring:
    """A spring of a file."""
    readers = {"ends": lambda entry: tuple(item.whole() for item in entry)}
    return of_section(Spring, parse_yaml(text), Spring, readers, {"k": 2.0})


def test_of_a_file() -> None:
    """Numbers may be expressions, angles are degrees, others have their readers."""
    spring = read("{kind: own, stiffness: 3*k, turn: 45, ends: [4, 7]}")
    assert spring == Spring("own", 6.0, math.radians(45.0), (4, 7))
    assert read("{}") == Spring()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind: soft\nstifness: 1", ":2: stifness: unknown key: did you mean"),
        ("kind: soft\nkind: hard", "stands twice"),
        ("stiffness: 1\nkind: hard", ":2: kind: 'hard' is not one of soft, own"),
        ("turn: 1\nstiffness: 0", ":2: stiffness: must be a number above zero"),
        ("kind: soft\nturn: 90", ":2: turn: must be -1 to 1 rad, not 1.57"),
    ],
)
def test_faults_of_a_file(text: str, words: str) -> None:
    """With the line and the key."""
    with pytest.raises(ModelFileError, match=words):
        read(text)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "hard"}, "kind: is not one of soft, own"),
        ({"stiffness": 0.0}, "stiffness: must be above zero, not 0"),
        ({"stiffness": math.nan}, "stiffness: must be finite"),
        ({"turn": 2.0}, "turn: must be -1 to 1 rad, not 2"),
    ],
)
def test_checks(changes: dict[str, Any], words: str) -> None:
    """In Python the same limits hold."""
    with pytest.raises(SettingError, match=words):
        Spring(**changes)


def test_documentation() -> None:
    """Meanings stand in the docstring; a setting without a default must be given."""
    text = Spring.__doc__ or ""
    for item in fields(Spring):
        assert f"{item.name}: {item.metadata['help']}" in text

    @dataclass
    class Needed:
        length: float = setting(REQUIRED, "[m]")

    with pytest.raises(TypeError, match="length"):
        Needed()


def test_options_of_a_command() -> None:
    """The command has them by name, help, limits and choices."""
    springs = []

    @options_of(Spring, "kind", "stiffness")
    def bend(*, options: Spring) -> None:
        springs.append(options)

    app = typer.Typer()
    app.command()(bend)
    runner = CliRunner()
    shown = runner.invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    assert "of the spring [N/m]" in shown and "soft|own" in shown
    assert runner.invoke(app, ["--kind", "own"]).exit_code == 0
    assert springs == [Spring("own")]
    refused = runner.invoke(app, ["--stiffness", "-1"])
    assert "--stiffness must be a finite number above 0" in str(refused.exception)
