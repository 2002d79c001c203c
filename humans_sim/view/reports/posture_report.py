# SPDX-License-Identifier: Apache-2.0
"""A reconstruction as one page: how well it fits, pictures, a film to turn.

The page is one file that needs nothing else: no server, no network.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.analysis.force_comparison import ForceComparison
from humans_sim.analysis.inverse_dynamics import InverseDynamics
from humans_sim.analysis.strides import find_strides
from humans_sim.core.files import write_atomically
from humans_sim.core.version import __version__
from humans_sim.models.conventions import HUMANS
from humans_sim.observation.posture.forces_csv import Forces
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.observation.posture.verdict import DOUBTFUL, FAILED, GOOD
from humans_sim.view.html_templates import render
from humans_sim.view.plots.posture_plots import (
    largest_of_markers,
    posture_figures,
    worst_moments,
)
from humans_sim.view.reports.force_tables import force_tables
from humans_sim.view.reports.report_parts import (
    Note,
    Table,
    extra_table,
    figure_urls,
    numbers,
    report_path,
)
from humans_sim.view.reports.stick_figure import LEGEND, stick_figure_data

_KINDS = {GOOD: "good", DOUBTFUL: "plain", FAILED: "bad"}
_WORST = 8


def write_posture_report(
    result: Reconstruction,
    path: Path | str,
    title: str = "",
    extra: Mapping[str, Any] | None = None,
    dynamics: Forces | None = None,
    comparison: ForceComparison | None = None,
    animation: bool = True,
    convention: str | Path = HUMANS,
) -> Path:
    """Write the report of a reconstruction.

    Args:
        result: the reconstruction.
        path: the file, ``.html``.
        title: heading of the page; the marker file by default.
        extra: what else the page shows, by name.
        dynamics: torques and ground reaction of the motion, to be shown too.
        comparison: of these with force plates, to be shown too.
        animation: whether the page has a stick figure to play and turn.
        convention: of the joint angles that are shown.

    Returns:
        The path.

    Raises:
        ParameterError: the path ends in something else.
    """
    path = report_path(path)
    source = result.trial.source
    heading = title or (result.model.title if source is None else source.name)
    strides = find_strides(result.model, result.t, result.q)
    verdict, *notes = _notes(result)
    summary = {name: Table(rows) for name, rows in _summary(result).items()}
    if isinstance(dynamics, InverseDynamics):
        summary |= force_tables(dynamics, comparison, result.unobservable)
        notes += [Note("", note) for note in dynamics.notes]
    text = render(
        "posture_report",
        title=heading,
        verdict=verdict,
        notes=notes,
        extra=extra_table(extra),
        summary=summary,
        stick_figure=stick_figure_data(result) if animation else None,
        legend=LEGEND,
        figures=figure_urls(
            posture_figures(result, strides, dynamics, comparison, convention)
        ),
        frames=_frames(result),
        markers=_markers(result),
        provenance=_provenance(result),
    )
    write_atomically(path, text)
    return path


def _notes(result: Reconstruction) -> list[Note]:
    """The verdict, then what else is to be known first."""
    verdict = result.verdict
    fit = f"{_mm(result.rms)} mm rms over {_count(len(result.names), 'marker')}"
    notes = [Note(_KINDS[verdict.grade], f"{verdict.grade}: {fit}")]
    for reason in verdict.reasons:
        notes.append(Note("bad", f"{reason[0].upper()}{reason[1:]}"))
    number = int((~np.asarray(result.converged, bool)).sum())
    if number:
        notes.append(Note("", f"{_count(number, 'frame')} ended at no minimum"))
    if result.unobservable:
        names = ", ".join(result.unobservable)
        notes.append(Note("", f"No marker sees {names}: kept near rest"))
    return notes


def _summary(result: Reconstruction) -> dict[str, list[tuple[str, str]]]:
    trial, status = result.trial, result.status
    frame_rms = result.frame_rms[np.isfinite(result.frame_rms)]
    means = result.marker_means
    known = np.flatnonzero(np.isfinite(means))
    worst = known[np.argmax(means[known])] if len(known) else None
    duration = float(trial.times[-1] - trial.times[0])
    unused = np.flatnonzero(~result.used.any(axis=0))
    never = [result.names[k] for k in unused]
    recording = [
        ("frames", str(len(trial))),
        ("rate", "" if len(trial) < 2 else f"{trial.rate:.4g} Hz"),
        ("duration", f"{duration:.2f} s"),
        ("markers", str(len(result.names))),
        ("mode", result.mode),
    ]
    fit = [
        ("rms of all markers", f"{_mm(result.rms)} mm"),
        ("median of the frames", f"{_mm(np.median(frame_rms))} mm")
        if len(frame_rms)
        else ("", ""),
        ("worst frame", _worst_frame(result)),
        (
            "worst marker",
            ""
            if worst is None
            else f"{result.names[worst]}, mean {_mm(means[worst])} mm",
        ),
    ]
    filled = trial.filled & (status != MarkerStatus.OCCLUDED)
    missing = [
        ("not seen", _share(status == MarkerStatus.OCCLUDED)),
        ("interpolated", _share(filled)),
        ("rejected", _share(status == MarkerStatus.REJECTED)),
        ("never used", ", ".join(never)),
        ("joints no marker sees", ", ".join(result.unobservable) or "none"),
    ]
    converged = int(np.asarray(result.converged, bool).sum())
    times = np.asarray(result.solve_times)
    solver = [
        ("frames at a minimum", f"{converged} of {len(trial)}"),
        ("iterations a frame", f"{np.mean(result.iterations):.1f}"),
        ("time a frame, median", f"{1e3 * np.median(times):.3g} ms"),
        ("time a frame, largest", f"{1e3 * np.max(times):.3g} ms"),
    ]
    sections = {
        "Recording": recording,
        "Fit": fit,
        "Missing": missing,
        "Solver": solver,
    }
    return {name: [row for row in rows if row[1]] for name, rows in sections.items()}


def _worst_frame(result: Reconstruction) -> str:
    row = result.worst_frames(1)[0]
    value = result.frame_rms[row]
    if not np.isfinite(value):
        return ""
    return (
        f"{_mm(value)} mm at {result.t[row]:.2f} s (frame {result.trial.frames[row]})"
    )


def _frames(result: Reconstruction) -> Table:
    records = []
    for row in worst_moments(result, _WORST):
        distances = np.linalg.norm(result.differences[row], axis=1)
        used = np.where(result.used[row], distances, -1.0)
        marker = int(np.argmax(used))
        records.append(
            {
                "frame": str(result.trial.frames[row]),
                "time [s]": f"{result.t[row]:.3f}",
                "rms [mm]": _mm(result.frame_rms[row]),
                "worst marker": result.names[marker],
                "its [mm]": _mm(used[marker]),
                "used": str(int(result.used[row].sum())),
            }
        )
    return numbers(records)


def _markers(result: Reconstruction) -> Table:
    largest = largest_of_markers(result)
    rms, means = result.marker_rms, result.marker_means
    lost, rejected = result.occluded, result.status == MarkerStatus.REJECTED
    return numbers(
        [
            {
                "marker": name,
                "rms [mm]": _mm(rms[k]),
                "mean [mm]": _mm(means[k]),
                "largest [mm]": _mm(largest[k]),
                "occluded": _share(lost[:, k]),
                "rejected": _share(rejected[:, k]),
            }
            for k, name in enumerate(result.names)
        ]
    )


def _provenance(result: Reconstruction) -> Table:
    model, source = result.model, result.trial.source
    rows = [
        ("software", f"humans_sim {__version__}"),
        ("file", "" if source is None else source.name),
        ("model", model.title),
        ("mass", f"{model.mass:.1f} kg"),
    ]
    return Table([row for row in rows if row[1]])


def _mm(distance: float) -> str:
    return "–" if not np.isfinite(distance) else f"{1e3 * distance:.1f}"


def _share(which: np.ndarray) -> str:
    """A share of samples; what is not quite nothing does not look like it."""
    share = 100.0 * float(np.mean(which))
    if 0 < share < 0.1:
        return "< 0.1 %"
    return f"{share:.1f} %"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
