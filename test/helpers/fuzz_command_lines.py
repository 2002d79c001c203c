# SPDX-License-Identifier: Apache-2.0
"""Random command lines of ``humans-sim``, from what the commands say of themselves.

New commands and options are covered without a word here.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from mutations import NUMBERS, WORDS, damaged

FORCED = {
    "--seconds": "0.1",
    "--end": "0.01",
    "--workers": "0",
    "--steps": "1",
    "--repeat": "1",
}
"""Options that keep a command short; last in the line, so that they hold."""
LEFT_OUT = ("--view", "--cluster", "--host", "--walk")
"""Options that open a page, call other machines, or last."""
NOT_HERE = ("view",)
"""Commands that only a process of its own can do: they leave a server behind."""
QUICK = ("bounce", "slide", "rocking-block", "woodpecker", "tumbling-top")
"""Scenarios that need no time."""
SEEDS = {
    "scenario": ("scenarios",),
    "trials": ("trc", "c3d", "optotrak"),
    "sources": ("trc", "c3d", "optotrak"),
    "subject": ("subject",),
    "marker-set": ("marker_sets",),
    "pipeline": ("pipeline",),
    "frame-change": ("frame",),
    "correspondence": ("correspondence",),
    "robot": ("kondo",),
    "model": ("urdf", "xacro"),
    "graph": ("graphs",),
}
"""Kinds of files that an option or argument takes, by its name."""
MOTIONS = ("motion",)
RUNS = ("run", "reconstruction")
NAMES = (
    *("khr1", "human36", "bip", "canonical", "walk", "greeting", "none", "standing"),
    *("static", "smooth", "mm", "z", "-y", "csv", "csv,npz", "event_driven"),
    *("time_stepping", "out.npz", "out.csv", "out.html", "out.png", "out", "out.gif"),
    *("out.mcap", "out.yaml", "sub/out.npz", "/dev/null", "l_knee=1"),
    "x" * 250 + ".npz",
)


@dataclass(frozen=True)
class Command:
    """A command and its parameters.

    Attributes:
        path: words that name it.
        options: its options: name, whether it takes no value.
        arguments: names of what stands without an option.
    """

    path: tuple[str, ...]
    options: tuple[tuple[str, bool], ...]
    arguments: tuple[str, ...]


def commands(app: typer.Typer) -> list[Command]:
    """All commands of the program."""
    return list(_below(typer.main.get_command(app), ()))


def _below(command: Any, path: tuple[str, ...]) -> Iterator[Command]:
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from _below(command.get_command(context, name), (*path, name))
        return
    options, arguments = [], []
    for parameter in command.params:
        if hasattr(parameter, "is_flag"):
            options += [(name, bool(parameter.is_flag)) for name in parameter.opts]
        else:
            arguments.append(str(parameter.name))
    yield Command(path, tuple(options), tuple(arguments))


class Lines:
    """Makes command lines and the files they name.

    Args:
        known: the commands.
        seeds: folder of sound files.
    """

    def __init__(self, known: list[Command], seeds: Path) -> None:
        """Read the sound files."""
        self._known = known
        self._files = {
            folder.name: [(p.name, p.read_bytes()) for p in sorted(folder.iterdir())]
            for folder in sorted(seeds.iterdir())
        }

    def line(
        self, chance: random.Random, folder: Path, left_out: tuple[str, ...] = NOT_HERE
    ) -> list[str]:
        """A command line; the files it names are in the folder."""
        known = [c for c in self._known if c.path[0] not in left_out]
        command = chance.choice(known)
        line = list(command.path)
        names = {name for name, _ in command.options}
        for name in command.arguments:
            if chance.random() < 0.95:
                line += [
                    self._value(name, command, chance, folder)
                    for _ in range(chance.choice((1, 1, 1, 1, 2)))
                ]
        for name, flag in command.options:
            if name in LEFT_OUT or chance.random() < 0.7:
                continue
            line.append(name)
            if not flag:
                line.append(self._value(name.lstrip("-"), command, chance, folder))
        if chance.random() < 0.05:
            line.insert(chance.randrange(len(line) + 1), chance.choice(("--", "-x")))
        for name, value in FORCED.items():
            if name in names:
                line += [name, value]
        # A zero byte cannot stand in a command line.
        return [word.replace("\0", "") for word in line]

    def _value(
        self, name: str, command: Command, chance: random.Random, folder: Path
    ) -> str:
        draw = chance.random()
        if name == "scenario" and draw < 0.4:
            return chance.choice(QUICK)
        kinds = SEEDS.get(name, ())
        if name == "file":
            kinds = MOTIONS if command.path[0] == "kondo" else RUNS
        if kinds and draw < 0.85:
            return self._file(chance.choice(kinds), chance, folder)
        if draw < 0.9:
            return chance.choice(NAMES)
        return chance.choice(NUMBERS if chance.random() < 0.6 else WORDS)

    def _file(self, kind: str, chance: random.Random, folder: Path) -> str:
        name, content = chance.choice(self._files[kind])
        if chance.random() < 0.75:
            content = damaged(content, chance, [content])
        (folder / name).write_bytes(content)
        return name
