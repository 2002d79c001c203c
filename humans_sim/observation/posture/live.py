# SPDX-License-Identifier: Apache-2.0
"""Postures from frames of markers as they come, one after another.

*Uncertainty* from the frames so far. As :mod:`.uncertainty`, but the noise is a running
mean, and a joint that the markers do not show is held where it was last shown, ever
less surely: by its usual speed and the time since then.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.models.model import Model
from humans_sim.observation.markers.filters import ORDER, CausalFilter
from humans_sim.observation.markers.marker_set import (
    MarkerSet,
    identify,
    load_correspondence,
)
from humans_sim.observation.markers.synthetic import marker_positions
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.posterior_kernels import (
    PostureFrames,
    frame_variances,
)
from humans_sim.observation.posture.result import MarkerStatus
from humans_sim.observation.posture.solver import USUAL_STEP, Posture, PostureSolver
from humans_sim.observation.posture.tree_kernels import BASE
from humans_sim.observation.posture.uncertainty import (
    full_range,
    limited,
    usual_prior,
    weights_of,
)
from humans_sim.observation.search_settings import SolverSettings

_MEMORY = 1.0
"""Time over which the noise and usual speeds are averaged [s]."""
_FORGETTING = 10.0
"""Time after which what was usual of a coordinate is doubled [s]."""
_ENOUGH = 50.0
"""Degrees of freedom of the residuals that show the noise."""


class LiveEstimate(NamedTuple):
    """A posture and how sure it is.

    Attributes:
        std: standard deviations of the coordinates (nv,) [m, rad].
        hidden: joints that the markers do not show (nv - 6,).
        noise: of a marker, one axis [m].
    """

    posture: Posture
    std: np.ndarray
    hidden: np.ndarray
    noise: float


class LiveUncertainty:
    """Follows the postures of a solver."""

    def __init__(self, solver: PostureSolver) -> None:
        """Prepare; nothing is known of the noise yet."""
        self._solver, self._settings = solver, solver.settings.uncertainty
        self._prior, self._weights = usual_prior(solver), weights_of(solver)
        self._range = full_range(solver)
        self.reset()

    def reset(self) -> None:
        """Forget the frames before."""
        joints = len(self._range)
        self._squares = self._freedom = 0.0
        self._usual = np.full(joints, np.inf)
        self._speed = np.full(joints, self._settings.speed**2)
        self._shown: np.ndarray | None = None
        self._spread = np.zeros(joints)
        self._since = np.zeros(joints)

    @property
    def noise(self) -> float:
        """Standard deviation of a marker, one axis [m]."""
        if self._freedom < _ENOUGH:
            return self._settings.marker_noise
        noise = float(np.sqrt(self._squares / self._freedom))
        return max(noise, self._settings.least_noise)

    def take(
        self, posture: Posture, positions: np.ndarray, step: float
    ) -> LiveEstimate:
        """The posture of the next frame, with what is not shown held.

        Markers are at positions (m, 3) [m], a step [s] after those before; the first
        may have any step.
        """
        variances, squares, freedom = self._variances(posture, positions, self._prior)
        if self._shown is None:
            step = 0.0
        keep = np.exp(-step / _MEMORY)
        self._squares = keep * self._squares + squares
        self._freedom = keep * self._freedom + max(freedom, 0.0)
        noise, data = self.noise, variances[BASE:]
        # Hidden are joints that are shown much worse than usual.
        self._usual = np.minimum(self._usual * (1.0 + step / _FORGETTING), data)
        std = noise * np.sqrt(data)
        usual = self._settings.times_usual * noise * np.sqrt(self._usual)
        hidden: np.ndarray = (std > self._settings.hidden) & (std > usual)
        self._since = np.where(hidden, self._since + step, 0.0)
        hidden &= self._solver.rules.tracked
        if hidden.any() and self._shown is not None:
            posture = self._held(posture, positions, hidden, noise)
            prior = self._prior.copy()
            prior[BASE:][hidden] = noise**2 / self._expected()[hidden]
            variances, _, _ = self._variances(posture, positions, prior)
        self._remember(posture.q[7:], noise**2 * data, hidden, step)
        limits = limited(noise * np.sqrt(variances)[None], self._solver)[0]
        return LiveEstimate(posture, limits, hidden, noise)

    def _variances(
        self, posture: Posture, positions: np.ndarray, prior: np.ndarray
    ) -> tuple[np.ndarray, float, float]:
        frames = PostureFrames(
            posture.q[None], positions[None], posture.status[None], prior[None]
        )
        rows = frame_variances(frames, self._weights, self._solver.marked)
        return rows[0][0], float(rows[1][0]), float(rows[2][0])

    def _expected(self) -> np.ndarray:
        """Variances of joints by the time since they were shown [rad^2]."""
        grown = self._spread + self._speed * self._since**2
        return np.minimum(grown, self._range**2)

    def _held(
        self, posture: Posture, positions: np.ndarray, hidden: np.ndarray, noise: float
    ) -> Posture:
        """The posture again, with hidden joints pulled to where they were shown."""
        assert self._shown is not None
        start = posture.q.copy()
        start[7:][hidden] = self._shown[hidden]
        prior = self._solver.rules.pull.copy()
        prior[hidden] = noise**2 / np.maximum(self._expected()[hidden], 1e-12)
        rejected = posture.status == MarkerStatus.REJECTED
        posture = self._solver.solve_from(start, positions, prior, rejected)
        self._solver.correct(posture.q, hidden)
        return posture

    def _remember(
        self, angles: np.ndarray, spread: np.ndarray, hidden: np.ndarray, step: float
    ) -> None:
        if self._shown is None:
            self._shown, self._spread = angles.copy(), spread.copy()
            return
        shown = ~hidden
        speed = (angles - self._shown)[shown] ** 2 / step**2
        noise = (spread + self._spread)[shown] / step**2
        share = 1.0 - np.exp(-step / _MEMORY)
        self._speed[shown] += share * (
            np.maximum(speed - noise, 0) - self._speed[shown]
        )
        np.maximum(self._speed, self._settings.least_speed**2, out=self._speed)
        self._shown[shown], self._spread[shown] = angles[shown], spread[shown]


LONGEST_GAP = 1.0
"""A silence after which frames begin anew [s]."""
FURTHEST = 100.0
"""Markers beyond this distance from the origin are none of a laboratory's [m]."""
_MEASURED = 10
"""Steps in time whose median gives the rate."""
_MASKS = 256
"""Sets of seen markers whose unseen joints are kept."""


@dataclass(frozen=True, eq=False)
class LiveFrame:
    """A frame and the posture that explains it.

    Attributes:
        t: time of the frame [s].
        names: labels as they came.
        measured: positions as they came, NaN where not seen (m, 3) [m].
        q: configuration (nq,).
        v: its velocity, by the difference to the frame before (nv,); zero at first.
        markers: where the model has the markers, NaN for those it does not know
            (m, 3) [m].
        differences: used minus reconstructed, NaN where there is none (m, 3) [m].
        status: of each marker (m,), numbers of :class:`MarkerStatus`.
        converged: whether the search ended at a minimum.
        iterations: it took.
        seconds: wall time of the search [s].
        begins: whether nothing of the frames before was used.
        std: standard deviations of the coordinates (nv,): base along the world's axes
            [m], base about them [rad], joints [rad].
        hidden: joints that the markers do not show; they are held (nv - 6,).
        noise: of a marker, one axis, from the residuals so far [m].
    """

    t: float
    names: tuple[str, ...]
    measured: np.ndarray
    q: np.ndarray
    v: np.ndarray
    markers: np.ndarray
    differences: np.ndarray
    status: np.ndarray
    converged: bool
    iterations: int
    seconds: float
    begins: bool
    std: np.ndarray
    hidden: np.ndarray
    noise: float

    @property
    def distances(self) -> np.ndarray:
        """Of the markers used from where the model has them (k,) [m]."""
        used = self.status == MarkerStatus.USED
        return np.asarray(np.linalg.norm(self.differences[used], axis=1))

    @property
    def rms(self) -> float:
        """Root mean square distance over the markers used [m]; NaN without any."""
        distances = self.distances
        return float(np.sqrt((distances**2).mean())) if len(distances) else math.nan


class LivePostures:
    """Takes frames of markers, gives postures. Not for use by two threads at once.

    The first frame gives the labels, which are identified as those of files are. Time
    that goes back, and a silence longer than ``longest_gap``, begin anew: the labels
    may be others then.

    Attributes:
        beginnings: how often frames began.
        note: what is not as it should be, empty where nothing is.
    """

    def __init__(
        self,
        model: Model,
        marker_set: MarkerSet,
        *,
        correspondence: Path | None = None,
        cutoff: float = 0.0,
        settings: SolverSettings | None = None,
        longest_gap: float = LONGEST_GAP,
    ) -> None:
        """Prepare, and search once so that the first frame need not wait.

        Args:
            model: the person.
            marker_set: where the markers are.
            correspondence: file of the labels, or None.
            cutoff: of the low-pass filter [Hz]; 0: none. It begins when the rate of
                the frames is known, after ten of them.
            settings: of the search.
            longest_gap: silence after which frames begin anew [s].

        Raises:
            ParameterError: a number is out of its range.
            ModelFileError: the correspondence file is wrong.
        """
        if not (math.isfinite(cutoff) and cutoff >= 0):
            raise ParameterError(f"the cut-off must be 0 Hz or more, not {cutoff:g}")
        if not longest_gap > 0:
            raise ParameterError(f"longest_gap must be above 0 s, not {longest_gap:g}")
        self.model = model
        self._set = marker_set.moving
        self._table = None
        if correspondence is not None:
            self._table = load_correspondence(correspondence, self._set.names)
        self._cutoff, self._longest_gap = cutoff, longest_gap
        self._settings = settings
        self._unseen: dict[bytes, tuple[str, ...]] = {}
        self.beginnings, self.note = 0, ""
        self._names: tuple[str, ...] = ()
        self._t, self._q = -math.inf, model.neutral()
        # Search twice: the first time compiles.
        still = marker_positions(model, self._set, model.neutral()[None])[0]
        solver = PostureSolver(model, self._set, settings=settings)
        uncertainty = LiveUncertainty(solver)
        for _ in range(2):
            uncertainty.take(solver.solve(still), still, USUAL_STEP)
        solver.unseen(np.ones(len(still), dtype=bool))

    def push(
        self, t: float, names: Sequence[str], positions: np.ndarray, anew: bool = False
    ) -> LiveFrame:
        """The posture of a frame.

        A frame that is refused changes nothing.

        Args:
            t: its time [s].
            names: labels; empty ones are markers that nobody identified.
            positions: (m, 3) [m], NaN where a marker was not seen.
            anew: whether it begins another trial.

        Raises:
            ConfigurationError: the frame does not fit its names or the frames before,
                or a number makes no sense.
            ParameterError: too few of the labels are in the marker set.
        """
        names, positions = tuple(names), np.asarray(positions, dtype=float)
        self._check(t, names, positions)
        begins = anew or t < self._t or t > self._t + self._longest_gap
        if begins:
            self._begin(names)
        elif t == self._t:
            raise ConfigurationError("the frame has the time of the one before")
        elif names != self._names:
            raise ConfigurationError(
                "the labels changed from one frame to the next: "
                f"{_change(self._names, names)}"
            )
        step, self._t = t - self._t, t
        used = self._filtered(positions[self._columns], math.inf if begins else step)
        begun = time.perf_counter()
        usual = step if math.isfinite(step) else USUAL_STEP
        posture = self._solver.solve(used, step=usual)
        estimate = self._uncertainty.take(posture, used, usual)
        posture = estimate.posture
        seconds = time.perf_counter() - begun
        v = np.zeros(self.model.nv)
        if not begins:
            v = pin.difference(self.model.pin, self._q, posture.q) / step
        self._q = posture.q
        return self._frame(t, positions, estimate, v, seconds, begins)

    def unobservable(self, frame: LiveFrame) -> tuple[str, ...]:
        """Joints that no marker used in a frame can see; they stay near rest."""
        mask = frame.status[self._columns] == MarkerStatus.USED
        key = mask.tobytes()
        if key not in self._unseen:
            if len(self._unseen) >= _MASKS:
                self._unseen.clear()
            self._unseen[key] = self._solver.unseen(mask)
        return self._unseen[key]

    def _check(self, t: float, names: tuple[str, ...], positions: np.ndarray) -> None:
        if not math.isfinite(t):
            raise ConfigurationError(f"the time of the frame is {t}")
        if not names:
            raise ConfigurationError("the frame has no markers")
        if positions.shape != (len(names), 3):
            raise ConfigurationError(
                f"{len(names)} labels and positions of shape {positions.shape}"
            )
        if names != self._names:
            known = [name for name in names if name]
            if len(set(known)) != len(known):
                twice = min(name for name, n in Counter(known).items() if n > 1)
                raise ConfigurationError(f"two markers are called '{twice}'")
        largest = np.abs(positions).max(axis=1)
        if (largest > FURTHEST).any():
            name = names[int(np.flatnonzero(largest > FURTHEST)[0])]
            raise ConfigurationError(
                f"the marker '{name}' is more than {FURTHEST:g} m away: positions are "
                "in metres"
            )

    def _begin(self, names: tuple[str, ...]) -> None:
        """Identify the labels, if they are new, and forget what was."""
        if names != self._names:
            given = [k for k, name in enumerate(names) if name]
            if not given:
                raise ConfigurationError("no marker has a label")
            # Each marker carries its column where its place would be.
            places = np.repeat(np.array(given, float)[None, :, None], 3, axis=2)
            labels = tuple(names[k] for k in given)
            trial = MarkerTrial(labels, np.zeros(1), places, np.zeros(1, int))
            own = self._set
            identified = identify(trial, self._table, own.names, own.aliases).trial
            solver = PostureSolver(
                self.model, self._set, identified.names, settings=self._settings
            )
            self._columns = identified.positions[0, :, 0].astype(int)
            self._solver, self._names = solver, names
            self._uncertainty = LiveUncertainty(solver)
            self._unseen.clear()
        self._solver.reset()
        self._uncertainty.reset()
        self._filter: CausalFilter | None = None
        self._steps: list[float] = []
        self.note = ""
        self.beginnings += 1

    def _filtered(self, positions: np.ndarray, step: float) -> np.ndarray:
        if self._cutoff == 0.0 or self.note:
            return positions
        if self._filter is None:
            if math.isfinite(step):
                self._steps.append(step)
            if len(self._steps) < _MEASURED:
                return positions
            rate = 1.0 / float(np.median(self._steps))
            try:
                self._filter = CausalFilter(
                    rate, self._cutoff, ORDER, len(self._columns)
                )
            except ParameterError as error:
                self.note = f"markers are not filtered: {error}"
                return positions
        return self._filter.push(positions)

    def _frame(
        self,
        t: float,
        positions: np.ndarray,
        estimate: LiveEstimate,
        v: np.ndarray,
        seconds: float,
        begins: bool,
    ) -> LiveFrame:
        posture, count = estimate.posture, len(self._names)
        markers, differences = np.full((2, count, 3), np.nan)
        seen = np.isfinite(positions).all(axis=1)
        status = np.where(seen, MarkerStatus.UNKNOWN, MarkerStatus.OCCLUDED)
        markers[self._columns] = posture.markers
        differences[self._columns] = posture.differences
        status[self._columns] = posture.status
        return LiveFrame(
            t,
            self._names,
            positions,
            posture.q,
            v,
            markers,
            differences,
            status.astype(np.uint8),
            posture.converged,
            posture.iterations,
            seconds,
            begins,
            estimate.std,
            estimate.hidden,
            estimate.noise,
        )


def _change(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """The first difference between two lists of labels."""
    for old, new in zip(before, after, strict=False):
        if old != new:
            return f"'{old}' is now '{new}'"
    return f"{len(before)} are now {len(after)}"
