# SPDX-License-Identifier: Apache-2.0
"""Is a run physically right? Gaps, forces, friction, shapes, energy, impacts, falls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from humans_sim.core.errors import HumansError
from humans_sim.core.row_blocks import row_blocks
from humans_sim.models.soles import tag_of
from humans_sim.results.contact_table import POINT
from humans_sim.results.event_check import event_findings
from humans_sim.results.event_details import DURATION
from humans_sim.results.events import HAND_OVER, IMPACT
from humans_sim.results.finding import Finding

if TYPE_CHECKING:
    from humans_sim.results.run import Run

GAP, FORCE, PRODUCT, ENERGY = 1e-8, 1e-8, 1e-6, 1e-8
CONE = 1e-8
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


def check_run(run: Run) -> Check:
    """Examine every sample and every impact of a run.

    Energy is judged where the run says that nothing feeds energy in (``passive``), a
    fall where it says that the body stands (``stands``). The time-stepping method keeps
    gaps only up to its step: its limit is taken from the run's information. What could
    not be looked at is neither right nor wrong: its ``ok`` is None.

    On a ground that gives way, gaps are those to its deformed surface; a point may be
    below it by its force times the compliance of its contact, no deeper.
    """
    findings = []
    gap_limit = float(run.info.get("gap_tolerance", GAP))
    worst = _Worst(len(run.table))
    soft, compliance = _soft_contacts(run)
    for rows in row_blocks(run.gaps, run.forces):  # a long run lies on the disk
        gaps, forces = run.gaps[rows], run.forces[rows]
        if soft.any():
            sunk = -gaps - compliance * forces[:, :, 0]
            worst.add("sunk", rows.start, np.where(soft, sunk, -np.inf))
        product = np.abs(gaps * forces[:, :, 0])
        worst.add("gap", rows.start, np.where(soft, -np.inf, -gaps))
        worst.add("force", rows.start, -forces[:, :, 0])
        worst.add("size", rows.start, np.abs(forces[:, :, 0]))
        worst.add("product", rows.start, np.where(soft, -np.inf, product))
        worst.add("cone", rows.start, _outside(run.table.friction, forces))
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
    findings += [_shapes(run), _energy(run), _impacts(run), *_fall(run)]
    findings += event_findings(run)
    findings += [*_handed_over(run), *_coat(run), *_control(run)]
    return Check(tuple(findings))


def _soft_contacts(run: Run) -> tuple[np.ndarray, float]:
    """Which contacts are with a ground that gives way (nc,), compliance [m/N]."""
    surface = run.info.get("surface")
    if surface is None:
        return np.zeros(len(run.table), dtype=bool), 0.0
    own = f"/{surface['name']}"
    rows = zip(run.table.names, run.table.kinds, strict=True)
    soft = [
        kind == POINT and (name == tag_of(name) or name.endswith(own))
        for name, kind in rows
    ]
    return np.array(soft, dtype=bool), float(surface["compliance"])


def _residual(run: Run) -> list[Finding]:
    """By how much contacts with a ground that gives way missed their law."""
    surface = run.info.get("surface")
    if surface is None or "residual" not in surface:
        return []
    value, name = float(surface["residual"]), "residual of soft contacts"
    where = "worst of all samples of the ground"
    return [Finding(name, value, RESIDUAL, "m/s", where, value <= RESIDUAL)]


def _shapes(run: Run) -> Finding:
    """What is drawn of a biped, against what it stands on."""
    from humans_sim.results.drawn_shapes import TOLERANCE, deepest_shape
    from humans_sim.results.export import has_free_base

    name = "deepest shape below the ground"
    where = "no biped alone"
    if "surface" in run.info:
        where = "soft ground: its contacts are looked at"
    elif has_free_base(run) and "bodies" not in run.info:
        try:
            deepest = deepest_shape(run)
        except HumansError as error:
            return Finding(name, 0.0, -TOLERANCE, "m", str(error), None)
        where = "nothing drawn or nothing to stand on"
        if deepest is not None:
            where = f"{deepest.link} at {deepest.time:.6g} s"
            ok = deepest.depth <= deepest.tolerance
            return Finding(
                name, -deepest.depth, -deepest.tolerance, "m", where, bool(ok)
            )
    return Finding(name, 0.0, -TOLERANCE, "m", where, None)


def _coat(run: Run) -> list[Finding]:
    """Of what a body wears: whether its samples stay bounded, and its energy."""
    coat = run.info.get("coat")
    if coat is None or "energy_growth" not in coat:
        return []
    share = float(coat["period"]) / float(coat["longest_period"])
    growth = float(coat["energy_growth"])
    where = ", ".join(str(name) for name in coat["pieces"])
    return [
        Finding(
            "coat: period over its bound", share, 1.0, "relative", where, share <= 1.0
        ),
        Finding(
            "coat: energy beyond the work of the body",
            growth,
            COAT,
            "relative",
            where,
            growth <= COAT,
        ),
    ]


def _fall(run: Run) -> list[Finding]:
    """Of a body that is to stay on its feet: whether it does."""
    if not run.info.get("stands", False):
        return []
    from humans_sim.results.staying_up import FALL_TILT, fall_of

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
    return [Finding(name, count, 0.0, "calls", where, count == 0)]


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


def _outside(friction: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Tangential force beyond the friction cone, relative above 1 N."""
    along = np.hypot(forces[:, :, 1], forces[:, :, 2])
    bound = np.where(np.isfinite(friction), friction, 0.0) * forces[:, :, 0]
    over = np.where(np.isfinite(friction), along - bound, 0.0)
    return over / np.maximum(1.0, np.abs(forces[:, :, 0]))


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
    """How much of an event-driven run is not event-driven."""
    times = [e for e in run.events if e.kind == HAND_OVER and DURATION in e.detail]
    if not times:
        return []
    longest = max(times, key=lambda event: float(event.detail[DURATION]))
    share = sum(float(event.detail[DURATION]) for event in times)
    share /= max(float(run.t[-1] - run.t[0]), 1e-300)
    where = f"{len(times)} times, longest to {longest.time:.6g} s"
    return [
        Finding(
            "share of time steps in an event-driven run",
            share,
            HANDED_OVER,
            "of its time",
            where,
            share <= HANDED_OVER,
        )
    ]
