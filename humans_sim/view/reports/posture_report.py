# SPDX-License-Identifier: Apache-2.0
"""A reconstruction as one page: its fit, pictures, a film to turn.

The page is one file that needs nothing else: no server, no network.

Tables of forces: mass, agreement with plates, residual, peaks.

*Film*: a stick figure that plays in a page. Segments are lines between joints; measured
markers are dots, with a line to where the model has them. Positions are packed into 16
bits each.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.analysis.footfalls import find_strides
from humans_sim.analysis.force_comparison import (
    ForceComparison,
    peak_moments,
    residual_summary,
)
from humans_sim.analysis.inverse_dynamics import InverseDynamics
from humans_sim.core.files import write_atomically
from humans_sim.core.version import __version__
from humans_sim.models.conventions import HUMANS
from humans_sim.models.model import Model
from humans_sim.models.points import PointSet
from humans_sim.observation.posture.export import Forces
from humans_sim.observation.posture.result import (
    DOUBTFUL,
    FAILED,
    GOOD,
    MarkerStatus,
    Reconstruction,
)
from humans_sim.view.html_templates import render
from humans_sim.view.plots.posture_plots import (
    largest_of_markers,
    posture_figures,
    worst_moments,
)
from humans_sim.view.reports.report import (
    Note,
    Table,
    extra_table,
    figure_urls,
    numbers,
    report_path,
)

_LEAST = 0.1
"""Joints with smaller peaks are left out [N m/kg]."""


def force_tables(
    dynamics: InverseDynamics,
    comparison: ForceComparison | None = None,
    unseen: Collection[str] = (),
) -> dict[str, Table]:
    """Tables by their headings; joints that no marker sees are left out."""
    left = residual_summary(dynamics)
    rows = [
        ("mass", f"{dynamics.mass:.1f} kg"),
        ("frames that plates cover", f"{100 * dynamics.measured.mean():.0f} %"),
        ("residual force x, y, z, rms", _percents(left.force_rms, "body weight")),
        ("residual force, largest", _percents([left.force_max], "body weight")),
    ]
    stature = "body weight times stature"
    rows.append(("residual moment x, y, z, rms", _percents(left.moment_rms, stature)))
    if dynamics.shift.any():
        largest = 1e3 * np.abs(dynamics.shift).max()
        rows.append(("largest shift for a smaller residual", f"{largest:.1f} mm"))
    if comparison is not None:
        share = _percents([comparison.vertical.rms], "body weight rms")
        text = f"r {comparison.vertical.correlation:.3f}, {share}"
        rows.append(("vertical force, markers alone against plates", text))
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


MOST_FRAMES = 1200
"""Frames of a film at most; of a longer trial it shows every second, third, ..."""
REACH = 3.0
"""Markers further than this from all of the body are not drawn [m]."""
LEGEND = {
    "left": "#1f77b4",
    "right": "#ff7f0e",
    "marker, measured": "#0a7d5a",
    "interpolated": "#8a63c9",
    "rejected": "#d62728",
    "line to where the model has it": "#e377c2",
}
"""Colours of what is drawn, by name; those of ``stick_figure.js``."""
_APART = 1e-3
"""Joints closer than this are one point [m]."""
_EMPTY = -32768
_FULL = 32767


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Points of a model, and the lines between them.

    Attributes:
        points: joints, then the tags at the ends of the limbs.
        lines: pairs of points, and 1 for left, 2 for right, 0 for the middle.
        head: the line that is drawn as a head, or -1.
    """

    points: PointSet
    lines: tuple[tuple[int, int, int], ...]
    head: int

    @classmethod
    def of(cls, model: Model) -> Skeleton:
        """Lines from each joint to the next, and from the last to the tags there."""
        tree = model.pin
        data = model.data()
        pin.forwardKinematics(tree, data, model.neutral())
        places = [data.oMi[j].translation for j in range(tree.njoints)]
        # joints of one ball or saddle lie in one point
        first = list(range(tree.njoints))
        for j in range(2, tree.njoints):
            parent = tree.parents[j]
            if np.linalg.norm(places[j] - places[parent]) < _APART:
                first[j] = first[parent]
        joints = sorted(set(first[1:]))
        number = {joint: place for place, joint in enumerate(joints)}
        local = [np.zeros(3)] * len(joints)
        lines = [
            (number[first[tree.parents[j]]], number[j], _side(tree.names[j]))
            for j in joints
            if j >= 2
        ]
        carriers = list(joints)
        head = -1
        tags = model.tag_points(model.tag_names)
        for j in range(2, tree.njoints):
            if len(tree.children[j]):
                continue
            own = np.flatnonzero(np.array(tags.joints)[tags.row] == j)
            side, start = _side(tree.names[j]), len(carriers)
            carriers += [j] * len(own)
            local += [tags.local[k] for k in own]
            new = list(range(start, start + len(own)))
            if tree.names[j].startswith("head") and new:
                top = max(new, key=lambda k: float(local[k][2]))
                head = len(lines)
                new = [top]
            lines += [(number[first[j]], k, side) for k in new]
            lines += [(a, b, side) for a, b in _outline(new, local)]
        points = PointSet(tree, carriers, np.array(local))
        return cls(points, tuple(lines), head)

    def positions(self, model: Model, q: np.ndarray) -> np.ndarray:
        """Of the points (n, p, 3) [m]."""
        data = model.data()
        places = np.empty((len(q), self.points.size, 3))
        for row, configuration in enumerate(q):
            pin.forwardKinematics(model.pin, data, configuration)
            places[row] = self.points.positions(data)
        return places


def stick_figure_data(result: Reconstruction) -> dict[str, object]:
    """Data of the script in the template ``stick_figure``, small."""
    rows = np.arange(0, len(result.t), -(-len(result.t) // MOST_FRAMES))
    skeleton = Skeleton.of(result.model)
    body = skeleton.positions(result.model, result.q[rows])
    markers = result.trial.positions[rows].copy()
    low, high = body.min(axis=(0, 1)) - REACH, body.max(axis=(0, 1)) + REACH
    with np.errstate(invalid="ignore"):
        outside = ((markers < low) | (markers > high)).any(axis=2)
    markers[outside] = np.nan
    middle = (low + high) / 2
    step = float(np.max(high - low)) / 2 / _FULL
    differences = np.where(np.isnan(markers), np.nan, result.differences[rows])
    largest = np.nanmax(np.abs(differences)) if np.isfinite(differences).any() else 0.0
    status = result.status[rows].astype(np.uint8)
    fine = max(float(largest) / _FULL, 1e-9)
    return {
        "t": [round(float(t), 4) for t in result.t[rows]],
        "frames": [int(frame) for frame in result.trial.frames[rows]],
        "rms": [
            round(1e3 * float(v), 2) for v in np.nan_to_num(result.frame_rms[rows])
        ],
        "names": list(result.names),
        "lines": skeleton.lines,
        "head": skeleton.head,
        "middle": [float(x) for x in middle],
        "step": step,
        "fine": fine,
        "body": _base64((body - middle) / step),
        "markers": _base64((markers - middle) / step),
        "differences": _base64(differences / fine),
        "status": base64.b64encode(status.tobytes()).decode("ascii"),
    }


def _base64(values: np.ndarray) -> str:
    """Whole numbers of 16 bits; what is not there is the smallest."""
    rounded = np.clip(np.rint(values), -_FULL, _FULL)
    whole = np.where(np.isnan(values), _EMPTY, rounded)
    return base64.b64encode(whole.astype("<i2").tobytes()).decode("ascii")


def _side(name: str) -> int:
    return {"l_": 1, "r_": 2}.get(name[:2], 0)


def _outline(points: list[int], local: list[np.ndarray]) -> list[tuple[int, int]]:
    """A loop around three points or more, as seen from above."""
    if len(points) < 3:
        return []
    flat = np.array([local[k][:2] for k in points])
    angles = np.arctan2(*(flat - flat.mean(axis=0)).T[::-1])
    order = [points[k] for k in np.argsort(angles)]
    return list(zip(order, order[1:] + order[:1], strict=True))


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

    Raises:
        ParameterError: the path ends in something else.
    """
    path = report_path(path)
    source = result.trial.source
    heading = title or (result.model.title if source is None else source.name)
    strides = find_strides(result.model, result.t, result.q)
    figures = posture_figures(result, strides, dynamics, comparison, convention)
    verdict, *notes = _notes(result)
    summary = _summary(result)
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
        figures=figure_urls(figures),
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


def _summary(result: Reconstruction) -> dict[str, Table]:
    trial, status = result.trial, result.status
    frame_rms = result.frame_rms[np.isfinite(result.frame_rms)]
    means = result.marker_means
    known = np.flatnonzero(np.isfinite(means))
    worst_marker = ""
    if len(known):
        worst = known[np.argmax(means[known])]
        worst_marker = f"{result.names[worst]}, mean {_mm(means[worst])} mm"
    row, worst_frame = result.worst_frames(1)[0], ""
    if np.isfinite(result.frame_rms[row]):
        worst_frame = f"{_mm(result.frame_rms[row])} mm at {result.t[row]:.2f} s"
        worst_frame += f" (frame {trial.frames[row]})"
    duration = float(trial.times[-1] - trial.times[0])
    never = [result.names[k] for k in np.flatnonzero(~result.used.any(axis=0))]
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
        ("worst frame", worst_frame),
        ("worst marker", worst_marker),
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
    sections = {"Recording": recording, "Fit": fit, "Missing": missing}
    sections["Solver"] = solver
    return {name: Table([r for r in rows if r[1]]) for name, rows in sections.items()}


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
        {
            "marker": name,
            "rms [mm]": _mm(rms[k]),
            "mean [mm]": _mm(means[k]),
            "largest [mm]": _mm(largest[k]),
            "occluded": _share(lost[:, k]),
            "rejected": _share(rejected[:, k]),
        }
        for k, name in enumerate(result.names)
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
