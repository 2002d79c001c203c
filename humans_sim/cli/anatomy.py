# SPDX-License-Identifier: Apache-2.0
"""``humans-sim anatomy``: ball models of bones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from humans_sim.cli.help import Group
from humans_sim.cli.options import checked_option, number
from humans_sim.cli.output import described_os_errors, register, result, say
from humans_sim.core.output_paths import check_output_file

app = typer.Typer(cls=Group, no_args_is_help=True)


def ball_model(
    bone: Annotated[Path, typer.Argument(help="A mesh: .stl, .obj or .ply.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file of the model.")
    ] = None,
    spacing: Annotated[
        float, checked_option("Edge of a voxel [mm].", number(least=0.01, most=5.0))
    ] = 0.5,
    metric: Annotated[
        str, typer.Option(help="3-4-5 (the thesis'), 5-7-9 or euclidean.")
    ] = "euclidean",
    unit: Annotated[
        str | None, typer.Option(help="Of the mesh: m, cm, mm or um.")
    ] = None,
    reduced: Annotated[
        bool,
        typer.Option("--reduced", help="Leave out balls that others cover together."),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Over a file that is there.")
    ] = False,
) -> None:
    """Make a model of balls of a bone's mesh, and say how well it fits."""
    target = bone.with_suffix(".npz") if output is None else output
    check_output_file(target, (".npz",), overwrite)
    from humans_sim.anatomy import (
        ball_model as medial_balls,
    )
    from humans_sim.anatomy import (
        read_bone,
        reduce_cover,
        surface_error,
        voxelise,
    )

    prepared = read_bone(bone, unit)
    for line in prepared.repairs:
        say(f"{bone.name}: {line}")
    volume = voxelise(prepared.mesh, 1e-3 * spacing)
    model = medial_balls(volume, metric)
    if reduced:
        model = reduce_cover(model)
    error = surface_error(model, prepared.mesh)
    say(
        f"{volume.count} voxels, {len(model)} balls; from the mesh: up to "
        f"{1e3 * error.short:.2f} mm short of it, {1e3 * error.beyond:.2f} mm beyond, "
        f"{1e3 * error.rms:.2f} mm rms"
    )
    with described_os_errors(target):
        model.save(target)
    say(f"written: {target}")
    result(
        voxels=volume.count,
        balls=len(model),
        repairs=list(prepared.repairs),
        short=error.short,
        beyond=error.beyond,
        rms=error.rms,
        written=[target],
    )


def check(
    model: Annotated[Path, typer.Argument(help="A ball model: .npz.")],
) -> None:
    """Check a ball model: its balls, its volume, whether it rebuilds its voxels."""
    from humans_sim.anatomy import load_ball_model

    loaded = load_ball_model(model)
    for note in loaded.notes:
        say(note)
    radii = 1e3 * loaded.radii
    say(f"{len(loaded)} balls, radii {radii.min():.2f} to {radii.max():.2f} mm")
    voxels = size = None
    if loaded.grid is None:
        say("rebuilding: n/a, the model came from no grid")
    else:
        volume = loaded.reconstruct()
        voxels, size = volume.count, volume.size
        say(f"rebuilds {voxels} voxels, {1e9 * size:.0f} mm^3")
    result(
        balls=len(loaded),
        smallest=float(loaded.radii.min()),
        largest=float(loaded.radii.max()),
        voxels=voxels,
        volume=size,
    )


register(app, ball_model)
register(app, check)
