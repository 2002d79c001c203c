# SPDX-License-Identifier: Apache-2.0
"""What a batch is told: who is in the recordings, and how they are done."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from humans_sim.core.errors import FileError, ParameterError
from humans_sim.core.files import open_regular
from humans_sim.core.resources import named_file
from humans_sim.core.yaml_file import read_yaml
from humans_sim.models import load_model
from humans_sim.models.model import Model
from humans_sim.observation.markers.frame_change import read_frame
from humans_sim.observation.markers.marker_set import (
    CANONICAL,
    MarkerSet,
    load_marker_set,
)
from humans_sim.observation.markers.pipeline import PipelineSettings
from humans_sim.observation.posture.reconstruct import MODES, STATIC
from humans_sim.observation.posture.subject import load_subject

FORMATS = ("csv", "mot", "trc", "mcap", "npz")
"""What can be written of a trial."""
USUAL_FORMATS = ("csv", "mot", "npz")
STANDING, NONE = "standing", "none"
"""Frame changes that need no file."""


@dataclass(frozen=True)
class Person:
    """Who is in a recording: a subject file, or a marker set on a model.

    Attributes:
        subject: a calibrated person's file; the rest is then not looked at.
        marker_set: name or path of a set.
        model: name of the model.
        height: stature [m].
        mass: [kg].
    """

    subject: Path | None = None
    marker_set: str = CANONICAL
    model: str = "human36"
    height: float | None = None
    mass: float | None = None

    def load(self) -> tuple[Model, MarkerSet]:
        """The model and where its markers are.

        Raises:
            HumansError: a file is wrong, or a size is.
        """
        if self.subject is None:
            return _usual(self)
        return _calibrated(self.subject, content_hash(self.subject))

    def identity(self) -> dict[str, Any]:
        """What tells this person from others, by content."""
        if self.subject is not None:
            return {"subject": content_hash(self.subject)}
        told = asdict(self) | {"subject": None}
        if self.marker_set != CANONICAL:
            path = named_file("marker_sets", self.marker_set, "marker set")
            told["marker_set"] = content_hash(path)
        return told


@lru_cache(maxsize=4)
def _calibrated(path: Path, content: str) -> tuple[Model, MarkerSet]:
    subject = load_subject(path)
    return subject.model(), subject.marker_set()


@lru_cache(maxsize=4)
def _usual(person: Person) -> tuple[Model, MarkerSet]:
    model = load_model(person.model, height=person.height, mass=person.mass)
    return model, load_marker_set(person.marker_set, model)


@dataclass(frozen=True)
class TrialSettings:
    """How trials are read, reconstructed and written.

    Attributes:
        mode: ``static`` or ``smooth``.
        up: axis of the files that points up; None: what they say.
        units: of the files; None: what they say.
        rate: samples a second; None: what they say [Hz].
        pipeline: file of :class:`PipelineSettings`; what follows goes before it.
        correspondence: file that tells the markers.
        max_gap: longest gap that is filled [s]; 0: none.
        cutoff: of the low-pass filter [Hz]; 0: no filter.
        frame_change: ``standing``, ``none`` or the file of a frame change.
        formats: what is written, of :data:`FORMATS`.
        report: whether a page is written too.
        inverse_dynamics: whether torques and the ground's reaction are worked out.
    """

    mode: str = STATIC
    up: str | None = None
    units: str | None = None
    rate: float | None = None
    pipeline: Path | None = None
    correspondence: Path | None = None
    max_gap: float | None = None
    cutoff: float | None = None
    frame_change: str | None = None
    formats: tuple[str, ...] = USUAL_FORMATS
    report: bool = True
    inverse_dynamics: bool = False

    def __post_init__(self) -> None:
        """Check what does not depend on a trial.

        Raises:
            ParameterError: a choice is not one of those there are.
        """
        if self.mode not in MODES:
            raise ParameterError(
                f"mode is one of {', '.join(MODES)}, not '{self.mode}'"
            )
        for word in self.formats:
            if word not in FORMATS:
                raise ParameterError(
                    f"'{word}' is not one of the formats {', '.join(FORMATS)}"
                )
        if not self.formats and not self.report:
            raise ParameterError("nothing is to be written: give a format or a report")
        for name, value in (("longest gap", self.max_gap), ("cut-off", self.cutoff)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ParameterError(f"the {name} must be 0 or more, not {value:g}")

    def steps(self) -> PipelineSettings:
        """What is done to the markers before.

        Raises:
            HumansError: a file of settings is wrong.
        """
        chosen = PipelineSettings()
        if self.pipeline is not None:
            chosen = PipelineSettings.load(self.pipeline)
        if self.correspondence is not None:
            chosen = replace(chosen, correspondence=self.correspondence)
        if self.max_gap is not None:
            fill = self.max_gap > 0
            chosen = replace(chosen, fill=fill, max_gap=self.max_gap if fill else None)
        if self.cutoff is not None:
            low_pass = self.cutoff > 0
            cutoff = self.cutoff if low_pass else chosen.cutoff
            chosen = replace(chosen, filter=low_pass, cutoff=cutoff)
        if self.frame_change == NONE:
            chosen = replace(chosen, frame="recorded")
        elif self.frame_change == STANDING:
            chosen = replace(chosen, frame=STANDING)
        elif self.frame_change is not None:
            if Path(self.frame_change).suffix not in (".yaml", ".yml"):
                raise ParameterError(
                    f"a frame change is {STANDING}, {NONE} or a .yaml file, not "
                    f"'{self.frame_change}'"
                )
            chosen = replace(chosen, frame=read_frame(read_yaml(self.frame_change)))
        return chosen

    def identity(self) -> dict[str, Any]:
        """What tells these settings from others; files by their content."""
        told = asdict(self)
        correspondence = self.steps().correspondence
        for key, path in (
            ("pipeline", self.pipeline),
            ("correspondence", correspondence),
        ):
            told[key] = None if path is None else content_hash(path)
        if self.frame_change not in (None, STANDING, NONE):
            told["frame_change"] = content_hash(Path(str(self.frame_change)))
        return told


def content_hash(path: Path) -> str:
    """SHA-256 of a file.

    Raises:
        HumansError: it cannot be read.
    """
    with open_regular(path) as stream:
        try:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            reason = f"cannot read the file: {error.strerror or error}"
            raise FileError(reason, path) from None
