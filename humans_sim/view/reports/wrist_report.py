# SPDX-License-Identifier: Apache-2.0
"""A wrist's motion as one page: how bones moved, whether it is right, a film."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.anatomy.wrist.plausibility import CARPALS, plausibility
from humans_sim.anatomy.wrist.wrist_run import WristRun
from humans_sim.core.files import write_atomically
from humans_sim.core.version import __version__
from humans_sim.view.html_templates import render
from humans_sim.view.plots.wrist_plots import plot_wrist
from humans_sim.view.reports.report import HEAVIEST_PAGE, check_table, physics_note
from humans_sim.view.reports.report_parts import (
    Note,
    Table,
    figure_urls,
    image_url,
    report_path,
)


def write_wrist_report(
    run: WristRun, path: Path | str, title: str = "", animation: bool = True
) -> None:
    """Write the report of a wrist's motion.

    Args:
        run: the motion.
        path: the file, ``.html``.
        title: heading of the page; that of the wrist by default.
        animation: whether the page has a film and a scene to turn.

    Raises:
        ParameterError: the path ends in something else.
    """
    path = report_path(path)
    checked = run.check()
    angle = np.degrees(run.angles[-1])
    values: dict[str, Any] = {
        "title": title or f"{run.wrist.title}: {run.motion.kind}",
        "verdict": Note("plain", f"{run.motion.kind} by {angle:.0f} degrees"),
        "failure": "",
        "physics": physics_note(checked),
        "extra": _plausible(run),
        "summary": None,
        "checks": check_table(checked),
        "film": _film(run) if animation else None,
        "footprints": None,
        "steps": None,
        "joints": None,
        "scene": _scene(run) if animation else None,
        "events": Table([]),
        "provenance": _provenance(run),
    }
    figures = figure_urls({"Bones, ligaments and contacts": plot_wrist(run)})
    write_atomically(path, render("run_report", figures=figures, **values))


def _plausible(run: WristRun) -> Table:
    if not CARPALS <= set(run.wrist.names):
        return Table([("plausibility", "n/a: not all carpal bones are there")])
    report = plausibility(run)
    turns = ", ".join(f"{k} {np.degrees(v):.0f}°" for k, v in report.turns.items())
    coherent = {True: "yes", False: "no"}
    coupling = "n/a" if np.isnan(report.coupling) else f"{report.coupling:.2f}"
    return Table(
        [
            ("turned about the hand's axis", turns),
            ("lunate from radius, at most", f"{np.degrees(report.lunate_tilt):.0f}°"),
            ("capitate from hand, at most", f"{np.degrees(report.capitate_tilt):.0f}°"),
            ("first row turns together", coherent[report.proximal_coherent]),
            ("second row turns together", coherent[report.distal_coherent]),
            ("turn of the lunate over the scaphoid's", coupling),
            ("scaphoid and lunate part by", f"{1e3 * report.scapho_lunate_gap:.2f} mm"),
            ("bones that left", ", ".join(report.left) or "none"),
            ("compared with a person", "no: nothing here was validated"),
        ]
    )


def _film(run: WristRun) -> dict[str, str]:
    from humans_sim.view.film.wrist_pictures import wrist_film

    return {"url": image_url(wrist_film(run), "gif"), "text": "slower than it was"}


def _scene(run: WristRun) -> dict[str, str]:
    from humans_sim.view.browser.wrist_page import wrist_page

    text = wrist_page(run)
    return {"page": text if len(text) <= HEAVIEST_PAGE else "", "failure": ""}


def _provenance(run: WristRun) -> Table:
    wrist, numbers = run.wrist, run.numbers
    rows = [
        ("software", f"humans_sim {__version__}"),
        ("bones", f"{len(wrist.bones)}{', synthetic' if wrist.synthetic else ''}"),
        ("balls", str(sum(len(bone.model) for bone in wrist.bones))),
        ("ligaments", str(len(wrist.ligaments))),
        ("method", run.method),
        ("steps", f"{len(run.steps)}, {1e3 * float(run.steps.min()):.3g} ms and more"),
        ("computed in", f"{run.wall:.1f} s"),
    ]
    if numbers is not None:
        rows.append(
            ("friction, viscosity", f"{numbers.friction:g}, {numbers.viscosity:g} 1/s")
        )
    return Table(rows)
