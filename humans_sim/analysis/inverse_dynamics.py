# SPDX-License-Identifier: Apache-2.0
r"""Joint torques and ground reaction of a reconstructed motion.

Velocities and accelerations are differences of the postures on the configuration's
manifold; inverse dynamics then gives the generalised force
:math:`M \dot v + N` that the motion took. Its six rows of the base can come from the
ground alone.

- *With force plates*, what they measured acts on the foot that stood on them
  (:mod:`humans_sim.analysis.foot_contacts`), through the same low pass as the postures.
- *Without*, or while a foot stands beside the plates, forces at the contact points of
  the feet are sought, inside friction cones, that give what is needed
  (:mod:`humans_sim.analysis.inverse_dynamics`).

What is left over is the *residual*: errors of the markers, of the masses, or a hand on
a rail.

*Contact forces* that give the base what a motion takes: nonnegative least squares on
the edges of friction cones. Weighted are the force of the ground, which accelerations
give well; its moment, to which centres of mass that are a few centimetres off
contribute; the share of each foot that its contact suggests; and, least, that points
carry little which are high or fast.

*Shift* of the whole body by which a motion agrees with force plates. Plates give the
acceleration of the centre of mass better than markers on skin do. The shift
:math:`\delta(t)` of the base minimises

.. math:: \sum_{covered} |\ddot\delta - e|^2 / \sigma_a^2 + \sum |\delta|^2 / \sigma_x^2

where :math:`e` is what the plates' force divided by the mass exceeds the motion's
acceleration. Of slow errors little is removed, since they would take a shift that the
markers contradict. Only the force of the residual is reduced, not its moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.optimize import nnls
from scipy.sparse import diags, identity
from scipy.sparse.linalg import spsolve
from scipy.spatial.transform import Rotation

from humans_sim.analysis.foot_contacts import (
    FootContacts,
    PlateLoads,
    SolePoints,
    find_contacts,
    plate_loads,
    sole_points,
)
from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import ParameterError
from humans_sim.models.model import Model
from humans_sim.models.points import frame_index
from humans_sim.observation.markers.filters import zero_phase
from humans_sim.observation.markers.force_plate import ForcePlate, GroundReaction
from humans_sim.observation.posture.result import Reconstruction

FORCE_SPREAD = 0.002
"""By which the ground's force may miss what the motion takes, in body weights."""
MOMENT_SPREAD = 0.05
"""By which its moment may, in body weights times metres: how well a centre of pressure
follows from a motion [m]."""
SHARE_SPREAD = 0.06
"""By which a foot's vertical force may miss its expected share, in body weights."""
HEIGHT, SPEED = 0.02, 0.3
"""Height above its rest and speed at which a point is penalised twice [m, m/s]."""
_PRICE = 0.02
"""Penalty of a force of one body weight at a point at rest."""
_EDGES = 8
"""Edges of a friction cone."""


def friction_cone(friction: float) -> np.ndarray:
    """Edges of a friction cone about the vertical (edges, 3)."""
    angle = 2 * np.pi * np.arange(_EDGES) / _EDGES
    return np.stack(
        [friction * np.cos(angle), friction * np.sin(angle), np.ones(_EDGES)], axis=1
    )


def share_forces(
    levers: np.ndarray,
    wrench: np.ndarray,
    weight: float,
    cone: np.ndarray,
    penalty: np.ndarray,
    owners: np.ndarray,
    share: np.ndarray,
) -> np.ndarray:
    """Forces at the points (p, 3) [N].

    Args:
        levers: of the points from the point that moments are about (p, 3) [m].
        wrench: that the motion takes: force and moment (6,) [N, N m].
        weight: of the body [N].
        cone: edges of the friction cone (edges, 3).
        penalty: of each point (p,).
        owners: sole of each point (p,).
        share: of the vertical force expected of each sole (soles,); NaN: of none.
    """
    count, edges = len(levers), len(cone)
    forces = np.tile(cone, (count, 1))
    moments = np.cross(np.repeat(levers, edges, axis=0), forces)
    expected = np.isfinite(share)
    soles = np.repeat(owners, edges) == np.flatnonzero(expected)[:, None]
    matrix = np.concatenate(
        [
            forces.T / FORCE_SPREAD,
            moments.T / MOMENT_SPREAD,
            soles * forces[:, 2] / SHARE_SPREAD,
            np.diag(_PRICE * np.sqrt(np.repeat(penalty, edges))),
        ]
    )
    lift = max(float(wrench[2]), 0.0)
    target = np.concatenate(
        [
            wrench[:3] / FORCE_SPREAD,
            wrench[3:] / MOMENT_SPREAD,
            share[expected] * lift / SHARE_SPREAD,
            np.zeros(count * edges),
        ]
    )
    along, _ = nnls(matrix, target / weight, maxiter=20 * matrix.shape[1])
    return np.asarray(weight * along.reshape(count, edges) @ cone)


ACCELERATION_SPREAD = 0.1
"""To which plates give the acceleration of the centre of mass [m/s^2]."""
SHIFT_SPREAD = 0.005
"""To which markers give its place [m]."""


def consistent_shift(
    t: np.ndarray, excess: np.ndarray, covered: np.ndarray
) -> np.ndarray:
    """The shift of the base (n, 3) [m] over evenly spaced times (n,) [s].

    The excess is the acceleration by the plates minus that of the motion (n, 3)
    [m/s^2], of samples in which plates measured all (n,).
    """
    n = len(t)
    step = (t[-1] - t[0]) / (n - 1)
    second = diags([1.0, -2.0, 1.0], [0, 1, 2], shape=(n - 2, n)) / step**2
    rows = np.where(covered[1:-1], ACCELERATION_SPREAD**-2, 0.0)
    weighted = second.T @ diags(rows)
    matrix = (weighted @ second + identity(n) / SHIFT_SPREAD**2).tocsc()
    return np.asarray(spsolve(matrix, weighted @ excess[1:-1]))


CUTOFF = 6.0
"""Low pass of the postures: markers give accelerations no better [Hz]."""
LONGEST_EDGE = 0.5
"""Part of a period of the low pass that its ends spoil."""
LEAST_COVERED = 0.4
"""Time on plates from which they weigh a person [s]."""
LIGHTEST, HEAVIEST = 0.6, 1.7
"""Mass by plates against the model's beyond which somebody leans or another pushes."""
_FEWEST = 5


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """Forces of a motion.

    Attributes:
        model: of the body.
        t: times (n,) [s].
        q: configurations, after the low pass (n, nq).
        v: velocities (n, nv).
        a: accelerations (n, nv).
        torques: of the joints (n, nv - 6) [N m].
        feet: ground reaction of each sole: force [N] and moment about the world's
            origin [N m] (n, 6).
        residual: what the ground did not give: force, and moment about the base, on
            the world's axes (n, 6).
        floor: height of the floor [m].
        mass: that was used [kg]; of the plates, unless given.
        measured: samples in which plates measured all that acts on the feet (n,); in
            others, forces of the feet that stand beside plates are estimates.
        inner: samples that the ends of the low pass do not reach (n,); all of a motion
            that is too short to have any.
        contacts: when the feet stand, from the motion.
        loads: what plates do to the feet; None without plates.
        shift: of the base for a smaller residual (n, 3) [m]; zero unless asked for.
        notes: what is not as it should be.
    """

    model: Model
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    torques: np.ndarray
    feet: dict[str, np.ndarray]
    residual: np.ndarray
    floor: float
    mass: float
    measured: np.ndarray
    inner: np.ndarray
    contacts: FootContacts
    loads: PlateLoads | None
    shift: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def weight(self) -> float:
        """Of the body [N]."""
        return self.mass * GRAVITY

    @property
    def ground(self) -> np.ndarray:
        """Ground reaction of all feet: force, moment about the origin (n, 6)."""
        return sum(self.feet.values(), np.zeros((len(self.t), 6)))

    @property
    def pressure_centre(self) -> np.ndarray:
        """Centre of pressure on the floor (n, 2) [m]; NaN without a load."""
        return self._pressure(self.ground)[:, :2]

    def reaction(self, sole: str) -> GroundReaction:
        """Force on a sole at its centre of pressure, with the free moment about it."""
        wrench = self.feet[sole]
        point = self._pressure(wrench)
        torque = wrench[:, 3:] - np.cross(np.nan_to_num(point), wrench[:, :3])
        torque = np.where(np.isnan(point), 0.0, torque * (0.0, 0.0, 1.0))
        return GroundReaction(sole, self.t, wrench[:, :3], point, torque)

    def _pressure(self, wrench: np.ndarray) -> np.ndarray:
        """Centres of pressure of wrenches about the origin (n, 3) [m]."""
        lift = np.where(wrench[:, 2] > 0.01 * self.weight, wrench[:, 2], np.nan)
        x = (-wrench[:, 4] + self.floor * wrench[:, 0]) / lift
        y = (wrench[:, 3] + self.floor * wrench[:, 1]) / lift
        return np.stack([x, y, self.floor + 0.0 * lift], axis=1)


def inverse_dynamics(
    result: Reconstruction,
    plates: Sequence[ForcePlate | GroundReaction] | None = None,
    *,
    cutoff: float = CUTOFF,
    plate_cutoff: float | None = None,
    floor: float | None = None,
    friction: float = 0.8,
    mass: float | None = None,
    reduce_residual: bool = False,
) -> InverseDynamics:
    """Torques and ground reaction of a reconstruction.

    Args:
        result: of a model with soles.
        plates: or forces of a file (:func:`humans_sim.read_force_file`), in the frame
            of the motion; None: those of the recording; empty: none, markers alone.
        cutoff: low pass of the postures [Hz], 0 for none.
        plate_cutoff: low pass of what the plates measured [Hz], 0 for none; None: that
            of the postures.
        floor: its height [m]; None: where the feet rest.
        friction: coefficient of the floor, for feet beside plates.
        mass: of the body [kg]; None: what the plates carry while they carry all of it,
            without such plates that of the model.
        reduce_residual: whether the body is shifted by millimetres so that it
            accelerates as the plates say
            (:mod:`humans_sim.analysis.inverse_dynamics`).

    Raises:
        ParameterError: the motion is too short, or a number is out of its range.
    """
    model = result.model
    _check(result, friction, mass)
    q = low_pass(result.q, result.trial.rate, cutoff) if cutoff else result.q
    v, a = rates(model, result.t, q)
    points = sole_points(model, q, v)
    contacts = find_contacts(result.t, points, floor)
    inner = _inner(result.t, cutoff)
    total = _generalised(model, q, v, a)
    plates = result.trial.plates if plates is None else plates
    loads = None
    notes: list[str] = []
    if len(plates):
        used = cutoff if plate_cutoff is None else plate_cutoff
        loads = plate_loads(plates, result.t, points, contacts, used)
        notes += loads.notes
    body = model.mass if mass is None else mass
    if loads is None and reduce_residual:
        notes.append("there are no plates by which a residual could be reduced")
    if loads is not None:
        weighed = _plate_mass(model, result.t, _base_force(q, total), loads, inner)
        sound = weighed is not None and LIGHTEST < weighed / model.mass < HEAVIEST
        notes += _mass_notes(weighed, body, mass is None and sound)
        body = weighed if mass is None and weighed is not None and sound else body
        if not loads.covered.any():
            notes.append("no frame has all feet that stand on plates")
    shift = np.zeros((len(q), 3))
    if reduce_residual and loads is not None:
        needed = _base_force(q, total) / model.mass
        excess = loads.wrenches[:, :, :3].sum(axis=1) / body - needed
        shift = consistent_shift(result.t, excess, loads.covered & inner)
        q = q.copy()
        q[:, :3] += shift
        v, a = rates(model, result.t, q)
        points = sole_points(model, q, v)
        total = _generalised(model, q, v, a)
    total *= body / model.mass
    torques, feet, residual = _balance(
        model, q, total, points, contacts, loads, friction, body * GRAVITY
    )
    measured = np.zeros(len(q), dtype=bool) if loads is None else loads.covered
    return InverseDynamics(
        model,
        result.t,
        q,
        v,
        a,
        torques,
        feet,
        residual,
        contacts.floor,
        body,
        measured,
        inner,
        contacts,
        loads,
        shift,
        tuple(notes),
    )


def _inner(t: np.ndarray, cutoff: float) -> np.ndarray:
    """Samples that the ends of a low pass do not reach; all of a short motion (n,)."""
    edge = LONGEST_EDGE / cutoff if cutoff else 0.0
    inner: np.ndarray = (t >= t[0] + edge) & (t <= t[-1] - edge)
    return inner if inner.any() else np.ones(len(t), dtype=bool)


def rates(model: Model, t: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Velocities and accelerations of a motion by differences (n, nv), (n, nv).

    Those of the two ends are their neighbours'.
    """
    n = len(q)
    v, a = np.empty((n, model.nv)), np.empty((n, model.nv))
    for k in range(1, n - 1):
        before, after = t[k] - t[k - 1], t[k + 1] - t[k]
        back = pin.difference(model.pin, q[k], q[k - 1])
        on = pin.difference(model.pin, q[k], q[k + 1])
        v[k] = (on * before / after - back * after / before) / (before + after)
        a[k] = 2.0 * (on / after + back / before) / (before + after)
    v[0], a[0], v[-1], a[-1] = v[1], a[1], v[-2], a[-2]
    return v, a


def low_pass(q: np.ndarray, rate: float, cutoff: float) -> np.ndarray:
    """Postures through a zero-phase Butterworth filter (n, nq)."""
    even = q.copy()
    # A quaternion and its opposite are one attitude: keep to one side.
    turned = np.cumprod(np.sign(np.sum(q[1:, 3:7] * q[:-1, 3:7], axis=1)))
    even[1:, 3:7] *= turned[:, None]
    smooth = zero_phase(even, rate, cutoff)
    smooth[:, 3:7] /= np.linalg.norm(smooth[:, 3:7], axis=1, keepdims=True)
    return smooth


def _check(result: Reconstruction, friction: float, mass: float | None) -> None:
    if not result.model.soles:
        raise ParameterError(f"{result.model.name} has no soles: name them in its YAML")
    if len(result.t) < _FEWEST:
        raise ParameterError(f"inverse dynamics takes {_FEWEST} frames and more")
    if not friction > 0.0:
        raise ParameterError(f"friction must be above zero, not {friction}")
    if mass is not None and not mass > 0.0:
        raise ParameterError(f"the mass must be above zero, not {mass}")


def _balance(
    model: Model,
    q: np.ndarray,
    total: np.ndarray,
    points: SolePoints,
    contacts: FootContacts,
    loads: PlateLoads | None,
    friction: float,
    weight: float,
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Torques, wrenches of the feet about the origin, and what they leave over."""
    n, soles = len(q), points.soles
    torques, residual = np.empty((n, model.nv - 6)), np.empty((n, 6))
    wrenches = np.zeros((n, len(soles), 6))
    known = np.zeros((n, len(soles)), dtype=bool)
    if loads is not None:
        wrenches, known = loads.wrenches.copy(), loads.known
    frames = [frame_index(model.pin, sole) for sole in soles]
    joints = [model.pin.frames[frame].parentJoint for frame in frames]
    low, slow = (contacts.height / HEIGHT) ** 2, (contacts.speed / SPEED) ** 2
    penalty = (1.0 + low) * (1.0 + slow)
    cone = friction_cone(friction)
    data = model.data()
    for row in range(n):
        pin.computeJointJacobians(model.pin, data, q[row])
        base, world = q[row, :3], Rotation.from_quat(q[row, 3:7])
        # The base's own axes carry its generalised force.
        needed = world.apply(total[row, :6].reshape(2, 3)).ravel()
        left = needed - _about(wrenches[row], base).sum(axis=0)
        free = ~known[row]
        if free.any():
            chosen = np.flatnonzero(free[points.owners])
            places = points.positions[row, chosen]
            share = np.where(free, contacts.share[row], np.nan)
            if not free.all():  # one foot alone carries what is left
                share = np.full(len(soles), np.nan)
            forces = share_forces(
                places - base,
                left,
                weight,
                cone,
                penalty[row, chosen],
                points.owners[chosen],
                share,
            )
            for place, force, sole in zip(
                places, forces, points.owners[chosen], strict=True
            ):
                wrenches[row, sole, :3] += force
                wrenches[row, sole, 3:] += np.cross(place, force)
        residual[row] = needed - _about(wrenches[row], base).sum(axis=0)
        torques[row] = total[row, 6:]
        for joint, wrench in zip(joints, wrenches[row], strict=True):
            jacobian = pin.getJointJacobian(
                model.pin, data, joint, pin.LOCAL_WORLD_ALIGNED
            )
            place = data.oMi[joint].translation
            torques[row] -= (jacobian.T @ _about(wrench[None], place)[0])[6:]
    feet = {sole: wrenches[:, k] for k, sole in enumerate(soles)}
    return torques, feet, residual


def _about(wrenches: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Wrenches about the origin (k, 6), about another point."""
    moved = wrenches.copy()
    moved[:, 3:] -= np.cross(point, wrenches[:, :3])
    return moved


def _generalised(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Generalised force that a motion takes without contacts (n, nv)."""
    rows = zip(q, v, a, strict=True)
    return np.array([model.inverse_dynamics(*row) for row in rows])


def _base_force(q: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Force that a motion takes at the base, on the world's axes (n, 3)."""
    return Rotation.from_quat(q[:, 3:7]).apply(total[:, :3])


def _plate_mass(
    model: Model,
    t: np.ndarray,
    needed: np.ndarray,
    loads: PlateLoads,
    inner: np.ndarray,
) -> float | None:
    """Mass that plates carry, by the impulse over all they cover; None: too little."""
    rows = loads.covered & inner
    if rows.sum() * np.median(np.diff(t)) < LEAST_COVERED:
        return None
    lift = loads.wrenches[rows, :, 2].sum(axis=1)
    return float(model.mass * lift.mean() / needed[rows, 2].mean())


def _mass_notes(weighed: float | None, body: float, used: bool) -> list[str]:
    if weighed is None:
        return ["plates carry the whole body too shortly to weigh it"]
    if abs(weighed / body - 1.0) < 0.03:
        return []
    which = "the plates' is used" if used else "the latter is used"
    return [f"plates carry {weighed:.1f} kg, the model has {body:.1f} kg: {which}"]
