# SPDX-License-Identifier: Apache-2.0
"""The table of a sweep: a row for each run, as CSV or Parquet."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any

from humans_sim.analysis.gait import WalkSummary
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.analysis.summary import FALL, Incident, motion_incidents
from humans_sim.core.errors import HumansError, MissingDependencyError, ParameterError
from humans_sim.core.files import atomic_stream, write_atomically
from humans_sim.results.export import has_free_base
from humans_sim.results.run import Run

FINISHED, FELL, STOPPED, ERROR = "finished", "fell", "stopped", "error"
"""Outcomes; stopped: the simulation could not continue; error: it could not begin."""
_NUMBER = (int, float, NoneType)
COLUMNS: dict[str, Any] = {
    "outcome": str,
    "end_time": _NUMBER,
    "fall_time": _NUMBER,
    "joint": str,
    "message": str,
    "steps": _NUMBER,
    "distance": _NUMBER,
    "speed": _NUMBER,
    "heading_deg": _NUMBER,
    "drift": _NUMBER,
    "slip_mm": _NUMBER,
    "cost_of_transport": _NUMBER,
    "largest_tilt_deg": _NUMBER,
    "check": str,
    "wall_time": _NUMBER,
    "cpu_time": _NUMBER,
}
"""Columns beside the varied values and the seed, with the types of their values."""
METRICS = (
    "success",
    *(key for key, kind in COLUMNS.items() if kind is _NUMBER and key != "cpu_time"),
)
"""What a plot can show; success: share of the runs that finished."""


def run_row(run: Run, failure: HumansError | None) -> dict[str, Any]:
    """The row of a run, maybe stopped by a failure; numbers it cannot give are None."""
    row = empty_row(FINISHED if failure is None else STOPPED, "")
    row["end_time"] = _number(run.t[-1])
    if failure is not None:
        row["message"] = one_line(failure)
    checked = run.check()
    if any(finding.ok is not None for finding in checked.findings):
        row["check"] = "clean" if checked else "not clean"
    if has_free_base(run) and "bodies" not in run.info:
        row |= _walk(run, row)
    return row


def empty_row(outcome: str, message: str) -> dict[str, Any]:
    """A row without numbers."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    return {**row, "outcome": outcome, "message": message, "joint": "", "check": "n/a"}


def one_line(error: Exception) -> str:
    """The message of an error, without breaks."""
    return " ".join(str(error).split())


def _walk(run: Run, row: dict[str, Any]) -> dict[str, Any]:
    try:
        motion = RunMotion.of_run(run)
    except HumansError as error:
        return {"message": row["message"] or one_line(error)}
    summary, incidents = WalkSummary.of_motion(motion), motion_incidents(motion)
    reported = _told(incidents)
    numbers = {
        "fall_time": _number(summary.fall_time),
        "steps": len(summary.steps),
        "distance": _number(summary.distance),
        "speed": _number(summary.speed),
        "heading_deg": _number(math.degrees(summary.heading_change)),
        "drift": _number(summary.drift),
        "slip_mm": _number(1e3 * summary.largest_slip),
        "cost_of_transport": _number(summary.cost_of_transport),
        "largest_tilt_deg": _number(math.degrees(summary.largest_tilt)),
        "joint": next((i.joint for i in reported if i.joint), ""),
    }
    if summary.fallen:
        numbers["outcome"] = FELL
    if reported and not row["message"]:
        numbers["message"] = "; ".join(incident.text for incident in reported)
    return numbers


def _told(incidents: tuple[Incident, ...]) -> list[Incident]:
    """The fall, and the joint that was most at its torque limit, or the first limit."""
    falls = [incident for incident in incidents if incident.kind == FALL]
    joints = [incident for incident in incidents if incident.joint]
    weak = [incident for incident in joints if math.isfinite(incident.share)]
    worst = max(weak, key=lambda i: i.share, default=None) or next(iter(joints), None)
    return falls if worst is None else [*falls, worst]


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


CSV, PARQUET = ".csv", ".parquet"
SUFFIXES = (CSV, PARQUET)
"""Endings of tables."""


def check_table(path: Path) -> None:
    """Refuse a table that cannot be written here: another ending, or no pyarrow."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ParameterError(f"'{path}': a table is .csv or .parquet")
    if suffix == PARQUET:
        _pyarrow()


def write_table(rows: Sequence[Mapping[str, Any]], path: Path | str) -> Path:
    """Write rows with equal keys, whole or not at all; None is an empty field."""
    path = Path(path)
    check_table(path)
    if path.suffix.lower() == PARQUET:
        arrow, parquet = _pyarrow()
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        with atomic_stream(path) as stream:
            parquet.write_table(arrow.table(columns), stream)
        return path
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _field(value) for key, value in row.items()} for row in rows)
    write_atomically(path, text.getvalue())
    return path


def _field(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else value


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingDependencyError(
            "a Parquet file needs pyarrow: pip install 'humans-sim[tables]', or give "
            "a file .csv"
        ) from None
