# SPDX-License-Identifier: Apache-2.0
"""Forces of a joint on its bodies, by virtual power in the joint frame.

The power of a wrench in the joint frame is its product with the relative velocity
there. Whatever the bodies do, their own wrenches and the forces on the coordinates of a
mechanism must give the same power: that defines them.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.joints import JointState
from humans_sim.core.arrays import finite_array, real_array
from humans_sim.core.errors import ParameterError


def relative_velocity(
    state: JointState, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Velocity of body 2 relative to body 1 in the joint frame (6,).

    Args:
        state: of the joint.
        first: velocity of body 1 at its origin, in its own axes (6,).
        second: the same of body 2.
    """
    one = state.first.actInv(pin.Motion(_six(first, "velocity of body 1")))
    two = state.second.actInv(pin.Motion(_six(second, "velocity of body 2")))
    return np.asarray((two - one).vector)


def body_wrenches(
    state: JointState, wrench: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The wrench as it acts on body 1 and on body 2, each at its origin, in its axes.

    Args:
        state: of the joint.
        wrench: of body 1 on body 2 in the joint frame, force then torque (6,).
    """
    force = pin.Force(_six(wrench, "wrench"))
    return -state.first.act(force).vector, state.second.act(force).vector


def relative_jacobian(
    state: JointState, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Relative velocity in the joint frame from the rates of a mechanism (6, n).

    Args:
        state: of the joint.
        first: Jacobian of body 1 at its origin, in its own axes (6, n); zero where the
            body does not move.
        second: the same of body 2.
    """
    one, two = real_array(first, "Jacobian"), real_array(second, "Jacobian")
    if one.shape != two.shape or one.ndim != 2 or one.shape[0] != 6:
        raise ParameterError(
            f"Jacobians are (6, n), of one n for both bodies, not {one.shape} and "
            f"{two.shape}"
        )
    into_second = state.second.toActionMatrixInverse() @ two
    return np.asarray(into_second - state.first.toActionMatrixInverse() @ one)


def generalized_force(
    state: JointState, wrench: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Force on the coordinates of a mechanism (n,); Jacobians as for the velocity."""
    return relative_jacobian(state, first, second).T @ _six(wrench, "wrench")


def _six(values: np.ndarray, what: str) -> np.ndarray:
    return finite_array(values, (6,), what)
