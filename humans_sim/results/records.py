# SPDX-License-Identifier: Apache-2.0
"""Records that a run consists of: samples, signals, events, contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from humans_sim.core.errors import ParameterError

_NONE = np.zeros(0)


class Sample(NamedTuple):
    """The whole state at one time; see :class:`~humans_sim.results.run.Run`.

    Beside what runs keep, ``moments`` are those of torsional and rolling friction about
    the normal and the tangents of all contacts (nc, 3) [N m]; empty without them.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    torques: np.ndarray
    contacts: np.ndarray
    forces: np.ndarray
    gaps: np.ndarray
    kinetic: float
    potential: float
    signals: np.ndarray = _NONE
    moments: np.ndarray = _NONE


class Signal(NamedTuple):
    """One number over time.

    Attributes:
        name: e.g. ``imu/specific_force_x``.
        unit: of its values; ``1`` where it has none.
    """

    name: str
    unit: str


CONTACT_CLOSED = "contact_closed"
CONTACT_OPENED = "contact_opened"
IMPACT = "impact"
STICK = "stick"
SLIP = "slip"
ZENO = "zeno"
LIMIT_REACHED = "limit_reached"
LIMIT_LEFT = "limit_left"
PUSH = "push"
RESET = "reset"
FAILURE = "failure"
HAND_OVER = "hand_over"
EVENTS_LEFT_OUT = "events_left_out"
"""Kinds of events; parts that plug in add their own."""


@dataclass(frozen=True)
class Event:
    """Something that happened at one exact time.

    Attributes:
        time: when [s].
        kind: one of the words of this module, or of a plugged-in part.
        subject: the contact, joint or actuator concerned; empty for the whole system.
        detail: numbers that belong to it, by name with unit, and ``text`` for a person.
    """

    time: float
    kind: str
    subject: str = ""
    detail: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def numbers(self) -> dict[str, float]:
        """Those of the detail, by name with unit."""
        return {n: float(v) for n, v in self.detail.items() if not isinstance(v, str)}

    @property
    def words(self) -> str:
        """The rest of the detail, for a person."""
        words = {n: v for n, v in self.detail.items() if isinstance(v, str)}
        return "; ".join(v if n == "text" else f"{n}: {v}" for n, v in words.items())


SOLIDS = "solids touch"
"""Why time steps go on where a model's solids touch: events know points alone."""
DURATION = "duration [s]"
"""How long a hand-over to time steps took."""


POINT, LIMIT, LINK = "point", "limit", "link"


@dataclass(frozen=True)
class ContactTable:
    """The contacts a system may have, open and closed, in a fixed order.

    Attributes:
        names: one for each contact.
        kinds: ``point`` (something touches the scene), ``limit`` (a joint) or ``link``
            (two links touch each other).
        tangents: number of tangential directions: 2 in space, 1 in the plane, 0 for a
            joint limit.
        friction: Coulomb's coefficients; infinite for the sticking law.
        restitution: Newton's coefficients.
        units: of the gaps, derived: ``rad`` for joint limits, else ``m``.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    tangents: np.ndarray
    friction: np.ndarray
    restitution: np.ndarray
    units: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        """All columns have one length; units follow the kinds."""
        n = len(self.names)
        for column in (self.kinds, self.tangents, self.friction, self.restitution):
            if len(column) != n:
                raise ParameterError("a contact table needs one entry for each contact")
        if (self.friction < 0).any() or np.isnan(self.friction).any():
            raise ParameterError("friction coefficients must not be negative")
        if not ((self.restitution >= 0) & (self.restitution <= 1)).all():
            raise ParameterError("restitution coefficients must be 0 to 1")
        units = tuple("rad" if kind == LIMIT else "m" for kind in self.kinds)
        object.__setattr__(self, "units", units)

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        kinds: Sequence[str],
        tangents: ArrayLike,
        friction: ArrayLike,
        restitution: ArrayLike,
    ) -> ContactTable:
        """A table from lists; one number stands for all contacts."""
        n = (len(names),)
        return cls(
            tuple(names),
            tuple(kinds),
            np.array(np.broadcast_to(tangents, n), dtype=np.int64),
            np.array(np.broadcast_to(friction, n), dtype=float),
            np.array(np.broadcast_to(restitution, n), dtype=float),
        )

    def joined(self, other: ContactTable) -> ContactTable:
        """The contacts of both."""
        return ContactTable(
            names=(*self.names, *other.names),
            kinds=(*self.kinds, *other.kinds),
            tangents=np.append(self.tangents, other.tangents),
            friction=np.append(self.friction, other.friction),
            restitution=np.append(self.restitution, other.restitution),
        )

    def __len__(self) -> int:
        return len(self.names)


class RunSystem(Protocol):
    """A system whose samples make a run."""

    contacts: ContactTable
    position_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
