# SPDX-License-Identifier: Apache-2.0
"""A person as measured: stature, mass, lengths and where the markers sit. YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

from humans_sim.core.errors import HumansError
from humans_sim.core.files import write_atomically
from humans_sim.core.yaml_file import read_yaml
from humans_sim.models.catalogue import load_model, model_name_in
from humans_sim.models.conventions import HUMANS
from humans_sim.models.model import Model
from humans_sim.observation.markers.marker_set import MarkerSet, SetMarker
from humans_sim.observation.posture.opensim_files import write_osim

_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Subject:
    """A calibrated person.

    Attributes:
        model_name: model it is measured on.
        height: stature [m].
        mass: [kg].
        lengths: the model's lengths, by name [m].
        markers: its markers, each on its segment.
        title: one line for people.
    """

    model_name: str
    height: float
    mass: float
    lengths: Mapping[str, float]
    markers: tuple[SetMarker, ...]
    title: str = ""

    def model(self) -> Model:
        """The model of this person."""
        return load_model(
            self.model_name,
            height=self.height,
            mass=self.mass,
            lengths=self.lengths,
            xacro=False,
        )

    def marker_set(self) -> MarkerSet:
        """Where the markers are on this person."""
        markers = tuple(marker.measured() for marker in self.markers)
        return MarkerSet("subject", self.title or "calibrated", markers)

    def save(self, path: Path | str) -> Path:
        """Write a subject file."""
        path = Path(path)
        content = {
            "title": self.title or f"a person on {self.model_name}",
            "model": self.model_name,
            "height": round(float(self.height), _DIGITS),
            "mass": round(float(self.mass), _DIGITS),
            "lengths": {
                name: round(float(value), _DIGITS)
                for name, value in self.lengths.items()
            },
            "markers": [_entry(marker) for marker in self.markers],
        }
        text = yaml.safe_dump(content, sort_keys=False, width=100, allow_unicode=True)
        head = "# A person for humans-sim reconstruct --subject; m, kg, HuMAnS axes.\n"
        write_atomically(path, head + text)
        return path

    def to_osim(self, path: Path | str, convention: str | Path = HUMANS) -> Path:
        """Write the person as an OpenSim model, with the names of a convention."""
        return write_osim(self, path, convention=convention)


def _entry(marker: SetMarker) -> dict[str, object]:
    entry: dict[str, object] = {
        "name": marker.name,
        "segment": marker.segment,
        "at": [round(float(x), _DIGITS) for x in marker.at],
    }
    if marker.weight != 1.0:
        entry["weight"] = float(marker.weight)
    if marker.aliases:
        entry["aliases"] = list(marker.aliases)
    if marker.calibration:
        entry["calibration"] = True
    return entry


def load_subject(path: Path | str) -> Subject:
    """Read a subject file.

    Args:
        path: the file, ``.yaml``, that ``humans-sim calibrate`` wrote.

    Raises:
        ModelFileError: the file is malformed or does not fit its model.
    """
    root = read_yaml(Path(path).expanduser())
    fields = root.fields(("model", "height", "mass", "lengths", "markers"), ("title",))
    lengths = {key: v.positive() for key, v in fields["lengths"].mapping().items()}
    markers: dict[str, SetMarker] = {}
    for item in fields["markers"]:
        entry = item.fields(
            ("name", "segment", "at"), ("weight", "aliases", "calibration")
        )
        name = entry["name"].text()
        if name in markers:
            raise item.error(f"the marker '{name}' stands twice")
        markers[name] = SetMarker(
            name,
            entry["segment"].text(),
            entry["at"].vector(3),
            entry["weight"].positive() if "weight" in entry else 1.0,
            tuple(a.text() for a in entry["aliases"]) if "aliases" in entry else (),
            "calibration" in entry
            and entry["calibration"].choice(("true", "false")) == "true",
        )
    subject = Subject(
        model_name_in(fields["model"]),
        fields["height"].positive(),
        fields["mass"].positive(),
        lengths,
        tuple(markers.values()),
        fields["title"].text() if "title" in fields else "",
    )
    try:
        model = subject.model()
    except HumansError as error:
        raise root.error(f"does not fit its model: {error}") from error
    links = {frame.name for frame in model.pin.frames}
    for marker in subject.markers:
        if marker.segment not in links:
            raise fields["markers"].error(
                f"{model.name} has no link called '{marker.segment}'"
            )
    return subject


def with_marker_positions(
    markers: tuple[SetMarker, ...], at: np.ndarray
) -> tuple[SetMarker, ...]:
    """The markers at other places on their segments (m, 3), HuMAnS axes [m]."""
    return tuple(replace(m, at=p) for m, p in zip(markers, at, strict=True))
