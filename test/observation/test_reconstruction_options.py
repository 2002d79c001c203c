# SPDX-License-Identifier: Apache-2.0
"""Options of a reconstruction: one declaration for library, command and batch."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path

import pytest
import typer.main

import humans_sim as hs
from humans_sim.cli.commands import app
from humans_sim.observation.reconstruction_options import PERSON, STEPS

LIBRARY_ALONE = {"start", "end", "uncertainty"}
OWN_WORDS = {"reduce_residual": "--reduce-residuals"}


def test_the_command_has_every_field() -> None:
    """By its name, with its default and its meaning as help."""
    command = typer.main.get_command(app).commands["reconstruct"]  # type: ignore[attr-defined]
    options = {option.name: option for option in command.params}
    for field in fields(hs.ReconstructionOptions):
        assert field.default is not MISSING
        if field.name in LIBRARY_ALONE:
            assert field.name not in options
            continue
        option = options[field.name]
        word = OWN_WORDS.get(field.name, f"--{field.name.replace('_', '-')}")
        assert option.opts == [word]
        assert option.help == field.metadata["help"]
        default = field.default
        if isinstance(default, tuple):
            default = ",".join(default)
        assert option.default == default
    assert option.secondary_opts == []
    assert options["report"].secondary_opts == ["--no-report"]


def test_help_names_every_field() -> None:
    """The meaning of a field is written once, and help() shows it."""
    text = hs.ReconstructionOptions.__doc__ or ""
    for field in fields(hs.ReconstructionOptions):
        assert f"{field.name}: {field.metadata['help']}" in text


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words become paths, and whole ones for workers in other folders."""
    monkeypatch.chdir(tmp_path)
    options = hs.ReconstructionOptions(
        **{"subject": "s.yaml", "pipeline": "p.yaml", "convention": "c.yaml"}
    )
    assert options.subject == Path("s.yaml")
    whole = options.absolute()
    assert whole.subject == tmp_path / "s.yaml"
    assert whole.pipeline == tmp_path / "p.yaml"
    assert whole.convention == str(tmp_path / "c.yaml")
    assert hs.ReconstructionOptions().absolute() == hs.ReconstructionOptions()


def test_identity_leaves_the_person_out() -> None:
    """Who is in a recording distinguishes it by itself; the rest counts."""
    identity = hs.ReconstructionOptions().identity()
    assert not set(PERSON) & set(identity)
    assert set(STEPS) < set(identity)
    assert identity == hs.ReconstructionOptions(height=1.8).identity()
    assert identity != hs.ReconstructionOptions(end=1.0).identity()


def test_a_person_given_twice(tmp_path: Path) -> None:
    """Alone and in the options: refused."""
    options = hs.ReconstructionOptions(marker_set="cmu")
    with pytest.raises(hs.errors.ParameterError, match="given twice"):
        hs.plan_batch([tmp_path], tmp_path / "out", hs.Person(), options)
