# SPDX-License-Identifier: Apache-2.0
r"""Physical check of a run: gaps, forces, friction, shapes, energy, impacts, falls.

*Jumps*: energy and momentum at each event,

.. math:: M (v_+ - v_-) = P, \qquad T_+ - T_- = \tfrac12 (v_- + v_+)^T P

with P the generalised impulse of all contacts. The energies of a run are those of its
bodies, and the mass matrix is computed here, by the model: neither is what the impact
was solved with.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.ground import ground_heights
from humans_sim.contact.geometry.solids import HalfSpace
from humans_sim.core.arrays import row_blocks
from humans_sim.core.errors import HumansError, RunFileError
from humans_sim.models.collision_shapes import collision_shapes
from humans_sim.models.legs import corner_places, tag_of
from humans_sim.models.points import frame_index
from humans_sim.results.bounces import explained_gaps
from humans_sim.results.export import has_free_base
from humans_sim.results.record import (
    link_of,
    recorded_ground,
    recorded_model,
    surface_of,
)
from humans_sim.results.records import (
    DURATION,
    HAND_OVER,
    IMPACT,
    POINT,
    PUSH,
    SOLIDS,
)

if TYPE_CHECKING:
    from humans_sim.models import Model
    from humans_sim.results.run import Run


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        value: the worst that was found.
        limit: what it may be.
        unit: of both.
        where: time and contact of the worst.
        ok: whether it holds; None where there was nothing to look at.
    """

    name: str
    value: float
    limit: float
    unit: str
    where: str
    ok: bool | None

    @classmethod
    def within(
        cls, name: str, value: float, limit: float, unit: str, where: str
    ) -> Finding:
        """One that holds where its value is no larger than its limit."""
        return cls(name, value, limit, unit, where, bool(value <= limit))

    @property
    def word(self) -> str:
        """``ok``, ``no`` or ``n/a``."""
        return "n/a" if self.ok is None else "ok" if self.ok else "no"

    @property
    def value_text(self) -> str:
        """The worst as a person reads it; empty where there was nothing to look at."""
        if self.ok is None:
            return ""
        plain = self.value == 0.0 or 0.1 <= abs(self.value) < 1e4
        return f"{self.value + 0.0:.3g}" if plain else f"{self.value:.2e}"

    @property
    def limit_text(self) -> str:
        """Its limit, as a person reads it."""
        return f"{self.limit + 0.0:.3g}"


BALANCE = 1e-8
"""What the balances may miss, relative to the energy or momentum that is there."""
EVENT_ENERGY, EVENT_MOMENTUM, EVENT_FLOOR = (
    "energy at events minus work of impulses",
    "momentum at events minus impulses",
    "impulses of the floor minus momentum",
)


def event_findings(run: Run) -> list[Finding]:
    """Balances of energy and momentum at events; nothing where none are stored."""
    if not len(run.event_states):
        return []
    # Change of kinetic energy without the work of the impulses.
    states = run.event_states
    kinetic = states.energy[:, :, 0]
    work = np.sum(states.v.mean(axis=1) * (states.impulse + states.correction), axis=1)
    # below this kinetic energy a body counts as being at rest [J]
    least = max(1e-9 * float(run.energy[:, 0].max()), 1e-300)
    scale = np.maximum(kinetic.max(axis=1), least)
    energy = np.abs(kinetic[:, 1] - kinetic[:, 0] - work) / scale
    findings = [_finding(run, EVENT_ENERGY, energy)]
    if not has_free_base(run) or "bodies" in run.info:
        return [*findings, _unknown(EVENT_MOMENTUM, "no biped alone")]
    try:
        model = recorded_model(run.info)
        if (run.q.shape[1], run.v.shape[1]) != (model.nq, model.nv):
            raise RunFileError(f"the run has other joints than its model {model.name}")
        points = POINT in run.table.kinds
        solids = recorded_ground(run.info).solids if points else ()
        momentum = _momentum(run, model)
    except HumansError as error:
        return [*findings, _unknown(EVENT_MOMENTUM, str(error))]
    findings.append(_finding(run, EVENT_MOMENTUM, momentum))
    # Where nothing else than a floor can be touched.
    floor = solids[0] if len(solids) == 1 else None
    if isinstance(floor, HalfSpace):
        normal = np.array(floor.normal, dtype=float)
        errors = _floor(run, normal / np.linalg.norm(normal))
        findings.append(_finding(run, EVENT_FLOOR, errors))
    return findings


def _finding(run: Run, name: str, errors: np.ndarray) -> Finding:
    row = int(np.argmax(errors))
    where = f"at {run.event_states.t[row]:.6g} s, worst of {len(errors)}"
    return Finding.within(name, float(errors[row]), BALANCE, "relative", where)


def _unknown(name: str, where: str) -> Finding:
    return Finding(name, 0.0, BALANCE, "relative", where, None)


def _momentum(run: Run, model: Model) -> np.ndarray:
    """Change of generalised momentum without the impulses (m,)."""
    states = run.event_states
    armature = _armature(run)
    moving = run.v.any(axis=0) | states.v.any(axis=(0, 1))  # what is locked stays zero
    row = int(np.argmax(run.energy[:, 0]))
    inertia = model.inertia(np.ascontiguousarray(run.q[row])) + armature
    # below this momentum a body counts as being at rest [N s]
    most = max(1e-6 * float(np.abs(inertia @ run.v[row]).max()), 1e-300)
    errors = np.zeros(len(states))
    for k, (q, v) in enumerate(zip(states.q, states.v, strict=True)):
        mass = model.inertia(np.ascontiguousarray(q)) + armature
        change = mass @ (v[1] - v[0]) - states.impulse[k] - states.correction[k]
        scale = max(np.abs(mass @ v.T).max(), most)
        errors[k] = np.abs(change[moving]).max(initial=0.0) / scale
    return errors


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


GAP, FORCE, PRODUCT, ENERGY = 1e-8, 1e-8, 1e-6, 1e-8
CONE = 1e-8
OVERLAP, STEPPED_OVERLAP = 1e-8, 1e-5
"""How deep solids may overlap [m], event-driven and with time steps."""
DEEPEST = "deepest overlap of solids"
TIME_STEPPING = "time_stepping"
SUNK = 1e-3
"""How deep a point may be in a ground that gives way, beyond what its force explains
[m]: with a viscous contact that is a little, as it leaves."""
RESIDUAL = 1e-4
"""By how much points may miss the law of a contact with such a ground [m/s]."""
COAT = 0.02
"""How much the energy of what a body wears may grow beyond the work of the body,
relative: an explicit step has it to the order of its period."""
HANDED_OVER = 0.5
"""Share of an event-driven run that time steps may have continued."""
FAILURES = "whole_body/failures"
"""Signal of whole-body control: calls without an answer so far."""
_BALANCE = ("energy_before [J]", "energy_after [J]", "work_of_impulses [J]")


@dataclass(frozen=True)
class Check:
    """All findings; true where none fails and there was something to look at."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing fails, and something could be looked at."""
        states = [finding.ok for finding in self.findings]
        return False not in states and True in states

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The findings that do not hold."""
        return tuple(f for f in self.findings if f.ok is False)

    @property
    def held(self) -> tuple[Finding, ...]:
        """The findings that hold."""
        return tuple(f for f in self.findings if f.ok)

    def __bool__(self) -> bool:
        return self.ok

    def __getitem__(self, name: str) -> Finding:
        return next(f for f in self.findings if f.name == name)

    def __str__(self) -> str:
        """A table: whether each holds, its worst, its limit, and where that was."""
        rows = [("", "what", "worst", "limit", "unit", "where")]
        rows += [
            (f.word, f.name, f.value_text, f.limit_text, f.unit, f.where)
            for f in self.findings
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        form = "{:<{}}  {:<{}}  {:>{}}  {:>{}}  {:<{}}  {:<{}}"
        pairs = (
            [x for pair in zip(row, widths, strict=True) for x in pair] for row in rows
        )
        return "\n".join(form.format(*pair).rstrip() for pair in pairs)


def check_run(run: Run) -> Check:
    """Examine every sample and every impact of a run.

    Energy is judged where the run says that nothing feeds energy in (``passive``), a
    fall where it says that the body stands (``stands``). The time-stepping method keeps
    gaps only up to its step: its limit is taken from the run's information. What could
    not be looked at is neither right nor wrong: its ``ok`` is None.

    A contact with restitution may have a force and a gap at the end of the time step in
    which it bounced: a gap that its speed explains
    (:mod:`~humans_sim.results.bounces`) does not count.

    On a ground that gives way, gaps are those to its deformed surface; a point may be
    below it by its force times the compliance of its contact, no deeper.
    """
    findings = []
    gap_limit = float(run.info.get("gap_tolerance", GAP))
    worst = _Worst(len(run.table))
    slides = np.isfinite(run.table.friction)
    friction = np.where(slides, run.table.friction, 0.0)
    soft, compliance = np.zeros(len(run.table), dtype=bool), 0.0
    if (surface := run.info.get("surface")) is not None:  # a ground that gives way
        own, compliance = f"/{surface['name']}", float(surface["compliance"])
        for k, name in enumerate(run.table.names):
            there = name == tag_of(name) or name.endswith(own)
            # Solids do not touch it: their contacts are never closed.
            there = there or bool(link_of(name, {}))
            soft[k] = run.table.kinds[k] == POINT and there
    for rows in row_blocks(run.gaps, run.forces):  # a long run lies on the disk
        gaps, forces = run.gaps[rows], run.forces[rows]
        if soft.any():
            sunk = -gaps - compliance * forces[:, :, 0]
            worst.add("sunk", rows.start, np.where(soft, sunk, -np.inf))
        product = np.abs(gaps * forces[:, :, 0])
        product[_bounced(run, rows, product)] = 0.0
        # Tangential force beyond the friction cone, relative above 1 N.
        over = np.hypot(forces[:, :, 1], forces[:, :, 2]) - friction * forces[:, :, 0]
        scale = np.maximum(1.0, np.abs(forces[:, :, 0]))
        worst.add("gap", rows.start, np.where(soft, -np.inf, -gaps))
        worst.add("force", rows.start, -forces[:, :, 0])
        worst.add("size", rows.start, np.abs(forces[:, :, 0]))
        worst.add("product", rows.start, np.where(soft, -np.inf, product))
        worst.add("cone", rows.start, np.where(slides, over, 0.0) / scale)
    limit = PRODUCT
    if gap_limit != GAP:
        limit = max(PRODUCT, gap_limit * max(1.0, worst["size"].value))
    looked_at = [
        ("gap", "least gap", -1.0, gap_limit, "m"),
        ("force", "least normal force", -1.0, FORCE, "N"),
        ("product", "largest gap x force", 1.0, limit, "N m"),
        ("cone", "largest force outside its cone", 1.0, CONE, "N"),
    ]
    if soft.any():
        looked_at.append(("sunk", "deepest in soft ground", -1.0, SUNK, "m"))
    for key, name, sign, bound, unit in looked_at:
        value, row, contact = worst[key]
        where, ok = "no contacts", None
        if value == -np.inf:
            value, where = 0.0, "soft ground alone: how deep is looked at"
        elif len(run.table):
            where = f"{run.table.names[contact]} at {run.t[row]:.6g} s"
            ok = value <= bound
        findings.append(Finding(name, sign * value, sign * bound, unit, where, ok))
    findings += _residual(run)
    findings += [_overlap(run), _energy(run), _impacts(run), *_fall(run)]
    findings += event_findings(run)
    findings += [*_handed_over(run), *_coat(run), *_control(run)]
    return Check(tuple(findings))


def _bounced(run: Run, rows: slice, product: np.ndarray) -> np.ndarray:
    """Contacts with a gap and a force that a bounce explains (n, nc)."""
    bounced = product > PRODUCT
    bounced &= (run.gaps[rows] > 0.0) & (run.forces[rows, :, 0] > 0.0)
    samples = np.flatnonzero(bounced.any(axis=1))
    if len(samples):
        gaps = explained_gaps(run, rows.start + samples)
        bounced[samples] &= run.gaps[rows][samples] <= gaps
    return bounced


def _residual(run: Run) -> list[Finding]:
    """By how much contacts with a ground that gives way missed their law."""
    surface = run.info.get("surface")
    if surface is None or "residual" not in surface:
        return []
    value, where = float(surface["residual"]), "worst of all samples of the ground"
    name = "residual of soft contacts"
    return [Finding.within(name, value, RESIDUAL, "m/s", where)]


def _overlap(run: Run) -> Finding:
    """Solids of links, bodies and ground that overlap, whatever touched in the run."""
    from humans_sim.results.overlaps import deepest_overlap

    stepped = run.info.get("method", TIME_STEPPING) == TIME_STEPPING
    limit = STEPPED_OVERLAP if stepped else OVERLAP
    if "surface" in run.info:
        where = "soft ground: its contacts are looked at"
        return Finding(DEEPEST, 0.0, limit, "m", where, None)
    try:
        deepest = deepest_overlap(run)
    except HumansError as error:
        return Finding(DEEPEST, 0.0, limit, "m", str(error), None)
    if deepest is None:
        return Finding(DEEPEST, 0.0, limit, "m", "nothing solid", None)
    where = f"{' and '.join(deepest.names) or 'nothing'} at {deepest.time:.6g} s"
    if deepest.left_out:
        where += f"; left out by the model's file: {deepest.left_out}"
    return Finding.within(DEEPEST, deepest.depth, limit, "m", where)


def _coat(run: Run) -> list[Finding]:
    """Of what a body wears: whether its samples stay bounded, and its energy."""
    coat = run.info.get("coat")
    if coat is None or "energy_growth" not in coat:
        return []
    share = float(coat["period"]) / float(coat["longest_period"])
    growth = float(coat["energy_growth"])
    where = ", ".join(str(name) for name in coat["pieces"])
    growing, unit = "coat: energy beyond the work of the body", "relative"
    return [
        Finding.within("coat: period over its bound", share, 1.0, unit, where),
        Finding.within(growing, growth, COAT, unit, where),
    ]


def _fall(run: Run) -> list[Finding]:
    """Of a body that is to stay on its feet: whether it does."""
    if not run.info.get("stands", False):
        return []
    name, limit = "stays on its feet: tilt of the base", math.degrees(FALL_TILT)
    try:
        fall = fall_of(run)
    except HumansError as error:
        return [Finding(name, 0.0, limit, "degrees", str(error), None)]
    tilt = math.degrees(fall.tilt)
    return [Finding(name, tilt, limit, "degrees", fall.where, not fall.fallen)]


def _control(run: Run) -> list[Finding]:
    """Of whole-body control: its calls that had no answer."""
    if FAILURES not in run.info.get("signal_names", ()):
        return []
    counts = np.nan_to_num(run.signal(FAILURES))
    count, where = float(counts.max(initial=0.0)), "every call had torques"
    if count:
        where = f"first at {run.t[int(np.argmax(counts > 0))]:.6g} s"
    name = "calls of whole-body control without torques"
    return [Finding.within(name, count, 0.0, "calls", where)]


class _Extreme(NamedTuple):
    """The largest of many values, where it is."""

    value: float
    row: int
    contact: int


class _Worst:
    """The largest values so far, by name; NaN is larger than any number."""

    def __init__(self, contacts: int) -> None:
        self._contacts = contacts
        self._extremes: dict[str, _Extreme] = {}

    def __getitem__(self, name: str) -> _Extreme:
        return self._extremes.get(name, _Extreme(0.0, 0, 0))

    def add(self, name: str, start: int, values: np.ndarray) -> None:
        """Look at the values of all contacts, from a row on."""
        if not self._contacts:
            return
        place = int(np.argmax(values))  # of the first NaN, where there is one
        row, contact = divmod(place, self._contacts)
        value = float(values[row, contact])
        before = self._extremes.get(name)
        if before is None or not (value <= before.value or np.isnan(before.value)):
            self._extremes[name] = _Extreme(value, start + row, contact)


def _energy(run: Run) -> Finding:
    name = "largest growth of energy"
    limit = float(run.info.get("energy_tolerance", ENERGY))
    if not run.info.get("passive", False):
        where = "actuated: energy comes from outside"
        return Finding(name, 0.0, limit, "relative", where, None)
    total = run.energy.sum(axis=1)
    kinetic, potential = run.energy.T
    scale = max(
        float(kinetic.max()),
        float(np.ptp(potential)),
        1e-3 * float(np.abs(potential).max()),
        1e-300,
    )
    growth = np.maximum.accumulate(total[::-1])[::-1] - total
    row = int(np.argmax(growth))
    worst = float(growth[row]) / scale
    where = f"after {run.t[row]:.6g} s"
    return Finding(name, worst, limit, "relative", where, worst <= limit)


def _impacts(run: Run) -> Finding:
    worst, where, count = 0.0, "no impacts", 0
    for event in run.events:
        if event.kind != IMPACT or not event.detail.keys() >= set(_BALANCE):
            continue
        count += 1
        before, after, work = (float(event.detail[name]) for name in _BALANCE)
        error = abs(after - before - work) / max(before, after, 1e-300)
        if error >= worst:
            worst, where = error, f"at {event.time:.6g} s"
    name = "impact energy minus work of impulses"
    ok = worst <= ENERGY if count else None
    return Finding(name, worst, ENERGY, "relative", where, ok)


def _handed_over(run: Run) -> list[Finding]:
    """How much of an event-driven run is not, but for solids that touch."""
    times = [
        event
        for event in run.events
        if event.kind == HAND_OVER
        and DURATION in event.detail
        and event.detail.get("text") != SOLIDS
    ]
    if not times:
        return []
    longest = max(times, key=lambda event: float(event.detail[DURATION]))
    share = sum(float(event.detail[DURATION]) for event in times)
    share /= max(float(run.t[-1] - run.t[0]), 1e-300)
    where = f"{len(times)} times, longest to {longest.time:.6g} s"
    name = "share of time steps in an event-driven run"
    return [Finding.within(name, share, HANDED_OVER, "of its time", where)]


FALL_TILT = math.radians(35.0)
"""Tilt of the base from the vertical beyond which a body has fallen [rad]."""
LOW = 0.5
"""Height of the base above the ground below which it has fallen, in that at first."""
ANKLE = 0.25
"""Joints whose distance to that of a foot is less, in lengths of the sole, are its
ankle: a part between them that touches is no fall."""


class Fall(NamedTuple):
    """How near to a fall a run came.

    Attributes:
        tilt: of the base, the largest, from its tilt at the start [rad].
        where: when that was, or how it fell.
        fallen: whether it did.
    """

    tilt: float
    where: str
    fallen: bool


def fall_of(run: Run) -> Fall:
    """Whether a biped fell: it tilted, its base sank, or its body touched the ground.

    The body is what of it touches beside its tags, on links without tags that touch.
    Its base is low above the ground at the start, or below it where that is lower.
    """
    ground, up = recorded_ground(run.info), _upwards(run.q[:1])[0]
    floor = np.nan_to_num(ground_heights(ground, run.q[0, :2]))
    height = run.q[0, 2] - floor
    # Links that carry soles: what of them touches is no fall.
    touching = {tag_of(name) for name in run.table.names}
    feet = _feet(recorded_model(run.info), touching)
    free = {str(body["name"]) for body in run.info.get("bodies", ())}
    # Links of further robots, on the ground or against this one.
    others = tuple(f"{robot['name']}/" for robot in run.info.get("robots", ()))
    columns = [
        k
        for k, (name, kind) in enumerate(
            zip(run.table.names, run.table.kinds, strict=True)
        )
        if kind == POINT
        and not name.startswith(others)
        and link_of(name, run.info) not in {*feet, *free, ""}
        and surface_of(name) not in free
    ]
    tilt, when = 0.0, float(run.t[0])
    for rows in row_blocks(run.q, run.contacts):
        angle = np.arccos(np.clip(_upwards(run.q[rows]) @ up, -1.0, 1.0))
        k = int(np.argmax(angle))
        if angle[k] > tilt:
            tilt, when = float(angle[k]), float(run.t[rows.start + k])
        floors = np.fmin(ground_heights(ground, run.q[rows, :2]), floor)
        low = np.flatnonzero(run.q[rows, 2] - floors < LOW * height)
        touch = np.argwhere(run.contacts[rows][:, columns] != 0)
        if len(touch):
            time = run.t[rows.start + touch[0, 0]]
            name = run.table.names[columns[touch[0, 1]]]
            return Fall(tilt, f"{name} touched at {time:.6g} s", True)
        if len(low):
            time = run.t[rows.start + low[0]]
            return Fall(tilt, f"the base was low at {time:.6g} s", True)
    return Fall(tilt, f"base at {when:.6g} s", tilt > FALL_TILT)


def _feet(model: Model, touching: Set[str]) -> set[str]:
    """Links with tags that touch, those that carry soles, and those of ankles."""
    tags = [tag for tag in model.parts.tags if tag.name in touching]
    feet = {tag.link for tag in tags}
    tree, joints = model.pin, set()
    for sole in model.soles:
        corners = corner_places(model, sole)
        near = ANKLE * float(np.linalg.norm(np.ptp(corners, axis=0)))
        joint = int(tree.frames[frame_index(tree, sole.name)].parentJoint)
        joints.add(joint)
        while joint > 1 and _length(tree.jointPlacements[joint]) < near:
            joint = int(tree.parents[joint])
            joints.add(joint)
    feet |= {shape.link for shape in collision_shapes(model) if shape.joint in joints}
    return feet


def _length(placement: pin.SE3) -> float:
    return float(np.linalg.norm(placement.translation))


def _upwards(q: np.ndarray) -> np.ndarray:
    """The base's own vertical in the world (n, 3)."""
    x, y, z, w = q[:, 3:7].T
    return np.column_stack(
        [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    )
