# SPDX-License-Identifier: Apache-2.0
"""Which marker of a file is which marker of a marker set."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from humans_sim.core.errors import ModelFileError, ParameterError
from humans_sim.core.files import read_text
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.observation.markers.trial import MarkerTrial

NONE = -1
"""Number of a marker that was not put on, in a list of numbers."""
_LARGEST_FILE = 1_000_000
"""A longer file is no list of numbers [bytes]."""


@dataclass(frozen=True)
class Correspondence:
    """A laboratory's names of the markers of a set.

    Attributes:
        labels: by the name in the set, the name in the file, its number there
            (counted from 1), or None for a marker that was not put on.
        path: the file it came from, or None.
        lines: of the entries in that file, by the name in the set.
    """

    labels: Mapping[str, str | int | None]
    path: Path | None = None
    lines: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the numbers, and that no label stands for two markers."""
        seen: dict[str | int, str] = {}
        for name, label in self.labels.items():
            if label is None:
                continue
            if isinstance(label, int) and label < 1:
                raise self.error(
                    name, f"markers are numbered from 1 ({NONE}: none), not {label}"
                )
            if label in seen:
                raise self.error(
                    name, f"'{label}' already stands for '{seen[label]}': one is wrong"
                )
            seen[label] = name

    def error(self, name: str, message: str) -> ModelFileError:
        """An error that points at the entry of a marker."""
        return ModelFileError(message, self.path, self.lines.get(name), name)


@dataclass(frozen=True, eq=False)
class Identified:
    """A trial in the names and order of a marker set.

    Attributes:
        trial: the markers that were found.
        missing: markers of the set that the file does not have.
        ignored: markers of the file that the set does not have.
        labels: what the file calls the markers that were found, in their order.
    """

    trial: MarkerTrial
    missing: tuple[str, ...]
    ignored: tuple[str, ...]
    labels: tuple[str, ...]


def load_correspondence(path: Path | str, names: Sequence[str]) -> Correspondence:
    """Read a correspondence file for the markers of a set, in its order.

    A ``.yaml`` file maps names of the set to names or numbers in the marker files
    (``-1`` or nothing: not put on), or is a list of numbers. Any other file is such a
    list as text: entry i is the number of the marker at place i of the set, ``-1``
    where there is none.

    Raises:
        ModelFileError: the file cannot be read or says something impossible.
    """
    path = Path(path)
    if path.suffix.lower() not in (".yaml", ".yml"):
        return _of_numbers(_numbers_of_text(path), names, path)
    root = read_yaml(path)
    if root.is_mapping():
        return _of_mapping(root, names, path)
    numbers = []
    for item in root.items():
        label = _label(item)
        if isinstance(label, str):
            raise item.error(f"must be a whole number, not '{label}'")
        numbers.append((NONE if label is None else label, item.line))
    return _of_numbers(numbers, names, path)


def identify(
    trial: MarkerTrial,
    correspondence: Correspondence | None,
    names: Sequence[str],
    aliases: Mapping[str, Sequence[str]] | None = None,
) -> Identified:
    """Give the markers of a trial the names and the order of a marker set.

    What the correspondence says comes first, then equal names, then names that differ
    in case, dots, underscores, dashes, spaces or a prefix ``Subject:``, then the same
    for the aliases.

    Raises:
        ModelFileError: the correspondence has a number that the trial does not.
        ParameterError: a name fits two markers, or no marker was found at all.
    """
    sources: dict[str, int] = {}
    given = {} if correspondence is None else correspondence.labels
    for name in names:
        label = given.get(name)
        if correspondence is not None and isinstance(label, int):
            if label > len(trial.names):
                raise correspondence.error(
                    name, f"there are {len(trial.names)} markers, no number {label}"
                )
            sources[name] = label - 1
    named = {name: (label,) for name, label in given.items() if isinstance(label, str)}
    own = {name: (name,) for name in names if name not in given}
    others = {
        name: tuple(also) for name, also in (aliases or {}).items() if name not in given
    }
    for labels in (named, own, others):
        for key in (_same, plain_name):
            _claim(trial.names, names, labels, key, sources)
    if not sources:
        raise ParameterError(
            f"none of the markers {', '.join(names)} was found among "
            f"{', '.join(trial.names)}: give a correspondence file"
        )
    columns = {name: trial.names[sources[name]] for name in names if name in sources}
    chosen = trial.select(tuple(columns.values()))
    taken = set(sources.values())
    return Identified(
        replace(chosen, names=tuple(columns)),
        tuple(name for name in names if name not in sources),
        tuple(name for k, name in enumerate(trial.names) if k not in taken),
        tuple(columns.values()),
    )


def plain_name(name: str) -> str:
    """A name without what laboratories write differently."""
    bare = name.rpartition(":")[2] or name
    return re.sub(r"[._\-\s]", "", bare).casefold()


def _same(name: str) -> str:
    return name


def _claim(
    names: Sequence[str],
    markers: Iterable[str],
    labels: Mapping[str, tuple[str, ...]],
    key: Callable[[str], str],
    sources: dict[str, int],
) -> None:
    """Find the markers that are still wanted by their labels, compared by a key."""
    columns: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        if k not in sources.values():
            columns.setdefault(key(name), []).append(k)
    takers: dict[int, str] = {}
    ambiguous: list[str] = []
    for name in markers:
        if name in sources:
            continue
        for label in labels.get(name, ()):
            places = columns.get(key(label), [])
            if len(places) > 1:
                both = ", ".join(names[k] for k in places)
                ambiguous.append(f"the marker '{name}' could be any of {both}")
                break
            if places and places[0] in takers:
                ambiguous.append(
                    f"the marker {names[places[0]]} of the file could be "
                    f"'{takers[places[0]]}' and '{name}'"
                )
                break
            if places:
                takers[places[0]] = name
                break
    if ambiguous:
        raise ParameterError(
            f"{'; '.join(ambiguous)}: assign them in a correspondence file"
        )
    sources.update({name: k for k, name in takers.items()})


def _of_mapping(root: YamlValue, names: Sequence[str], path: Path) -> Correspondence:
    labels: dict[str, str | int | None] = {}
    lines: dict[str, int] = {}
    for name, value in root.mapping().items():
        if name not in names:
            raise value.error(f"the marker set has: {', '.join(names)}")
        label = _label(value)
        labels[name] = None if label == NONE else label
        lines[name] = value.line
    return Correspondence(labels, path, lines)


def _label(value: YamlValue) -> str | int | None:
    try:
        label = value.plain()
    except ModelFileError:
        label = object()
    if isinstance(label, bool) or not isinstance(label, str | int | None):
        raise value.error("must be the name or the number of a marker")
    return label


def _of_numbers(
    numbers: Sequence[tuple[int, int]], names: Sequence[str], path: Path
) -> Correspondence:
    """Of numbers and the lines they stand on; markers after the last have none."""
    if not numbers:
        raise ModelFileError("the file is empty", path, 1)
    if len(numbers) > len(names):
        raise ModelFileError(
            f"{len(numbers)} numbers for a set of {len(names)} markers",
            path,
            numbers[len(names)][1],
        )
    labels: dict[str, str | int | None] = dict.fromkeys(names)
    lines = {}
    for name, (number, line) in zip(names, numbers, strict=False):
        labels[name] = None if number == NONE else number
        lines[name] = line
    return Correspondence(labels, path, lines)


def _numbers_of_text(path: Path) -> list[tuple[int, int]]:
    text = read_text(path, ModelFileError, _LARGEST_FILE)
    numbers = []
    for line, row in enumerate(text.splitlines(), 1):
        for word in re.split(r"[,;\s]+", row.strip(" ,;\t")):
            if re.fullmatch(r"[+-]?[0-9]{1,9}", word):
                numbers.append((int(word), line))
            elif word:
                raise ModelFileError(
                    f"must be a whole number, not '{word[:40]}'", path, line
                )
    return numbers
