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

*State* of the free bones. A row has the place (3), the quaternion (x, y, z, w) of any
size (4), the velocity (3) and the angular momentum over the mass (3), each in its unit.

*Without inertia*: bones rest where their potential is least. Perez (1994, 6.3)
describes it and did not run it: the hand is turned by little, then the free bones
descend to the nearest minimum of

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
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from humans_sim.anatomy.detection.contacts import Contacts, Poses
from humans_sim.anatomy.detection.pair_list import PairList
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.mechanics.cash_karp import cash_karp
from humans_sim.anatomy.mechanics.penalty import PenaltyLaw
from humans_sim.anatomy.wrist.hand_motion import DrivenBones, HandMotion
from humans_sim.anatomy.wrist.wrist import Wrist
from humans_sim.anatomy.wrist.wrist_run import Recorder, WristRun
from humans_sim.bodies.loads import Moving
from humans_sim.core.kernels import kernel
from humans_sim.core.rotations import turn


class FreeBones(NamedTuple):
    """Free bones and the units of their states.

    Numbers among all bones (f,), masses [kg] and inverses of the inertias in the bones'
    frames (f, 3, 3) [1/(kg m^2)]; units of places [m], of velocities [m/s], and an arm:
    of angular momenta over mass and unit of velocity [m].
    """

    numbers: np.ndarray
    masses: np.ndarray
    inverses: np.ndarray
    length: float
    speed: float
    arm: float


@kernel
def place_free(rows, bones, moving):
    """Write places, rotations, velocities and spins of free bones."""
    x, frames, v, w = moving
    turned, local = np.empty(3), np.empty(3)
    for k in range(len(rows)):
        n = bones.numbers[k]
        a, b, c, d = rows[k, 3], rows[k, 4], rows[k, 5], rows[k, 6]
        s = 2.0 / (a * a + b * b + c * c + d * d)
        f = frames[n]
        f[0, 0], f[1, 1] = 1 - s * (b * b + c * c), 1 - s * (a * a + c * c)
        f[2, 2] = 1 - s * (a * a + b * b)
        f[0, 1], f[1, 0] = s * (a * b - c * d), s * (a * b + c * d)
        f[0, 2], f[2, 0] = s * (a * c + b * d), s * (a * c - b * d)
        f[1, 2], f[2, 1] = s * (b * c - a * d), s * (b * c + a * d)
        unit = bones.speed * bones.arm * bones.masses[k]
        for i in range(3):
            x[n, i] = bones.length * rows[k, i]
            v[n, i] = bones.speed * rows[k, 7 + i]
            local[i] = 0.0
            for j in range(3):
                local[i] += unit * f[j, i] * rows[k, 10 + j]
        for i in range(3):
            turned[i] = 0.0
            for j in range(3):
                turned[i] += bones.inverses[k, i, j] * local[j]
        for i in range(3):
            w[n, i] = f[i, 0] * turned[0] + f[i, 1] * turned[1] + f[i, 2] * turned[2]


@kernel
def free_rates(rows, bones, moving, wrench, viscosity, rates):
    """Write rates of a state: Newton's and Euler's equations with a viscous loss."""
    _, _, v, w = moving
    force, torque = wrench
    for k in range(len(rows)):
        n = bones.numbers[k]
        p, q, r = w[n]
        a, b, c, d = rows[k, 3], rows[k, 4], rows[k, 5], rows[k, 6]
        rates[k, 3] = 0.5 * (p * d + q * c - r * b)
        rates[k, 4] = 0.5 * (q * d + r * a - p * c)
        rates[k, 5] = 0.5 * (r * d + p * b - q * a)
        rates[k, 6] = -0.5 * (p * a + q * b + r * c)
        unit = bones.speed * bones.masses[k]
        for i in range(3):
            rates[k, i] = v[n, i] / bones.length
            rates[k, 7 + i] = force[n, i] / unit - viscosity * rows[k, 7 + i]
            rates[k, 10 + i] = torque[n, i] / (unit * bones.arm)
            rates[k, 10 + i] -= viscosity * rows[k, 10 + i]


_LENGTH, _ARM, _SPEED = 1e-3, 2e-2, 0.1
"""Units of the state: of places, an arm that turns [m], of velocities [m/s]."""
_TURN = 2 * _ARM / _LENGTH
"""Size of the quaternions in the state."""
WRIST_STIFFNESS = 1e6
"""K with which the thesis' thresholds hold on the synthetic wrist [N/m]."""
_FIRST_STEP = 1e-3
"""Tried first, and made shorter by the error [s]."""


class _WristForces:
    """Forces of contact and ligaments on the bones of a wrist."""

    def __init__(self, wrist: Wrist, law: PenaltyLaw) -> None:
        self._law, self._ties = law, wrist.ligaments
        self._centres, self._free = wrist.centres, wrist.free
        self._near = PairList([bone.model for bone in wrist.bones], wrist.roles)

    def forces(self, moving: Moving) -> tuple[np.ndarray, np.ndarray, Contacts, float]:
        """Forces, torques (n, 3), the contacts, and the overlaps' energy [J]."""
        turned = np.matmul(moving.frames, self._centres[:, :, None])[:, :, 0]
        contacts = self._near.contacts(Poses(moving.frames, moving.x - turned))
        force, torque = np.zeros_like(moving.x), np.zeros_like(moving.x)
        stored = self._law.add(contacts, moving, force, torque)
        self._ties.add(0.0, moving, force, torque)
        return force, torque, contacts, stored


class PenaltyMotion(_WristForces):
    """Newton's and Euler's equations of the free bones of a wrist."""

    def __init__(self, wrist: Wrist, motion: HandMotion, law: PenaltyLaw) -> None:
        super().__init__(wrist, law)
        self._driven = DrivenBones(wrist, motion)
        self._loss = float(law.viscosity)
        free, bodies = self._free, wrist.bodies()
        masses, inverses = bodies.masses[free], bodies.inverses[free]
        self._bones = FreeBones(free, masses, inverses, _LENGTH, _SPEED, _ARM)

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
        force, torque = self.forces(moving)[:2]
        rows = q.reshape(-1, 13)
        rates = np.empty_like(rows)
        free_rates(rows, self._bones, tuple(moving), (force, torque), self._loss, rates)
        return rates.ravel()


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

    Ligaments act where it has any (:meth:`Wrist.bare`). The law of contact is stiff
    enough for the thesis' thresholds unless given; the tolerance is epsilon of Cash and
    Karp's steps, in the units of this module. Samples are taken at the next end of a
    step [s]; after the most steps the motion is given up. Progress is called with the
    samples taken and their number.

    Returns:
        the run; its steps are those that the error chose, without the last.

    Raises:
        AnatomyError: a number makes no sense, or the steps became too short.
    """
    motion = HandMotion() if motion is None else motion
    if not (np.isfinite(sampling) and 0 < sampling <= motion.duration):
        apart = f"samples lie between 0 and the duration apart, not {sampling} s"
        raise AnatomyError(apart)
    law = PenaltyLaw(WRIST_STIFFNESS) if law is None else law
    equations = PenaltyMotion(wrist, motion, law)
    recorder = Recorder(wrist, motion, "penalty")
    before, ties = motion.settling, wrist.ligaments
    samples, count = round(motion.end / sampling) + 1, 0
    taken = 0
    overlaps: list[float] = []

    def keep(t: float, q: np.ndarray) -> None:
        moving = equations.moving(t, q)
        contacts, stored = equations.forces(moving)[2:]
        force = law.stiffness * float(contacts.depth.max(initial=0.0))
        tensions, share = ties.tensions(moving), law.friction_share(contacts, moving)
        recorder.add(t, moving, tensions, force, share)
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


_SHIFT_UNIT, _TURN_ARM = 1e-3, 1e-2
"""Units of the unknowns: of shifts, and of rotations times it [m]."""
_REST = 1e-3
"""Force, or torque over 1 cm, that is still called rest [N]."""
_ROUNDS, _EVALUATIONS = 20, 4000
"""Of descents from one hand's place, each with rotations from the last, and in all."""


@dataclass(frozen=True)
class Rest:
    """Where all bones came to rest, without velocities, and how.

    Potentials at each of the descent's points, the first included (k,) [J]; the
    greatest force, or torque over 1 cm, that is left on a free bone [N]; settled:
    whether that is as good as none.
    """

    moving: Moving
    potentials: np.ndarray
    force: float
    settled: bool


class WristPotential(_WristForces):
    """Potential of contact and ligaments over the poses of the free bones.

    With K of each pair of balls [N/m]; ``size`` is the number of unknowns.
    """

    def __init__(self, wrist: Wrist, stiffness: float) -> None:
        super().__init__(wrist, PenaltyLaw(stiffness, viscosity=0.0))
        self.size = 6 * len(self._free)

    def moved(self, start: Moving, unknowns: np.ndarray) -> Moving:
        """All bones, the free ones shifted and turned from where they start."""
        rows, f = unknowns.reshape(-1, 6), self._free
        x, frames = start.x.copy(), start.frames.copy()
        x[f] += _SHIFT_UNIT * rows[:, :3]
        before = np.ascontiguousarray(start.frames[f])
        theta = np.ascontiguousarray(_SHIFT_UNIT / _TURN_ARM * rows[:, 3:])
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
        slopes[:, :3] = -_SHIFT_UNIT * force[f]
        theta = _SHIFT_UNIT / _TURN_ARM * rows[:, 3:]
        slopes[:, 3:] = -_SHIFT_UNIT / _TURN_ARM * _pulled_back(theta, torque[f])
        return stored, slopes.ravel()

    def rest(self, start: Moving) -> Rest:
        """The nearest minimum, by quasi-Newton descents (L-BFGS) of the free bones."""
        first, _ = self.value(start, np.zeros(self.size))
        potentials, left = [first], _EVALUATIONS
        for _ in range(_ROUNDS):
            minimum = minimize(
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
                    "gtol": _SHIFT_UNIT * 0.1 * _REST,
                },
            )
            start, left = self.moved(start, minimum.x), left - minimum.nfev
            force, torque = (part[self._free] for part in self.forces(start)[:2])
            most = float(max(np.abs(force).max(), np.abs(torque).max() / _TURN_ARM))
            if most < _REST or left <= 0:
                break
        return Rest(start, np.array(potentials), most, most < _REST)


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
