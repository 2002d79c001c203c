# SPDX-License-Identifier: Apache-2.0
"""The person of a recording: calibrated, or a marker set on a body of default sizes.

Also: a person measured from files of markers (read, identified, calibrated), and the
screening of a recording before the search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from humans_sim.observation.markers.pipeline import PipelineSettings, prepare
from humans_sim.observation.markers.read import read_markers
from humans_sim.observation.markers.trial import MarkerFileError, MarkerTrial
from humans_sim.observation.reconstruction_options import ReconstructionOptions
from humans_sim.observation.screening.screen import (
    AxesKnown,
    Screening,
    Topic,
    better_set,
    look_at,
    screen,
    screen_labels,
)

if TYPE_CHECKING:
    from humans_sim.observation.posture.calibrate import Calibration


def screen_recording(
    model: Model,
    trial: MarkerTrial,
    marker_set: MarkerSet,
    steps: PipelineSettings,
    reading: ReadOptions,
) -> Screening:
    """Look at a recording as it was read.

    Args:
        model: the person.
        trial: as read.
        marker_set: where the markers are.
        steps: of the preparation.
        reading: what the user gave for the file.
    """
    used = marker_set.moving
    steps = replace(steps, fill=False, filter=False)
    # The standing frame is made of the first samples, others of none.
    some = trial if steps.frame == "standing" else look_at(trial)
    try:
        ready = prepare(some, steps, used.names, used.aliases)
    except ParameterError as error:
        better = better_set(trial, model, 1)
        if better is None:
            raise
        raise ParameterError(
            f"{error}; the set {better.name} has {better.matched} of these labels"
        ) from None
    labels = screen_labels(trial, len(ready.trial.names), used, model)
    moved = steps.frame != "recorded"
    known = AxesKnown(
        units=reading.units is not None,
        up=reading.up is not None or moved,
        file_axis="" if moved else _file_axis(trial, reading),
    )
    look = screen(model, ready.trial, used, known)
    return replace(look, findings=(*labels, *look.findings))


def screen_prepared(
    model: Model, trial: MarkerTrial, marker_set: MarkerSet
) -> Screening:
    """Look at markers that are prepared: nothing of them is corrected."""
    used = marker_set.moving
    names = [name for name in trial.names if name in used.names]
    if not names:
        return Screening()  # the search refuses them
    known = AxesKnown(units=True, up=True)
    return screen(model, trial.select(names), used, known)


def decided(look: Screening, trial: MarkerTrial, force: bool) -> MarkerTrial:
    """A trial after a look at it, its unit and axis right; refused unless forced."""
    if not force:
        look.check("the recording" if trial.source is None else trial.source)
    return look.corrected(trial)


def _file_axis(trial: MarkerTrial, reading: ReadOptions) -> str:
    """The axis of a file that was read as z; empty where it is not known."""
    if reading.up is not None:
        return reading.up
    if trial.header is not None:
        return trial.header.up
    trc = trial.source is not None and trial.source.suffix.lower() == ".trc"
    return "y" if trc else ""


HUMAN = "human36"
"""The model of a person where nothing else is given."""
_BEFOREHAND = (Topic.LABELS, Topic.EMPTY, Topic.UNIT, Topic.UP, Topic.SIDES)
"""What can be seen of a recording before the person is known."""


def calibrate_recordings(
    files: Sequence[Path | str],
    marker_set: str,
    *,
    model: str = HUMAN,
    height: float | None = None,
    mass: float | None = None,
    reading: ReadOptions | None = None,
    correspondence: Path | None = None,
    title: str = "",
    note: Callable[[str], None] | None = None,
    force: bool = False,
) -> Calibration:
    """Measure a person from recordings.

    Markers are identified but neither filled nor filtered: sizes come from positions as
    they are, and a filter would only smear a motion.

    Args:
        files: a static trial, then motions if there are.
        marker_set: name or path of the set.
        model: name of the model to begin with.
        height: stature, if known [m].
        mass: if known [kg].
        reading: what the files leave open.
        correspondence: file of the laboratory's labels, or None.
        title: of the subject.
        note: is called with what is not as it should be in a file.
        force: measure also from what cannot be a person with these markers.

    Raises:
        ScreeningError: a recording cannot be a person with these markers.
        HumansError: a file is wrong, or the person cannot be measured from them.
    """
    # Loaded where somebody is measured: postures of others do without.
    from humans_sim.observation.posture.calibrate import calibrate

    reading = reading or ReadOptions()
    body = load_model(model, height=height, mass=mass)
    whole = load_marker_set(marker_set, body)
    steps = PipelineSettings(correspondence=correspondence, fill=False, filter=False)
    trials = []
    for path in files:
        trial = read_markers(
            path, up=reading.up, units=reading.units, rate=reading.rate
        )
        # Places of markers and sizes are what is sought: these say nothing yet.
        look = screen_recording(body, trial, whole, steps, reading).about(*_BEFOREHAND)
        trial = decided(look, trial, force)
        if note is not None:
            for text in (*trial.notes, *look.doubts):
                note(f"{path}: {text}")
        trials.append(prepare(trial, steps, whole.names, whole.aliases).trial)
    return calibrate(body, trials, marker_set, height=height, mass=mass, title=title)


SUBJECT = "subject.yaml"
"""File of the person whose recordings lie beside or below it."""
PARAMETERS = "ReconstructionParameters.csv"
"""File of all persons of a tree of folders, as in the manual of HuMAnS (9.6.2)."""
_NUMBERED = re.compile(r"Subject(\d+)")
"""Folder of a person's recordings in such a tree."""


class UnknownPersonError(HumansError, LookupError):
    """Nothing says who is in a recording."""

    def __init__(self, recording: object) -> None:
        super().__init__(
            f"{recording}: nobody said who this is: put a {SUBJECT} beside it "
            "(humans-sim calibrate makes one), or give a subject or a marker set; a "
            f"{PARAMETERS} is for folders Subject01, Subject02, ..."
        )


@dataclass(frozen=True)
class Person:
    """Who is in a recording: a subject file, or a marker set on a model.

    Attributes:
        subject: a calibrated person's file; the rest is then not looked at.
        marker_set: name or path of a set.
        height: stature [m].
        mass: [kg].
        static: trial of standing still from which the person is measured first; None:
            the usual body of that stature and mass.
        number: of the subject, where its file is one of all persons.
    """

    subject: Path | None = None
    marker_set: str = CANONICAL
    model: str = HUMAN
    height: float | None = None
    mass: float | None = None
    static: Path | None = None
    number: str = ""

    def absolute(self) -> Person:
        """The same with whole paths: workers may run in another folder."""
        paths: dict[str, Any] = {
            name: path.expanduser().resolve()
            for name, path in (("subject", self.subject), ("static", self.static))
            if path is not None
        }
        if self.marker_set.endswith(".yaml"):
            paths["marker_set"] = str(Path(self.marker_set).expanduser().resolve())
        return replace(self, **paths)

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
            return _calibrated(self.subject, self.number, content_hash(self.subject))
        if self.static is None:
            return _usual(self, self._set_content())
        contents = [self._set_content(), content_hash(self.static)]
        if correspondence is not None:
            contents.append(content_hash(correspondence))
        reading = reading or ReadOptions()
        return _measured(self, reading, correspondence, force, tuple(contents))

    def identity(self) -> dict[str, Any]:
        """Data that distinguish this person from others, by content."""
        if self.subject is not None:
            number = {"number": self.number} if self.number else {}
            return {"subject": content_hash(self.subject), **number}
        identity = asdict(self) | {"marker_set": self._set_content()}
        if self.static is not None:
            identity["static"] = content_hash(self.static)
        return identity

    def _set_content(self) -> str:
        """Data that distinguish the marker set from others."""
        if self.marker_set == CANONICAL:
            return CANONICAL
        return content_hash(named_file("marker_sets", self.marker_set, "marker set"))


def choose_person(options: ReconstructionOptions) -> Person | None:
    """The person of options; None where that is nobody.

    Raises:
        ParameterError: two of the choices exclude each other.
    """
    if options.marker_set is not None and options.subject is not None:
        raise ParameterError(
            "a subject has its markers: give a subject or a marker set, not both"
        )
    if options.marker_set is not None:
        return Person(
            marker_set=options.marker_set,
            height=options.height,
            mass=options.mass,
            static=options.static,
        )
    if options.has(("height", "mass", "static")):
        raise ParameterError(
            "a subject has its sizes: height, mass and a static trial go with a marker "
            "set"
        )
    return None if options.subject is None else Person(subject=options.subject)


def nearest_person(recording: Path, top: Path | None = None) -> Person | None:
    """The person of the nearest subject file.

    A file of all persons counts where the recording is in a folder ``Subject01``, by
    that number.

    Args:
        recording: beside or above which it lies.
        top: folder above which it is not looked for; None: that of the recording.
    """
    top = top or recording.parent
    found = (_NUMBERED.fullmatch(folder.name) for folder in recording.parents)
    number = next((match[1] for match in found if match), "")
    for folder in recording.parents:
        if (folder / SUBJECT).is_file():
            return Person(subject=folder / SUBJECT)
        if number and (folder / PARAMETERS).is_file():
            return Person(subject=folder / PARAMETERS, number=number)
        if folder == top:
            break
    return None


@lru_cache(maxsize=4)
def _calibrated(path: Path, number: str, content: str) -> tuple[Model, MarkerSet]:
    from humans_sim.observation.posture.humans_tables import (
        read_reconstruction_parameters,
    )
    from humans_sim.observation.posture.subject import load_subject

    if not number:
        subject = load_subject(path)
    else:
        persons = read_reconstruction_parameters(path)
        if number not in persons:
            raise MarkerFileError(
                f"it has no subject {number}, but {', '.join(persons)}", path
            )
        subject = persons[number]
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
