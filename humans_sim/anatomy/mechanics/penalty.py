# SPDX-License-Identifier: Apache-2.0
r"""The thesis' contact law: a linear force of the overlap, with dry frictions.

Perez (1994, 6.4.2): on ball i of a pair

.. math:: F_i = K \max(0, r_i + r_j - |C_i - C_j|) \frac{C_i - C_j}{|C_i - C_j|}

(the sign of E11 as printed attracts), and the opposite on ball j. Frictions of annex
10.4: a force f N against sliding, a couple :math:`f_p N` against pivoting about the
normal, a couple :math:`f_r N` against rolling. Viscous friction (5 % in chapter 8)
slows every free bone: forces and couples of :math:`\nu` times its momenta.

Departure: a dry friction has no direction at rest, which no explicit integrator passes;
below a small speed it is proportional to the speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.mechanics.penalty_kernels import (
    ContactArrays,
    PenaltyNumbers,
    add_penalty,
)
from humans_sim.bodies.loads import Moving


@dataclass(frozen=True)
class PenaltyLaw:
    """Numbers of the contact law.

    Attributes:
        stiffness: K, of each pair of balls [N/m].
        friction: f, against sliding.
        rolling: f_r, against rolling [m].
        pivoting: f_p, against pivoting [m].
        viscosity: nu, of free bones [1/s].
        slip_speed: below it friction is proportional to the speed [m/s].
        slip_spin: the same of rolling and pivoting [rad/s].
    """

    stiffness: float = 2e4
    friction: float = 0.0
    rolling: float = 0.0
    pivoting: float = 0.0
    viscosity: float = 5.0
    slip_speed: float = 1e-4
    slip_spin: float = 1e-2

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            AnatomyError: a number is negative, or the stiffness or a speed zero.
        """
        for name in ("stiffness", "slip_speed", "slip_spin"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise AnatomyError(f"{name} must be positive, not {value}")
        for name in ("friction", "rolling", "pivoting", "viscosity"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise AnatomyError(f"{name} must not be negative, not {value}")

    def add(
        self,
        contacts: Contacts,
        moving: Moving,
        force: np.ndarray,
        torque: np.ndarray,
    ) -> float:
        """Add the forces of contacts at the bones' centres and torques about them.

        Args:
            contacts: of the bones in their poses.
            moving: motion of the bones.
            force: (n, 3) [N]; changed.
            torque: (n, 3) [N m]; changed.

        Returns:
            the energy stored in the overlaps [J].
        """
        arrays = ContactArrays(
            contacts.body_i,
            contacts.body_j,
            contacts.depth,
            contacts.normal,
            contacts.point,
        )
        numbers = PenaltyNumbers(
            float(self.stiffness),
            float(self.friction),
            float(self.rolling),
            float(self.pivoting),
            float(self.slip_speed),
            float(self.slip_spin),
        )
        fields = tuple(np.ascontiguousarray(part, dtype=float) for part in moving)
        return float(add_penalty(arrays, fields, numbers, force, torque))

    def friction_share(self, contacts: Contacts, moving: Moving) -> float:
        """Greatest force against sliding over its normal force."""
        if self.friction == 0.0 or contacts.count == 0:
            return 0.0
        slip = np.zeros_like(contacts.point)
        for bodies, sign in ((contacts.body_i, 1.0), (contacts.body_j, -1.0)):
            arm = contacts.point - moving.x[bodies]
            slip += sign * (moving.v[bodies] + np.cross(moving.w[bodies], arm))
        along = np.einsum("ni,ni->n", slip, contacts.normal)
        slip -= along[:, None] * contacts.normal
        speed = float(np.linalg.norm(slip, axis=1).max())
        return self.friction * min(speed / self.slip_speed, 1.0)
