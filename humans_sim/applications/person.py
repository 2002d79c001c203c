# SPDX-License-Identifier: Apache-2.0
"""Who is in a recording: a calibrated person, or a marker set on a usual body."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from humans_sim.applications.calibration import HUMAN, calibrate_recordings
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.files import content_hash
from humans_sim.core.resources import named_file
from humans_sim.models import load_model
from humans_sim.models.model import Model
from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.marker_set import (
    CANONICAL,
    MarkerSet,
    load_marker_set,
)
from humans_sim.observation.posture.subject import load_subject

SUBJECT = "subject.yaml"
"""File of the person whose recordings lie beside or below it."""


class UnknownPersonError(HumansError, LookupError):
    """Nothing says who is in a recording."""

    def __init__(self, recording: object) -> None:
        """Name the recording."""
        super().__init__(
            f"{recording}: nobody said who this is: put a {SUBJECT} beside it "
            "(humans-sim calibrate makes one), or give a subject or a marker set"
        )


@dataclass(frozen=True)
class Person:
    """Who is in a recording: a subject file, or a marker set on a model.

    Attributes:
        subject: a calibrated person's file; the rest is then not looked at.
        marker_set: name or path of a set.
        model: name of the model.
        height: stature [m].
        mass: [kg].
        static: trial of standing still from which the person is measured first; None:
            the usual body of that stature and mass.
    """

    subject: Path | None = None
    marker_set: str = CANONICAL
    model: str = HUMAN
    height: float | None = None
    mass: float | None = None
    static: Path | None = None

    def load(
        self,
        reading: ReadOptions | None = None,
        correspondence: Path | None = None,
        force: bool = False,
    ) -> tuple[Model, MarkerSet]:
        """The model and where its markers are.

        Args:
            reading: what the file of the static trial leaves open.
            correspondence: file of the laboratory's labels, for the static trial.
            force: measure also from a static trial that cannot be a person.

        Raises:
            HumansError: a file is wrong, or a size is.
        """
        if self.subject is not None:
            return _calibrated(self.subject, content_hash(self.subject))
        if self.static is None:
            return _usual(self, self._set_content())
        contents = [self._set_content(), content_hash(self.static)]
        if correspondence is not None:
            contents.append(content_hash(correspondence))
        reading = reading or ReadOptions()
        return _measured(self, reading, correspondence, force, tuple(contents))

    def identity(self) -> dict[str, Any]:
        """What distinguishes this person from others, by content."""
        if self.subject is not None:
            return {"subject": content_hash(self.subject)}
        identity = asdict(self) | {"marker_set": self._set_content()}
        if self.static is not None:
            identity["static"] = content_hash(self.static)
        return identity

    def _set_content(self) -> str:
        """What distinguishes the marker set from others."""
        if self.marker_set == CANONICAL:
            return CANONICAL
        return content_hash(named_file("marker_sets", self.marker_set, "marker set"))


def choose_person(
    subject: Path | None,
    marker_set: str | None,
    height: float | None = None,
    mass: float | None = None,
    static: Path | None = None,
) -> Person | None:
    """The person of what was given; None where that is nobody.

    Raises:
        ParameterError: two of the choices exclude each other.
    """
    if marker_set is not None and subject is not None:
        raise ParameterError(
            "a subject has its markers: give a subject or a marker set, not both"
        )
    if marker_set is not None:
        return Person(marker_set=marker_set, height=height, mass=mass, static=static)
    if height is not None or mass is not None or static is not None:
        raise ParameterError(
            "a subject has its sizes: height, mass and a static trial go with a marker "
            "set"
        )
    return None if subject is None else Person(subject=subject)


def nearest_person(recording: Path, top: Path | None = None) -> Person | None:
    """The person of the nearest subject file.

    Args:
        recording: beside or above which it lies.
        top: folder above which it is not looked for; None: that of the recording.
    """
    top = top or recording.parent
    for folder in recording.parents:
        if (folder / SUBJECT).is_file():
            return Person(subject=folder / SUBJECT)
        if folder == top:
            break
    return None


@lru_cache(maxsize=4)
def _calibrated(path: Path, content: str) -> tuple[Model, MarkerSet]:
    subject = load_subject(path)
    return subject.model(), subject.marker_set()


@lru_cache(maxsize=4)
def _usual(person: Person, content: str) -> tuple[Model, MarkerSet]:
    model = load_model(person.model, height=person.height, mass=person.mass)
    return model, load_marker_set(person.marker_set, model)


@lru_cache(maxsize=4)
def _measured(
    person: Person,
    reading: ReadOptions,
    correspondence: Path | None,
    force: bool,
    contents: tuple[str, ...],
) -> tuple[Model, MarkerSet]:
    assert person.static is not None
    subject = calibrate_recordings(
        [person.static],
        person.marker_set,
        model=person.model,
        height=person.height,
        mass=person.mass,
        reading=reading,
        correspondence=correspondence,
        force=force,
    ).subject
    return subject.model(), subject.marker_set()
