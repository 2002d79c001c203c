# SPDX-License-Identifier: Apache-2.0
"""A run as one page: events, physical check, pictures, a film.

The page is one file that needs nothing else: no server, no network.

Templates are given tables, verdicts and figures.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from humans_sim.analysis.gait import WalkSummary
from humans_sim.analysis.run_motion import RunMotion
from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.files import write_atomically
from humans_sim.core.version import __version__
from humans_sim.models import Model
from humans_sim.results.check import Check
from humans_sim.results.export import has_free_base
from humans_sim.results.run import Run
from humans_sim.view.html_templates import render
from humans_sim.view.plots.run_plots import plot_run
from humans_sim.view.plots.walk_plots import walk_figures

_DPI = 110


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Attributes:
        columns: the names above; none by default.
        kind: ``numbers`` (right-aligned), ``checks`` (outcomes first), or neither.
    """

    rows: Sequence[Sequence[Any]]
    columns: Sequence[str] = ()
    kind: str = ""


def numbers(records: Iterable[Mapping[str, str]]) -> Table:
    """A table of numbers whose records all have the same columns, by name."""
    rows = list(records)
    columns = list(rows[0]) if rows else []
    return Table([list(record.values()) for record in rows], columns, "numbers")


class Note(NamedTuple):
    """A sentence of a page.

    Attributes:
        kind: ``good``, ``bad`` or ``plain``: its colour.
    """

    kind: str
    text: str


def report_path(path: Path | str) -> Path:
    """The path of a report.

    Raises:
        ParameterError: it does not end in ``.html``.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"a report is written to .html, not to '{path.name}'")
    return path


def extra_table(extra: Mapping[str, Any] | None) -> Table | None:
    """The table of what else a page shows, by name."""
    return Table(list(extra.items())) if extra else None


def figure_urls(figures: Mapping[str, Figure]) -> dict[str, str]:
    """Figures as images within the page, by their captions."""
    urls, left = {}, dict(figures)
    while left:  # a figure that is drawn is no longer needed
        caption = next(iter(left))
        figure = left.pop(caption)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=_DPI)
        urls[caption] = image_url(stream.getvalue(), "png")
    return urls


def image_url(content: bytes, kind: str) -> str:
    """An image within the page, ``kind`` as in its media type."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def picture_part(content: Callable[[], bytes], kind: str, text: str) -> dict[str, str]:
    """A film or a picture with its text; where there can be none, the reason."""
    try:
        return {"url": image_url(content(), kind), "text": text}
    except HumansError as error:
        return {"url": "", "text": f"None: {error}"}


def scene_part(run: Run | WristRun, model: Model | None = None) -> dict[str, str]:
    """A run as a scene to turn; a heavy one is left out, and the page says so."""
    from humans_sim.view.browser.page import page_of

    try:
        text = page_of(run, model)
    except HumansError as error:
        return {"page": "", "failure": str(error)}
    return {"page": text if len(text) <= HEAVIEST_PAGE else "", "failure": ""}


FILM_PIXELS = 960
"""Height of a film, or its width where that is larger [pixels]."""
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
    values: dict[str, Any] = {
        "title": heading,
        "verdict": _verdict(run, summary),
        "failure": "" if summary is None else summary.failure,
        "physics": physics_note(run.check()),
        "extra": extra_table(extra),
        "checks": check_table(run.check()),
        **dict.fromkeys(("summary", "film", "steps", "joints", "scene")),
        "footprints": _footprints(run),
        "events": _events(run),
        "provenance": _provenance(run, motion),
    }
    if motion is None or summary is None:
        figures = {"Over time": plot_run(run)}
    else:
        figures = walk_figures(motion, summary)
        values |= {"steps": _steps(summary), "joints": _joints(summary)}
        values["summary"] = _summary(summary)
        if animation:
            shown, text = _excerpt(motion.run, summary), ", seen from the right"
            film = film_part(shown, text, motion.model, pixels=FILM_PIXELS)
            values["film"] = film
            values["scene"] = scene_part(motion.run, motion.model)
    text = render("run_report", figures=figure_urls(figures), **values)
    write_atomically(path, text)
    return summary


def _verdict(run: Run, summary: WalkSummary | None) -> Note:
    if summary is None:
        return Note("plain", f"Simulated for {float(run.t[-1] - run.t[0]):.3g} s")
    return Note(_VERDICTS.get(summary.verdict, "bad"), summary.headline)


def physics_note(checked: Check) -> Note:
    """Whether a run is physically right, as a sentence."""
    wrong, looked = len(checked.failed), len(checked.failed) + len(checked.held)
    if not looked:
        return Note("plain", "no physical check could be made")
    if not wrong:
        return Note("good", "every physical check that could be made holds")
    word = "does" if wrong == 1 else "do"
    return Note("bad", f"{wrong} of {looked} physical checks {word} not hold")


def _summary(summary: WalkSummary) -> dict[str, Table]:
    sections: dict[str, list[tuple[str, str]]] = {}
    for row in summary.rows():
        sections.setdefault(row.section, []).append((row.name, row.value))
    return {name: Table(rows) for name, rows in sections.items()}


def check_table(checked: Check) -> Table:
    """The findings of a check."""
    rows = [
        (f.word, f.name, f.value_text, f.limit_text, f.unit, f.where)
        for f in checked.findings
    ]
    return Table(rows, ("", "what", "worst", "limit", "unit", "where"), "checks")


def film_part(
    shown: Run, text: str = "", model: Model | None = None, **options: int
) -> dict[str, str]:
    """A film of a biped's run, with its times; options are those of its painter."""
    from humans_sim.view.browser.replay import Replay
    from humans_sim.view.film.film import film
    from humans_sim.view.film.pictures import BipedPainter

    return picture_part(
        lambda: film(BipedPainter(Replay(shown, model), **options)),
        "gif",
        f"from {shown.t[0]:.2f} s to {shown.t[-1]:.2f} s{text}",
    )


def _footprints(run: Run) -> dict[str, str] | None:
    """Footprints in a ground that gives way; None where it is rigid."""
    if not (run.info.get("surface") or {}).get("history"):
        return None
    from humans_sim.soft.ground.footprints import ground_history
    from humans_sim.view.film.pictures import GroundFromAbove

    end = float(run.t[-1])
    text = f"the ground at {end:.2f} s from above, x to the right"
    return picture_part(
        lambda: GroundFromAbove(ground_history(run)).png(end), "png", text
    )


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


def _steps(summary: WalkSummary) -> Table:
    return numbers(
        {
            "step": str(number),
            "foot": step.side.name.lower(),
            "lift-off [s]": f"{step.lift_off:.3f}",
            "landing [s]": f"{step.landing:.3f}",
            "duration [s]": f"{step.duration:.3f}".replace("nan", ""),
            "x [m]": f"{step.footprint.x:.4f}",
            "y [m]": f"{step.footprint.y:.4f}",
            "heading [°]": f"{math.degrees(step.footprint.yaw):.2f}",
            "length [mm]": f"{1e3 * step.length:.1f}",
            "width [mm]": f"{1e3 * step.width:.1f}",
            "clearance [mm]": f"{1e3 * step.clearance:.1f}",
            "slip [mm]": f"{1e3 * step.slip:.2f}",
        }
        for number, step in enumerate(summary.steps, 1)
    )


def _joints(summary: WalkSummary) -> Table:
    return numbers(
        {
            "joint": joint.name,
            "angles [°]": f"{_degrees(joint.low)} to {_degrees(joint.high)}",
            "limits [°]": f"{math.degrees(joint.lower_limit):.0f} to "
            f"{math.degrees(joint.upper_limit):.0f}",
            "torque [N m]": f"{joint.torque:.3g}",
            "torque limit [N m]": f"{joint.torque_limit:.3g}",
            "speed [rad/s]": f"{joint.speed:.3g}",
            "speed limit [rad/s]": f"{joint.speed_limit:.3g}",
        }
        for joint in summary.joints
    )


def _degrees(angle: float) -> str:
    """An angle, without a minus before zero."""
    return f"{round(math.degrees(angle), 1) + 0.0:.1f}"


def _events(run: Run) -> Table:
    times: dict[str, list[float]] = {}
    for event in run.events:
        times.setdefault(event.kind, []).append(event.time)
    return numbers(
        {
            "kind": kind,
            "number": str(len(own)),
            "first [s]": f"{min(own):.6g}",
            "last [s]": f"{max(own):.6g}",
        }
        for kind, own in sorted(times.items(), key=lambda item: -len(item[1]))
    )


def _provenance(run: Run, motion: RunMotion | None) -> Table:
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
    return Table([row for row in rows if row[1]])
