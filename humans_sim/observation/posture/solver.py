# SPDX-License-Identifier: Apache-2.0
"""The posture of a person from the markers of one frame, live or from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.models.model import Model
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.posture.frame_kernels import (
    DONE,
    LEAPT,
    SUSPICIOUS,
    DoubtRules,
    FrameMarkers,
    GateRules,
    MotionRules,
    TrackRules,
    TrackState,
    change_between,
    explain,
    gate,
    predict,
    track_frames,
    weigh,
)
from humans_sim.observation.posture.result import MarkerStatus
from humans_sim.observation.posture.tree_kernels import MarkedTree, Tree, marker_bodies
from humans_sim.observation.posture.wide_search import (
    FEWEST,
    Found,
    WideSearch,
    rest_pull,
    unseen_joints,
)
from humans_sim.observation.search_settings import SolverSettings

USUAL_STEP = 0.01
"""Time between two frames where nothing else is said [s]."""


@dataclass(frozen=True, eq=False)
class Posture:
    """A posture and how it explains the markers of its frame.

    Attributes:
        q: configuration (nq,).
        markers: where the model has the markers (m, 3) [m].
        differences: measured minus reconstructed (m, 3) [m]; NaN where not seen.
        status: of each marker (m,), numbers of :class:`MarkerStatus`.
        converged: whether the search ended at a minimum.
        iterations: it took.
    """

    q: np.ndarray
    markers: np.ndarray
    differences: np.ndarray
    status: np.ndarray
    converged: bool
    iterations: int

    @property
    def rms(self) -> float:
        """Root mean square distance over the markers used [m]; NaN without any."""
        used = self.status == MarkerStatus.USED
        if not used.any():
            return float("nan")
        return float(np.sqrt((self.differences[used] ** 2).sum(axis=1).mean()))


class PostureSolver:
    """Finds postures frame after frame; each one starts from where the last lead.

    Not for use by two threads at once.
    """

    def __init__(
        self,
        model: Model,
        marker_set: MarkerSet,
        names: Sequence[str] | None = None,
        *,
        settings: SolverSettings | None = None,
        rest: np.ndarray | None = None,
    ) -> None:
        """Prepare a search.

        Args:
            model: the person.
            marker_set: where the markers are.
            names: labels of the columns that :meth:`solve` gets; those that the set
                does not know are left aside. None: the set's own, in its order.
            settings: of the search.
            rest: joint angles of a person at rest (nv - 6,) [rad]; None: zero, or the
                limit next to it.

        Raises:
            ParameterError: too few of the names are in the set.
        """
        self.model = model
        self.names = tuple(names if names is not None else marker_set.names)
        self.settings = settings or SolverSettings()
        known = set(marker_set.names)
        self._columns = np.array([i for i, n in enumerate(self.names) if n in known])
        markers = [marker_set[self.names[i]] for i in self._columns]
        if len(markers) < FEWEST:
            raise ParameterError(
                f"only {len(markers)} of the markers ({', '.join(self.names[:8])}...) "
                f"are in the marker set {marker_set.name}: rename them with a "
                "correspondence file"
            )
        self.tree = Tree.of(model)
        body, local = marker_bodies(model, markers)
        self._weight = np.array([marker.weight for marker in markers])
        lower, upper = self.tree.lower, self.tree.upper
        rest = np.zeros(model.nv - 6) if rest is None else np.asarray(rest, float)
        if rest.shape != lower.shape:
            raise ConfigurationError(f"rest has {lower.size} joint angles")
        self.rest = np.clip(rest, lower, upper)
        self.marked = MarkedTree(self.tree, body, local)
        self._wide = WideSearch(self.marked, self.rest, self.settings)
        self.reset()

    def reset(self) -> None:
        """Forget the frames before: the next one is searched from nowhere."""
        self._last: np.ndarray | None = None
        self._speed = np.zeros(self.model.nv)
        self._memory = np.array([np.inf, 0.0])
        self._age = np.zeros(len(self._columns))

    def resume(self, q: np.ndarray) -> None:
        """Go on from a posture, at rest there."""
        self.reset()
        self._last = self.model.check_configuration(q).copy()

    def correct(self, q: np.ndarray, held: np.ndarray) -> None:
        """Go on from another posture of the last frame; these joints stand still."""
        self._last = q.copy()
        self._speed[6:][held] = 0.0

    @cached_property
    def rest_pull(self) -> np.ndarray:
        """Towards rest, of each joint, against 1 for a marker (nv - 6,) [m^2].

        A posture searched from nowhere does without: nothing led it astray.
        """
        least = self.settings.rest_weight
        return rest_pull(self.marked, self.model.joint_names, least)

    @cached_property
    def unobservable(self) -> tuple[str, ...]:
        """Joints that no marker can see; they stay near rest."""
        return self.unseen(np.ones(len(self._columns), dtype=bool))

    def unseen(self, seen: np.ndarray) -> tuple[str, ...]:
        """Joints that none of these of the set's markers can see."""
        body, local = self.bodies
        chosen = unseen_joints(MarkedTree(self.tree, body[seen], local[seen]))
        return tuple(self.model.joint_names[i] for i in np.flatnonzero(chosen))

    def solve(
        self,
        positions: np.ndarray,
        start: np.ndarray | None = None,
        step: float = USUAL_STEP,
    ) -> Posture:
        """The posture of one frame.

        Args:
            positions: of the markers, in the order of :attr:`names` (m, 3) [m]; NaN
                where not seen.
            start: configuration to search from; None continues from the last frame.
            step: time since the last frame [s].

        Raises:
            ConfigurationError: positions or start are not usable.
        """
        if start is None and self._last is not None:
            return self.track(self._shaped(positions)[None], np.array([step]))[0]
        y, weight, seen = self._weighed(positions)
        if start is None:
            outcome = self._wide.from_nowhere(y, weight, seen)
        else:
            begin = self.model.check_configuration(start)
            outcome = self._wide.narrowed(begin, y, weight)
        posture = self._explain(outcome, y, weight)
        self._remember(posture, seen, step)
        return posture

    def track(
        self, frames: np.ndarray, steps: np.ndarray | None = None
    ) -> list[Posture]:
        """Postures of frames that follow on those before.

        Args:
            frames: positions of the markers (n, m, 3) [m].
            steps: time from the frame before to each (n,) [s]; None: 10 ms.

        Raises:
            ConfigurationError: there are none before, or positions are not usable.
        """
        if self._last is None:
            raise ConfigurationError("no posture to start from: call solve or resume")
        frames = np.ascontiguousarray(frames, dtype=float)
        if steps is None:
            steps = np.full(len(frames), USUAL_STEP)
        postures: list[Posture] = []
        while len(postures) < len(frames):
            done = len(postures)
            state = TrackState(self._last, self._speed, self._age, self._memory)
            *tracked, why = track_frames(
                frames[done:], steps[done:], state, self.rules, self.marked
            )
            postures += [Posture(*parts) for parts in zip(*tracked, strict=True)]
            if why != DONE:
                row = len(postures)
                postures.append(self._attend(frames[row], float(steps[row]), why))
        return postures

    def _shaped(self, positions: np.ndarray) -> np.ndarray:
        positions = np.asarray(positions, dtype=float)
        shape = (len(self.names), 3)
        if positions.shape != shape:
            raise ConfigurationError(
                f"{shape[0]} markers need positions of shape {shape}, not "
                f"{positions.shape}"
            )
        return positions

    def _weighed(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        weights: tuple[np.ndarray, np.ndarray, int] = weigh(
            self._shaped(positions), self._columns, self._weight
        )
        return weights

    def weighted(self, trial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Markers of the set in many frames (n, k, 3), and their weights (n, k)."""
        frames = [self._weighed(positions) for positions in trial]
        return np.array([f[0] for f in frames]), np.array([f[1] for f in frames])

    @property
    def bodies(self) -> tuple[np.ndarray, np.ndarray]:
        """Body of each marker of the set (k,), and its place there (k, 3) [m]."""
        return self.marked.body, self.marked.local

    def solve_from(
        self,
        start: np.ndarray,
        positions: np.ndarray,
        prior: np.ndarray,
        rejected: np.ndarray,
    ) -> Posture:
        """The posture of one frame with joints that are known beforehand.

        Args:
            start: what is known, and where the search begins (nq,).
            positions: of the markers, in the order of :attr:`names` (m, 3) [m].
            prior: how strongly joints are pulled there (nv - 6,) [m^2].
            rejected: markers that are left aside (m,).
        """
        y, weight, _ = self._weighed(positions)
        shut = rejected[self._columns]
        held = np.where(shut, 0.0, weight)
        outcome = self._wide.search(
            start, y, held, prior, start[7:].copy(), self.settings.outlier
        )
        if not held.any():  # nothing to converge to
            outcome = (*outcome[:4], False)
        return self._explain(outcome, y, weight, shut)

    def explained(self, q: np.ndarray, positions: np.ndarray) -> Posture:
        """How a given posture explains the markers of a frame."""
        y, weight, _ = self._weighed(positions)
        return self._explain((q, self.marked.places(q), 0.0, 0, True), y, weight)

    def _attend(self, positions: np.ndarray, step: float, why: int) -> Posture:
        """A frame that tracking alone does not explain."""
        assert self._last is not None
        y, weight, seen = self._weighed(positions)
        rules = self.rules
        ahead = predict(self._last, self._speed, step, rules.motion)
        middle = np.where(rules.tracked, ahead[7:], self.rest)
        pull, scale = rules.pull, rules.scale
        shut = np.zeros(len(weight), dtype=bool)
        if why != LEAPT:  # else the person did, not its markers
            frame = FrameMarkers(y, weight, shut)
            gate(self.marked.places(ahead), frame, self._age, step, rules.gate)
        held = np.where(shut, 0.0, weight)
        outcome = self._wide.search(ahead, y, held, pull, middle, scale)
        if why == SUSPICIOUS:
            looks = self.settings.tracking.looks
            outcome = self._wide.beside(outcome, y, held, pull, middle, 1, looks)
            posture = self._explain(outcome, y, weight, shut)
        else:
            posture = self._explain(outcome, y, weight, shut)
            anew = self._wide.from_nowhere(y, weight, seen)
            if seen >= FEWEST and anew[2] < outcome[2]:
                posture = self._explain(anew, y, weight)
        self._remember(posture, seen, step)
        return posture

    @cached_property
    def rules(self) -> TrackRules:
        """How frames are tracked, for the kernels."""
        settings, rest = self.settings, self.rest_pull
        unseen = set(self.unobservable)
        # Joints that are held where they were, not at rest. Noise would lead those that
        # are hardly seen away, a frame at a time.
        tracked = np.array([name not in unseen for name in self.model.joint_names])
        tracked &= rest <= settings.rest_weight
        pull = np.where(tracked, settings.track_weight, 0.0).clip(rest)
        gate, tracking = settings.gate, settings.tracking
        return TrackRules(
            columns=self._columns,
            weight=self._weight,
            tracked=tracked,
            pull=pull,
            rest=self.rest,
            scale=settings.outlier,
            tolerance=settings.tolerance,
            most=settings.iterations,
            gate=GateRules(
                gate.share * settings.outlier,
                gate.acceleration,
                gate.drift,
                gate.growth,
                gate.patience,
                gate.exchanged,
            ),
            motion=MotionRules(
                tracking.persistence, tracking.fastest, self.tree.lower, self.tree.upper
            ),
            doubt=DoubtRules(
                tracking.rejected,
                tracking.lost,
                tracking.misfit**2,
                tracking.worse,
                tracking.learning,
                tracking.pause,
            ),
        )

    def _remember(self, posture: Posture, seen: int, step: float) -> None:
        if self._last is not None:
            self._speed = change_between(self._last, posture.q) / step
        if self._last is not None or seen >= FEWEST:
            self._last = posture.q.copy()
        used = posture.status[self._columns] == MarkerStatus.USED
        self._age = np.where(used, 0.0, self._age + step)

    def _explain(
        self,
        posture: Found,
        y: np.ndarray,
        weight: np.ndarray,
        shut: np.ndarray | None = None,
    ) -> Posture:
        q, x, _, iterations, converged = posture
        if shut is None:
            shut = np.zeros(len(weight), dtype=bool)
        markers, differences, status = explain(
            x,
            FrameMarkers(y, weight, shut),
            self.settings.outlier,
            self.settings.tracking.rejected,
            self._columns,
            len(self.names),
        )
        return Posture(q, markers, differences, status, converged, iterations)
