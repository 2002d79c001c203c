# SPDX-License-Identifier: Apache-2.0
"""The states right before and right after the events of contacts.

Samples of a run lie a period apart; an event lies between two of them. States at events
are a table of their own, not further samples: times of samples increase and are even,
which films, exports, derivatives and comparisons rely on.

*Two more samples at each event*, for curves that jump. Samples lie a period apart, and
an impact takes no time: joined by a line, two samples make it a ramp of one period. For
drawing and tables each time of an event is there twice, before and after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from humans_sim.results.records import IMPACT, Event

if TYPE_CHECKING:
    from humans_sim.results.run import Run


MOST = 50_000
"""States at events that a run keeps, the first ones."""
PREFIX = "event_"
"""How names of these arrays begin in a run file."""
_CONTACT, _MODES, _FORCES, _IMPULSES = 0, slice(1, 3), slice(3, 9), slice(9, 12)
TOUCH_WIDTH = 12
"""Numbers of a contact: its index, modes, forces before and after, impulses."""


class EventState(NamedTuple):
    """The states before and after the events at one time, as :class:`EventStates`.

    Of its ``touches``, rows (k, 12) are contacts that are closed before or after or
    have an impulse.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    torques: np.ndarray
    energy: np.ndarray
    impulse: np.ndarray
    correction: np.ndarray
    touches: np.ndarray


@dataclass(frozen=True)
class EventStates:
    """The states before and after the events of a run; m times, nc contacts.

    The second index of ``v``, ``z``, ``torques``, ``energy``, ``contacts`` and
    ``forces`` is 0 right before and 1 right after the events of that time.

    Attributes:
        t: times of events, increasing (m,) [s].
        q: configurations, which do not jump (m, nq).
        v: velocities (m, 2, nv).
        z: states of the actuation (m, 2, nz).
        torques: generalised forces of the actuation (m, 2, nv) [N m, N]; NaN where
            there were none to know.
        energy: kinetic and potential (m, 2, 2) [J].
        impulse: generalised, of impacts and pushes (m, nv) [N s, N m s]. Momentum
            changes by it and by
        correction: the same of what takes rounding out of the speed of contacts that
            close, or next to nothing out of those that all but rest (m, nv).
        touches: a row for each contact at each event that is closed before or after,
            or has an impulse: number of the event, then those of
            :attr:`EventState.touches` (r, 13).
        contact_count: nc.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    torques: np.ndarray
    energy: np.ndarray
    impulse: np.ndarray
    correction: np.ndarray
    touches: np.ndarray
    contact_count: int = 0

    @classmethod
    def of(
        cls, states: Sequence[EventState], sizes: tuple[int, int, int], contacts: int
    ) -> EventStates:
        """Put states in the order of time together; sizes are of q, v and z."""
        numbered = [
            np.column_stack([np.full(len(state.touches), float(k)), state.touches])
            for k, state in enumerate(states)
        ]
        arrays = {
            name: np.array([getattr(s, name) for s in states], float).reshape(shape)
            for name, shape in _shapes(len(states), sizes).items()
        }
        touches = np.vstack([np.zeros((0, TOUCH_WIDTH + 1)), *numbered])
        return cls(**arrays, touches=touches, contact_count=contacts)

    def __len__(self) -> int:
        """Number of times."""
        return len(self.t)

    def between(self, after: float, until: float) -> EventStates:
        """Those after a time, up to another one [s]."""
        chosen = (self.t > after) & (self.t <= until)
        if chosen.all():
            return self
        number = np.cumsum(chosen) - 1
        touches = self.touches[chosen[self.touches[:, 0].astype(int)]].copy()
        touches[:, 0] = number[touches[:, 0].astype(int)]
        arrays = {name: getattr(self, name)[chosen] for name in EVENT_ARRAYS[:-1]}
        return EventStates(**arrays, touches=touches, contact_count=self.contact_count)

    @cached_property
    def contacts(self) -> np.ndarray:
        """Modes of all contacts: 0 open, 1 sticking, 2 sliding (m, 2, nc)."""
        modes = np.zeros((len(self), 2, self.contact_count), dtype=np.int64)
        event, contact = self._places
        modes[event, :, contact] = self.touches[:, 1:][:, _MODES].astype(int)
        return modes

    @cached_property
    def forces(self) -> np.ndarray:
        """Contact forces, normal and tangents (m, 2, nc, 3) [N, N m at a limit]."""
        forces = np.zeros((len(self), 2, self.contact_count, 3))
        event, contact = self._places
        forces[event, :, contact] = self.touches[:, 1:][:, _FORCES].reshape(-1, 2, 3)
        return forces

    @cached_property
    def impulses(self) -> np.ndarray:
        """Impulses of contacts in impacts, normal and tangents (m, nc, 3) [N s]."""
        impulses = np.zeros((len(self), self.contact_count, 3))
        impulses[self._places] = self.touches[:, 1:][:, _IMPULSES]
        return impulses

    @property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        event, contact = self.touches[:, :2].T.astype(int)
        return event, contact

    def arrays(self) -> dict[str, np.ndarray]:
        """Their arrays in a run file; nothing where there are none."""
        if not len(self):
            return {}
        return {PREFIX + name: getattr(self, name) for name in EVENT_ARRAYS}


def _shapes(m: int, sizes: tuple[int, int, int]) -> dict[str, tuple[int, ...]]:
    """Shapes of all arrays but the touches, by name; sizes are of q, v and z."""
    nq, nv, nz = sizes
    return {
        "t": (m,),
        "q": (m, nq),
        "v": (m, 2, nv),
        "z": (m, 2, nz),
        "torques": (m, 2, nv),
        "energy": (m, 2, 2),
        "impulse": (m, nv),
        "correction": (m, nv),
    }


EVENT_ARRAYS = tuple(field.name for field in fields(EventStates))[:-1]
"""Names of the arrays."""
FILE_ARRAYS = tuple(PREFIX + name for name in EVENT_ARRAYS)
"""Their names in a run file."""
NO_EVENT_STATES = EventStates.of((), (0, 0, 0), 0)
"""Of time steps, and of files that hold none."""


def touch_row(
    contact: int, modes: Sequence[int], forces: np.ndarray, impulse: np.ndarray
) -> np.ndarray:
    """The row of a contact: modes and forces (2, 3) [N], impulse (3,) [N s]."""
    return np.concatenate([[contact, *modes], forces.ravel(), impulse])


def stored_event_states(
    arrays: Mapping[str, np.ndarray], sizes: tuple[int, int, int], contacts: int
) -> EventStates:
    """The states of a run file, none where it has none; sizes are of q, v and z.

    Raises:
        ValueError: they are damaged.
    """
    stored = {name: arrays[PREFIX + name] for name in EVENT_ARRAYS
              if PREFIX + name in arrays}  # fmt: skip
    if not stored:
        return NO_EVENT_STATES
    missing = [PREFIX + name for name in EVENT_ARRAYS if name not in stored]
    if missing:
        raise ValueError(f"'{missing[0]}' is missing")
    _check_shapes(stored, sizes)
    _check_values(stored, contacts)
    return EventStates(**stored, contact_count=contacts)


def _check_shapes(
    stored: Mapping[str, np.ndarray], sizes: tuple[int, int, int]
) -> None:
    m = len(stored["t"]) if stored["t"].ndim else -1
    rows = len(stored["touches"]) if stored["touches"].ndim else -1
    shapes = _shapes(m, sizes) | {"touches": (rows, TOUCH_WIDTH + 1)}
    for name, shape in shapes.items():
        if stored[name].shape != shape:
            raise ValueError(f"{PREFIX}{name} has shape {stored[name].shape}")
        if stored[name].dtype.kind != "f":
            raise ValueError(f"{PREFIX}{name} holds numbers of another kind")


def _check_values(stored: Mapping[str, np.ndarray], contacts: int) -> None:
    for name, array in stored.items():
        unknown = name in ("torques", "touches")
        if np.isinf(array).any() if unknown else not np.isfinite(array).all():
            raise ValueError(f"{PREFIX}{name} has a value that is no finite number")
    if (np.diff(stored["t"]) <= 0).any():
        raise ValueError("the times of its events do not go forwards")
    places = stored["touches"][:, : 1 + _MODES.stop]
    most = (len(stored["t"]), contacts, 3, 3)
    whole = (places == np.floor(places)) & (places >= 0) & (places < most)
    if not whole.all() or (np.diff(places[:, 0]) < 0).any():
        raise ValueError(f"{PREFIX}touches names events or contacts there are none of")


_HELD = ("torques", "forces")
"""What may be unknown at an event: it then is that of the samples around it."""
_ENERGIES = ("energy_before [J]", "energy_after [J]")


def samples_at_events(run: Run) -> Run | None:
    """The samples at events alone, before and after in turn; None where there are none.

    Gaps of open contacts are taken from the samples on both sides, and signals are
    those of the sample before and of the sample after.
    """
    states = run.event_states.between(float(run.t[0]), float(run.t[-1]))
    if not len(states) or states.contact_count != len(run.table):
        return None
    follows = np.searchsorted(run.t, states.t)
    around = np.stack([follows - 1, follows], axis=1)
    shape = (*around.shape, 0)
    # Gaps are zero where a contact is closed on either side.
    start, end = run.t[around].T
    share = (states.t - start) / np.maximum(end - start, 1e-300)
    share = np.where(end > start, share, 1)
    before, after = run.gaps[around[:, 0]], run.gaps[around[:, 1]]
    gaps = before + share[:, None] * (after - before)
    gaps[(states.contacts != 0).any(axis=1)] = 0.0
    values: dict[str, Any] = {
        "t": np.stack([states.t] * 2, axis=1),
        "q": np.stack([states.q] * 2, axis=1),
        "v": states.v,
        "z": states.z,
        "torques": states.torques,
        "contacts": states.contacts,
        "forces": states.forces,
        "gaps": np.stack([gaps, gaps], axis=1),
        "energy": states.energy,
        "signals": run.signals[around] if run.signals.size else np.zeros(shape),
    }
    for name in _HELD:
        known = values[name]
        if np.isnan(known).any():
            values[name] = np.where(np.isnan(known), getattr(run, name)[around], known)
    rows: dict[str, Any] = {  # before and after in turn
        name: array.reshape(2 * len(array), *array.shape[2:])
        for name, array in values.items()
    }
    return replace(run, **rows, event_states=NO_EVENT_STATES)


def with_event_samples(run: Run) -> Run:
    """The run with the samples at its events among its own.

    Times do not increase everywhere: nothing but curves is to be made of it.
    """
    added = samples_at_events(run)
    if added is None:
        return run
    places = np.searchsorted(run.t, added.t)
    names = ["t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy"]
    if run.signals.size:
        names.append("signals")
    rows: dict[str, Any] = {
        name: np.insert(np.asarray(getattr(run, name)), places, getattr(added, name), 0)
        for name in names
    }
    return replace(run, **rows, event_states=NO_EVENT_STATES)


class ImpactSamples:
    """The time axis of a run with its impacts in it.

    A run that holds its states at events has its two samples at each
    (:func:`with_event_samples`). Of another one, as files of older versions are, it is
    known when each impact was, and what kinetic energy there was before and after it;
    what else jumps is held from the sample before, and back from the sample after.

    Args:
        t: times of the samples (n,) [s].
        events: of the run; impacts that have their two samples need no others.

    Attributes:
        sampled: times of the samples (n,) [s].
        t: the same, and twice that of each impact (n + 2 m,) [s].
    """

    def __init__(self, t: np.ndarray, events: Sequence[Event] = ()) -> None:
        self.sampled = t = np.asarray(t)
        doubled = set(t[1:][np.diff(t) == 0].tolist())  # two samples of one time
        events = [
            event
            for event in sorted(events, key=lambda event: event.time)
            if event.kind == IMPACT
            and t[0] < event.time <= t[-1]
            and event.time not in doubled
        ]
        self._times = np.array([event.time for event in events])
        # the sample after each impact, or at its time
        self._next = np.searchsorted(t, self._times)
        _, count = np.unique(self._next, return_counts=True)
        self._alone = np.repeat(count == 1, count)
        self._last = np.append(np.diff(self._next) > 0, True)[: len(events)]
        self._energies = np.array(
            [[float(e.detail.get(key, np.nan)) for key in _ENERGIES] for e in events]
        ).reshape(-1, 2)
        self._rows = np.repeat(self._next, 2)
        self.t = np.insert(t, self._rows, np.repeat(self._times, 2))

    @property
    def inserted(self) -> np.ndarray:
        """Which of the times are those of impacts (n + 2 m,)."""
        return np.insert(np.zeros(len(self.sampled), dtype=bool), self._rows, True)

    def jump(self, values: np.ndarray) -> np.ndarray:
        """Values (n, k) that may jump: held before an impact, then of the next sample.

        Of several impacts between two samples the last one makes the difference, for a
        ball that bounces is in the air until then.
        """
        before, change = self._sides(values)
        after = np.where(self._last[:, None], before + change, before)
        return self._inserted(values, before, after)

    def kinetic(self, energy: np.ndarray) -> np.ndarray:
        """Kinetic energy (n,): at an impact what its event says (n + 2 m,) [J]."""
        drawn = self.jump(energy[:, None])[:, 0]
        known = np.isfinite(self._energies)
        drawn[self.inserted] = np.where(
            known, self._energies, drawn[self.inserted].reshape(-1, 2)
        ).ravel()
        return drawn

    def bend(self, values: np.ndarray) -> np.ndarray:
        """Values (n, k) that bend: prolonged to the impact from both sides.

        Where a neighbouring sample is beyond another impact, nothing is prolonged.
        """
        before, change = self._sides(values)
        start, end = self.sampled[self._next - 1], self.sampled[self._next]
        passed, left = self._times - start, end - self._times
        share = np.divide(passed, end - start, out=np.ones_like(passed), where=left > 0)
        here = before + share[:, None] * change
        # Impacts with two samples on each side, and no other impact among these.
        t, after = self.sampled, self._next
        inside = (after > 1) & (after < len(t) - 1)
        crossed = np.isin(after - 1, after) | np.isin(after + 1, after)
        apart = np.zeros(len(after), dtype=bool)
        k = after[inside]
        apart[inside] = (t[k - 1] > t[k - 2]) & (t[k + 1] > t[k])
        good = self._alone & apart & ~crossed & (passed > 0) & (left > 0)
        # There, values from the samples on both sides, the nearer the more.
        k, total, weights = np.flatnonzero(good), 0.0, 0.0
        for near, far, distance in (
            (after[k] - 1, after[k] - 2, passed[k]),
            (after[k], after[k] + 1, left[k]),
        ):
            span = np.abs(t[far] - t[near])
            slope = (values[near] - values[far]) * (distance / span)[:, None]
            weight = 1.0 / (distance * (distance + span))[:, None]
            total, weights = total + weight * (values[near] + slope), weights + weight
        here[k] = total / weights
        return self._inserted(values, here, here)

    def _sides(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        before = np.asarray(values[self._next - 1], dtype=float)
        return before, values[self._next] - before

    def _inserted(
        self, values: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        both = np.stack([left, right], axis=1).reshape(-1, values.shape[1])
        return np.insert(np.asarray(values, dtype=float), self._rows, both, axis=0)
