# SPDX-License-Identifier: Apache-2.0
"""Motions of the hand that drive a wrist: metacarpals turned about a centre.

Perez (1994, 7.5) turns them with a constant speed about the end of the radius. Here the
angle follows a smooth ramp, so that no bone is struck, about the wrist's own centre,
the head of the capitate unless its file says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.wrist.step_equations import BonePlaces
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.bodies.loads import Moving
from humans_sim.core.rotations import turn

AXES = {
    "adduction": (0.0, 0.0, 1.0),
    "abduction": (0.0, 0.0, -1.0),
    "flexion": (1.0, 0.0, 0.0),
    "extension": (-1.0, 0.0, 0.0),
}
"""Axes of the motions of a right hand: x radial, y distal, z palmar."""


@dataclass(frozen=True)
class HandMotion:
    """A motion of the hand.

    Attributes:
        kind: ``adduction``, ``abduction``, ``flexion`` or ``extension``.
        angle: at its end [rad].
        duration: of the ramp [s].
        settling: before it, while ligaments draw the bones together [s].
        holding: after it [s].
    """

    kind: str = "adduction"
    angle: float = np.radians(30.0)
    duration: float = 0.9
    settling: float = 0.1
    holding: float = 0.1

    def __post_init__(self) -> None:
        if self.kind not in AXES:
            known = ", ".join(AXES)
            raise AnatomyError(
                f"no motion is called '{self.kind}' (there are: {known})"
            )
        if not 0 <= self.angle <= np.pi / 2:
            allowed = "between 0 and 90 degrees"
            raise AnatomyError(f"the angle must lie {allowed}, not {self.angle} rad")
        if not 0 < self.duration < np.inf:
            raise AnatomyError(f"the duration must be positive, not {self.duration} s")
        if not (0 <= self.settling < np.inf and 0 <= self.holding < np.inf):
            raise AnatomyError("settling and holding must not be negative")

    @property
    def end(self) -> float:
        """Time at the end; the ramp begins at zero [s]."""
        return self.duration + self.holding

    def angle_at(self, t: float) -> float:
        """Of the hand [rad]: a ramp without jumps of speed or acceleration."""
        share = min(max(t / self.duration, 0.0), 1.0)
        return self.angle * share**3 * (10 - 15 * share + 6 * share**2)

    def speed_at(self, t: float) -> float:
        """Rate of the angle [rad/s]."""
        share = min(max(t / self.duration, 0.0), 1.0)
        return self.angle / self.duration * 30 * (share * (1 - share)) ** 2

    def places(self, wrist: Wrist, t: float) -> BonePlaces:
        """Driven bones at a time, the others at rest."""
        turned = Rotation.from_rotvec(self.angle_at(t) * np.array(AXES[self.kind]))
        matrix = turned.as_matrix()
        x = wrist.centres
        frames = np.tile(np.eye(3), (len(x), 1, 1))
        for n, role in enumerate(wrist.roles):
            if role == "driven":
                x[n] = wrist.centre + matrix @ (x[n] - wrist.centre)
                frames[n] = matrix
        return BonePlaces(x, frames)


class DrivenBones:
    """Bones of a wrist as its hand moves them, quickly and often."""

    def __init__(self, wrist: Wrist, motion: HandMotion) -> None:
        self._motion, self._rest, self._centre = motion, wrist.centres, wrist.centre
        self._driven = np.flatnonzero([role == "driven" for role in wrist.roles])
        self._arms = self._rest[self._driven] - wrist.centre
        self._axis = np.array(AXES[motion.kind])

    def at(self, t: float) -> Moving:
        """Driven bones at a time with their velocities, the others at rest."""
        x, count = self._rest.copy(), len(self._rest)
        frames = np.zeros((count, 3, 3))
        frames[:, 0, 0] = frames[:, 1, 1] = frames[:, 2, 2] = 1.0
        v, w = np.zeros((count, 3)), np.zeros((count, 3))
        angle = self._motion.angle_at(t) * self._axis
        matrix = turn(angle[None], np.eye(3)[None], np.empty((1, 3, 3)))[0]
        arms = self._arms @ matrix.T
        spin = self._motion.speed_at(t) * self._axis
        x[self._driven] = self._centre + arms
        frames[self._driven] = matrix
        w[self._driven] = spin
        a, b, c = spin
        crossed = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
        v[self._driven] = arms @ crossed.T
        return Moving(x, frames, v, w)
