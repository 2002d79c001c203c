# SPDX-License-Identifier: Apache-2.0
"""Postures of a trial whose markers are prepared, frame by frame or all at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from humans_sim.core.disk_arrays import ROWS, new_array, release
from humans_sim.core.errors import ParameterError
from humans_sim.models.model import Model
from humans_sim.observation.markers.gaps import fill_gaps
from humans_sim.observation.markers.marker_set import (
    CANONICAL,
    MarkerSet,
    load_marker_set,
)
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.observation.posture.settings import SmootherSettings, SolverSettings
from humans_sim.observation.posture.smoother import smooth_postures
from humans_sim.observation.posture.solver import USUAL_STEP, Posture, PostureSolver
from humans_sim.observation.posture.uncertainty import with_uncertainty

STATIC, SMOOTH = "static", "smooth"
MODES = (STATIC, SMOOTH)

_AT_ONCE = 16
"""Frames between two words of progress."""

_AROUND = 2.0
"""Time on each side of the first frame whose samples bridge its gaps [s]."""

Progress = Callable[[int, int], None]
"""Called with how many frames are done, and of how many."""
Watch = Callable[[MarkerTrial, int, Posture], None]
"""Given the prepared markers, the row of a frame and its posture, frame by frame."""


def solve_postures(
    model: Model,
    markers: MarkerTrial,
    marker_set: MarkerSet | str | Path = CANONICAL,
    *,
    mode: str = STATIC,
    settings: SolverSettings | None = None,
    smoothing: SmootherSettings | None = None,
    rest: np.ndarray | None = None,
    uncertainty: bool = True,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Reconstruction:
    """Postures that explain markers as they are given.

    The last step of :func:`humans_sim.applications.reconstruction.reconstruct`, which
    reads and prepares a recording first.

    Args:
        model: the person, best a calibrated one.
        markers: the trial; its labels are those of the marker set
            (:func:`humans_sim.observation.markers.prepare` renames, fills and
            filters them).
        marker_set: where the markers are on the body, or the name or path of a set.
        mode: ``static`` frame by frame; ``smooth`` the whole trial at once, with a
            prior on accelerations.
        settings: of the search.
        smoothing: of the mode ``smooth``.
        rest: joint angles where joints stay that no marker sees [rad].
        uncertainty: whether standard deviations are worked out, and joints led through
            frames in which their markers are hidden.
        progress: called now and then.
        watch: called with each frame; what it raises ends the search.

    Raises:
        ParameterError: the mode is unknown, or too few markers are in the set.
    """
    if mode not in MODES:
        raise ParameterError(f"mode is one of {', '.join(MODES)}, not '{mode}'")
    if not isinstance(marker_set, MarkerSet):
        marker_set = load_marker_set(marker_set, model)
    names = [m.name for m in marker_set.markers if not m.calibration]
    used = marker_set.of(names)
    solver = PostureSolver(model, used, markers.names, settings=settings, rest=rest)
    result = _static(solver, markers, progress, watch)
    if uncertainty:
        result = with_uncertainty(result, solver)
    if mode == SMOOTH:
        result = smooth_postures(result, solver, smoothing or SmootherSettings())
    return result


def _static(
    solver: PostureSolver,
    trial: MarkerTrial,
    progress: Progress | None,
    watch: Watch | None,
) -> Reconstruction:
    n, m = len(trial), len(trial.names)
    q = np.empty((n, solver.model.nq))
    differences = new_array((n, m, 3))
    status = np.empty((n, m), dtype=np.uint8)
    converged = np.empty(n, dtype=bool)
    iterations = np.empty(n, dtype=np.int32)
    seconds = np.empty(n)
    # From the frame with most markers on, then back from there: it is found best.
    first, start = _first_posture(solver, trial)
    solver.resume(start)
    steps = np.diff(trial.times)
    forward = np.concatenate([[USUAL_STEP], steps])
    backward = np.concatenate([steps, [USUAL_STEP]])
    done = 0
    for rows in _batches(first, n):
        if rows[0] == first - 1:
            solver.resume(q[first])
        begun = time.perf_counter()
        before = forward if rows[0] >= first else backward
        postures = solver.track(trial.positions[rows], before[rows])
        seconds[rows] = (time.perf_counter() - begun) / len(rows)
        for row, posture in zip(rows, postures, strict=True):
            q[row], differences[row] = posture.q, posture.differences
            status[row] = posture.status
            converged[row], iterations[row] = posture.converged, posture.iterations
            if watch is not None:
                watch(trial, row, posture)
        done += len(rows)
        if done // ROWS > (done - len(rows)) // ROWS:
            release(differences, trial.positions)
        if progress is not None:
            progress(done, n)
    status[trial.filled & (status == MarkerStatus.USED)] = MarkerStatus.INTERPOLATED
    return Reconstruction(
        model=solver.model,
        trial=trial,
        q=q,
        differences=differences,
        status=status,
        converged=converged,
        iterations=iterations,
        solve_times=seconds,
        unobservable=solver.unobservable,
        mode=STATIC,
    )


def _batches(first: int, n: int) -> Iterator[list[int]]:
    """Rows from ``first`` to the end, then back from it, a few at a time."""
    for order in (range(first, n), range(first - 1, -1, -1)):
        for k in range(0, len(order), _AT_ONCE):
            yield list(order[k : k + _AT_ONCE])


def _first_posture(solver: PostureSolver, trial: MarkerTrial) -> tuple[int, np.ndarray]:
    """The row to begin with, and its posture.

    Short gaps are bridged for this one: a limb that misses a marker may fit bent
    another way round, and the frames after it would follow.
    """
    bridge = solver.settings.start.bridge
    occluded = trial.occluded
    # Where all markers are seen nothing is to be bridged.
    missing = occluded.sum(axis=1)
    if missing.min() > 0:
        rows = _bridgeable(trial, occluded, bridge)
        missing = (occluded & ~rows).sum(axis=1) + occluded.mean(axis=1)
    row = int(np.argmin(missing))
    near = np.abs(trial.times - trial.times[row]) <= _AROUND
    part = fill_gaps(trial.samples(near), bridge)
    solver.reset()
    at = row - int(np.argmax(near))
    return row, solver.solve(part.positions[at]).q


def _bridgeable(trial: MarkerTrial, occluded: np.ndarray, longest: float) -> np.ndarray:
    """Samples in gaps that are short enough to be filled (n, m)."""
    short = np.zeros_like(occluded)
    for column in np.flatnonzero(occluded.any(axis=0)):
        seen = np.flatnonzero(~occluded[:, column])
        for a, b in zip(seen[:-1], seen[1:], strict=True):
            if b > a + 1 and trial.times[b] - trial.times[a + 1] <= longest + 1e-6:
                short[a + 1 : b, column] = True
    return short
