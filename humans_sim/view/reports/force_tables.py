# SPDX-License-Identifier: Apache-2.0
"""Tables of the forces of a motion: mass, agreement with plates, residual, peaks."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from humans_sim.analysis.force_comparison import ForceComparison, residual_summary
from humans_sim.analysis.inverse_dynamics import InverseDynamics
from humans_sim.analysis.peak_moments import peak_moments
from humans_sim.view.reports.report_parts import Table, numbers

_LEAST = 0.1
"""Joints with smaller peaks are left out [N m/kg]."""


def force_tables(
    dynamics: InverseDynamics,
    comparison: ForceComparison | None = None,
    unseen: Collection[str] = (),
) -> dict[str, Table]:
    """Tables by their headings.

    Args:
        dynamics: forces of the motion.
        comparison: of these with plates.
        unseen: joints that no marker sees, which are left out.
    """
    left = residual_summary(dynamics)
    rows = [
        ("mass", f"{dynamics.mass:.1f} kg"),
        ("frames that plates cover", f"{100 * dynamics.measured.mean():.0f} %"),
        ("residual force x, y, z, rms", _percents(left.force_rms, "body weight")),
        ("residual force, largest", _percents([left.force_max], "body weight")),
        (
            "residual moment x, y, z, rms",
            _percents(left.moment_rms, "body weight times stature"),
        ),
    ]
    if dynamics.shift.any():
        largest = 1e3 * np.abs(dynamics.shift).max()
        rows.append(("largest shift for a smaller residual", f"{largest:.1f} mm"))
    if comparison is not None:
        vertical = comparison.vertical
        rows.append(
            (
                "vertical force, markers alone against plates",
                f"r {vertical.correlation:.3f}, "
                + _percents([vertical.rms], "body weight rms"),
            )
        )
    tables = {"Forces": Table(rows)}
    peaks = [
        {
            "joint": peak.joint,
            "largest [N m/kg]": f"{peak.high:.2f}",
            "at [s]": f"{peak.high_time:.2f}",
            "smallest [N m/kg]": f"{peak.low:.2f}",
            "at  [s]": f"{peak.low_time:.2f}",
        }
        for peak in peak_moments(dynamics, unseen)
        if max(peak.high, -peak.low) >= _LEAST
    ]
    if peaks:
        tables["Largest joint moments"] = numbers(peaks)
    return tables


def _percents(values: Collection[float] | np.ndarray, unit: str) -> str:
    if not np.isfinite(np.asarray(values)).all():
        return "–"
    return ", ".join(f"{100 * value:.1f}" for value in values) + f" % of {unit}"
