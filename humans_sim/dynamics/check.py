"""Is a run physically right? Gaps, forces, friction, energy, impacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.dynamics.events import IMPACT

if TYPE_CHECKING:
    from humans_sim.dynamics.run import Run

GAP, FORCE, PRODUCT, ENERGY = 1e-8, 1e-8, 1e-6, 1e-8
CONE = 1e-8


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what.
        value: the worst that was found.
        limit: what it may be.
        unit: of both.
        where: time and contact of the worst.
        ok: whether it holds.
    """

    name: str
    value: float
    limit: float
    unit: str
    where: str
    ok: bool


@dataclass(frozen=True)
class Check:
    """All findings; true where every one of them holds."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return all(finding.ok for finding in self.findings)

    def __bool__(self) -> bool:
        return self.ok

    def __getitem__(self, name: str) -> Finding:
        return next(f for f in self.findings if f.name == name)


def check_run(run: Run) -> Check:
    """Examine every sample and every impact of a run.

    Energy is judged where the run says that nothing feeds energy in (``passive``). The
    time-stepping method keeps gaps only up to its step: its limit is taken from the
    run's information.
    """
    findings = []
    normal = run.forces[:, :, 0]
    gap_limit = float(run.info.get("gap_tolerance", GAP))
    findings.append(_least(run, "least gap", run.gaps, -gap_limit, "m"))
    findings.append(_least(run, "least normal force", normal, -FORCE, "N"))
    product = np.abs(run.gaps * normal)
    limit = max(PRODUCT, gap_limit * float(np.abs(normal).max(initial=1.0)))
    if gap_limit == GAP:
        limit = PRODUCT
    findings.append(_most(run, "largest gap x force", product, limit, "N m"))
    findings.append(
        _most(run, "largest force outside its cone", _outside(run), CONE, "N")
    )
    findings += _energy(run)
    findings += _impacts(run)
    return Check(tuple(findings))


def _outside(run: Run) -> np.ndarray:
    """Tangential force beyond what friction bears, relative above 1 N."""
    along = np.hypot(run.forces[:, :, 1], run.forces[:, :, 2])
    friction = run.table.friction
    bound = np.where(np.isfinite(friction), friction, 0.0) * run.forces[:, :, 0]
    over = np.where(np.isfinite(friction), along - bound, 0.0)
    return over / np.maximum(1.0, np.abs(run.forces[:, :, 0]))


def _where(run: Run, row: int, contact: int) -> str:
    return f"{run.table.names[contact]} at {run.t[row]:.6g} s"


def _least(run: Run, name: str, values: np.ndarray, limit: float, unit: str) -> Finding:
    if values.size == 0:
        return Finding(name, 0.0, limit, unit, "no contacts", True)
    row, contact = np.unravel_index(np.argmin(values), values.shape)
    worst = float(values[row, contact])
    where = _where(run, int(row), int(contact))
    return Finding(name, worst, limit, unit, where, worst >= limit)


def _most(run: Run, name: str, values: np.ndarray, limit: float, unit: str) -> Finding:
    found = _least(run, name, -values, -limit, unit)
    return Finding(name, -found.value, limit, unit, found.where, found.ok)


def _energy(run: Run) -> list[Finding]:
    if not run.info.get("passive", False):
        return []
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
    limit = float(run.info.get("energy_tolerance", ENERGY))
    name = "largest growth of energy"
    where = f"after {run.t[row]:.6g} s"
    return [Finding(name, worst, limit, "relative", where, worst <= limit)]


def _impacts(run: Run) -> list[Finding]:
    worst, where, count = 0.0, "no impacts", 0
    for event in run.events:
        if event.kind != IMPACT or "energy_before [J]" not in event.detail:
            continue
        count += 1
        before = float(event.detail["energy_before [J]"])
        after = float(event.detail["energy_after [J]"])
        work = float(event.detail["work_of_impulses [J]"])
        error = abs(after - before - work) / max(before, after, 1e-300)
        if error >= worst:
            worst, where = error, f"at {event.time:.6g} s"
    if count == 0:
        return []
    name = "impact energy minus work of impulses"
    return [Finding(name, worst, ENERGY, "relative", where, worst <= ENERGY)]
