# SPDX-License-Identifier: Apache-2.0
"""The contacts a system may have: names, kinds, laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from humans_sim.core.errors import ParameterError

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

    def with_links(self, names: Sequence[str], friction: float) -> ContactTable:
        """The same with contacts of links that touch each other, without restitution.

        Args:
            names: of these contacts.
            friction: Coulomb's coefficient.
        """
        count = len(names)
        return ContactTable(
            names=(*self.names, *names),
            kinds=(*self.kinds, *(LINK,) * count),
            tangents=np.append(self.tangents, np.full(count, 2)),
            friction=np.append(self.friction, np.full(count, float(friction))),
            restitution=np.append(self.restitution, np.zeros(count)),
        )

    def __len__(self) -> int:
        return len(self.names)
