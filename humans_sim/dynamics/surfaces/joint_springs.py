# SPDX-License-Identifier: Apache-2.0
r"""Springs and dampers at the joints of a tree.

The potential of the springs is :math:`\tfrac12 d^T K d` with the difference d of the
configuration from the rest: the vector of the rotation at a ball joint. Their force is
its exact gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin


@dataclass(frozen=True, eq=False)
class JointSprings:
    """A spring and a damper for each velocity.

    Attributes:
        stiffness: (nv,) [N m/rad or N/m].
        damping: (nv,) [N m s/rad or N s/m].
        rest: configuration in which no spring pulls (nq,).
    """

    stiffness: np.ndarray
    damping: np.ndarray
    rest: np.ndarray

    def force(self, tree: pin.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalised force (nv,)."""
        bent = pin.difference(tree, self.rest, q)
        turned = pin.dDifference(tree, self.rest, q, pin.ARG1)
        return np.asarray(-turned.T @ (self.stiffness * bent) - self.damping * v)

    def energy(self, tree: pin.Model, q: np.ndarray) -> float:
        """Potential energy [J]."""
        bent = pin.difference(tree, self.rest, q)
        return 0.5 * float(bent @ (self.stiffness * bent))
