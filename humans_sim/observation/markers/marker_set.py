# SPDX-License-Identifier: Apache-2.0
"""Marker sets: places of markers on the segments, read from YAML.

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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from humans_sim.core.errors import ModelFileError, ParameterError
from humans_sim.core.resources import named_file, resource_names
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.models.files.tree_file import TreeFile
from humans_sim.models.model import Model

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
        return _canonical(model)
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


def _canonical(model: Model) -> MarkerSet:
    if not model.tag_names:
        raise ParameterError(f"{model.name} has no tags: give a marker set of its own")
    tags = model.parts.tags
    at = model.tag_positions
    markers = tuple(
        SetMarker(tag.name, tag.link, at[row]) for row, tag in enumerate(tags)
    )
    return MarkerSet(CANONICAL, f"The {len(tags)} tags of {model.name}", markers)


class _Reader:
    """Reads the entries of a set for one model."""

    def __init__(self, model: Model, spread: float, names: Mapping[str, float]) -> None:
        self._model = model
        self._spread = spread
        self._links = {
            frame.name for frame in model.pin.frames if frame.type.name == "BODY"
        }
        self._names = names

    def markers(self, entry: YamlValue) -> list[SetMarker]:
        """The marker of an entry; those of both sides where it says so."""
        fields = entry.fields(
            ("name", "segment", "at"),
            ("sides", "weight", "aliases", "calibration", "spread"),
        )
        if "sides" not in fields:
            return [self._marker(fields, "", "")]
        right, left = (value.text() for value in _pair(fields["sides"]))
        return [self._marker(fields, "r_", right), self._marker(fields, "l_", left)]

    def _marker(
        self, fields: Mapping[str, YamlValue], side: str, label: str
    ) -> SetMarker:
        segment = fields["segment"].text()
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
        at = fields["at"].vector(3, self._own_names(side or segment[:2]))
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
            name=_labelled(fields["name"], label),
            segment=segment,
            at=at * (_MIRROR if side == "l_" else 1.0),
            weight=weight,
            aliases=tuple(alias.replace("{side}", label) for alias in aliases),
            calibration=calibration,
            spread=spread,
        )

    def _own_names(self, side: str) -> Mapping[str, float]:
        own = {k[2:]: v for k, v in self._names.items() if k.startswith(side)}
        return {**self._names, **own} if side in ("r_", "l_") else self._names


def length_names(model: Model) -> dict[str, float]:
    """Names an expression of a marker set may use: the model's lengths."""
    parts = model.parts
    if parts.source is None or parts.source.suffix != ".yaml":
        return {}
    return TreeFile(parts.source, parts.parameters, parts.given_lengths).names


def _labelled(value: YamlValue, label: str) -> str:
    text = value.text()
    if label and "{side}" not in text:
        raise value.error("a marker of both sides needs {side} in its name")
    if not label and "{side}" in text:
        raise value.error("{side} in a name needs 'sides', e.g. sides: [R, L]")
    return text.replace("{side}", label)


def _pair(value: YamlValue) -> list[YamlValue]:
    items = value.items()
    if len(items) != 2:
        raise value.error("must be two words, for the right and the left side")
    return items


def _spread(value: YamlValue) -> np.ndarray:
    try:
        value.items()
    except ModelFileError:
        return value.positive() * np.ones(3)
    spread = value.vector(3)
    if (spread <= 0).any():
        raise value.error("must be numbers above zero")
    return spread
