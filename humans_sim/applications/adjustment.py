# SPDX-License-Identifier: Apache-2.0
"""A person adjusted by hand to a recording, with the residual at each step.

The manual's MenuReconstruction (section 9.6.2) without its windows: lengths, places of
the tags on their segments and which recorded marker is which tag are set one by one;
postures are found again, and the distances that are left show what it helped.

Also: recording and person from files, and a marker set proposed from files of markers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import yaml

from humans_sim.applications.person import HUMAN, Person, screen_recording
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import write_atomically
from humans_sim.models import load_model
from humans_sim.models.model import Model
from humans_sim.observation.draft.draft_set import MarkerSetDraft, draft_marker_set
from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.marker_set import (
    NONE,
    Correspondence,
    MarkerSet,
    identify,
    load_correspondence,
    load_marker_set,
)
from humans_sim.observation.markers.pipeline import PipelineSettings, prepare
from humans_sim.observation.markers.read import read_markers
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.calibrate import Calibration, calibrate
from humans_sim.observation.posture.humans_tables import (
    MODEL,
    read_reconstruction_parameters,
    write_reconstruction_parameters,
)
from humans_sim.observation.posture.reconstruct import Progress, solve_postures
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.observation.posture.solver import PostureSolver
from humans_sim.observation.posture.subject import Subject, load_subject
from humans_sim.observation.posture.wide_search import FEWEST

SUBJECT_FILE = "subject.yaml"
CORRESPONDENCE_FILE = "correspondence.yaml"
PARAMETERS_FILE = "ReconstructionParameters.csv"
_SIDES = {"r": "l", "l": "r", "R": "L", "L": "R"}
_TESTS = 99
"""Most tests of one subject in a file of parameters."""


@dataclass(frozen=True, eq=False)
class MarkerResidual:
    """A recorded marker in one frame, and the tag it stands for.

    Attributes:
        tag: of the person; empty where it stands for none.
        measured: where it was (3,) [m]; NaN where not seen.
        modelled: where the body has the tag (3,) [m]; NaN without a tag.
        rejected: whether the search took it for a mistake.
    """

    label: str
    tag: str
    measured: np.ndarray
    modelled: np.ndarray
    rejected: bool

    @property
    def distance(self) -> float:
        """Measured to modelled [m]; NaN where one of them is missing."""
        return float(np.linalg.norm(self.measured - self.modelled))


class Adjustment:
    """A person, a recording, and what is set by hand.

    Args:
        recording: as read, z up [m].
        source: name or path of the marker set whose places follow the lengths; None:
            places are the subject's own and stay.
        correspondence: of the laboratory's labels, or None.

    Attributes:
        subject: the person as it is now.
        result: postures of all frames of this person, or None.
        frame: number of the row that is looked at; :meth:`go_to` changes it.
    """

    def __init__(
        self,
        recording: MarkerTrial,
        subject: Subject,
        source: str | Path | None = None,
        correspondence: Correspondence | None = None,
    ) -> None:
        self.recording, self._first, self._source = recording, subject, source
        self._correspondence = correspondence
        self._prepared = prepare(recording).trial
        self.frame = 0
        self._begin(subject)
        self._labels = self._matched()
        self._forget()

    @classmethod
    def of_set(
        cls,
        recording: MarkerTrial,
        model: Model,
        marker_set: str | Path,
        correspondence: Correspondence | None = None,
    ) -> Adjustment:
        """Begin with a model and a marker set on it."""
        markers = load_marker_set(marker_set, model).markers
        if not model.lengths or model.height is None or model.mass is None:
            raise ParameterError(f"{model.name} has no lengths to set")
        subject = Subject(model.name, model.height, model.mass, model.lengths, markers)
        return cls(recording, subject, marker_set, correspondence)

    def _begin(self, subject: Subject) -> None:
        self.subject = subject
        self.__dict__.pop("model", None)
        self.__dict__.pop("_solver", None)

    def _forget(self) -> None:
        """No posture is known."""
        self._q = np.full((len(self.recording), self.model.nq), np.nan)
        self.result: Reconstruction | None = None

    def revert(self) -> None:
        """Back to the person and the labels of the beginning."""
        self._begin(self._first)
        self._labels = self._matched()
        self._forget()

    def _matched(self) -> dict[str, str | None]:
        """Recorded marker of each tag, by names; none at all is no error."""
        used = [marker for marker in self.subject.markers if not marker.calibration]
        labels: dict[str, str | None] = {marker.name: None for marker in used}
        aliases = {marker.name: marker.aliases for marker in used}
        try:
            known = identify(
                self.recording, self._correspondence, list(labels), aliases
            )
        except ParameterError:
            return labels
        return labels | dict(zip(known.trial.names, known.labels, strict=True))

    @cached_property
    def model(self) -> Model:
        """The person as it is now."""
        return self.subject.model()

    @property
    def marker_set(self) -> MarkerSet:
        """Tags where they are now."""
        return MarkerSet("adjusted", self.subject.title, self.subject.markers)

    @property
    def labels(self) -> dict[str, str | None]:
        """Recorded marker of each tag, or None."""
        return dict(self._labels)

    def tag_of(self, label: str) -> str | None:
        """The tag that a recorded marker stands for."""
        return next((tag for tag, x in self._labels.items() if x == label), None)

    def set_length(self, name: str, value: float, both: bool = False) -> None:
        """Set a length [m], and that of the other side with ``both``."""
        lengths = dict(self.subject.lengths)
        if name not in lengths:
            raise ParameterError(f"{self.subject.model_name} has no length '{name}'")
        if not 0.0 < value < np.inf:
            raise ParameterError(f"{name} is a length above zero, not {value:g}")
        other = mirrored(name)
        for each in {name, other} if both and other in lengths else {name}:
            lengths[each] = float(value)
        self._resize(self.subject.height, lengths)

    def set_stature(self, value: float) -> None:
        """Set the stature [m]; all lengths change with it in proportion."""
        if not 0.0 < value < np.inf:
            raise ParameterError(f"a stature is above zero, not {value:g}")
        scale = value / self.subject.height
        lengths = {name: scale * x for name, x in self.subject.lengths.items()}
        self._resize(float(value), lengths)

    def _resize(self, height: float, lengths: Mapping[str, float]) -> None:
        changed = replace(self.subject, height=height, lengths=lengths)
        if self._source is not None:
            before = load_marker_set(self._source, self.model)
            after = load_marker_set(self._source, changed.model())
            moved = tuple(
                replace(m, at=m.at + after[m.name].at - before[m.name].at)
                for m in changed.markers
            )
            changed = replace(changed, markers=moved)
        self._change(changed)

    def place_tag(self, name: str, at: np.ndarray, both: bool = False) -> None:
        """Put a tag somewhere else on its segment.

        Args:
            name: of the tag.
            at: in the segment's frame, HuMAnS axes (3,) [m].
            both: whether that of the other side gets the mirrored place.
        """
        at = np.asarray(at, dtype=float)
        if at.shape != (3,) or not np.isfinite(at).all():
            raise ParameterError(f"the place of {name} is three finite numbers [m]")
        places = {self.marker_set[name].name: at}
        if both and mirrored(name) in self.marker_set.names:
            places[mirrored(name)] = at * [1.0, 1.0, -1.0]
        markers = self.marker_set.moved(places).markers
        self._change(replace(self.subject, markers=markers))

    def assign(self, label: str, tag: str | None) -> None:
        """Let a recorded marker stand for a tag, or for none."""
        if label not in self.recording.names:
            raise ParameterError(f"the recording has no marker '{label}'")
        if tag is not None:
            tag = self.marker_set[tag].name
        for each, stands in self._labels.items():
            if stands == label:
                self._labels[each] = None
        if tag is not None:
            self._labels[tag] = label
        self._change(self.subject)

    def _change(self, subject: Subject) -> None:
        """Postures stay to begin the next search from; the result is of another."""
        self._begin(subject)
        self.result = None

    def go_to(self, frame: int) -> None:
        """Look at another row of the recording."""
        self.frame = int(np.clip(frame, 0, len(self.recording) - 1))

    @property
    def q(self) -> np.ndarray:
        """Posture of the frame, searched from nowhere where it is not known (nq,)."""
        if np.isnan(self._q[self.frame]).any():
            self.solve_frame()
        return self._q[self.frame].copy()

    def solve_frame(self, anew: bool = True) -> None:
        """Find the posture of the frame, from nowhere or else from the one known."""
        solver, known = self._solver, self._q[self.frame]
        start = None if anew or np.isnan(known).any() else known
        solver.reset()
        self._q[self.frame] = solver.solve(self._positions(self.frame), start).q

    def solve_all(self, progress: Progress | None = None) -> Reconstruction:
        """Find the postures of all frames, as ``reconstruct`` does."""
        trial = self._identified(self._prepared)
        result = solve_postures(
            self.model, trial, self.marker_set, uncertainty=False, progress=progress
        )
        self._q, self.result = result.q.copy(), result
        return result

    def calibrate(self) -> Calibration:
        """Measure sizes and places of tags from the whole recording.

        What is set by hand is where it begins, and where tags are near.
        """
        places = {marker.name: marker.at for marker in self.subject.markers}
        found = calibrate(
            self.model,
            self._identified(self.recording),
            self.marker_set if self._source is None else self._source,
            places=places,
            mass=self.subject.mass,
            title=self.subject.title,
        )
        person = found.subject
        known = {marker.name: marker.at for marker in person.markers}
        self._resize(person.height, person.lengths)
        markers = self.marker_set.moved(known).markers
        self._change(replace(self.subject, markers=markers))
        return found

    @property
    def residuals(self) -> tuple[MarkerResidual, ...]:
        """All recorded markers of the frame beside the body's tags."""
        measured = self._prepared.positions[self.frame]
        nowhere, mistakes = np.full(3, np.nan), set()
        modelled: dict[str, np.ndarray] = {}
        if self.enough:
            posture = self._solver.explained(self.q, self._positions(self.frame))
            modelled = dict(zip(self._solver.names, posture.markers, strict=True))
            rejected = posture.status == MarkerStatus.REJECTED
            mistakes = {tag for tag, bad in zip(modelled, rejected, strict=True) if bad}
        rows = []
        for label, at in zip(self.recording.names, measured, strict=True):
            tag = self.tag_of(label) or ""
            place = modelled.get(tag, nowhere)
            rows.append(MarkerResidual(label, tag, at, place, tag in mistakes))
        return tuple(rows)

    @property
    def rms(self) -> float:
        """Root mean square distance of the frame [m]; NaN without any."""
        distances = np.array([row.distance for row in self.residuals])
        seen = distances[np.isfinite(distances)]
        return float(np.sqrt((seen**2).mean())) if len(seen) else float("nan")

    @property
    def tag_places(self) -> dict[str, np.ndarray]:
        """Where the body of the frame has its tags, in the world (3,) [m]."""
        names = [marker.name for marker in self.subject.markers]
        solver = PostureSolver(self.model, self.marker_set, names)
        unseen = np.full((len(names), 3), np.nan)
        places = solver.explained(self.q, unseen).markers
        return dict(zip(names, places, strict=True))

    @property
    def enough(self) -> bool:
        """Whether enough recorded markers stand for tags to find a posture."""
        return sum(label is not None for label in self._labels.values()) >= FEWEST

    @cached_property
    def _solver(self) -> PostureSolver:
        names = [tag for tag, label in self._labels.items() if label is not None]
        return PostureSolver(self.model, self.marker_set, names)

    def _positions(self, row: int) -> np.ndarray:
        places = {name: k for k, name in enumerate(self.recording.names)}
        columns = [places[str(self._labels[tag])] for tag in self._solver.names]
        at: np.ndarray = self._prepared.positions[row, columns]
        return at

    def _identified(self, trial: MarkerTrial) -> MarkerTrial:
        return identify(trial, Correspondence(self._labels), list(self._labels)).trial

    def save(self, folder: Path | str, number: str = "01") -> tuple[Path, ...]:
        """Write the person, which marker is which tag, and a column of parameters.

        Args:
            folder: made if it is not there.
            number: of the subject in ``ReconstructionParameters.csv``; where it stands
                there already, the next free test of it is taken (XXYY).

        Returns:
            The files: each is written whole or not at all. Parameters are written of
            the manual's model alone.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        paths = [self.subject.save(folder / SUBJECT_FILE)]
        table = {tag: NONE if x is None else x for tag, x in self._labels.items()}
        text = yaml.safe_dump(table, sort_keys=False, allow_unicode=True)
        head = "# Recorded marker of each tag; -1: none.\n"
        write_atomically(folder / CORRESPONDENCE_FILE, head + text)
        paths.append(folder / CORRESPONDENCE_FILE)
        if self.subject.model_name == MODEL:
            parameters = folder / PARAMETERS_FILE
            column = _free_number(parameters, number)
            write_reconstruction_parameters(parameters, column, self.subject)
            paths.append(parameters)
        return tuple(paths)


def mirrored(name: str) -> str:
    """The name of the same on the other side; itself where there are no sides."""
    other = _SIDES.get(name[:1])
    sided = other is not None and (name[1:2] in ("_", ".") or name[0].isupper())
    return f"{other}{name[1:]}" if sided else name


def _free_number(path: Path, number: str) -> str:
    """A number of a subject that the file does not have."""
    known = read_reconstruction_parameters(path) if path.is_file() else {}
    for each in (number, *(f"{number}{k:02d}" for k in range(1, _TESTS + 1))):
        if each not in known:
            return each
    raise ParameterError(f"{path} has {_TESTS} tests of the subject {number} already")


def open_adjustment(
    recording: Path,
    person: Person,
    reading: ReadOptions | None = None,
    correspondence: Path | None = None,
) -> Adjustment:
    """Read a recording and who is in it: a subject file, or a marker set on a model.

    Unit and vertical axis are corrected as ``reconstruct`` does. Labels that fit no tag
    are no error here: they are what is to be set.
    """
    reading = reading or ReadOptions()
    trial = read_markers(
        recording, up=reading.up, units=reading.units, rate=reading.rate
    )
    if person.subject is not None:
        subject = load_subject(person.subject)
        model, markers = subject.model(), subject.marker_set()
    else:
        model = load_model(person.model, height=person.height, mass=person.mass)
        markers = load_marker_set(person.marker_set, model)
    steps = PipelineSettings(correspondence=correspondence)
    try:
        trial = screen_recording(model, trial, markers, steps, reading).corrected(trial)
    except ParameterError:
        pass  # no label is a tag's yet: nothing can be seen of unit and axis
    table = None
    if correspondence is not None:
        table = load_correspondence(correspondence, markers.moving.names)
    if person.subject is not None:
        return Adjustment(trial, subject, correspondence=table)
    return Adjustment.of_set(trial, model, person.marker_set, table)


def draft_from_recordings(
    files: Sequence[Path | str],
    *,
    height: float | None = None,
    reading: ReadOptions | None = None,
    title: str = "",
    note: Callable[[str], None] | None = None,
) -> MarkerSetDraft:
    """Propose a marker set from recordings.

    Args:
        files: a recording of standing still, then motions if there are.
        height: stature, if known [m].
        reading: what the files leave open.
        title: of the set.
        note: is called with what is not as it should be in a file.
    """
    reading = reading or ReadOptions()
    trials = []
    for path in files:
        trial = read_markers(
            path, up=reading.up, units=reading.units, rate=reading.rate
        )
        if note is not None:
            for text in trial.notes:
                note(f"{path}: {text}")
        trials.append(trial)
    title = title or f"Draft from {Path(files[0]).name}"
    return draft_marker_set(
        load_model(HUMAN), trials[0], trials[1:], height=height, title=title
    )
