# SPDX-License-Identifier: Apache-2.0
"""``humans-sim anatomy``: ball models of bones and their picture, a moving wrist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from humans_sim.cli.options import (
    Overwrite,
    WristMethod,
    checked_option,
    flag,
    number,
    output_file,
    output_option,
    picture_option,
)
from humans_sim.cli.output import Group, described_os_errors, register, result, say
from humans_sim.core.files import check_output_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from humans_sim.anatomy import HandMotion, Wrist, WristRun


_COLOUR = (0.89, 0.85, 0.76)


def picture(
    model: Annotated[Path, typer.Argument(help="A ball model: .npz.")],
    output: Annotated[
        Path | None, output_option("The picture; default: beside the model.", ".png")
    ] = None,
    view: Annotated[
        str, typer.Option(help="palmar (along z), dorsal, radial (x) or ulnar.")
    ] = "palmar",
    pixels: Annotated[
        float, checked_option("Along the longer edge.", number(least=16, most=4096))
    ] = 800,
    depth: Annotated[bool, flag("--depth", "Grey by depth instead of light.")] = False,
) -> None:
    """Draw a ball model, seen from a side: each ball on the pixels it covers."""
    import numpy as np
    from PIL import Image

    from humans_sim.anatomy import load_ball_model
    from humans_sim.core.errors import ParameterError
    from humans_sim.core.files import check_output_file
    from humans_sim.view.raster import ball_splat, camera_around
    from humans_sim.view.wrist_raster import VIEWS

    if view not in VIEWS:
        raise ParameterError(f"--view is one of {', '.join(VIEWS)}, not '{view}'")
    target = model.with_suffix(".png") if output is None else output
    check_output_file(target, (".png",))
    balls = load_ball_model(model)
    reach = balls.radii[:, None]
    corners = np.concatenate([balls.centres - reach, balls.centres + reach])
    camera = camera_around(corners, VIEWS[view], int(pixels))
    image = ball_splat(balls.centres, balls.radii, 0, camera)
    seen = image.ids >= 0
    colours = image.coloured([_COLOUR], rim=0.05 * float(np.ptp(corners, axis=0).max()))
    if depth:
        far, near = image.depth[seen].min(), image.depth[seen].max()
        share = (np.where(seen, image.depth, far) - far) / max(near - far, 1e-12)
        grey = np.where(seen, 60 + 180 * share, 255.0)
        colours = np.repeat(np.rint(grey).astype(np.uint8)[..., None], 3, axis=2)
    with described_os_errors(target):
        Image.fromarray(colours).save(target)
    area = float(seen.sum()) * camera.pixel**2
    say(f"{len(balls)} balls, {1e6 * area:.1f} mm^2 seen; written: {target}")
    result(balls=len(balls), area=area, pixel=camera.pixel, written=[target])


app = typer.Typer(cls=Group, no_args_is_help=True)


def ball_model(
    bone: Annotated[
        Path, typer.Argument(help="A mesh: .stl, .obj or .ply; a URDF with --link.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file of the model.")
    ] = None,
    spacing: Annotated[
        float | None,
        checked_option(
            "Edge of a voxel [mm]; else 0.5, or 1/300 of a longer bone.",
            number(least=0.01, most=5.0),
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="3-4-5 (the thesis'), 5-7-9 or euclidean.")
    ] = "euclidean",
    unit: Annotated[
        str | None, typer.Option(help="Of the mesh: m, cm, mm or um.")
    ] = None,
    reduced: Annotated[
        bool, flag("--reduced", "Leave out balls that others cover together.")
    ] = False,
    link: Annotated[
        str, typer.Option(help="Of a URDF: its collision mesh is the bone.")
    ] = "",
    overwrite: Overwrite = False,
) -> None:
    """Make a model of balls of a bone's mesh, and say how well it fits."""
    target = bone.with_suffix(".npz") if output is None else output
    check_output_file(target, (".npz",), overwrite)
    from humans_sim.applications.wrist_scenarios import build_ball_model

    edge = None if spacing is None else 1e-3 * spacing
    built = build_ball_model(bone, edge, metric, unit, reduced, link)
    for line in built.repairs:
        say(f"{bone.name}: {line}")
    model, error = built.model, built.error
    say(
        f"{built.voxels} voxels, {len(model)} balls; from the mesh: up to "
        f"{1e3 * error.short:.2f} mm short of it, {1e3 * error.beyond:.2f} mm beyond, "
        f"{1e3 * error.rms:.2f} mm rms"
    )
    with described_os_errors(target):
        model.save(target)
    say(f"written: {target}")
    result(
        voxels=built.voxels,
        balls=len(model),
        repairs=list(built.repairs),
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


def move(
    wrist: Annotated[
        str, typer.Argument(help="wrist, the synthetic one, or a YAML file.")
    ] = "wrist",
    motion: Annotated[
        str, typer.Option(help="adduction, abduction, flexion or extension.")
    ] = "adduction",
    angle: Annotated[
        float, checked_option("Of the hand [deg].", number(least=0.0, most=90.0))
    ] = 30.0,
    method: Annotated[
        WristMethod,
        typer.Option(
            help="complementarity; penalty, as the thesis; or quasistatic, at rest "
            "in each place of the hand."
        ),
    ] = WristMethod.COMPLEMENTARITY,
    step: Annotated[
        float,
        checked_option(
            "Length of a step; between samples with other methods [ms].",
            number(least=0.1, most=50.0),
        ),
    ] = 10.0,
    stiffness: Annotated[
        float,
        checked_option(
            "Of a pair of balls, with penalty and quasistatic [N/m].",
            number(least=1.0, most=1e8),
        ),
    ] = 1e6,
    friction: Annotated[
        float, checked_option("Of cartilage on cartilage.", number(least=0.0, most=2.0))
    ] = 0.02,
    spacing: Annotated[
        float, checked_option("Edge of a voxel [mm].", number(least=0.2, most=3.0))
    ] = 0.8,
    cut: Annotated[
        list[str] | None, typer.Option(help="A ligament to cut; may be repeated.")
    ] = None,
    bare: Annotated[
        bool, flag("--bare", "Without any ligament, as the thesis ran.")
    ] = False,
    save: Annotated[
        Path | None, checked_option("Write the motion: .npz.", output_file(".npz"))
    ] = None,
    plot: Annotated[Path | None, picture_option("Draw it")] = None,
) -> None:
    """Move a wrist by its metacarpals, and say how its bones moved."""
    import math

    from humans_sim.anatomy import HandMotion, load_wrist, plausibility
    from humans_sim.anatomy.wrist.plausibility import CARPALS
    from humans_sim.cli.output import progress

    hand = HandMotion(motion, math.radians(angle))
    bones = load_wrist(wrist, 1e-3 * spacing).cut(*(cut or ()))
    bones = bones.bare() if bare else bones
    say(f"{bones.title}: {len(bones.bones)} bones, {len(bones.ligaments)} ligaments")
    with progress("moving") as watch:
        run = _moved(bones, hand, method, (1e-3 * step, friction, stiffness), watch)
    if method == WristMethod.QUASISTATIC:
        say(f"{len(run.t)} places of the hand in {run.wall:.1f} s")
    else:
        say(f"{hand.end:g} s simulated in {run.wall:.1f} s")
    shortest = float(run.steps.min(initial=1e-3 * step))
    if method == WristMethod.PENALTY:
        say(f"{len(run.steps)} steps, the shortest {1e6 * shortest:.3g} us")
    say(
        f"overlap of balls at most {max(0.0, 1e6 * float(run.depths.max())):.3f} um, "
        f"friction at most {float(run.friction.max()):.3f} of the normal force, "
        f"tension at most {float(run.tensions.max(initial=0.0)):.0f} N"
    )
    if method == WristMethod.COMPLEMENTARITY:
        say(
            f"{len(run.steps)} steps, {run.newton} of Newton's method; not settled: "
            f"{run.unsettled}, without friction: {run.frictionless}"
        )
    report = None
    if CARPALS <= set(bones.names):
        report = plausibility(run)
        for line in report.lines():
            say(line)
    else:
        say("plausibility: n/a, not all carpal bones of two rows are there")
    written = _written(run, save, plot)
    result(
        motion=motion,
        method=method,
        angle=hand.angle,
        steps=len(run.steps),
        shortest_step=shortest,
        wall_time=run.wall,
        overlap=float(run.depths.max()),
        friction=float(run.friction.max()),
        tension=float(run.tensions.max(initial=0.0)),
        unsettled=run.unsettled,
        frictionless=run.frictionless,
        plausibility=report,
        written=written,
    )


def _moved(
    bones: Wrist,
    hand: HandMotion,
    method: WristMethod,
    numbers: tuple[float, float, float],
    watch: Callable[[int, int], None],
) -> WristRun:
    """Move by a method; numbers are its step [s], friction and stiffness [N/m]."""
    from humans_sim.anatomy import (
        PenaltyLaw,
        StepNumbers,
        move_by_penalty,
        move_quasistatic,
        move_wrist,
    )

    step, friction, stiffness = numbers
    if method == WristMethod.PENALTY:
        law = PenaltyLaw(stiffness, friction=friction)
        return move_by_penalty(bones, hand, law, sampling=step, progress=watch)
    if method == WristMethod.QUASISTATIC:
        samples = max(2, round(hand.duration / step) + 1)
        return move_quasistatic(bones, hand, stiffness, samples, watch)
    return move_wrist(bones, hand, step, StepNumbers(friction=friction), watch)


def _written(run: WristRun, save: Path | None, plot: Path | None) -> list[Path]:
    """Write and draw a motion."""
    files = []
    if save is not None:
        with described_os_errors(save):
            run.save(save)
        files.append(save)
    if plot is not None:
        from humans_sim.view.reports.wrist_report import plot_wrist

        with described_os_errors(plot):
            plot_wrist(run, plot)
        files.append(plot)
    for file in files:
        say(f"written: {file}")
    return files


register(app, ball_model)
register(app, check)
register(app, move)
register(app, picture)
