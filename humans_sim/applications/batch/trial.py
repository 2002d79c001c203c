# SPDX-License-Identifier: Apache-2.0
"""One recording of a batch: read, reconstructed, written."""

from __future__ import annotations

import hashlib
import json
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
    ForceResults,
    analyse_forces,
    json_number,
    write_reconstruction,
)
from humans_sim.core.bounded_text import fits
from humans_sim.core.files import content_hash
from humans_sim.core.version import __version__
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.reconstruction_options import ReconstructionOptions

TrialSettings = ReconstructionOptions
"""The options of a reconstruction, by the name they had for batches alone."""

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
    settings: ReconstructionOptions
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
        """Do the trial; whatever goes wrong is reported, not raised."""

        def do(ledger: Ledger) -> Outcome:
            fingerprint = self.fingerprint()
            before = previous_outcome(self, ledger, fingerprint)
            return before or _reconstruct_trial(self, ledger, fingerprint, watch)

        outcome: Outcome = run_claimed(self, do)
        return outcome

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


def _reconstruct_trial(
    job: Job, ledger: Ledger, fingerprint: str, watch: Watch | None
) -> Outcome:
    start = time.perf_counter()
    assert job.person is not None  # without a person there is no fingerprint
    options = job.settings
    model, marker_set = job.person.load(
        options.reading, options.steps().correspondence, options.force
    )
    result = reconstruct(
        model,
        job.source,
        marker_set,
        options=options,
        progress=None if watch is None else lambda k, n: watch(job.name, k, n),
    )
    forces = _forces(job, result)
    stale = ledger.forget(job.name)
    # The files of the trial; names relative to the output folder.
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
    files = tuple(path.relative_to(job.output).as_posix() for path in paths)
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
    return analyse_forces(result, settings, None if person is None else person.mass)


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
