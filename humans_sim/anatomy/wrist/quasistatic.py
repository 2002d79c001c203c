# SPDX-License-Identifier: Apache-2.0
r"""A wrist without inertia: its bones rest where their potential is least.

Perez (1994, 6.3) describes it and did not run it: the hand is turned by little, then
the free bones descend to the nearest minimum of

.. math:: V = V_C + V_l = \sum \tfrac12 K \max(0, r_i + r_j - |C_i - C_j|)^2 + V_l,

over all pairs of balls and all ligaments. With this potential of contact (the thesis
has K/x) a minimum is a state in which the forces of
:class:`~humans_sim.anatomy.mechanics.penalty.PenaltyLaw` and of the ligaments vanish.
There is no friction, and no path but that of the hand: bones that could rest in
several places stay in the nearest.

Unknown are shifts u and rotation vectors :math:`\theta` from the places before, with

.. math:: \frac{\partial V}{\partial u} = -F, \qquad
   \frac{\partial V}{\partial \theta} = -J(\theta)^T \tau,

J the derivative of the exponential, F and :math:`\tau` the forces and torques.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from humans_sim.anatomy.detection.contacts import Contacts, Poses
from humans_sim.anatomy.detection.pair_list import PairList
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.mechanics.penalty import PenaltyLaw
from humans_sim.anatomy.wrist.hand_motion import DrivenBones, HandMotion
from humans_sim.anatomy.wrist.penalty_run import WRIST_STIFFNESS
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.anatomy.wrist.wrist_run import Recorder, WristRun
from humans_sim.bodies.loads import Moving
from humans_sim.core.rotations import turn

_LENGTH, _ARM = 1e-3, 1e-2
"""Units of the unknowns: of shifts, and of rotations times it [m]."""
_REST = 1e-3
"""Force, or torque over 1 cm, that is still called rest [N]."""
_ROUNDS = 20
"""Of descents from one hand's place, each with rotations from the last."""


@dataclass(frozen=True)
class Rest:
    """Where free bones came to rest.

    Attributes:
        moving: all bones, without velocities.
        potentials: at each of the descent's points, the first included (k,) [J].
        force: greatest force, or torque over 1 cm, that is left on a free bone [N].
        settled: whether that is as good as none.
    """

    moving: Moving
    potentials: np.ndarray
    force: float
    settled: bool


class WristPotential:
    """Potential of contact and ligaments over the poses of the free bones.

    Args:
        wrist: its bones and ligaments.
        stiffness: K of each pair of balls [N/m].
    """

    def __init__(self, wrist: Wrist, stiffness: float) -> None:
        """Nothing is searched yet."""
        self._law = PenaltyLaw(stiffness, viscosity=0.0)
        self._ties, self._centres = wrist.ligaments, wrist.centres
        self._near = PairList([bone.model for bone in wrist.bones], wrist.roles)
        self._free = np.flatnonzero([role == "free" for role in wrist.roles])
        self.size = 6 * len(self._free)
        """Number of unknowns."""

    def moved(self, start: Moving, unknowns: np.ndarray) -> Moving:
        """All bones, the free ones shifted and turned from where they start."""
        rows, f = unknowns.reshape(-1, 6), self._free
        x, frames = start.x.copy(), start.frames.copy()
        x[f] += _LENGTH * rows[:, :3]
        before = np.ascontiguousarray(start.frames[f])
        theta = np.ascontiguousarray(_LENGTH / _ARM * rows[:, 3:])
        frames[f] = turn(theta, before, np.empty_like(before))
        still = np.zeros_like(x)
        return Moving(x, frames, still, still)

    def value(self, start: Moving, unknowns: np.ndarray) -> tuple[float, np.ndarray]:
        """Potential [J] and its gradient by the unknowns (6 f,)."""
        moving = self.moved(start, unknowns)
        force, torque, _, stored = self.forces(moving)
        if len(self._ties):
            stored += self._ties.energy(moving)
        f, rows = self._free, unknowns.reshape(-1, 6)
        slopes = np.empty_like(rows)
        slopes[:, :3] = -_LENGTH * force[f]
        theta = _LENGTH / _ARM * rows[:, 3:]
        slopes[:, 3:] = -_LENGTH / _ARM * _pulled_back(theta, torque[f])
        return stored, slopes.ravel()

    def forces(self, moving: Moving) -> tuple[np.ndarray, np.ndarray, Contacts, float]:
        """Forces, torques (n, 3), the contacts, and the overlaps' energy [J]."""
        turned = np.matmul(moving.frames, self._centres[:, :, None])[:, :, 0]
        contacts = self._near.contacts(Poses(moving.frames, moving.x - turned))
        force, torque = np.zeros_like(moving.x), np.zeros_like(moving.x)
        stored = self._law.add(contacts, moving, force, torque)
        self._ties.add(0.0, moving, force, torque)
        return force, torque, contacts, stored

    def rest(self, start: Moving, most: int = 4000) -> Rest:
        """The nearest minimum, by quasi-Newton descents (L-BFGS).

        Args:
            start: where all bones begin; others than free ones stay.
            most: evaluations.
        """
        first, _ = self.value(start, np.zeros(self.size))
        potentials, left = [first], most
        for _ in range(_ROUNDS):
            found = minimize(
                lambda u, begin=start: self.value(begin, u),
                np.zeros(self.size),
                jac=True,
                method="L-BFGS-B",
                callback=lambda intermediate_result: potentials.append(
                    float(intermediate_result.fun)
                ),
                options={
                    "maxcor": 30,
                    "maxfun": left,
                    "maxiter": left,
                    "ftol": 0.0,
                    "gtol": _LENGTH * 0.1 * _REST,
                },
            )
            start, left = self.moved(start, found.x), left - found.nfev
            force = self._unbalanced(start)
            if force < _REST or left <= 0:
                break
        return Rest(start, np.array(potentials), force, force < _REST)

    def _unbalanced(self, moving: Moving) -> float:
        force, torque = self.forces(moving)[:2]
        f = self._free
        return float(max(np.abs(force[f]).max(), np.abs(torque[f]).max() / _ARM))


def move_quasistatic(
    wrist: Wrist,
    motion: HandMotion | None = None,
    stiffness: float = WRIST_STIFFNESS,
    samples: int = 16,
    progress: Callable[[int, int], None] | None = None,
) -> WristRun:
    """Move a wrist by its driven bones, at rest in each place of the hand.

    Args:
        wrist: its bones and ligaments.
        motion: of the hand; adduction by 30 degrees unless given. Only its kind and
            its angles count: times are those of its ramp.
        stiffness: K of each pair of balls [N/m].
        samples: places of the hand, the first at rest, at equal angles.
        progress: called with the places reached and their number.

    Returns:
        the run; ``unsettled`` counts the places where forces are left.

    Raises:
        AnatomyError: a number makes no sense.
    """
    motion = HandMotion() if motion is None else motion
    if samples < 2:
        raise AnatomyError(f"two samples are the least, not {samples}")
    potential = WristPotential(wrist, stiffness)
    recorder = Recorder(wrist, motion, "quasistatic")
    driven = DrivenBones(wrist, motion)
    held = np.array([role != "free" for role in wrist.roles])
    moving = driven.at(0.0)
    overlaps, unsettled, times = [], 0, _times(motion, samples)
    for k, t in enumerate(times):
        hand = driven.at(t)
        x = np.where(held[:, None], hand.x, moving.x)
        frames = np.where(held[:, None, None], hand.frames, moving.frames)
        still = np.zeros_like(x)
        rest = potential.rest(Moving(x, frames, still, still))
        moving, unsettled = rest.moving, unsettled + (not rest.settled)
        contacts, stored = potential.forces(moving)[2:]
        deepest = float(contacts.depth.max(initial=0.0))
        tensions = wrist.ligaments.tensions(moving)
        recorder.add(t, moving, tensions, stiffness * deepest, 0.0)
        overlaps.append(stored)
        if progress is not None:
            progress(k + 1, samples)
    run = recorder.run(np.diff(times), unsettled)
    run.energy[:, 1] += overlaps
    return run


def _times(motion: HandMotion, samples: int) -> np.ndarray:
    """When the ramp passes equal angles (n,) [s]."""
    fine = np.linspace(0.0, motion.duration, 2001)
    angles = np.array([motion.angle_at(t) for t in fine])
    if motion.angle == 0:
        return np.linspace(0.0, motion.duration, samples)
    return np.asarray(np.interp(np.linspace(0, motion.angle, samples), angles, fine))


def _pulled_back(theta: np.ndarray, torque: np.ndarray) -> np.ndarray:
    r"""Torques by rotation vectors: :math:`J(\theta)^T \tau` (n, 3).

    J = 1 + b theta^ + c theta^ theta^, with theta x from the left transposed.
    """
    square = np.einsum("ni,ni->n", theta, theta)
    angle = np.sqrt(square)
    small = angle < 1e-3
    safe = np.where(small, 1.0, angle)
    b = np.where(small, 0.5 - square / 24, (1 - np.cos(safe)) / safe**2)
    c = np.where(small, 1 / 6 - square / 120, (safe - np.sin(safe)) / safe**3)
    once = np.cross(theta, torque)
    twice = np.cross(theta, once)
    return np.asarray(torque - b[:, None] * once + c[:, None] * twice)
