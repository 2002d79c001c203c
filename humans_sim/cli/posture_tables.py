# SPDX-License-Identifier: Apache-2.0
"""Tables that ``humans-sim`` prints of people measured and motions reconstructed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from humans_sim.core.errors import printable

if TYPE_CHECKING:
    from rich.console import Console

    from humans_sim.applications.batch.trial import Outcome
    from humans_sim.observation.posture.calibrate import Calibration

_GRADES = {"good": "[green]ok", "doubtful": "[yellow]??", "failed": "[red]no"}


def print_calibration(
    console: Console, found: Calibration, convention: str = "humans"
) -> None:
    """Sizes, places of markers, standing in a convention, and what was not seen."""
    sizes = _table("sizes", ("", "name"), ("found [mm]", "usual [mm]", "± [mm]"))
    sizes.add_column("")
    for size in found.sizes:
        note = "on a bound" if size.bounded else "" if size.seen else "not seen"
        sizes.add_row(
            _mark(size.seen and not size.bounded),
            escape(size.name),
            _mm(size.value),
            _mm(size.usual),
            _mm(size.spread),
            note,
        )
    console.print(sizes)
    columns = ("moved [mm]", "± [mm]", "left over [mm]")
    markers = _table("markers", ("", "name", "segment"), columns)
    for marker in found.markers:
        markers.add_row(
            _mark(marker.seen),
            escape(marker.name),
            escape(marker.segment),
            _mm(marker.moved),
            _mm(marker.spread),
            _mm(marker.rms),
        )
    console.print(markers)
    subject = found.subject
    guess = "" if found.mass_given else " (a usual one for the stature)"
    console.print(
        f"stature {subject.height:.3f} m, mass {subject.mass:.1f} kg{guess}; "
        f"{_mm(found.rms)} mm rms over {found.frames} frames"
    )
    if found.standing:
        angles = ", ".join(
            f"{n} {math.degrees(a):+.0f}"
            for n, a in found.standing_angles(convention).items()
        )
        console.print(f"standing [deg]: {escape(angles)}")
    _tell(console, "not as of a person who stands: check labels and set", found.unusual)
    _tell(console, "could not be seen, and are as tables say", found.unseen)
    _tell(console, "of the set, in no trial", found.missing)
    _tell(console, "in the trials, unknown to the set", found.ignored)


def print_outcomes(console: Console, outcomes: Sequence[Outcome]) -> None:
    """A row for each trial."""
    # Narrow: it has to stand in 80 columns.
    table = Table(title="trials", box=SIMPLE_HEAD, padding=0, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("trial", overflow="fold", min_width=11)
    for column in ("frames", "rms\n[mm]"):
        table.add_column(escape(column), justify="right", no_wrap=True)
    table.add_column("worst\nmarker", overflow="ellipsis", no_wrap=True, max_width=16)
    for column in ("mean\n[mm]", "worst\nframe", "rms\n[mm]"):
        table.add_column(escape(column), justify="right", no_wrap=True)
    for column in ("occl.\n[%]", "rej.\n[%]", "time\n[s]"):
        table.add_column(escape(column), justify="right", no_wrap=True)
    for outcome in outcomes:
        found = outcome.summary
        if not found:
            table.add_row(_GRADES["failed"], escape(outcome.name))
            continue
        worst = found["worst_frames"][0]
        kept = outcome.state == "kept" and found["verdict"] == "good"
        table.add_row(
            "[blue]kept" if kept else _GRADES[found["verdict"]],
            escape(outcome.name),
            str(found["frames"]),
            _mm(found["rms"]),
            escape(found["worst_marker"]),
            _mm(found["worst_marker_mean"]),
            str(worst["frame"]),
            _mm(worst["rms"]),
            _percent(found["occluded"]),
            _percent(found["rejected"]),
            f"{outcome.seconds:.1f}",
        )
    console.print(table)
    print_forces(console, outcomes)
    for outcome in outcomes:
        for note in outcome.summary.get("notes", ()):
            text = printable(f"{outcome.name}: {note}")
            console.print(f"[yellow]{escape(text)}[/]", soft_wrap=True)
        grade = outcome.summary.get("verdict", "good")
        if grade != "good":
            reasons = "; ".join(outcome.summary["reasons"])
            text = printable(f"{outcome.name}: {grade}: {reasons}")
            colour = "red" if grade == "failed" else "yellow"
            console.print(f"[{colour}]{escape(text)}[/]", soft_wrap=True)


def print_forces(console: Console, outcomes: Sequence[Outcome]) -> None:
    """A line for the forces of each trial that has some, and what is to be known."""
    for outcome in outcomes:
        for forces in outcome.summary.get("forces", ()):
            console.print(f"{escape(outcome.name)}: {_forces(forces)}", soft_wrap=True)
            for note in forces["notes"]:
                text = printable(f"{outcome.name}: {note}")
                console.print(f"[yellow]{escape(text)}[/]", soft_wrap=True)


def _forces(forces: Mapping[str, Any]) -> str:
    parts = [f"mass {forces['mass']:.1f} kg"]
    if forces["covered"]:
        parts.append(f"plates cover {_percent(forces['covered'])} % of the frames")
    if forces["rms"] is not None and forces["correlation"] is not None:
        parts.append(
            "vertical force from markers alone: "
            f"r {forces['correlation']:.3f}, {_percent(forces['rms'])} % of body weight"
        )
    if None not in forces["residual_force"]:
        values = " ".join(_percent(value) for value in forces["residual_force"])
        shift = 1e3 * forces["largest_shift"]
        after = f" after a shift of up to {shift:.1f} mm" if shift else ""
        parts.append(f"residual force x y z {values} % rms{after}")
    return "; ".join(parts)


def print_details(console: Console, outcome: Outcome) -> None:
    """Markers and worst frames of one trial."""
    found: Mapping[str, Any] = outcome.summary
    columns = ("rms [mm]", "mean [mm]", "occluded [%]", "rejected [%]")
    markers = _table("markers", ("name",), columns)
    for row in found["markers"]:
        markers.add_row(
            escape(row["name"]),
            _mm(row["rms"]),
            _mm(row["mean"]),
            _percent(row["occluded"]),
            _percent(row["rejected"]),
        )
    console.print(markers)
    frames = _table("worst frames", (), ("frame", "time [s]", "rms [mm]"))
    frames.add_column("worst marker")
    for column in ("its [mm]", "used"):
        frames.add_column(escape(column), justify="right")
    for row in found["worst_frames"]:
        if row["rms"] is None:
            continue
        frames.add_row(
            str(row["frame"]),
            f"{row['time']:.3f}",
            _mm(row["rms"]),
            escape(row["marker"]),
            _mm(row["largest"]),
            str(row["used"]),
        )
    console.print(frames)
    restless = found["frames"] - found["converged"]
    if restless:
        console.print(f"{restless} of {found['frames']} frames ended at no minimum")
    _tell(console, "joints that no marker sees, kept near rest", found["unobservable"])
    _tell(console, "of the set, not in the file", found["missing"])
    _tell(console, "in the file, not used", found["ignored"])


def _table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=title)
    for column in words:
        table.add_column(escape(column), overflow="fold")
    for column in numbers:
        table.add_column(escape(column), justify="right", no_wrap=True)
    return table


def _tell(console: Console, what: str, names: Sequence[str]) -> None:
    if names:
        console.print(f"{what}: {', '.join(names)}", markup=False, highlight=False)


def _mark(good: bool) -> str:
    return "[green]ok" if good else "[yellow]--"


def _mm(distance: float | None) -> str:
    return "–" if distance is None else f"{1e3 * distance:.1f}"


def _percent(share: float) -> str:
    """A share; what is not quite nothing does not look like it."""
    percent = 100.0 * share
    return "< 0.1" if 0 < percent < 0.1 else f"{percent:.1f}"
