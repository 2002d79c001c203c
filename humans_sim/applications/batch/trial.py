# SPDX-License-Identifier: Apache-2.0
"""One recording of a batch: read, reconstructed, written.

Also the settings by which the recordings of a batch are treated.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from humans_sim.applications.batch.record import (
    DONE,
    FAILED,
    KEPT,
    Ledger,
    Watch,
    run_claimed,
)
from humans_sim.applications.person import Person, UnknownPersonError
from humans_sim.applications.reconstruction import reconstruct
from humans_sim.applications.reconstruction_files import (
    USUAL_FORMATS,
    ForceOptions,
    ForceResults,
    analyse_forces,
    check_formats,
    json_number,
    write_reconstruction,
)
from humans_sim.core.bounded_text import fits
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import content_hash
from humans_sim.core.version import __version__
from humans_sim.core.yaml_file import read_yaml
from humans_sim.models.conventions import (
    HUMANS,
    check_convention,
    convention_names,
)
from humans_sim.observation.markers.assemble import ReadOptions
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.markers.pipeline import PipelineSettings, read_frame
from humans_sim.observation.posture.reconstruct import MODES, STATIC
from humans_sim.observation.posture.result import Reconstruction

STANDING, NONE = "standing", "none"
"""Frame changes that need no file."""


@dataclass(frozen=True)
class TrialSettings:
    """How trials are read, reconstructed and written.

    Attributes:
        mode: ``static`` or ``smooth``.
        up: axis of the files that points up; None: what they say.
        units: of the files; None: what they say.
        rate: samples a second; None: what they say [Hz].
        force: whether recordings are done that cannot be the person.
        pipeline: file of :class:`PipelineSettings`; what follows goes before it.
        correspondence: file of the markers' labels.
        max_gap: longest gap that is filled [s]; 0: none.
        cutoff: of the low-pass filter [Hz]; 0: no filter.
        frame_change: ``standing``, ``none`` or the file of a frame change.
        formats: what is written, of ``reconstruction_files.FORMATS``.
        report: whether a page is written too.
        inverse_dynamics: whether torques and the ground's reaction are worked out.
        force_file: file of the ground's forces for these, instead of the recording's.
        plates: whether force plates are used for these.
        reduce_residual: whether the body is shifted to agree with the plates.
        convention: names and signs of angles: one of the package, or a file's path.
    """

    mode: str = STATIC
    up: str | None = None
    units: str | None = None
    rate: float | None = None
    force: bool = False
    pipeline: Path | None = None
    correspondence: Path | None = None
    max_gap: float | None = None
    cutoff: float | None = None
    frame_change: str | None = None
    formats: tuple[str, ...] = USUAL_FORMATS
    report: bool = True
    inverse_dynamics: bool = False
    force_file: Path | None = None
    plates: bool = True
    reduce_residual: bool = False
    convention: str = HUMANS

    def __post_init__(self) -> None:
        """Check what does not depend on a trial.

        Raises:
            ParameterError: a choice is not one of those there are.
        """
        if self.mode not in MODES:
            raise ParameterError(
                f"mode is one of {', '.join(MODES)}, not '{self.mode}'"
            )
        check_formats(self.formats)
        check_convention(self.convention)
        if not self.formats and not self.report:
            raise ParameterError("nothing is to be written: give a format or a report")
        if self.force_file is not None and not self.plates:
            raise ParameterError("a file of forces is given, and plates are excluded")
        if self.reduce_residual and not (self.inverse_dynamics or self.force_file):
            raise ParameterError("residuals are reduced with inverse dynamics only")
        for name, value in (("longest gap", self.max_gap), ("cut-off", self.cutoff)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ParameterError(f"the {name} must be 0 or more, not {value:g}")

    @property
    def reading(self) -> ReadOptions:
        """Options that the files leave open."""
        return ReadOptions(self.up, self.units, self.rate)

    def steps(self) -> PipelineSettings:
        """Steps of the markers before the search.

        Raises:
            HumansError: a file of settings is wrong.
        """
        chosen = PipelineSettings.of_files(self.pipeline, self.correspondence)
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
        if self.force_file is not None and chosen.frame != "recorded":
            raise ParameterError(
                "a file of forces is in the frame of the recording: it excludes a "
                "frame change"
            )
        return chosen

    def identity(self) -> dict[str, Any]:
        """Data that distinguish these settings from others; files by their content."""
        identity = asdict(self)
        correspondence = self.steps().correspondence
        for key, path in (
            ("pipeline", self.pipeline),
            ("correspondence", correspondence),
            ("force_file", self.force_file),
        ):
            identity[key] = None if path is None else content_hash(path)
        if self.convention not in convention_names():
            identity["convention"] = content_hash(Path(self.convention))
        if self.frame_change not in (None, STANDING, NONE):
            identity["frame_change"] = content_hash(Path(str(self.frame_change)))
        return identity


_WORST = 8
_NUMBER = (int, float, NoneType)
_SHARES = {"occluded": float, "rejected": float}
_RECORD = {
    **dict.fromkeys(("name", "source", "state", "message", "detail"), str),
    **dict.fromkeys(("fingerprint", "batch", "mark"), str),
    "files": [str],
    "seconds": float,
    "summary": {
        **dict.fromkeys(("frames", "converged"), int),
        **dict.fromkeys(("rms", "worst_marker_mean"), _NUMBER),
        **dict.fromkeys(("worst_marker", "mode", "verdict"), str),
        **dict.fromkeys(("unobservable", "missing", "ignored", "notes"), [str]),
        "reasons": [str],
        **_SHARES,
        "forces": [
            {
                **dict.fromkeys(("mass", "covered", "largest_shift"), float),
                **dict.fromkeys(("correlation", "rms"), _NUMBER),
                **dict.fromkeys(("residual_force", "residual_moment"), [_NUMBER]),
                "residual_force_max": _NUMBER,
                "residual_moment_max": _NUMBER,
                "notes": [str],
            }
        ],
        "markers": [{"name": str, "rms": _NUMBER, "mean": _NUMBER, **_SHARES}],
        "worst_frames": [
            {
                **dict.fromkeys(("frame", "used"), int),
                **dict.fromkeys(("rms", "largest"), _NUMBER),
                "time": float,
                "marker": str,
            }
        ],
    },
}
"""What the record of a trial that is done holds."""


@dataclass(frozen=True)
class Job:
    """A trial to do.

    Attributes:
        name: of the results under the output folder, e.g. ``Subject01/106``.
        person: who is in it; None: nobody said, which fails.
        batch: mark of the run of the batch.
        again: whether it is done again though it is done.
    """

    name: str
    source: Path
    person: Person | None
    settings: TrialSettings
    output: Path
    batch: str = ""
    again: bool = False

    def fingerprint(self) -> str:
        """Equal for two trials that give the same results.

        Raises:
            HumansError: a file cannot be read, or nobody said who is in it.
        """
        if self.person is None:
            raise UnknownPersonError(self.source)
        identity = {
            "version": __version__,
            "recording": content_hash(self.source),
            "person": self.person.identity(),
            "settings": self.settings.identity(),
        }
        text = json.dumps(identity, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def label(self) -> str:
        """The recording."""
        return str(self.source)

    def run(self, watch: Watch | None = None) -> Outcome:
        """Do it."""
        return run_job(self, watch)

    def previous(self, ledger: Ledger) -> Outcome | None:
        """The outcome of an earlier batch, if that still holds."""
        return previous_outcome(self, ledger, self.fingerprint())

    def failure(self, message: str, detail: str = "") -> Outcome:
        """A trial that did not work."""
        return Outcome(self.name, self.label, FAILED, message, detail, batch=self.batch)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial; all of it goes into its record.

    Attributes:
        detail: where in the software, if it failed unexpectedly.
        fingerprint: of what it was made from.
        batch: mark of the run that did it.
        mark: of this doing, unlike any other.
        files: written, relative to the output folder.
    """

    name: str
    source: str
    state: str
    message: str = ""
    detail: str = ""
    fingerprint: str = ""
    batch: str = ""
    mark: str = ""
    files: tuple[str, ...] = ()
    seconds: float = 0.0
    summary: Mapping[str, Any] = field(default_factory=dict)


def previous_outcome(job: Job, ledger: Ledger, fingerprint: str) -> Outcome | None:
    """The outcome of an earlier run of the same trial, if all its files still exist.

    A trial that is to be done again is kept only where this very batch did it: a
    cluster may hand it out twice.
    """
    outcome = _recorded(ledger.read(job.name))
    if outcome is None:
        return None
    if outcome.fingerprint != fingerprint or outcome.state != DONE:
        return None
    if job.again and outcome.batch != job.batch:
        return None
    try:
        if not all((job.output / name).is_file() for name in outcome.files):
            return None
    except (OSError, ValueError):  # names that no file can have
        return None
    return replace(outcome, state=KEPT)


def _recorded(stored: dict[str, Any]) -> Outcome | None:
    """The outcome of a record; None where it is damaged."""
    if not fits(stored, _RECORD) or stored["summary"]["frames"] < 1:
        return None
    return Outcome(**{**stored, "files": tuple(stored["files"])})


def run_job(job: Job, watch: Watch | None = None) -> Outcome:
    """Do a trial; whatever goes wrong is reported, not raised."""

    def do(ledger: Ledger) -> Outcome:
        fingerprint = job.fingerprint()
        before = previous_outcome(job, ledger, fingerprint)
        return before or _reconstruct_trial(job, ledger, fingerprint, watch)

    outcome: Outcome = run_claimed(job, do)
    return outcome


def _reconstruct_trial(
    job: Job, ledger: Ledger, fingerprint: str, watch: Watch | None
) -> Outcome:
    start = time.perf_counter()
    assert job.person is not None  # without a person there is no fingerprint
    settings, steps = job.settings, job.settings.steps()
    model, marker_set = job.person.load(
        settings.reading, steps.correspondence, settings.force
    )
    result = reconstruct(
        model,
        job.source,
        marker_set,
        mode=settings.mode,
        up=settings.up,
        units=settings.units,
        rate=settings.rate,
        preparation=steps,
        force=settings.force,
        progress=None if watch is None else lambda k, n: watch(job.name, k, n),
    )
    forces = _forces(job, result)
    stale = ledger.forget(job.name)
    files = _write(job, result, forces, marker_set)
    for name in set(stale) - set(files):
        (job.output / name).unlink(missing_ok=True)
    outcome = Outcome(
        job.name,
        str(job.source),
        DONE,
        fingerprint=fingerprint,
        batch=job.batch,
        mark=uuid.uuid4().hex,
        files=files,
        seconds=time.perf_counter() - start,
        summary=_summary(result, forces),
    )
    ledger.write(job.name, asdict(outcome))
    return outcome


def _forces(job: Job, result: Reconstruction) -> ForceResults | None:
    """Forces of the motion, if they are asked for."""
    settings, person = job.settings, job.person
    if not settings.inverse_dynamics and settings.force_file is None:
        return None
    options = ForceOptions(
        file=settings.force_file,
        up=settings.up or "y",
        plates=settings.plates,
        mass=None if person is None else person.mass,
        reduce_residual=settings.reduce_residual,
    )
    return analyse_forces(result, options)


def _write(
    job: Job,
    result: Reconstruction,
    forces: ForceResults | None,
    marker_set: MarkerSet,
) -> tuple[str, ...]:
    """Write the files of a trial; names relative to the output folder."""
    place = job.output / job.name
    paths = write_reconstruction(
        result,
        place.parent,
        place.name,
        formats=job.settings.formats,
        report=job.settings.report,
        forces=forces,
        title=job.name,
        convention=job.settings.convention,
        marker_set=marker_set,
    )
    return tuple(path.relative_to(job.output).as_posix() for path in paths)


def _summary(result: Reconstruction, forces: ForceResults | None) -> dict[str, Any]:
    rejected = result.rejected
    means, rms = result.marker_means, result.marker_rms
    worst = int(np.argmax(np.nan_to_num(means, nan=-1.0)))
    frames = []
    frame_rms = result.frame_rms
    for row in result.worst_frames(_WORST):
        distances = np.linalg.norm(result.differences[row], axis=1)
        distances = np.where(result.used[row], distances, -1.0)
        frames.append(
            {
                "frame": int(result.trial.frames[row]),
                "time": float(result.t[row]),
                "rms": json_number(frame_rms[row]),
                "marker": result.names[int(np.argmax(distances))],
                "largest": json_number(distances.max()),
                "used": int(result.used[row].sum()),
            }
        )
    markers = [
        {
            "name": name,
            "rms": json_number(rms[k]),
            "mean": json_number(means[k]),
            "occluded": float(result.occluded[:, k].mean()),
            "rejected": float(rejected[:, k].mean()),
        }
        for k, name in enumerate(result.names)
    ]
    return {
        "verdict": result.verdict.grade,
        "reasons": list(result.verdict.reasons),
        "frames": len(result.t),
        "rms": json_number(result.rms),
        "worst_marker": result.names[worst],
        "worst_marker_mean": json_number(means[worst]),
        "occluded": float(result.occluded.mean()),
        "rejected": float(rejected.mean()),
        "converged": int(np.asarray(result.converged, bool).sum()),
        "mode": result.mode,
        "unobservable": list(result.unobservable),
        "missing": list(result.missing),
        "ignored": list(result.ignored),
        "notes": list(result.trial.notes),
        "forces": [] if forces is None else [forces.summary()],
        "markers": markers,
        "worst_frames": frames,
    }
