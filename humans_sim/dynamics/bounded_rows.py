# SPDX-License-Identifier: Apache-2.0
"""The forces of bounded size of a model: dry friction in joints, and of turning balls.

Torsional friction is a moment about the normal of a closed contact, up to a length
times its normal force; rolling friction one about its tangents, for contact points
with balls. A point without a ball does not roll.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.bounded_kernels import BoundedGroups


class BoundedRows:
    """Puts the rows of a step together.

    Args:
        friction: dry friction of all velocities (nv,) [N m].
        torsional: lengths of all contacts (nc,) [m].
        rolling: lengths of all contacts (nc,) [m].

    Attributes:
        joints: velocities with dry friction (indices).
        turns: whether any contact has torsional or rolling friction.
    """

    def __init__(
        self, friction: np.ndarray, torsional: np.ndarray, rolling: np.ndarray
    ) -> None:
        """Note what there is."""
        self.joints = np.flatnonzero(friction)
        self._bounds = friction[self.joints]
        self._torsional, self._rolling = torsional, rolling
        self._nv = len(friction)
        self.turns = bool(torsional.any() or rolling.any())

    @property
    def any(self) -> bool:
        """Whether there is anything at all."""
        return self.turns or bool(self.joints.size)

    def groups(self, which: np.ndarray, spin: np.ndarray) -> BoundedGroups | None:
        """The groups of a step with some of the contacts.

        Args:
            which: contacts of the step (k,).
            spin: rows of the angular velocity of what touches, in the frame of each
                contact: about its normal and its tangents (k, 3, nv).

        Returns:
            them, or None where there is none now.
        """
        count = [1] * len(self.joints)
        bound, length = self._bounds.tolist(), [0.0] * len(self.joints)
        contact = [-1] * len(self.joints)
        rows = [np.eye(self._nv)[self.joints]]
        place: list[int] = self.joints.tolist()
        for c, w in enumerate(which.tolist() if self.turns else ()):
            for lengths, part in (
                (self._torsional, slice(0, 1)),
                (self._rolling, slice(1, 3)),
            ):
                if lengths[w] > 0.0:
                    rows.append(spin[c, part])
                    count.append(part.stop - part.start)
                    bound.append(0.0)
                    length.append(lengths[w])
                    contact.append(c)
                    place += range(
                        self._nv + 3 * w + part.start, self._nv + 3 * w + part.stop
                    )
        if not count:
            return None
        ends = np.cumsum(count)
        return BoundedGroups(
            rows=np.concatenate(rows),
            first=ends - count,
            width=np.array(count, dtype=np.int64),
            bound=np.array(bound, dtype=float),
            length=np.array(length, dtype=float),
            contact=np.array(contact, dtype=np.int64),
            place=np.array(place, dtype=np.int64),
        )
