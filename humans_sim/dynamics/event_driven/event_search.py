# SPDX-License-Identifier: Apache-2.0
"""Search for the first event inside a step that was made.

Gaps that may have closed are chosen by the two ends of the step.

*Terrain*: closed contacts come to another face, edge or corner of it. There the normal
turns, or its curvature jumps: an event, at which contacts are decided anew. A point
that slides over a convex edge flies from there, one that slides into a valley hits its
other side, a ball rolls from a face onto an edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.terrain import FurtherContact, TriangleMesh
from humans_sim.contact.problem.law import SLIDE
from humans_sim.core.kernels import kernel
from humans_sim.core.roots import beyond, first_root, lowest, may_dip
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.event_driven.contact_events import TOUCH
from humans_sim.dynamics.event_driven.mode_decision import SPEED
from humans_sim.dynamics.event_driven.model_rates import SLOW
from humans_sim.dynamics.event_driven.motion_integrator import MotionIntegrator
from humans_sim.dynamics.event_driven.smooth_motion import (
    FORCE,
    Evaluation,
    SmoothMotion,
)
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import State, System

Facets = tuple[tuple[int, int, int], ...]
"""Point, mesh and feature of each closed contact on terrain, sorted."""


class FacetChanges:
    """Compares what closed contacts touch at the two ends of a step.

    The contacts of one point with one mesh are compared together: in a valley the first
    and the second change places by a rounding error, and nothing happens.
    """

    def __init__(self, system: System) -> None:
        self._system: ModelSystem | None = None
        self._which = np.zeros(0, dtype=np.int64)
        self._start: Facets = ()
        if not isinstance(system, ModelSystem):
            return
        mesh, meshes = -1, []
        for solid in system.ground.solids:
            mesh += isinstance(solid, TriangleMesh)
            of_mesh = isinstance(solid, TriangleMesh | FurtherContact)
            meshes.append(mesh if of_mesh else -1)
        if mesh >= 0:
            self._system = system
            self._meshes = np.array(meshes)

    def begin(self, q: np.ndarray, which: np.ndarray) -> None:
        """Watch closed contacts from a configuration on."""
        if self._system is None:
            return
        points = which[which < len(self._system.contact_points) * len(self._meshes)]
        self._which = points[self._meshes[points % len(self._meshes)] >= 0]
        self._start = self._facets(q)

    def changed(self, q: np.ndarray) -> bool:
        """Whether a closed contact touches something else than at the start."""
        return bool(self._which.size) and self._facets(q) != self._start

    def _facets(self, q: np.ndarray) -> Facets:
        if self._system is None or not self._which.size:
            return ()
        features = self._system.surface_features(q, self._which)
        points, solids = np.divmod(self._which, len(self._meshes))
        rows = zip(points, self._meshes[solids], features, strict=True)
        return tuple(sorted((int(p), int(m), int(f)) for p, m, f in rows))


ROOM = 1e-11
"""What the gap of a contact that was touching may be inside before it closes again."""


@kernel
def screen_gaps(closed, start, end, duration):
    """Compare the two ends of a step.

    Returns:
        for all contacts, by how much a gap may be below zero; whether it is below at
        the end; whether it is and began by opening; whether it may have been below in
        between; and whether any of these is so.
    """
    gap, rate = start
    count = gap.shape[0]
    is_open = np.ones(count, np.bool_)
    for c in closed:
        is_open[c] = False
    room, low = np.zeros(count), np.empty(count)
    closes, leaves = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    some = False
    for c in range(count):
        low[c] = max(gap[c], 0.0)
        if not (gap[c] > ROOM or rate[c] > SPEED):
            room[c] = ROOM - min(gap[c], 0.0)
        closes[c] = is_open[c] and end[0][c] + room[c] < 0.0
        leaves[c] = closes[c] and gap[c] <= ROOM and rate[c] > SPEED
    dips = may_dip(low, rate, end[0], end[1], duration)
    for c in range(count):
        dips[c] = dips[c] and is_open[c] and not closes[c]
        some = some or closes[c] or dips[c]
    return room, closes, leaves, dips, some


_LOOK, _MOST_LOOKS = 0.3, 200
"""Part of a thin solid that a contact may travel between two looks at its gap."""
_SAME_TIME = 1e-13
"""Events closer than this happen together [s]."""
_BEHIND = 1e-9
"""Time behind an edge of terrain at which contacts are decided anew [s]: at the edge
itself rounding errors decide which side of a valley is the nearer one."""
_GAP, _SLIDING, _FORCE, _SIGNAL = "gap", "sliding", "force", "signal"
_FACET, _SOLIDS = "facet", "solids"
_WATCHED = 1e-3
"""Gap of solids beyond which it does not count how far apart they are [m]."""
_LOOKS_AT_SOLIDS = 4
"""How often in a step solids are looked at."""
_MESH_LOOK, _MOST_MESH_LOOKS = 1e-4, 400
"""Time between two looks at solids near a mesh [s], and how many there are in a step:
what is deep in a mesh has no points there, and is seen right behind its surface alone.
"""


class DetectedEvents(NamedTuple):
    """The first events in a step.

    Attributes:
        contact: whether a contact closes, opens, begins or ends to slide.
        stopped: contacts whose sliding ends (indices).
        signals: which functions of the actuation change sign.
        facet: whether a closed contact comes to another face or edge of terrain.
        solids: whether solids begin to touch, which time steps know alone.
    """

    time: float
    contact: bool
    stopped: np.ndarray
    signals: np.ndarray
    facet: bool = False
    solids: bool = False


class _Suspect(NamedTuple):
    """A function that is positive until its event, whose it is, and of what kind."""

    function: Callable[[float], float]
    subject: int
    kind: str


class _Gaps(NamedTuple):
    """Gaps of all contacts and their rates at one end of a step."""

    t: float
    gap: np.ndarray
    rate: np.ndarray


class EventSearch:
    """Compares the two ends of each step, and locates what happened between."""

    _start: _Gaps
    _signals: np.ndarray
    _sliding: np.ndarray

    def __init__(
        self,
        system: System,
        loads: AppliedLoads,
        motion: SmoothMotion,
        integrator: MotionIntegrator,
    ) -> None:
        self._system, self._loads = system, loads
        self._bodies = motion.bodies
        self._motion, self._integrator = motion, integrator
        self._facets = FacetChanges(system)

    def begin(self, state: State) -> None:
        """Watch from a state on, at which the integrator was just started."""
        self._sliding = self._motion.sliding_speeds(self._motion.last)
        self._start = _Gaps(state.t, *self._bodies.gap_rates(state.q, state.v))
        self._facets.begin(state.q, self._motion.modes.which)
        self.watch_signals(state)

    def watch_signals(self, state: State) -> None:
        """The signals of the actuation may have jumped: watch from these on."""
        self._signals = self._loads.signals(state)

    def look_back(self) -> DetectedEvents | None:
        """The first events of the step that was just made; none where it has none."""
        start, sliding, signals = self._start, self._sliding, self._signals
        reference = self._motion.modes.reference
        last, lowest_margin = self._motion.last, self._motion.lowest_margin
        end = _Gaps(self._integrator.t, *self._bodies.gap_rates(last.q, last.v))
        suspects = self._closing_gaps(start, end)
        if self._motion.modes.any_closed:
            # Loads of contacts that creep are positive by their own equations.
            if self._motion.creep_speed is None or last.forces[:, 0].min() < -FORCE:
                suspects += self._ending_slides(sliding, last)
                suspects += self._failing_forces(last, lowest_margin)
            suspects += self._changing_facets(last)
        self._signals = self._loads.actuation.detect(last.t, last.q, last.v, last.z)
        suspects += self._changing_signals(signals)
        self._start = end
        suspects += self._meeting_solids(start.t, end.t)
        if suspects:
            return self._first(suspects, start.t, end.t)
        modes = self._motion.modes
        changed = modes.continue_after_step(self._bodies, last.q, last.direction)
        if changed or modes.reference is not reference:
            self._integrator.adjust()
        self._sliding = self._motion.sliding_speeds(last)
        return None

    def _first(
        self, suspects: list[_Suspect], start: float, end: float
    ) -> DetectedEvents:
        times = [first_root(suspect.function, start, end) for suspect in suspects]
        for k, suspect in enumerate(suspects):
            if suspect.kind == _SIGNAL:
                # Else its sign would change once more right after the event.
                times[k] = beyond(suspect.function, times[k], end)
        first = min(times)
        together = [
            suspect
            for suspect, time in zip(suspects, times, strict=True)
            if time <= first + _SAME_TIME
        ]
        stopped = [s.subject for s in together if s.kind == _SLIDING]
        signals = np.zeros(len(self._signals), dtype=bool)
        signals[[s.subject for s in together if s.kind == _SIGNAL]] = True
        contact = any(s.kind not in (_SIGNAL, _SOLIDS) for s in together)
        facet = any(s.kind == _FACET for s in together)
        solids = any(s.kind == _SOLIDS for s in together)
        return DetectedEvents(
            first, contact, np.array(stopped, dtype=np.int64), signals, facet, solids
        )

    def _meeting_solids(self, start: float, end: float) -> list[_Suspect]:
        """Solids that touch in the step."""
        system = self._system
        if not (isinstance(system, ModelSystem) and len(system.pairs)):
            return []

        def gap(t: float) -> float:
            return system.solid_gap(self._integrator.at(t).q, _WATCHED)

        looks = _LOOKS_AT_SOLIDS
        if system.ground.has_mesh():
            often = math.ceil((end - start) / _MESH_LOOK)
            looks = max(looks, min(often, _MOST_MESH_LOOKS))
        for t in np.linspace(start, end, looks + 1)[1:].tolist():
            if gap(t) < 0.0:
                return [_Suspect(_until(gap, t), -1, _SOLIDS)]
        return []

    def _gap_of(self, contact: int) -> Callable[[float], float]:
        """A gap over the times of the last step."""
        return lambda t: float(self._bodies.gaps(self._integrator.at(t).q)[contact])

    def _closing_gaps(self, start: _Gaps, end: _Gaps) -> list[_Suspect]:
        """Open contacts whose gap closes in the step."""
        suspects: list[_Suspect] = []
        closed, gap = self._motion.modes.which, start.gap
        room, closes, leaves, dips, some = screen_gaps(
            closed, start[1:], end[1:], end.t - start.t
        )
        if not some and math.isinf(self._system.thinnest):
            return suspects
        plain = np.flatnonzero(closes & ~leaves)
        if plain.size:
            more = room[plain]

            def least(t: float) -> float:
                gaps = self._bodies.gaps(self._integrator.at(t).q)
                return float((gaps[plain] + more).min())

            suspects.append(_Suspect(least, int(plain[0]), _GAP))
        candidates = ~closes
        candidates[closed] = False
        suspects += self._passages(start, end, candidates)
        for i in np.flatnonzero(leaves):
            returning = _after_leaving(
                self._gap_of(int(i)), start.t, end.t, ROOM - min(float(gap[i]), 0.0)
            )
            suspects.append(_Suspect(returning, int(i), _GAP))
        for i in np.flatnonzero(dips):
            height = self._gap_of(int(i))
            bottom, value = lowest(height, start.t, end.t)
            if value < -TOUCH:
                above = 0.0 if gap[i] > ROOM else ROOM - min(float(gap[i]), 0.0)
                dip = _until(_raised(height, above), bottom)
                suspects.append(_Suspect(dip, int(i), _GAP))
        return suspects

    def _passages(
        self, start: _Gaps, end: _Gaps, candidates: np.ndarray
    ) -> list[_Suspect]:
        """Open contacts that pass through something thin in the step."""
        thinnest = self._system.thinnest
        if math.isinf(thinnest) or not candidates.any():
            return []
        fastest = float(np.abs([start.rate, end.rate]).max())
        looks = math.ceil((end.t - start.t) * fastest / (_LOOK * thinnest))
        times = np.linspace(start.t, end.t, min(looks, _MOST_LOOKS), endpoint=False)
        for t in times[1:]:
            gaps = self._bodies.gaps(self._integrator.at(t).q)
            inside = np.flatnonzero(candidates & (gaps < -TOUCH))
            if inside.size:
                return [
                    _Suspect(_until(self._gap_of(int(i)), float(t)), int(i), _GAP)
                    for i in inside
                ]
        return []

    def _ending_slides(self, before: np.ndarray, end: Evaluation) -> list[_Suspect]:
        """Sliding contacts that come to rest in the step."""
        modes, motion = self._motion.modes, self._motion
        slides = (modes.mode == SLIDE) & (modes.friction > 0) & ~modes.creeps
        if not slides.any():
            return []
        # Slower than that, its direction in the plane is the remembered one.
        slow = np.where(modes.tangents == 2, SLOW, SPEED)
        level = np.where(before > 2 * slow, slow, -SPEED)
        rests = slides & (motion.sliding_speeds(end) < level)

        def speed_of(c: int) -> Callable[[float], float]:
            def speed(t: float) -> float:
                evaluation = self._integrator.evaluate_at(t)
                return float(motion.sliding_speeds(evaluation)[c]) - float(level[c])

            return speed

        return [
            _Suspect(speed_of(int(c)), int(modes.which[c]), _SLIDING)
            for c in np.flatnonzero(rests)
        ]

    def _failing_forces(
        self, end: Evaluation, lowest_margin: tuple[float, float]
    ) -> list[_Suspect]:
        """Closed contacts that lift off or begin to slip in the step.

        ``lowest_margin`` is the least margin at the stages inside the step, and its
        time: a force that goes and comes back within one step is seen there.
        """
        motion, modes = self._motion, self._motion.modes
        forces = motion.bare_forces(end)
        limit = end.t
        if modes.least_margin(forces) >= -FORCE:
            if not (lowest_margin[0] < -FORCE and lowest_margin[1] < end.t):
                return []
            limit = lowest_margin[1]
            if motion.margin(self._integrator.evaluate_at(limit)) >= -FORCE:
                return []
        else:
            best = motion.best_distribution(forces, end)
            if best.margin >= 0.0:
                modes.reference = best.forces
                return []

        def margin(t: float) -> float:
            return motion.margin(self._integrator.evaluate_at(t)) + FORCE

        return [_Suspect(_until(margin, limit), -1, _FORCE)]

    def _changing_facets(self, end: Evaluation) -> list[_Suspect]:
        """Closed contacts on terrain that come to another face, edge or corner."""
        if not self._facets.changed(end.q):
            return []
        before, after = self._start.t, end.t
        while after - before > _SAME_TIME:
            middle = 0.5 * (before + after)
            if self._facets.changed(self._integrator.at(middle).q):
                after = middle
            else:
                before = middle
        behind = min(after + _BEHIND, end.t)
        return [_Suspect(lambda t: 1.0 if t < behind else -1.0, -1, _FACET)]

    def _changing_signals(self, before: np.ndarray) -> list[_Suspect]:
        """Functions of the actuation that change sign in the step."""
        if not before.size:
            return []

        def signal_of(j: int) -> Callable[[float], float]:
            sign = float(np.sign(before[j]))

            def signal(t: float) -> float:
                instant = self._integrator.at(t)
                return sign * float(self._loads.actuation.detect(t, *instant)[j])

            return signal

        changed = np.flatnonzero(np.sign(before) * np.sign(self._signals) < 0)
        return [_Suspect(signal_of(int(j)), int(j), _SIGNAL) for j in changed]


def _until(
    function: Callable[[float], float], limit: float
) -> Callable[[float], float]:
    """A function up to a time from which on the event is known to be over."""
    return lambda t: function(t) if t < limit else -1.0


def _raised(
    function: Callable[[float], float], above: float
) -> Callable[[float], float]:
    """A function raised by a constant."""
    return lambda t: function(t) + above


def _after_leaving(
    height: Callable[[float], float], start: float, end: float, room: float
) -> Callable[[float], float]:
    """A gap that opens at the start of the step and closes later in it.

    Where it opens by less than can be seen, it may go below by ``room``.
    """
    span = end - start
    for k in range(1, 40):
        leaves = start + span * 0.5**k
        if height(leaves) > 0.0:
            return lambda t: 1.0 if t < leaves else height(t)
    return _raised(height, room)
