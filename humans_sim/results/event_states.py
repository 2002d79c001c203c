# SPDX-License-Identifier: Apache-2.0
"""The states right before and right after the events of contacts.

Samples of a run lie a period apart; an event lies between two of them. States at events
are a table of their own, not further samples: times of samples increase and are even,
which films, exports, derivatives and comparisons rely on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np

MOST = 50_000
"""States at events that a run keeps, the first ones."""
PREFIX = "event_"
"""How names of these arrays begin in a run file."""
_CONTACT, _MODES, _FORCES, _IMPULSES = 0, slice(1, 3), slice(3, 9), slice(9, 12)
TOUCH_WIDTH = 12
"""Numbers of a contact: its index, modes, forces before and after, impulses."""


class EventState(NamedTuple):
    """The states before and after the events at one time.

    Attributes:
        t: when [s].
        q: configuration, which does not jump (nq,).
        v: velocities before and after (2, nv).
        z: states of the actuation (2, nz).
        torques: generalised forces of the actuation (2, nv) [N m, N].
        energy: kinetic and potential (2, 2) [J].
        impulse: generalised, of impacts and pushes (nv,) [N s, N m s].
        correction: the same of what keeps closed contacts closed to the last digit.
        touches: a row for each contact that is closed before or after or has an
            impulse (k, 12).
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
        """Put states together.

        Args:
            states: in the order of time.
            sizes: of q, v and z.
            contacts: how many there are.
        """
        nq, nv, nz = sizes
        m = len(states)
        numbered = [
            np.column_stack([np.full(len(state.touches), float(k)), state.touches])
            for k, state in enumerate(states)
        ]
        return cls(
            np.array([state.t for state in states], dtype=float),
            _stacked([state.q for state in states], (m, nq)),
            _stacked([state.v for state in states], (m, 2, nv)),
            _stacked([state.z for state in states], (m, 2, nz)),
            _stacked([state.torques for state in states], (m, 2, nv)),
            _stacked([state.energy for state in states], (m, 2, 2)),
            _stacked([state.impulse for state in states], (m, nv)),
            _stacked([state.correction for state in states], (m, nv)),
            np.vstack([np.zeros((0, TOUCH_WIDTH + 1)), *numbered]),
            contacts,
        )

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
        """What a run file holds of them; nothing where there are none."""
        if not len(self):
            return {}
        return {PREFIX + name: getattr(self, name) for name in EVENT_ARRAYS}


def _stacked(rows: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    return np.array(rows, dtype=float).reshape(shape)


EVENT_ARRAYS = tuple(field.name for field in fields(EventStates))[:-1]
"""Names of the arrays."""
FILE_ARRAYS = tuple(PREFIX + name for name in EVENT_ARRAYS)
"""Their names in a run file."""
NO_EVENT_STATES = EventStates.of((), (0, 0, 0), 0)
"""Of time steps, and of files that hold none."""


def touch_row(
    contact: int, modes: Sequence[int], forces: np.ndarray, impulse: np.ndarray
) -> np.ndarray:
    """The row of a contact.

    Args:
        contact: its index.
        modes: before and after.
        forces: before and after (2, 3) [N].
        impulse: (3,) [N s].
    """
    return np.concatenate([[contact, *modes], forces.ravel(), impulse])


def stored_event_states(
    arrays: Mapping[str, np.ndarray], sizes: tuple[int, int, int], contacts: int
) -> EventStates:
    """The states of a run file, none where it has none.

    Args:
        arrays: of the file.
        sizes: of q, v and z.
        contacts: how many there are.

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
    nq, nv, nz = sizes
    m = len(stored["t"]) if stored["t"].ndim else -1
    rows = len(stored["touches"]) if stored["touches"].ndim else -1
    shapes: dict[str, tuple[int, ...]] = {
        "t": (m,),
        "q": (m, nq),
        "v": (m, 2, nv),
        "z": (m, 2, nz),
        "torques": (m, 2, nv),
        "energy": (m, 2, 2),
        "impulse": (m, nv),
        "correction": (m, nv),
        "touches": (rows, TOUCH_WIDTH + 1),
    }
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
