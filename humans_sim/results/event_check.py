# SPDX-License-Identifier: Apache-2.0
r"""Are the jumps of a run physically right? Energy and momentum at each event.

.. math:: M (v_+ - v_-) = P, \qquad T_+ - T_- = \tfrac12 (v_- + v_+)^T P

with P the generalised impulse of all contacts. The energies of a run are those of its
bodies, and the mass matrix is computed here, by the model: neither is what the impact
was solved with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.solids import HalfSpace
from humans_sim.core.errors import HumansError, RunFileError
from humans_sim.results.contact_table import POINT
from humans_sim.results.events import PUSH
from humans_sim.results.export import has_free_base
from humans_sim.results.finding import Finding
from humans_sim.results.record import recorded_ground, recorded_model

if TYPE_CHECKING:
    from humans_sim.models import Model
    from humans_sim.results.run import Run

BALANCE = 1e-8
"""What the balances may miss, relative to the energy or momentum that is there."""
ENERGY, MOMENTUM, FLOOR = (
    "energy at events minus work of impulses",
    "momentum at events minus impulses",
    "impulses of the floor minus momentum",
)


def event_findings(run: Run) -> list[Finding]:
    """Balances of energy and momentum at events; nothing where none are stored."""
    if not len(run.event_states):
        return []
    findings = [_finding(run, ENERGY, _energy(run))]
    if not has_free_base(run) or "bodies" in run.info:
        return [*findings, _unknown(MOMENTUM, "no biped alone")]
    try:
        model = recorded_model(run.info)
        if (run.q.shape[1], run.v.shape[1]) != (model.nq, model.nv):
            raise RunFileError(f"the run has other joints than its model {model.name}")
        momentum, normal = _momentum(run, model), _floor_normal(run)
    except HumansError as error:
        return [*findings, _unknown(MOMENTUM, str(error))]
    findings.append(_finding(run, MOMENTUM, momentum))
    if normal is not None:
        findings.append(_finding(run, FLOOR, _floor(run, normal)))
    return findings


def _finding(run: Run, name: str, errors: np.ndarray) -> Finding:
    row = int(np.argmax(errors))
    worst = float(errors[row])
    where = f"at {run.event_states.t[row]:.6g} s, worst of {len(errors)}"
    return Finding(name, worst, BALANCE, "relative", where, worst <= BALANCE)


def _unknown(name: str, where: str) -> Finding:
    return Finding(name, 0.0, BALANCE, "relative", where, None)


def _energy(run: Run) -> np.ndarray:
    """Change of kinetic energy without the work of the impulses (m,)."""
    states = run.event_states
    kinetic = states.energy[:, :, 0]
    mean = states.v.mean(axis=1)
    work = np.sum(mean * (states.impulse + states.correction), axis=1)
    scale = np.maximum(kinetic.max(axis=1), _least_energy(run))
    return np.asarray(np.abs(kinetic[:, 1] - kinetic[:, 0] - work) / scale)


def _least_energy(run: Run) -> float:
    """Kinetic energy below which a body counts as being at rest [J]."""
    return max(1e-9 * float(run.energy[:, 0].max()), 1e-300)


def _momentum(run: Run, model: Model) -> np.ndarray:
    """Change of generalised momentum without the impulses (m,)."""
    states = run.event_states
    armature = _armature(run)
    moving = run.v.any(axis=0) | states.v.any(axis=(0, 1))  # what is locked stays zero
    most = _momentum_scale(run, model, armature)
    errors = np.zeros(len(states))
    for k, (q, v) in enumerate(zip(states.q, states.v, strict=True)):
        mass = model.inertia(np.ascontiguousarray(q)) + armature
        change = mass @ (v[1] - v[0]) - states.impulse[k] - states.correction[k]
        scale = max(np.abs(mass @ v.T).max(), most)
        errors[k] = np.abs(change[moving]).max(initial=0.0) / scale
    return errors


def _momentum_scale(run: Run, model: Model, armature: np.ndarray) -> float:
    """Momentum below which a body counts as being at rest [N s]."""
    row = int(np.argmax(run.energy[:, 0]))
    mass = model.inertia(np.ascontiguousarray(run.q[row]))
    fastest = np.abs((mass + armature) @ run.v[row])
    return max(1e-6 * float(fastest.max()), 1e-300)


def _armature(run: Run) -> np.ndarray:
    """Inertia of the drives, as a diagonal matrix (nv, nv) or zero."""
    recorded = run.info.get("armature", 0.0)
    try:
        values = np.asarray(recorded, dtype=float)
        fits = values.shape in ((), (run.v.shape[1],)) and np.isfinite(values).all()
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise RunFileError("the run's record of its drives is damaged")
    return np.diag(values) if values.ndim else np.zeros(())


def _floor_normal(run: Run) -> np.ndarray | None:
    """Normal of the floor, where nothing else can be touched (3,)."""
    if POINT not in run.table.kinds:
        return None
    solids = recorded_ground(run.info).solids
    if len(solids) != 1 or not isinstance(solids[0], HalfSpace):
        return None
    normal = np.array(solids[0].normal, dtype=float)
    return np.asarray(normal / np.linalg.norm(normal))


def _floor(run: Run, normal: np.ndarray) -> np.ndarray:
    """Momentum along the normal of the floor without the floor's impulses (m,)."""
    states = run.event_states
    points = [k for k, kind in enumerate(run.table.kinds) if kind == POINT]
    given = states.impulses[:, points, 0].sum(axis=1)
    turns = np.array([pin.Quaternion(q[3:7]).matrix() for q in states.q])
    taken = np.einsum("kij,kj,i->k", turns, states.impulse[:, :3], normal)
    pushed = {event.time for event in run.events if event.kind == PUSH}
    known = np.array([t not in pushed for t in states.t.tolist()])
    scale = np.maximum(np.abs(given), np.abs(taken))
    error = np.abs(given - taken) / np.maximum(scale, 1e-12 * max(scale.max(), 1.0))
    return np.where(known, error, 0.0)
