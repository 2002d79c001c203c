"""The posture of a person from the markers of one frame, live or from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.errors import ConfigurationError, ParameterError
from humans_sim.models.model import Model
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.posture.frame_kernels import (
    change_between,
    explain,
    gate,
    predict,
    weigh,
)
from humans_sim.observation.posture.kernels import (
    chain_of,
    place,
    points,
    solve_posture,
)
from humans_sim.observation.posture.result import MarkerStatus
from humans_sim.observation.posture.settings import SolverSettings
from humans_sim.observation.posture.sight import normal_matrix, unseen_joints
from humans_sim.observation.posture.tree import Tree, marker_bodies

REJECTED = 0.25
"""A marker whose robust weight is below this share is said to be rejected."""
_LOST = 0.5
"""Share of rejected markers above which a tracked posture is searched anew."""
_FEWEST = 3
"""Markers a body needs at least to be found in the room."""
_HEADINGS = 4
_TRUNK = 3
"""Joints from the base to the farthest body of the trunk."""
_REACH = 3.0
"""Markers of one person are not farther from their middle [m]."""
_NEAR = 0.03
"""Median distance at which no other heading is tried [m]."""
_ROUNDS, _DIRECTIONS, _ASIDE = 3, 6, 0.8
"""Looks beside a posture found from far away, and how far they go [rad]."""
_THROWS = 40
"""Throws of limbs without gain after which a first posture is taken."""
_GAIN, _BESIDE = 0.9, 0.5
"""Share of the cost below which a posture is better: anywhere, and beside one where
the last frames or the user put it."""
_MISFIT = 0.003**2
"""Mean square distance below which no frame is suspicious [m^2]."""
_WORSE, _LEARN, _PAUSE = 4.0, 0.1, 5
"""A frame's cost over the usual one that makes it suspicious, how fast the usual one is
learnt, and frames between two looks aside."""
_PERFECT = 1e-13
"""Mean square distance at which nothing better is looked for [m^2]."""
_CAUTION = 0.1
"""Damping of the first steps from far away [m^2]."""
_STAGES = ((np.inf, 1e-3), (np.inf, 0.0), (3.0, 0.0))
"""Stages of a search from far away: robust scale over the final one, pull to rest."""


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
        if len(markers) < _FEWEST:
            raise ParameterError(
                f"only {len(markers)} of the markers ({', '.join(self.names[:8])}...) "
                f"are in the marker set {marker_set.name}: rename them with a "
                "correspondence file"
            )
        self.tree = Tree.of(model)
        self._body, self._local = marker_bodies(model, markers)
        self._weight = np.array([marker.weight for marker in markers])
        lower, upper = self.tree.lower, self.tree.upper
        rest = np.zeros(model.nv - 6) if rest is None else np.asarray(rest, float)
        if rest.shape != lower.shape:
            raise ConfigurationError(f"rest has {lower.size} joint angles")
        self.rest = np.clip(rest, lower, upper)
        self.reset()

    def reset(self) -> None:
        """Forget the frames before: the next one is searched from nowhere."""
        self._last: np.ndarray | None = None
        self._change = np.zeros(self.model.nv)
        self._usual, self._wait = np.inf, 0
        self._age = np.zeros(len(self._columns), dtype=np.int64)

    def resume(self, q: np.ndarray) -> None:
        """Go on from a posture, at rest there."""
        self.reset()
        self._last = self.model.check_configuration(q)

    @cached_property
    def unobservable(self) -> tuple[str, ...]:
        """Joints that no marker can see; they stay near rest."""
        seen = np.ones(len(self._body), dtype=bool)
        return self.unseen(seen)

    def unseen(self, seen: np.ndarray) -> tuple[str, ...]:
        """Joints that none of these of the set's markers can see."""
        chosen = unseen_joints(self.tree, self._body[seen], self._local[seen])
        return tuple(self.model.joint_names[i] for i in np.flatnonzero(chosen))

    def solve(self, positions: np.ndarray, start: np.ndarray | None = None) -> Posture:
        """The posture of one frame.

        Args:
            positions: of the markers, in the order of :attr:`names` (m, 3) [m]; NaN
                where not seen.
            start: configuration to search from; None goes on from the last frame.

        Raises:
            ConfigurationError: positions or start are not usable.
        """
        y, weight, seen = self._weighed(positions)
        if start is not None:
            begin = self.model.check_configuration(start)
            posture = self._explain(
                self._narrowed(begin, y, weight, _STAGES[1:]), y, weight
            )
        elif self._last is None:
            posture = self._explain(self._from_nowhere(y, weight, seen), y, weight)
        else:
            posture = self._track(y, weight, seen)
        self._remember(posture, seen)
        return posture

    def _weighed(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        positions = np.asarray(positions, dtype=float)
        shape = (len(self.names), 3)
        if positions.shape != shape:
            raise ConfigurationError(
                f"{shape[0]} markers need positions of shape {shape}, not "
                f"{positions.shape}"
            )
        found: tuple[np.ndarray, np.ndarray, int] = weigh(
            positions, self._columns, self._weight
        )
        return found

    def weighted(self, trial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Markers of the set in many frames (n, k, 3), and their weights (n, k)."""
        frames = [self._weighed(positions) for positions in trial]
        return np.array([f[0] for f in frames]), np.array([f[1] for f in frames])

    @property
    def bodies(self) -> tuple[np.ndarray, np.ndarray]:
        """Body of each marker of the set (k,), and its place there (k, 3) [m]."""
        return self._body, self._local

    def explained(self, q: np.ndarray, positions: np.ndarray) -> Posture:
        """How a given posture explains the markers of a frame."""
        y, weight, _ = self._weighed(positions)
        return self._explain((q, self._markers(q), 0.0, 0, True), y, weight)

    def _search(
        self,
        q: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        prior: np.ndarray,
        middle: np.ndarray,
        scale: float,
        damping: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray, float, int, bool]:
        found: tuple[np.ndarray, np.ndarray, float, int, bool] = solve_posture(
            q, y, weight, scale, prior, middle, self._body, self._local,
            *self.tree.arrays, damping,
            self.settings.tolerance, self.settings.iterations,
        )  # fmt: skip
        return found

    def _track(self, y: np.ndarray, weight: np.ndarray, seen: int) -> Posture:
        assert self._last is not None
        ahead = predict(
            self._last,
            self._change,
            self.settings.fade,
            self.tree.lower,
            self.tree.upper,
        )
        if not seen:
            return self._explain(
                (ahead, self._markers(ahead), 0.0, 0, False), y, weight
            )
        tracked, pull = self._tracking
        middle = np.where(tracked, ahead[7:], self.rest)
        shut = self._gated(ahead, y, weight)
        leapt = np.count_nonzero(shut) > _LOST * seen
        if leapt:  # the person did, not its markers
            shut[:] = False
        open_weight = np.where(shut, 0.0, weight)
        scale = self.settings.outlier
        found = self._search(ahead, y, open_weight, pull, middle, scale)
        posture = self._explain(found, y, weight, shut)
        lost = np.count_nonzero(posture.status == MarkerStatus.REJECTED)
        if (leapt or lost > _LOST * seen) and seen >= _FEWEST:
            anew = self._from_nowhere(y, weight, seen)
            if anew[2] < found[2]:
                posture = self._explain(anew, y, weight)
        elif self._suspicious(found[2] / seen):
            anew = self._beside(found, y, open_weight, pull, middle)
            if anew is not found:
                posture = self._explain(anew, y, weight, shut)
        return posture

    def _gated(
        self, ahead: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Markers that jumped from where the last frames lead."""
        if not np.isfinite(self.settings.outlier):
            return np.zeros(len(weight), dtype=bool)
        shut: np.ndarray = gate(
            self._markers(ahead), y, weight, self._age, self.settings.outlier
        )
        return shut

    def _suspicious(self, cost: float) -> bool:
        """Whether a frame fits so much worse than those before that one looks aside."""
        if self._wait > 0:
            self._wait -= 1
            return False
        usual = self._usual
        self._usual = cost if usual == np.inf else usual + _LEARN * (cost - usual)
        if cost > max(_WORSE * usual, _MISFIT):
            self._usual = usual
            self._wait = _PAUSE
            return True
        return False

    @cached_property
    def _tracking(self) -> tuple[np.ndarray, np.ndarray]:
        """Joints that are held where they were, not at rest; how strongly all are."""
        unseen = set(self.unobservable)
        tracked = np.array([name not in unseen for name in self.model.joint_names])
        rest = self.settings.rest_weight
        return tracked, np.where(tracked, max(self.settings.track_weight, rest), rest)

    def _from_nowhere(
        self, y: np.ndarray, weight: np.ndarray, seen: int
    ) -> tuple[np.ndarray, np.ndarray, float, int, bool]:
        """Rigid fit at rest, then joints; several headings where that is ambiguous."""
        resting = self.model.neutral()
        resting[7:] = self.rest
        if seen < _FEWEST:
            return resting, self._markers(resting), 0.0, 0, False
        # A ghost across the room would draw the first stages, which are not robust.
        middle = np.median(y[weight > 0.0], axis=0)
        near = weight * (np.linalg.norm(y - middle, axis=1) < _REACH)
        best = None
        for start in self._placed(resting, y, near):
            found = self._narrowed(start, y, weight, _STAGES, near)
            if best is None or found[2] < best[2]:
                best = found
            if self._close(best[1], y, weight):
                break
        assert best is not None
        return self._shaken(best, y, weight)

    def _shaken(
        self,
        best: tuple[np.ndarray, np.ndarray, float, int, bool],
        y: np.ndarray,
        weight: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, float, int, bool]:
        """Throw the limb that fits worst into other postures, and keep the best."""
        rng = np.random.default_rng(0)
        prior = np.full(self.rest.size, self.settings.rest_weight)
        lower, upper = self.tree.lower, self.tree.upper
        chain = np.empty(self.model.nv, dtype=np.int64)
        idle = 0
        while idle < _THROWS and best[2] > _PERFECT * weight.sum():
            distance = np.linalg.norm(best[1] - y, axis=1)
            share = np.where(
                weight > 0.0, np.minimum(distance, self.settings.outlier), 0
            )
            chance = share**2 / (share**2).sum()
            worst = rng.choice(len(chance), p=chance)
            size = chain_of(self._body[worst], self.tree.parent, chain)
            limb = chain[6:size] - 6
            q = best[0].copy()
            thrown = rng.uniform(lower[limb], upper[limb])
            q[7:][limb] += rng.uniform(0.3, 1.0) * (thrown - q[7:][limb])
            other = self._search(
                q, y, weight, prior, self.rest, self.settings.outlier, _CAUTION
            )
            idle += 1
            if other[2] < _GAIN * best[2]:
                best, idle = (*other[:3], best[3] + other[3], other[4]), 0
        return best

    def _narrowed(
        self,
        q: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        stages: Sequence[tuple[float, float]],
        near: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, float, int, bool]:
        """Search with a loss that grows strict, and a pull to rest that fades.

        The first stages take the weights ``near``.
        """
        near = weight if near is None else near
        steps = 0
        for wide, pull in stages:
            prior = np.full(self.rest.size, max(pull, self.settings.rest_weight))
            scale = wide * self.settings.outlier
            q, _, _, more, _ = self._search(
                q, y, near, prior, self.rest, scale, _CAUTION
            )
            steps += more
        prior = np.full(self.rest.size, self.settings.rest_weight)
        found = self._search(q, y, weight, prior, self.rest, self.settings.outlier)
        found = self._beside(found, y, weight, prior, self.rest)
        return (*found[:3], steps + found[3], found[4])

    def _beside(
        self,
        found: tuple[np.ndarray, np.ndarray, float, int, bool],
        y: np.ndarray,
        weight: np.ndarray,
        prior: np.ndarray,
        middle: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, float, int, bool]:
        """Look for a better minimum near one; the same one where there is none."""
        scale, steps = self.settings.outlier, found[3]
        for _ in range(_ROUNDS):
            if found[2] < _PERFECT * weight.sum():
                break
            better = found
            for aside in self._aside(found[0], weight):
                other = self._search(aside, y, weight, prior, middle, scale, _CAUTION)
                steps += other[3]
                better = other if other[2] < _BESIDE * better[2] else better
            if better is found:
                break
            found = (*better[:3], steps, better[4])
        return found

    def _aside(self, q: np.ndarray, weight: np.ndarray) -> list[np.ndarray]:
        """Postures beside q that markers tell from it least.

        A limb may fit nearly as well bent another way round: these lie over there.
        """
        matrix = normal_matrix(self.tree, q, self._body, self._local, weight)
        _, directions = np.linalg.eigh(matrix[6:, 6:])
        starts = []
        for direction in directions[:, :_DIRECTIONS].T:
            for sign in (-1.0, 1.0):
                aside = q.copy()
                aside[7:] += sign * _ASIDE / np.abs(direction).max() * direction
                aside[7:] = np.clip(aside[7:], self.tree.lower, self.tree.upper)
                starts.append(aside)
        return starts

    def _close(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> bool:
        """Whether a posture is near enough that no other start need be tried."""
        distance = np.linalg.norm((x - y)[weight > 0.0], axis=1)
        return float(np.median(distance)) < _NEAR

    def _placed(
        self, q: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> list[np.ndarray]:
        """The posture q laid over the markers, then turned about the vertical."""
        x = self._markers(q)
        # The trunk moves least; limbs serve where it has too few markers.
        depth = np.array([_depth(self.tree.parent, b) for b in self._body])
        seen = weight > 0.0
        chosen = seen & (depth <= _TRUNK)
        if chosen.sum() < _FEWEST:
            chosen = seen
        turn, _ = Rotation.align_vectors(
            y[chosen] - y[chosen].mean(axis=0),
            x[chosen] - x[chosen].mean(axis=0),
            weight[chosen],
        )
        starts = []
        for k in range(_HEADINGS):
            more = Rotation.from_euler("z", 2 * np.pi * k / _HEADINGS) * turn
            start = q.copy()
            start[:3] = y[chosen].mean(axis=0) - more.apply(
                x[chosen].mean(axis=0) - q[:3]
            )
            start[3:7] = (more * Rotation.from_quat(q[3:7])).as_quat()
            starts.append(start)
        return starts

    def _remember(self, posture: Posture, seen: int) -> None:
        if self._last is not None:
            self._change = change_between(self._last, posture.q)
        if self._last is not None or seen >= _FEWEST:
            self._last = posture.q
        used = posture.status[self._columns] == MarkerStatus.USED
        self._age = np.where(used, 0, self._age + 1)

    def _markers(self, q: np.ndarray) -> np.ndarray:
        """Where the model has the set's markers (m, 3) [m]."""
        tree, bodies = self.tree, len(self.tree.parent)
        turn, centre = np.empty((bodies, 3, 3)), np.empty((bodies, 3))
        x = np.empty((len(self._body), 3))
        place(
            q, tree.parent, tree.rotation, tree.origin, tree.axis, turn, centre,
            np.zeros((bodies, 3)),
        )  # fmt: skip
        points(self._body, self._local, turn, centre, x)
        return x

    def _explain(
        self,
        found: tuple[np.ndarray, np.ndarray, float, int, bool],
        y: np.ndarray,
        weight: np.ndarray,
        shut: np.ndarray | None = None,
    ) -> Posture:
        q, x, _, iterations, converged = found
        markers, differences, status = explain(
            x,
            y,
            weight,
            self.settings.outlier,
            REJECTED,
            self._columns,
            len(self.names),
        )
        if shut is not None:
            status[self._columns[shut]] = MarkerStatus.REJECTED
        return Posture(q, markers, differences, status, converged, iterations)


def _depth(parent: np.ndarray, body: int) -> int:
    """Joints between the base and a body."""
    count = 0
    while body > 0:
        body = int(parent[body])
        count += 1
    return count
