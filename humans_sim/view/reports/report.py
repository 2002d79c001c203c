# SPDX-License-Identifier: Apache-2.0
"""A run as one page: what happened, whether it is physically right, pictures, a film.

The page is one file that needs nothing else: no server, no network.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.analysis.gait import WalkSummary
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.core.errors import HumansError
from humans_sim.core.files import write_atomically
from humans_sim.core.version import __version__
from humans_sim.results.export import has_free_base
from humans_sim.results.run import Run
from humans_sim.view.plots.run_plots import plot_run
from humans_sim.view.plots.walk_plots import walk_figures
from humans_sim.view.reports.report_parts import (
    cards,
    image,
    page,
    picture,
    report_path,
    table,
)

LONGEST_FILM = 8.0
"""A film shows at most so much of a run [s]."""
HEAVIEST_PAGE = 5_000_000
"""A moving scene with more characters than this is left out."""
_VERDICTS = {"walked": "good", "stood": "good", "floated": "plain"}


def write_report(
    run: Run,
    path: Path | str,
    title: str = "",
    extra: Mapping[str, Any] | None = None,
    animation: bool = True,
) -> WalkSummary | None:
    """Write the report of a run.

    Args:
        run: any run; of a biped, the page shows how it walked.
        path: the file, ``.html``.
        title: heading of the page; that of the model by default.
        extra: what else the page shows, by name.
        animation: whether the page has a film and a scene to turn; they take most of
            the time.

    Returns:
        The summary of a biped's run; None for other systems.

    Raises:
        ParameterError: the path ends in something else.
        RunFileError: the run does not fit its model, or has no sample to look at.
        UnknownModelError: its model is no longer there.
    """
    path = report_path(path)
    motion = RunMotion.of_run(run) if has_free_base(run) else None
    summary = None if motion is None else WalkSummary.of_motion(motion)
    name = str(run.info.get("system", "run"))
    heading = title or (name if motion is None else motion.model.title)
    parts = [f"<h1>{html.escape(heading)}</h1>", _headline(run, summary)]
    if extra:
        parts.append(table("", (), [(k, v) for k, v in extra.items()]))
    if summary is not None:
        parts.append(_summary(summary))
    parts.append(_checks(run))
    if motion is not None and summary is not None:
        if animation:
            parts.append(_film(motion, summary))
        for caption, figure in walk_figures(motion, summary).items():
            parts.append(picture(caption, figure))
        parts += [_steps(summary), _joints(summary)]
        if animation:
            parts.append(_scene(motion))
    else:
        parts.append(picture("Over time", plot_run(run)))
    parts += [_events(run), _made(run, motion)]
    write_atomically(path, page(heading, parts))
    return summary


def _headline(run: Run, summary: WalkSummary | None) -> str:
    check = run.check()
    wrong = sum(not finding.ok for finding in check.findings)
    physics = "every physical check holds"
    if wrong:
        word = "does" if wrong == 1 else "do"
        physics = f"{wrong} of {len(check.findings)} physical checks {word} not hold"
    if summary is None:
        span = float(run.t[-1] - run.t[0])
        kind, text = "plain", f"Simulated for {span:.3g} s"
    else:
        kind, text = _VERDICTS.get(summary.verdict, "bad"), summary.headline
    failure = "" if summary is None else summary.failure
    lines = [f'<p class="verdict {kind}">{html.escape(text)}</p>']
    if failure:
        lines.append(f'<p class="note bad">{html.escape(failure)}</p>')
    mark = "bad" if wrong else "good"
    lines.append(f'<p class="note {mark}">{physics}</p>')
    return "\n".join(lines)


def _summary(summary: WalkSummary) -> str:
    sections: dict[str, list[tuple[str, str]]] = {}
    for row in summary.rows():
        sections.setdefault(row.section, []).append((row.name, row.value))
    return f"<h2>Summary</h2>\n{cards(sections)}"


def _checks(run: Run) -> str:
    rows = [
        (
            "ok" if finding.ok else "no",
            finding.name,
            f"{finding.value:.2e}",
            f"{finding.limit:.0e}",
            finding.unit,
            finding.where,
        )
        for finding in run.check().findings
    ]
    columns = ("", "what", "worst", "limit", "unit", "where")
    return "<h2>Is it physically right?</h2>\n" + table("checks", columns, rows)


def _film(motion: RunMotion, summary: WalkSummary) -> str:
    from humans_sim.view.browser.replay import Replay
    from humans_sim.view.film.pictures import film

    shown = _excerpt(motion.run, summary)
    try:
        content = film(Replay(shown, motion.model))
    except HumansError as error:
        return f'<h2>Film</h2>\n<p class="note">None: {html.escape(str(error))}</p>'
    text = f"from {shown.t[0]:.2f} s to {shown.t[-1]:.2f} s, seen from the right"
    return f"<h2>Film</h2>\n{image(content, 'gif', 'film')}<p>{text}</p>"


def _excerpt(run: Run, summary: WalkSummary) -> Run:
    """The part of a run that a film shows: around the fall, or its middle."""
    t = run.t
    if t[-1] - t[0] <= LONGEST_FILM:
        return run
    end = (t[0] + t[-1] + LONGEST_FILM) / 2
    if summary.fallen:
        end = min(max(summary.fall_time + 1.0, t[0] + LONGEST_FILM), t[-1])
    first = int(np.searchsorted(t, end - LONGEST_FILM))
    return run[first : int(np.searchsorted(t, end, side="right"))]


def _scene(motion: RunMotion) -> str:
    """The run as a scene to turn; a heavy one is left out, and the page says so."""
    from humans_sim.view.browser.page import page_of
    from humans_sim.view.browser.replay import Replay

    try:
        text = page_of(Replay(motion.run, motion.model))
    except HumansError as error:
        return f'<p class="note">No scene to turn: {html.escape(str(error))}</p>'
    if len(text) > HEAVIEST_PAGE:
        return (
            '<p class="note">The run is too long for a scene to turn in this page; '
            "<code>humans_sim.animate(run, 'run.html')</code> writes one.</p>"
        )
    return (
        "<h2>Scene</h2>\n<details><summary>turn it, and play it in real time"
        '</summary>\n<iframe loading="lazy" title="the run in three dimensions" '
        f'srcdoc="{html.escape(text)}"></iframe></details>'
    )


def _steps(summary: WalkSummary) -> str:
    if not summary.steps:
        return ""
    rows = [
        (
            str(number),
            step.side.name.lower(),
            f"{step.lift_off:.3f}",
            f"{step.landing:.3f}",
            "" if math.isnan(step.duration) else f"{step.duration:.3f}",
            f"{step.footprint.x:.4f}",
            f"{step.footprint.y:.4f}",
            f"{math.degrees(step.footprint.yaw):.2f}",
            f"{1e3 * step.length:.1f}",
            f"{1e3 * step.width:.1f}",
            f"{1e3 * step.clearance:.1f}",
            f"{1e3 * step.slip:.2f}",
        )
        for number, step in enumerate(summary.steps, 1)
    ]
    columns = (
        "step",
        "foot",
        "lift-off [s]",
        "landing [s]",
        "duration [s]",
        "x [m]",
        "y [m]",
        "heading [°]",
        "length [mm]",
        "width [mm]",
        "clearance [mm]",
        "slip [mm]",
    )
    content = table("numbers", columns, rows)
    return f"<h2>Steps</h2>\n<details><summary>all steps</summary>{content}</details>"


def _joints(summary: WalkSummary) -> str:
    rows = [
        (
            joint.name,
            f"{_degrees(joint.low)} to {_degrees(joint.high)}",
            f"{math.degrees(joint.lower_limit):.0f} to "
            f"{math.degrees(joint.upper_limit):.0f}",
            f"{joint.torque:.3g}",
            f"{joint.torque_limit:.3g}",
            f"{joint.speed:.3g}",
            f"{joint.speed_limit:.3g}",
        )
        for joint in summary.joints
    ]
    columns = (
        "joint",
        "angles [°]",
        "limits [°]",
        "torque [N m]",
        "limit",
        "speed [rad/s]",
        "limit",
    )
    caption = "ranges, largest torques and speeds at the samples, and the limits"
    content = table("numbers", columns, rows)
    return f"<h2>Joints</h2>\n<details><summary>{caption}</summary>{content}</details>"


def _degrees(angle: float) -> str:
    """An angle, without a minus before zero."""
    return f"{round(math.degrees(angle), 1) + 0.0:.1f}"


def _events(run: Run) -> str:
    counts = Counter(event.kind for event in run.events)
    if not counts:
        return ""
    times = {kind: [e.time for e in run.events if e.kind == kind] for kind in counts}
    rows = [
        (kind, str(count), f"{min(times[kind]):.6g}", f"{max(times[kind]):.6g}")
        for kind, count in counts.most_common()
    ]
    columns = ("kind", "number", "first [s]", "last [s]")
    return "<h2>Events</h2>\n" + table("numbers", columns, rows)


def _made(run: Run, motion: RunMotion | None) -> str:
    info = run.info
    friction = run.table.friction[run.table.tangents > 0]
    rows = [
        ("software", f"humans_sim {__version__}"),
        ("system", str(info.get("system", ""))),
        ("model", "" if motion is None else motion.model.title),
        ("mass", "" if motion is None else f"{motion.model.mass:.3f} kg"),
        ("method", str(info.get("method", "")).replace("_", " ")),
        ("friction", ", ".join(f"{value:g}" for value in np.unique(friction))),
        ("samples", f"{len(run.t)}, {run.t[0]:.4g} s to {run.t[-1]:.4g} s"),
    ]
    options = info.get("options")
    if isinstance(options, Mapping):
        text = ", ".join(f"{key} {value}" for key, value in options.items())
        rows.append(("options", text))
    rows = [row for row in rows if row[1]]
    return "<h2>How it was made</h2>\n" + table("", (), rows)
