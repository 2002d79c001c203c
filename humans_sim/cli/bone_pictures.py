# SPDX-License-Identifier: Apache-2.0
"""``humans-sim anatomy picture``: a ball model seen from a side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from humans_sim.cli.options import checked_option, number, output_file
from humans_sim.cli.output import described_os_errors, result, say

_COLOUR = (0.89, 0.85, 0.76)


def picture(
    model: Annotated[Path, typer.Argument(help="A ball model: .npz.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The picture; default: beside the model.",
            callback=output_file(".png"),
        ),
    ] = None,
    view: Annotated[
        str, typer.Option(help="palmar (along z), dorsal, radial (x) or ulnar.")
    ] = "palmar",
    pixels: Annotated[
        float, checked_option("Along the longer edge.", number(least=16, most=4096))
    ] = 800,
    depth: Annotated[
        bool, typer.Option("--depth", help="Grey by depth instead of light.")
    ] = False,
) -> None:
    """Draw a ball model, seen from a side: each ball on the pixels it covers."""
    import numpy as np
    from PIL import Image

    from humans_sim.anatomy import load_ball_model
    from humans_sim.core.errors import ParameterError
    from humans_sim.core.output_paths import check_output_file
    from humans_sim.view.raster.ball_splat import ball_splat, camera_around
    from humans_sim.view.raster.wrist_raster import VIEWS

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
