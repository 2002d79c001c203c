# SPDX-License-Identifier: Apache-2.0
"""``humans-sim view``, and runs played in the browser."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from humans_sim.cli.options import (
    Height,
    Mass,
    PageHost,
    PagePort,
    Seconds,
    flag,
    model_names,
)
from humans_sim.cli.output import console, described_os_errors
from humans_sim.cli.signals import until_interrupted
from humans_sim.core.errors import ParameterError

if TYPE_CHECKING:
    from humans_sim.anatomy.wrist.wrist_run import WristRun
    from humans_sim.models import Model
    from humans_sim.results.run import Run


def view(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="human36, bip, khr1, human, a table or URDF file; or runs, .npz, "
            "which are played beside each other.",
            autocompletion=model_names,
        ),
    ],
    height: Height = None,
    mass: Mass = None,
    port: PagePort = 8080,
    host: PageHost = "127.0.0.1",
    move: Annotated[bool, flag("--move", "Let the joints sway, without ROS.")] = False,
    walk: Annotated[
        bool, flag("--walk", "Let it walk, simulated, without ROS.")
    ] = False,
    seconds: Seconds = None,
) -> None:
    """Show a model in the browser: a slider for each joint, or a walk; play a run."""
    if walk and move:
        raise ParameterError("a model walks or sways: --walk or --move, not both")
    files = [name for name in models if name.lower().endswith(".npz")]
    if files:
        if walk or move or height is not None or mass is not None:
            raise ParameterError("a run is played as it is: only --port, --seconds")
        if len(files) < len(models):
            raise ParameterError("runs are shown beside runs, not beside models")
        from humans_sim.cli.stored_runs import load_stored

        runs = [load_stored(Path(name)) for name in files]
        play(runs, port, host, seconds, [Path(name).stem for name in files])
        return
    if len(models) > 1:
        raise ParameterError("one model is shown at a time, or several runs (.npz)")
    model = models[0]
    with until_interrupted(), described_os_errors():
        from humans_sim.models import load_model

        loaded = load_model(model, height=height, mass=mass)
        if walk:
            from humans_sim.cli.output import display
            from humans_sim.view.browser.live import show_walk

            title = f"{loaded.title} walks"
            with display():
                show_walk(
                    loaded,
                    host,
                    port,
                    seconds,
                    lambda url: print_address(title, url, host),
                )
        else:
            _show_model(loaded, host, port, move, seconds)


def _show_model(
    model: Model, host: str, port: int, move: bool, seconds: float | None
) -> None:
    from humans_sim.control.trajectories.trajectory import Sway
    from humans_sim.view.browser.scene import Scene

    scene = Scene(model, host, port)
    try:
        print_address(model.title, scene.url, host)
        sway = Sway.of_model(model) if move else None
        if sway is None:
            scene.add_sliders()
        start = time.monotonic()
        while seconds is None or time.monotonic() - start < seconds:
            if sway is not None:
                joints, _ = sway.at(time.monotonic() - start)
                scene.show(model.standing(joints))
            time.sleep(1 / 30 if sway is not None else 0.2)
    finally:
        scene.stop()


def print_address(what: str, url: str, host: str = "127.0.0.1") -> None:
    """Print where a page is, and what it means to listen there."""
    from humans_sim.view.browser.page_server import warning_of

    warning = warning_of(host)
    if warning:
        console.print(f"[yellow]{warning}[/]")
    # An address that is broken into two lines cannot be clicked.
    console.print(f"{what}: open [bold]{url}[/] (Ctrl-C ends)", soft_wrap=True)


def play(
    runs: Sequence[Run | WristRun],
    port: int = 8080,
    host: str = "127.0.0.1",
    seconds: float | None = None,
    labels: Sequence[str] = (),
) -> None:
    """Show runs in the browser, beside each other, until Ctrl-C.

    Args:
        runs: what is shown; a motion of a wrist by itself.
        port: first port to try; 0: any.
        host: address to listen on.
        seconds: after which it ends; None: never.
        labels: what the runs are called.

    Raises:
        ParameterError: they cannot be shown beside each other.
    """
    with until_interrupted(), described_os_errors():
        from humans_sim.view.browser.run_page import RunPage

        page = RunPage(runs, labels, port, host)
        print_address("the run" if len(runs) == 1 else "the runs", page.url, host)
        try:
            page.run(seconds)
        finally:
            page.stop()
