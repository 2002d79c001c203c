# SPDX-License-Identifier: Apache-2.0
"""Marker sets: places of markers on the segments, and which marker of a file is which.

``config/marker_sets`` holds the sets that come with the package; ``docs/markers.md``
explains the format. A position is given in its segment's frame on HuMAnS axes (x
forward, y up, z right; the joint centre is the origin) and may be an expression of
the model's named lengths, so that a set fits every stature.

*Weights* by the movement of the skin. In walking the muscles of the thigh carry their
skin by a centimetre and more, about twice as far as it goes on shank or pelvis; a foot
is bony or in a shoe, and moves its markers less (reviews: Leardini et al. 2005, "Human
movement analysis using stereophotogrammetry, part 3: soft tissue artifact assessment
and compensation"; Peters et al. 2010, "Quantification of soft tissue artifact in lower
limb human motion analysis"). Weights are inverse squares of such movements, rounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ModelFileError, ParameterError
from humans_sim.core.files import read_text
from humans_sim.core.resources import named_file, resource_names
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.models.files.tree_file import TreeFile
from humans_sim.models.model import Model
from humans_sim.observation.markers.trial import MarkerTrial

_THIGH = 0.25
"""Of a marker on the flesh of a thigh: its skin moves twice as far as usual."""
_FOOT = 3.0
"""Of a marker on a foot: 0.6 times as far."""
_FLESH = 0.05
"""Spread from which on a marker is at no landmark but somewhere on the flesh [m]."""


def usual_weight(segment: str, spread: float) -> float:
    """Weight of a marker for which its set gives none, by segment and spread [m]."""
    if segment.endswith("foot"):
        return _FOOT
    if segment.endswith("thigh") and spread >= _FLESH:
        return _THIGH
    return 1.0


CANONICAL = "canonical"
"""The set whose markers are the model's own tags."""

ANATOMICAL = 0.02
"""How far a marker may be from where its set says, where the set is silent [m]."""

_MIRROR = np.array([1.0, 1.0, -1.0])


@dataclass(frozen=True, eq=False)
class SetMarker:
    """A marker of a set.

    Attributes:
        name: its label.
        segment: link of the model that carries it.
        at: position in the segment's frame, HuMAnS axes (3,) [m].
        weight: of its squared distance, against 1 for an ordinary marker.
        aliases: other labels of the same marker.
        calibration: seen in static trials only; it is not used on motions.
        spread: how far it may be from ``at`` before calibration, each axis (3,) [m].
    """

    name: str
    segment: str
    at: np.ndarray
    weight: float = 1.0
    aliases: tuple[str, ...] = ()
    calibration: bool = False
    spread: np.ndarray = field(default_factory=lambda: np.full(3, ANATOMICAL))

    def measured(self) -> SetMarker:
        """The marker once its place on a person is known: to what skin moves."""
        return replace(self, spread=np.full(3, ANATOMICAL))


@dataclass(frozen=True)
class MarkerSet:
    """Markers of a laboratory on a model.

    Attributes:
        name: of the set, ``plug-in-gait``.
        title: in words.
        markers: where each sits on the body.
    """

    name: str
    title: str
    markers: tuple[SetMarker, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Labels of all markers."""
        return tuple(marker.name for marker in self.markers)

    @property
    def aliases(self) -> dict[str, tuple[str, ...]]:
        """Other labels of all markers, by name."""
        return {marker.name: marker.aliases for marker in self.markers}

    @property
    def moving(self) -> MarkerSet:
        """The set without markers of static trials."""
        return replace(
            self, markers=tuple(m for m in self.markers if not m.calibration)
        )

    def __getitem__(self, name: str) -> SetMarker:
        """A marker by its label."""
        for marker in self.markers:
            if marker.name == name:
                return marker
        raise ParameterError(f"the marker set {self.name} has no marker '{name}'")

    def of(self, names: Iterable[str]) -> MarkerSet:
        """The set with these markers only, in this order."""
        return replace(self, markers=tuple(self[name] for name in names))

    def moved(self, positions: Mapping[str, np.ndarray]) -> MarkerSet:
        """The set with some markers elsewhere on their segments, HuMAnS axes [m]."""
        markers = tuple(
            replace(marker, at=np.asarray(positions.get(marker.name, marker.at), float))
            for marker in self.markers
        )
        return replace(self, markers=markers)


def marker_set_names() -> list[str]:
    """Marker sets that come with the package."""
    return sorted([CANONICAL, *resource_names("marker_sets")])


def load_marker_set(
    name: str | Path, model: Model, lengths: Mapping[str, float] | None = None
) -> MarkerSet:
    """A marker set by its name, or one's own by its path, on a model.

    Args:
        name: of a set of the package, or the path of a YAML file.
        model: that carries the markers.
        lengths: values of the names in the set's expressions [m]; None: the model's.

    Raises:
        ParameterError: the package has no such set.
        ModelFileError: the file is malformed or does not fit the model.
    """
    if str(name) == CANONICAL:
        if not (tags := model.parts.tags):
            text = f"{model.name} has no tags: give a marker set of its own"
            raise ParameterError(text)
        places = zip(tags, model.tag_positions, strict=True)
        own = tuple(SetMarker(tag.name, tag.link, at) for tag, at in places)
        return MarkerSet(CANONICAL, f"The {len(tags)} tags of {model.name}", own)
    try:
        path = named_file("marker_sets", str(name), "marker set")
    except ParameterError:
        sets = ", ".join(marker_set_names())
        raise ParameterError(
            f"no marker set is called '{name}' (there are: {sets}; or give the path "
            "of a .yaml file)"
        ) from None
    fields = read_yaml(path).fields(("title", "markers"), ("model", "spread"))
    if "model" in fields and fields["model"].text() != model.name:
        raise fields["model"].error(
            f"the set is for {fields['model'].text()}, not for {model.name}"
        )
    spread = fields["spread"].positive() if "spread" in fields else ANATOMICAL
    known = length_names(model) if lengths is None else lengths
    reader = _Reader(model, spread, known)
    markers: dict[str, SetMarker] = {}
    for entry in fields["markers"]:
        for marker in reader.markers(entry):
            if marker.name in markers:
                raise entry.error(f"the marker '{marker.name}' stands twice")
            markers[marker.name] = marker
    if not markers:
        raise fields["markers"].error("a marker set needs markers")
    return MarkerSet(path.stem, fields["title"].text(), tuple(markers.values()))


class _Reader:
    """Reads the entries of a set for one model."""

    def __init__(self, model: Model, spread: float, names: Mapping[str, float]) -> None:
        self._model, self._spread, self._names = model, spread, names
        self._links = {
            frame.name for frame in model.pin.frames if frame.type.name == "BODY"
        }

    def markers(self, entry: YamlValue) -> list[SetMarker]:
        """The marker of an entry; those of both sides where it says so."""
        fields = entry.fields(
            ("name", "segment", "at"),
            ("sides", "weight", "aliases", "calibration", "spread"),
        )
        if "sides" not in fields:
            return [self._marker(fields, "", "")]
        sides = [value.text() for value in fields["sides"].items()]
        if len(sides) != 2:
            text = "must be two words, for the right and the left side"
            raise fields["sides"].error(text)
        right, left = sides
        return [self._marker(fields, "r_", right), self._marker(fields, "l_", left)]

    def _marker(
        self, fields: Mapping[str, YamlValue], side: str, label: str
    ) -> SetMarker:
        name, segment = fields["name"].text(), fields["segment"].text()
        if side and segment.startswith(("r_", "l_")):
            raise fields["segment"].error(
                "a marker of both sides is on a segment without r_ or l_"
            )
        if side and f"{side}{segment}" in self._links:
            segment = f"{side}{segment}"
        if segment not in self._links:
            raise fields["segment"].error(
                f"{self._model.name} has no link called '{segment}'"
            )
        if label and "{side}" not in name:
            raise fields["name"].error(
                "a marker of both sides needs {side} in its name"
            )
        if not label and "{side}" in name:
            text = "{side} in a name needs 'sides', e.g. sides: [R, L]"
            raise fields["name"].error(text)
        names, own = self._names, side or segment[:2]
        if own in ("r_", "l_"):
            short = {k[2:]: v for k, v in names.items() if k.startswith(own)}
            names = {**names, **short}
        at = fields["at"].vector(3, names)
        spread = self._spread * np.ones(3)
        if "spread" in fields:
            spread = _spread(fields["spread"])
        weight = usual_weight(segment, float(spread.max()))
        if "weight" in fields:
            weight = fields["weight"].positive()
        calibration = "calibration" in fields and (
            fields["calibration"].choice(("true", "false")) == "true"
        )
        aliases = [a.text() for a in fields["aliases"]] if "aliases" in fields else []
        return SetMarker(
            name=name.replace("{side}", label),
            segment=segment,
            at=at * (_MIRROR if side == "l_" else 1.0),
            weight=weight,
            aliases=tuple(alias.replace("{side}", label) for alias in aliases),
            calibration=calibration,
            spread=spread,
        )


def length_names(model: Model) -> dict[str, float]:
    """Names an expression of a marker set may use: the model's lengths."""
    parts = model.parts
    if parts.source is None or parts.source.suffix != ".yaml":
        return {}
    return TreeFile(parts.source, parts.parameters, parts.given_lengths).names


def _spread(value: YamlValue) -> np.ndarray:
    try:
        value.items()
    except ModelFileError:
        return value.positive() * np.ones(3)
    spread = value.vector(3)
    if (spread <= 0).any():
        raise value.error("must be numbers above zero")
    return spread


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
    numbers: list[tuple[int, int]] = []
    if path.suffix.lower() not in (".yaml", ".yml"):
        text = read_text(path, ModelFileError, _LARGEST_FILE)
        for line, row in enumerate(text.splitlines(), 1):
            for word in re.split(r"[,;\s]+", row.strip(" ,;\t")):
                if re.fullmatch(r"[+-]?[0-9]{1,9}", word):
                    numbers.append((int(word), line))
                elif word:
                    fault = f"must be a whole number, not '{word[:40]}'"
                    raise ModelFileError(fault, path, line)
        return _of_numbers(numbers, names, path)
    root = read_yaml(path)
    if root.is_mapping():
        labels: dict[str, str | int | None] = {}
        for name, value in root.mapping().items():
            if name not in names:
                raise value.error(f"the marker set has: {', '.join(names)}")
            label = _label(value)
            labels[name] = None if label == NONE else label
        lines = {name: value.line for name, value in root.mapping().items()}
        return Correspondence(labels, path, lines)
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
        for key in (str, plain_name):
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


def _claim(
    names: Sequence[str],
    markers: Iterable[str],
    labels: Mapping[str, tuple[str, ...]],
    key: Callable[[str], str],
    sources: dict[str, int],
) -> None:
    """Find the markers that are still missing by their labels, compared by a key."""
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
