# SPDX-License-Identifier: Apache-2.0
r"""A wrist moved as the thesis does it: forces of overlaps, steps of controlled error.

Perez (1994, 6.4.2 and 7.5): balls that overlap push with a linear force
(:class:`~humans_sim.anatomy.mechanics.penalty.PenaltyLaw`), free bones obey the
equations of Newton and Euler with a viscous loss, and Cash and Karp's pair chooses the
steps. The thesis ran it without ligaments; here they may act, too.

Departures: attitudes are quaternions, which have no singular place; the hand follows
the smooth ramp of :class:`~humans_sim.anatomy.wrist.hand_motion.HandMotion`; the
tolerance is in units of a millimetre, of a turn by which a point 2 cm off moves as far,
and of a decimetre a second.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from humans_sim.anatomy.detection.contacts import Contacts, Poses
from humans_sim.anatomy.detection.pair_list import PairList
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.mechanics.cash_karp import cash_karp
from humans_sim.anatomy.mechanics.penalty import PenaltyLaw
from humans_sim.anatomy.wrist.hand_motion import DrivenBones, HandMotion
from humans_sim.anatomy.wrist.motion_kernels import FreeBones, free_rates, place_free
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.anatomy.wrist.wrist_run import Recorder, WristRun
from humans_sim.bodies.loads import Moving

_LENGTH, _ARM, _SPEED = 1e-3, 2e-2, 0.1
"""Units of the state: of places, an arm that turns [m], of velocities [m/s]."""
_TURN = 2 * _ARM / _LENGTH
"""Size of the quaternions in the state."""
WRIST_STIFFNESS = 1e6
"""K with which the thesis' thresholds hold on the synthetic wrist [N/m]."""
_FIRST_STEP = 1e-3
"""Tried first, and made shorter by the error [s]."""


class PenaltyMotion:
    """Newton's and Euler's equations of the free bones of a wrist.

    Args:
        wrist: its bones and ligaments.
        motion: of its hand.
        law: of contact.
    """

    def __init__(self, wrist: Wrist, motion: HandMotion, law: PenaltyLaw) -> None:
        """Bones at rest."""
        self._wrist, self._law = wrist, law
        self._driven = DrivenBones(wrist, motion)
        self._near = PairList([bone.model for bone in wrist.bones], wrist.roles)
        self._centres, self._loss = wrist.centres, float(law.viscosity)
        free = np.flatnonzero([role == "free" for role in wrist.roles])
        bodies = wrist.bodies()
        self._bones = FreeBones(
            free, bodies.masses[free], bodies.inverses[free], _LENGTH, _SPEED, _ARM
        )

    def start(self) -> np.ndarray:
        """The state at rest: 13 numbers a free bone."""
        rows = np.zeros((len(self._bones.numbers), 13))
        rows[:, :3] = self._centres[self._bones.numbers] / _LENGTH
        rows[:, 6] = _TURN
        return rows.ravel()

    def moving(self, t: float, q: np.ndarray) -> Moving:
        """All bones at a time of the motion, from a state."""
        moving = self._driven.at(t)
        place_free(q.reshape(-1, 13), self._bones, tuple(moving))
        return moving

    def rates(self, t: float, q: np.ndarray) -> np.ndarray:
        """Rates of a state."""
        moving = self.moving(t, q)
        force, torque = self.forces(t, moving)[:2]
        rows = q.reshape(-1, 13)
        rates = np.empty_like(rows)
        free_rates(rows, self._bones, tuple(moving), (force, torque), self._loss, rates)
        return rates.ravel()

    def forces(
        self, t: float, moving: Moving
    ) -> tuple[np.ndarray, np.ndarray, Contacts, float]:
        """Forces, torques (n, 3), the contacts, and the overlaps' energy [J]."""
        turned = np.matmul(moving.frames, self._centres[:, :, None])[:, :, 0]
        poses = Poses(moving.frames, moving.x - turned)
        contacts = self._near.contacts(poses)
        force, torque = np.zeros_like(moving.x), np.zeros_like(moving.x)
        stored = self._law.add(contacts, moving, force, torque)
        self._wrist.ligaments.add(t, moving, force, torque)
        return force, torque, contacts, stored


def move_by_penalty(
    wrist: Wrist,
    motion: HandMotion | None = None,
    law: PenaltyLaw | None = None,
    *,
    tolerance: float = 1e-3,
    sampling: float = 0.01,
    most_steps: int = 200_000,
    progress: Callable[[int, int], None] | None = None,
) -> WristRun:
    """Move a wrist by its driven bones, by the thesis' method.

    Args:
        wrist: its bones; its ligaments act where it has any (:meth:`Wrist.bare`).
        motion: of the hand; adduction by 30 degrees unless given.
        law: of contact; stiff enough for the thesis' thresholds unless given.
        tolerance: epsilon of Cash and Karp's steps, in the units of this module.
        sampling: time between samples, taken at the next end of a step [s].
        most_steps: after which the motion is given up.
        progress: called with the samples taken and their number.

    Returns:
        the run; its steps are those that the error chose, without the last.

    Raises:
        AnatomyError: a number makes no sense, or the steps became too short.
    """
    motion = HandMotion() if motion is None else motion
    if not (np.isfinite(sampling) and 0 < sampling <= motion.duration):
        raise AnatomyError(
            f"samples lie between 0 and the duration apart, not {sampling} s"
        )
    law = PenaltyLaw(WRIST_STIFFNESS) if law is None else law
    equations = PenaltyMotion(wrist, motion, law)
    recorder = Recorder(wrist, motion, "penalty")
    before = motion.settling
    samples, count = round(motion.end / sampling) + 1, 0
    taken = 0
    overlaps: list[float] = []

    def keep(t: float, q: np.ndarray) -> None:
        moving = equations.moving(t, q)
        contacts, stored = equations.forces(t, moving)[2:]
        deepest = float(contacts.depth.max(initial=0.0))
        recorder.add(
            t,
            moving,
            wrist.ligaments.tensions(moving),
            law.stiffness * deepest,
            law.friction_share(contacts, moving),
        )
        overlaps.append(stored)

    def accepted(t: float, q: np.ndarray, _: float) -> None:
        nonlocal count, taken
        count += 1
        if count > most_steps:
            raise AnatomyError(
                f"given up at {t - before:.3f} s after {most_steps} steps: they become "
                "too short"
            )
        if t - before >= taken * sampling - 1e-12:
            keep(t - before, q)
            taken = int((t - before) / sampling + 1e-9) + 1
            if progress is not None:
                progress(min(taken, samples), samples)

    if before == 0:
        keep(0.0, equations.start())
        taken = 1
    path = cash_karp(
        lambda t, q: equations.rates(t - before, q),
        equations.start(),
        before + motion.end,
        tolerance=tolerance,
        scale="unit",
        first_step=_FIRST_STEP,
        largest_step=sampling,
        accepted=accepted,
    )
    run = recorder.run(path.steps[:-1], 0)
    run.energy[:, 1] += overlaps
    return run
