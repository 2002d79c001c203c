# SPDX-License-Identifier: Apache-2.0
"""Many recordings at once: found in folders, done once, resumed after a kill.

The scripts StaticTrajectoriesReconstruction and AllSubjectsTrajectoriesReconstruction
of HuMAnS (manual, sections 9.6.3 and 9.6.6): every recording below a folder that is not
reconstructed yet is, with the sizes of its subject, and the results lie in a tree of
the same shape.
"""

from __future__ import annotations

import os
import re
import uuid
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from humans_sim.applications.batch.record import HOME, Watch
from humans_sim.applications.batch.runner import run_tasks
from humans_sim.applications.batch.trial import Job, Outcome
from humans_sim.applications.person import (
    PARAMETERS,
    Person,
    choose_person,
    nearest_person,
)
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import absence_reason, is_file, is_folder
from humans_sim.models.conventions import load_convention
from humans_sim.observation.markers.read import READERS
from humans_sim.observation.posture.opensim_files import check_coordinates
from humans_sim.observation.reconstruction_options import PERSON, ReconstructionOptions

_IN_FOLDERS = tuple(suffix for suffix in READERS if suffix != ".txt")
"""Recordings looked for in folders; a text may be anything, it is named by hand."""
_RESULT = re.compile(r"(RecPos|TagPos|COMPos|JointAngles|StdPos).*\.csv", re.IGNORECASE)
_NUMBER = re.compile(r"fl_c_dat#(.+)", re.IGNORECASE)


def plan_batch(
    sources: Sequence[Path | str],
    output: Path | str,
    person: Person | None = None,
    settings: ReconstructionOptions | None = None,
) -> list[Job]:
    """Find the recordings of a batch.

    Args:
        sources: files, and folders to look through. Results of a folder keep their
            place below it; of several folders, each under its own name.
        output: folder of the results.
        person: who is in all of them; None: who the settings say, else each one's is
            the nearest ``subject.yaml`` in its folder or above, up to the folder given.
        settings: how they are done.

    Raises:
        ParameterError: a source is not there, there is no recording in them, or two
            would be written to one place.
        HumansError: the settings name a file that is wrong.
    """
    settings = (settings or ReconstructionOptions()).absolute()
    chosen = choose_person(settings)
    if person is not None and chosen is not None:
        raise ParameterError("a person is given twice: alone, and in the settings")
    person = person or chosen
    nobody: dict[str, Any] = dict.fromkeys(PERSON)
    settings = replace(settings, **nobody)
    settings.identity()  # files of settings are there and sound
    if person is not None:
        person = person.absolute()
        correspondence = settings.steps().correspondence
        model, _ = person.load(settings.reading, correspondence, settings.force)
        load_convention(settings.convention, model)
        if "osim" in settings.formats:
            check_coordinates(model, settings.convention)
    output = Path(output).expanduser().resolve()
    if output.exists() and not output.is_dir():
        raise ParameterError(f"{output} is a file: results must go to a folder")
    given = [Path(source).expanduser() for source in sources]
    trials = _trials(given, output, settings)
    jobs = [
        Job(name, path, person or nearest_person(path, top), settings, output)
        for path, name, top in _named(trials)
    ]
    _check_places(jobs)
    return jobs


def run_batch(
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    cluster: str | None = None,
    again: bool = False,
    watch: Watch | None = None,
) -> Generator[Outcome, None, None]:
    """Do the trials of a batch that are not done yet.

    A trial is done when its record is written, after everything else of it. One whose
    recording, person, settings and software are as they were, and whose files are
    there, is kept. Arguments, outcomes and errors are as of :func:`run_tasks`.

    Args:
        jobs: of :func:`plan_batch`, all with one output folder.
        workers: processes; None: as many as there are cores; 0: this process does
            it, as it does a single trial.
        cluster: address of a dask scheduler, instead of processes here.
        again: do what is done again.
        watch: called with frames.
    """
    mark = uuid.uuid4().hex
    marked = [replace(job, batch=mark, again=again) for job in jobs]
    return run_tasks(marked, workers, cluster, watch)


def _trials(
    given: Iterable[Path], output: Path, settings: ReconstructionOptions
) -> list[tuple[Path, Path, Path]]:
    """Recordings, the place of their results, and the folder they were found from."""
    given = list(given)
    folders = [path for path in given if is_folder(path)]
    not_meant = {settings.correspondence, settings.pipeline}
    trials: dict[Path, tuple[Path, Path, Path]] = {}
    for path in given:
        if is_file(path):
            path = path.resolve()
            trials.setdefault(path, (path, Path(path.name), path.parent))
        elif is_folder(path):
            top = path.resolve()
            if top == output:
                raise ParameterError(
                    f"the results would be among the recordings in {path}: give "
                    "another --output"
                )
            under = Path(top.name) if len(folders) > 1 else Path()
            for file in _recordings(top, output):
                if file not in not_meant:
                    place = under / file.relative_to(top)
                    trials.setdefault(file, (file, place, top))
        else:
            raise ParameterError(f"{path}: {absence_reason(path)}")
    if not trials:
        where = ", ".join(map(str, given)) or "nothing"
        raise ParameterError(
            f"{where} holds no recording ({', '.join(_IN_FOLDERS)}; other files are "
            "given by name)"
        )
    return list(trials.values())


def _recordings(top: Path, output: Path) -> list[Path]:
    """Recordings below a folder, in the order of their names."""
    paths: list[Path] = []

    def refuse(error: OSError) -> None:
        raise ParameterError(f"{error.filename}: {error.strerror}") from None

    for folder, below, files in os.walk(top, onerror=refuse):
        here = Path(folder)
        below[:] = sorted(
            name
            for name in below
            if not name.startswith(".")
            and here / name != output
            and not (here / name / HOME).is_dir()  # results of another batch
        )
        paths += [
            here / name
            for name in sorted(files)
            if not name.startswith(".")
            and Path(name).suffix.lower() in _IN_FOLDERS
            and not _RESULT.fullmatch(name)
            and name != PARAMETERS
        ]
    return paths


def _named(
    trials: Sequence[tuple[Path, Path, Path]],
) -> Iterator[tuple[Path, str, Path]]:
    """Give results their names; the same recording in two formats has two."""
    names = [_result_name(place) for _, place, _ in trials]
    count = Counter(names)
    for name, (path, place, top) in zip(names, trials, strict=True):
        ending = f"_{place.suffix[1:].lower()}" if count[name] > 1 else ""
        yield path, f"{name}{ending}", top


def _result_name(place: Path) -> str:
    """The end of the names of a trial's results, with the folders above."""
    numbered = _NUMBER.fullmatch(place.stem)
    stem = numbered.group(1) if numbered else place.stem
    return (place.parent / stem).as_posix()


def _check_places(jobs: Sequence[Job]) -> None:
    places: dict[str, Job] = {}
    for job in jobs:
        other = places.setdefault(job.name, job)
        if other is not job:
            raise ParameterError(
                f"{other.source} and {job.source} would both be written as "
                f"'{job.name}': do them one after the other with another --output, or "
                "give the folder above them"
            )
    sources = {job.source for job in jobs}
    for job in jobs:
        written = (job.output / job.name).with_name(f"{Path(job.name).name}.trc")
        if "trc" in job.settings.formats and written in sources:
            raise ParameterError(
                f"the result would be written over {written}: give another --output"
            )
