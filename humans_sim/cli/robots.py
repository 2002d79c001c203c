# SPDX-License-Identifier: Apache-2.0
"""``humans-sim init-robot``: what a URDF needs to walk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from humans_sim.cli.options import checked_option, output_file
from humans_sim.cli.output import console, described_os_errors, result, say
from humans_sim.core.output_paths import check_output_file

if TYPE_CHECKING:
    from humans_sim.applications.robot_draft import RobotDraft


def init_robot(
    urdf: Annotated[Path, typer.Argument(help="The robot: .urdf or .xacro.")],
    picture: Annotated[
        Path | None,
        checked_option(
            "Draw what was understood: .png, .svg or .pdf.",
            output_file(".png", ".svg", ".pdf"),
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Over files that are there.")
    ] = False,
) -> None:
    """Find legs and soles of a URDF, and write how it stands and walks beside it."""
    from humans_sim.applications.robot_draft import draft_files, draft_robot

    for path in draft_files(urdf):
        check_output_file(path, (".yaml",), overwrite)
    drafted = draft_robot(urdf)
    _print_draft(drafted)
    for doubt in drafted.doubts:
        say(f"not sure: {doubt}")
    with described_os_errors(urdf.parent):
        written = drafted.save()
    if picture is not None:
        from humans_sim.view.plots.figure_panels import save_figure
        from humans_sim.view.plots.robot_plots import draw_robot

        save_figure(draw_robot(drafted.model, drafted.settings), picture)
        written.append(picture)
    for path in written:
        say(f"written: {path}")
    say(f"try: humans-sim run walk --model {urdf}")
    result(
        name=drafted.model.name,
        mass=drafted.model.mass,
        joints=list(drafted.model.joint_names),
        legs={
            "left": list(drafted.feet.left.leg.names),
            "right": list(drafted.feet.right.leg.names),
        },
        feet=[drafted.feet.left.link, drafted.feet.right.link],
        turns=drafted.settings.turns,
        com_height=drafted.settings.com_height,
        step_duration=drafted.settings.step_duration,
        doubts=list(drafted.doubts),
        written=written,
    )


def _print_draft(drafted: RobotDraft) -> None:
    table = Table(title=f"{drafted.model.title}", box=SIMPLE_HEAD)
    for column in ("", "left", "right"):
        table.add_column(column)
    left, right = drafted.feet.left, drafted.feet.right
    table.add_row("foot", left.link, right.link)
    for n in range(max(len(left.leg.names), len(right.leg.names))):
        names = [foot.leg.names[n : n + 1] for foot in (left, right)]
        kind = left.leg.kinds[n] if n < len(left.leg.kinds) else ""
        table.add_row(kind or "oblique", *("".join(name) for name in names))
    for word, axis in (("sole's length", 0), ("sole's width", 1)):
        sizes = [foot.size[axis] for foot in (left, right)]
        table.add_row(word, *(f"{size:.3f} m" for size in sizes))
    table.add_row("leg", *(f"{foot.leg.length:.3f} m" for foot in (left, right)))
    console.print(table)
    walk = drafted.settings
    say(
        f"{drafted.model.mass:.2f} kg, centre of mass {walk.com_height:.3f} m high, "
        f"steps of {walk.step_duration:.2f} s up to {walk.max_forward:.3f} m"
    )
