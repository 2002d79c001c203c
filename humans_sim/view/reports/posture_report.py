# SPDX-License-Identifier: Apache-2.0
"""A reconstruction as one page: how well it fits, pictures, a film to turn.

The page is one file that needs nothing else: no server, no network.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.analysis.strides import find_strides
from humans_sim.core.files import write_atomically
from humans_sim.core.version import __version__
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.view.plots.posture_plots import Dynamics, posture_figures, worst_moments
from humans_sim.view.reports.report_parts import (
    cards,
    page,
    picture,
    report_path,
    table,
)
from humans_sim.view.reports.stick_figure import stick_figure

GOOD_FIT, BAD_FIT = 0.02, 0.04
"""Rms distances up to which a fit is good, and above which it is bad [m]."""
FAILED = 0.05
"""Share of frames without a minimum above which a fit is bad."""
_WORST = 8


def write_posture_report(
    result: Reconstruction,
    path: Path | str,
    title: str = "",
    extra: Mapping[str, Any] | None = None,
    dynamics: Dynamics | None = None,
    animation: bool = True,
) -> Path:
    """Write the report of a reconstruction.

    Args:
        result: the reconstruction.
        path: the file, ``.html``.
        title: heading of the page; the marker file by default.
        extra: what else the page shows, by name.
        dynamics: torques and ground reaction of the motion, to be shown too.
        animation: whether the page has a stick figure to play and turn.

    Returns:
        The path.

    Raises:
        ParameterError: the path ends in something else.
    """
    path = report_path(path)
    source = result.trial.source
    heading = title or (result.model.title if source is None else source.name)
    strides = find_strides(result.model, result.t, result.q)
    parts = [f"<h1>{html.escape(heading)}</h1>", *_headline(result)]
    if extra:
        parts.append(table("", (), list(extra.items())))
    parts.append(f"<h2>Summary</h2>\n{cards(_summary(result))}")
    if animation:
        parts.append(f"<h2>Stick figure</h2>\n{stick_figure(result)}")
    figures = posture_figures(result, strides, dynamics)
    parts += [picture(caption, figure) for caption, figure in figures.items()]
    parts += [_frames(result), _markers(result), _made(result)]
    write_atomically(path, page(heading, parts))
    return path


def _headline(result: Reconstruction) -> list[str]:
    failed = 1.0 - float(np.mean(result.converged))
    kind = "good" if result.rms <= GOOD_FIT else "plain"
    if not result.rms <= BAD_FIT or failed > FAILED:
        kind = "bad"
    text = f"{_mm(result.rms)} mm rms over {_count(len(result.names), 'marker')}"
    lines = [f'<p class="verdict {kind}">{text}</p>']
    if failed > 0:
        number = int((~np.asarray(result.converged, bool)).sum())
        lines.append(
            f'<p class="note bad">{_count(number, "frame")} ended at no minimum</p>'
        )
    if result.unobservable:
        names = html.escape(", ".join(result.unobservable))
        lines.append(f'<p class="note">No marker sees {names}: kept near rest</p>')
    return lines


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


def _frames(result: Reconstruction) -> str:
    rows = []
    for row in worst_moments(result, _WORST):
        used = np.where(result.used[row], result.residuals[row], -1.0)
        marker = int(np.argmax(used))
        rows.append(
            (
                str(result.trial.frames[row]),
                f"{result.t[row]:.3f}",
                _mm(result.frame_rms[row]),
                result.names[marker],
                _mm(used[marker]),
                str(int(result.used[row].sum())),
            )
        )
    columns = ("frame", "time [s]", "rms [mm]", "worst marker", "its [mm]", "used")
    if not rows:
        return ""
    note = '<p class="note">Of frames close to each other only the worst.</p>'
    return f"<h2>Worst frames</h2>\n{note}" + table("numbers", columns, rows)


def _markers(result: Reconstruction) -> str:
    used = np.where(result.used, result.residuals, -1.0).max(axis=0)
    rms, means = result.marker_rms, result.marker_means
    lost, rejected = result.occluded, result.status == MarkerStatus.REJECTED
    rows = [
        (
            name,
            _mm(rms[k]),
            _mm(means[k]),
            _mm(used[k] if used[k] >= 0 else np.nan),
            _share(lost[:, k]),
            _share(rejected[:, k]),
        )
        for k, name in enumerate(result.names)
    ]
    columns = (
        "marker",
        "rms [mm]",
        "mean [mm]",
        "largest [mm]",
        "occluded",
        "rejected",
    )
    note = (
        '<p class="note">Distances are those of frames in which a marker holds the '
        "posture; interpolated samples count as occluded.</p>"
    )
    return "<h2>Markers</h2>\n" + note + table("numbers", columns, rows)


def _made(result: Reconstruction) -> str:
    model, source = result.model, result.trial.source
    rows = [
        ("software", f"humans_sim {__version__}"),
        ("file", "" if source is None else source.name),
        ("model", model.title),
        ("mass", f"{model.mass:.1f} kg"),
    ]
    return "<h2>How it was made</h2>\n" + table("", (), [r for r in rows if r[1]])


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
