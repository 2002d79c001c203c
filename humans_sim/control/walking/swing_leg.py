# SPDX-License-Identifier: Apache-2.0
"""One leg alone: joint angles that put its sole somewhere, the base being where it is.

A body that was pushed is not where its plan has it. A foot that shall land flat is then
placed from the base as it is measured.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from humans_sim.control.walking.footsteps import Side
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import SLIP, sole_legs
from humans_sim.models import Model

_STEPS, _LONGEST, _CLOSE, _DAMPING = 8, 0.4, 1e-5, 1e-6


class SwingLegs:
    """Both legs of a biped, each for itself.

    Args:
        model: the biped.
        settings: its soles, and whether its hips turn.

    Attributes:
        joints: of each leg, as indices of joints (n,).
    """

    def __init__(self, model: Model, settings: WalkSettings) -> None:
        self._model, sides = model, (Side.LEFT, Side.RIGHT)
        soles = (settings.left, settings.right)
        legs = sole_legs(model, *soles)
        self.joints = {
            side: np.array(leg.joints) for side, leg in zip(sides, legs, strict=True)
        }
        self._frames = {
            side: model.pin.getFrameId(sole)
            for side, sole in zip(sides, soles, strict=True)
        }
        self._rows = np.arange(5 if settings.turns == SLIP else 6)

    def sole(self, base: pin.SE3, joints: np.ndarray, side: Side) -> pin.SE3:
        """Pose of a sole.

        Args:
            base: pose of the base.
            joints: angles (njoints,) [rad].
            side: of the leg.
        """
        tree, data = self._model.pin, self._model.buffers
        pin.forwardKinematics(tree, data, _configuration(base, joints))
        return pin.SE3(pin.updateFramePlacement(tree, data, self._frames[side]))

    def reach(
        self, base: pin.SE3, joints: np.ndarray, side: Side, sole: pin.SE3
    ) -> np.ndarray:
        """Joint angles with those of one leg such that its sole is nearest to a pose.

        Args:
            base: pose of the base.
            joints: angles where the search begins (njoints,) [rad].
            side: of the leg.
            sole: wanted pose; its heading counts where hips turn.
        """
        own = self.joints[side]
        low, high = self._model.lower_limits[own], self._model.upper_limits[own]
        q = _configuration(base, joints)
        for _ in range(_STEPS):
            rows = self._jacobian(q, side)[np.ix_(self._rows, 6 + own)]
            pose = self._model.buffers.oMf[self._frames[side]]
            away = pin.log3(sole.rotation @ pose.rotation.T)
            error = np.concatenate([sole.translation - pose.translation, away])
            error = error[self._rows]
            if float(np.abs(error).max()) < _CLOSE:
                break
            square = rows @ rows.T + _DAMPING * np.eye(len(error))
            step = rows.T @ np.linalg.solve(square, error)
            step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), _CLOSE))
            q[7 + own] = np.clip(q[7 + own] + step, low, high)
        return np.asarray(q[7:])

    def spread(self, joints: np.ndarray, side: Side, angle: float) -> np.ndarray:
        """Joint angles with one leg lifted sideways by the joint that lifts it most.

        Args:
            joints: angles (njoints,) [rad].
            side: of the leg.
            angle: outwards [rad].
        """
        own = self.joints[side]
        outwards = side * self._jacobian(_configuration(_ORIGIN, joints), side)[1]
        joint = int(own[np.argmax(np.abs(outwards[6 + own]))])
        turned = joints[joint] + angle * np.sign(outwards[6 + joint])
        lifted = np.array(joints)
        limits = self._model.lower_limits[joint], self._model.upper_limits[joint]
        lifted[joint] = np.clip(turned, *limits)
        return lifted

    def _jacobian(self, q: np.ndarray, side: Side) -> np.ndarray:
        """Of a sole in the world's axes (6, nv)."""
        tree, data, frame = self._model.pin, self._model.buffers, self._frames[side]
        return np.asarray(
            pin.computeFrameJacobian(tree, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
        )


_ORIGIN = pin.SE3.Identity()


def _configuration(base: pin.SE3, joints: np.ndarray) -> np.ndarray:
    return np.concatenate([pin.SE3ToXYZQUAT(base), joints])
