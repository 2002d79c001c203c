# SPDX-License-Identifier: Apache-2.0
"""The work of the action ``reconstruct`` on a file, without any topic."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from humans_sim.applications.reconstruction import reconstruct
from humans_sim.applications.reconstruction_files import write_reconstruction
from humans_sim.core.errors import HumansError, ParameterError, printable
from humans_sim.core.files import is_file
from humans_sim.models.model import Model
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.posture.solver import Posture
from humans_sim.observation.reconstruction_options import (
    USUAL_FORMATS,
    ReconstructionOptions,
)
from humans_sim.observation.search_settings import SolverSettings

FORMATS_OF_FILES = (*USUAL_FORMATS, "mcap")
"""What a job writes: with the messages of ROS 2."""


class CancelledError(HumansError):
    """The job was cancelled before its end."""


@dataclass(frozen=True)
class Done:
    """How far a job is."""

    frames: int
    total: int
    number: int
    names: tuple[str, ...]
    posture: Posture


@dataclass(frozen=True)
class FileJob:
    """A file to reconstruct.

    Attributes:
        file: of markers.
        model: the person, unless the options name one.
        marker_set: where the markers are, or the name or path of a set.
        options: how it is read and solved.
        folder: where results are written; None: nowhere.
        settings: of the search.
    """

    file: Path
    model: Model
    marker_set: MarkerSet | str
    options: ReconstructionOptions = ReconstructionOptions()
    folder: Path | None = None
    settings: SolverSettings | None = None

    def check(self) -> None:
        """Refuse at once what can be seen at once.

        Raises:
            ParameterError: something cannot be.
        """
        if not is_file(self.file):
            raise ParameterError(f"there is no file '{printable(self.file)}'")
        if self.folder is not None and is_file(self.folder):
            raise ParameterError(f"'{printable(self.folder)}' is no folder")


class FileWorker:
    """Does a job in a thread of its own.

    Attributes:
        done: how far it is; None before the first frame.
        result: what was found, once it is over and nothing went wrong.
        seconds: it took, once it is over.
    """

    def __init__(self, job: FileJob) -> None:
        self._job = job
        self._stop = threading.Event()
        self.done: Done | None = None
        self.result: Reconstruction | None = None
        self.files: tuple[Path, ...] = ()
        self.error: Exception | None = None
        self.seconds = 0.0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether the thread has ended."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """End after the frame that is under way."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(timeout)

    def _work(self) -> None:
        begun = time.perf_counter()
        try:
            result = self._reconstruct()
            self._go_on()
            self.files = self._write(result)
            self.result = result
        except Exception as error:  # reported to whoever sent the goal, whatever it is
            self.error = error
        self.seconds = time.perf_counter() - begun

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise CancelledError("it was cancelled")

    def _reconstruct(self) -> Reconstruction:
        job = self._job

        def watch(trial: MarkerTrial, row: int, posture: Posture) -> None:
            self._go_on()
            # Frames are not done in their order.
            count = 1 if self.done is None else self.done.frames + 1
            number = int(trial.frames[row])
            self.done = Done(count, len(trial), number, trial.names, posture)
            time.sleep(0)  # whoever answers live frames goes first

        person = (job.model, job.file, job.marker_set)
        return reconstruct(
            *(person if job.options.subject is None else (job.file,)),
            options=job.options,
            settings=job.settings,
            watch=watch,
        )

    def _write(self, result: Reconstruction) -> tuple[Path, ...]:
        folder, name = self._job.folder, self._job.file.stem
        if folder is None:
            return ()
        return write_reconstruction(result, folder, name, formats=FORMATS_OF_FILES)


def occlusion(result: Reconstruction) -> np.ndarray:
    """Share of the frames in which each marker was not seen (m,)."""
    share: np.ndarray = result.occluded.mean(axis=0)
    return share
