# SPDX-License-Identifier: Apache-2.0
"""The summary of a walk as lines for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.analysis.summary_row import Row

if TYPE_CHECKING:
    from humans_sim.analysis.gait import WalkSummary

_NEAR = 0.9
"""Share of a limit above which a joint is named."""
_NAMED = 6
"""Joints named at most."""


def summary_rows(summary: WalkSummary) -> list[Row]:
    """The lines, in sections; what a run does not show is left out."""
    sections = {"result": _result(summary)}
    if summary.steps:
        sections["steps"] = _steps(summary)
    if summary.on_feet:
        sections |= {"path": _path(summary), "balance": _balance(summary)}
    sections["drive"] = _drive(summary)
    return [
        Row(section, name, value)
        for section, lines in sections.items()
        for name, value in lines.items()
        if value and "nan" not in value
    ]


def _result(s: WalkSummary) -> dict[str, str]:
    fell = f"at {s.fall_time:.2f} s" if s.fallen else "no"
    return {
        "model": s.model,
        "time simulated": f"{s.duration:.2f} s",
        "fell": fell if s.on_feet else "",
        "failure": s.failure,
    }


def _steps(s: WalkSummary) -> dict[str, str]:
    left = sum(step.side > 0 for step in s.steps)
    walk = s.steps[-1].landing - s.steps[0].lift_off
    support = f"{100 * s.single_support:.0f} %, {100 * s.double_support:.0f} %"
    return {
        "steps": f"{len(s.steps)} ({left} left, {len(s.steps) - left} right)",
        "first lift-off to last landing": f"{walk:.2f} s",
        "step length": _spread(1e3 * s.step_values("length"), "mm"),
        "step width": _spread(1e3 * s.step_values("width"), "mm"),
        "step duration": _spread(s.step_values("duration"), "s", 3),
        "foot clearance": _spread(1e3 * s.step_values("clearance"), "mm"),
        "single, double support": support,
    }


def _path(s: WalkSummary) -> dict[str, str]:
    return {
        "distance": f"{s.distance:.4f} m",
        "path length": f"{s.path_length:.4f} m",
        "speed": f"{s.speed:.4f} m/s",
        "ahead, to the left": f"{_number(s.forward, 4)} m, {_number(s.sideways, 4)} m",
        "drift to the left": f"{_number(1e3 * s.drift, 1)} mm a metre",
        "turned to the left": f"{_number(math.degrees(s.heading_change), 2)}°",
    }


def _balance(s: WalkSummary) -> dict[str, str]:
    slip = _spread(1e3 * s.step_values("slip"), "mm", 2) if s.steps else ""
    margin = f"least {_mm(s.zmp_margin)}, median {_mm(s.zmp_median)}"
    return {
        "largest tilt of the base": f"{math.degrees(s.largest_tilt):.2f}°",
        "ZMP to the edge of the support": margin,
        "time with the ZMP on an edge": f"{100 * s.zmp_on_edge:.0f} %",
        "largest load on a sole": f"{s.largest_load:.4g} N",
        "slip of a foot in one stance": slip,
        "largest slip": f"{1e3 * s.largest_slip:.2f} mm",
        "least gap": f"{s.least_gap:.2e} m",
    }


def _drive(s: WalkSummary) -> dict[str, str]:
    bound = [
        (_limit_share(j.low, j.high, j.lower_limit, j.upper_limit), j.name)
        for j in s.joints
    ]
    torque = [(_share(j.torque, j.torque_limit), j.name) for j in s.joints]
    speed = [(_share(j.speed, j.speed_limit), j.name) for j in s.joints]
    work = s.work_done > 0 or s.work_taken > 0
    coarse = "" if math.isfinite(s.work_done) else "n/a: the samples are too coarse"
    transport = f"{s.cost_of_transport:.3g}" if s.steps and work else ""
    return {
        "work done by the joints": f"{s.work_done:.3g} J" if work else coarse,
        "work taken by the joints": f"{s.work_taken:.3g} J" if work else "",
        "cost of transport": transport,
        "torque nearest its limit": _largest(torque),
        "speed nearest its limit": _largest(speed),
        "angle nearest its limit": _largest(bound),
    }


def _number(value: float, digits: int) -> str:
    """A number, without a minus before zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _mm(length: float) -> str:
    return f"{_number(1e3 * length, 2)} mm"


def _spread(values: np.ndarray, unit: str, digits: int = 1) -> str:
    """Median and range of what is known."""
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    if len(values) == 1:
        return f"{values[0]:.{digits}f} {unit}"
    return (
        f"{np.median(values):.{digits}f} {unit} "
        f"({values.min():.{digits}f} to {values.max():.{digits}f})"
    )


def _share(value: float, limit: float) -> float:
    return value / limit if 0 < limit < math.inf else 0.0


def _limit_share(low: float, high: float, lower: float, upper: float) -> float:
    """How near a range comes to its limits: 0 in the middle, 1 at one of them."""
    half, middle = (upper - lower) / 2, (upper + lower) / 2
    return _share(max(abs(low - middle), abs(high - middle)), half)


def _largest(shares: list[tuple[float, str]]) -> str:
    """The joint that is nearest its limit, or all that are near it."""
    near = sorted((s for s in shares if s[0] >= _NEAR), reverse=True)
    if not near:
        share, name = max(shares, default=(0.0, ""))
        return f"{100 * share:.0f} % ({name})" if share > 0 else ""
    names = ", ".join(name for _, name in near[:_NAMED])
    more = f" and {len(near) - _NAMED} more" if len(near) > _NAMED else ""
    return f"{100 * near[0][0]:.0f} % ({names}{more})"
