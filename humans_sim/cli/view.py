# SPDX-License-Identifier: Apache-2.0
"""``humans-sim view``, and runs played in the browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from humans_sim.cli.options import (
    Seconds,
    checked_option,
    model_names,
    port_number,
    positive,
)
from humans_sim.cli.output import console, described_os_errors
from humans_sim.cli.signals import until_interrupted
from humans_sim.core.errors import ParameterError

if TYPE_CHECKING:
    from humans_sim.anatomy.wrist.wrist_run import WristRun
    from humans_sim.models import Model
    from humans_sim.results.run import Run


def view(
    model: Annotated[
        str,
        typer.Argument(
            help="human36, bip, khr1, human, a table or URDF file, or a run .npz.",
            autocompletion=model_names,
        ),
    ],
    height: Annotated[
        float | None, checked_option("Stature of a human in metres.", positive)
    ] = None,
    mass: Annotated[
        float | None, checked_option("Body mass in kilograms.", positive)
    ] = None,
    port: Annotated[
        int, checked_option("First port to try; 0: any.", port_number)
    ] = 8080,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; the default is this machine only."),
    ] = "127.0.0.1",
    move: Annotated[
        bool, typer.Option("--move", help="Let the joints sway, without ROS.")
    ] = False,
    walk: Annotated[
        bool, typer.Option("--walk", help="Let it walk, simulated, without ROS.")
    ] = False,
    seconds: Seconds = None,
) -> None:
    """Show a model in the browser: a slider for each joint, or a walk; play a run."""
    if walk and move:
        raise ParameterError("a model walks or sways: --walk or --move, not both")
    if model.lower().endswith(".npz"):
        if walk or move or height is not None or mass is not None:
            raise ParameterError("a run is played as it is: only --port, --seconds")
        from humans_sim.cli.stored_runs import load_stored

        play(load_stored(Path(model)), port, host, seconds)
        return
    with until_interrupted(), described_os_errors():
        from humans_sim.models import load_model

        loaded = load_model(model, height=height, mass=mass)
        if walk:
            _show_walk(loaded, host, port, seconds)
        else:
            _show_model(loaded, host, port, move, seconds)


def _show_model(
    model: Model, host: str, port: int, move: bool, seconds: float | None
) -> None:
    from humans_sim.control.trajectories.sway import Sway
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


def _show_walk(model: Model, host: str, port: int, seconds: float | None) -> None:
    from humans_sim.cli.progress import display
    from humans_sim.view.browser.live import show_walk

    def opened(url: str) -> None:
        print_address(f"{model.title} walks", url, host)

    with display():
        show_walk(model, host, port, seconds, opened)


def print_address(what: str, url: str, host: str = "127.0.0.1") -> None:
    """Print where a page is, and what it means to listen there."""
    from humans_sim.view.browser.page_server import warning_of

    warning = warning_of(host)
    if warning:
        console.print(f"[yellow]{warning}[/]")
    # An address that is broken into two lines cannot be clicked.
    console.print(f"{what}: open [bold]{url}[/] (Ctrl-C ends)", soft_wrap=True)


def play(
    run: Run | WristRun,
    port: int = 8080,
    host: str = "127.0.0.1",
    seconds: float | None = None,
) -> None:
    """Show a run in the browser, again and again, in real time, until Ctrl-C.

    Args:
        run: what is shown.
        port: first port to try; 0: any.
        host: address to listen on.
        seconds: after which it ends; None: never.
    """
    import numpy as np

    with until_interrupted(), described_os_errors():
        show, scene = _shown(run, port, host)
        print_address("the run", scene.url, host)
        pause, begun = 1.0, time.monotonic()
        try:
            while True:
                start = time.monotonic()
                while (now := time.monotonic() - start + run.t[0]) < run.t[-1] + pause:
                    k = min(int(np.searchsorted(run.t, now)), len(run.t) - 1)
                    show(k)
                    time.sleep(1 / 30)
                    if seconds is not None and time.monotonic() - begun > seconds:
                        return
        finally:
            scene.stop()


def _shown(
    run: Run | WristRun, port: int, host: str
) -> tuple[Callable[[int], None], Any]:
    """A page of a run: what shows a sample of it, and the page."""
    from humans_sim.anatomy.wrist.wrist_run import WristRun

    if isinstance(run, WristRun):
        from humans_sim.view.browser.wrist_page import WristView

        wrist = WristView(run, port, host)
        return wrist.show, wrist
    if "bodies" in run.info:
        from humans_sim.view.browser.bodies_page import BodiesView

        bodies = BodiesView(run, port, host)
        return bodies.show, bodies
    from humans_sim.view.browser.page import camera, show_sample
    from humans_sim.view.browser.replay import Replay
    from humans_sim.view.browser.scene import Scene

    replay = Replay(run)
    scene = Scene(replay.model, host, port, ground=replay.ground, axes=False)
    scene.look_at(*camera(replay))
    return lambda k: show_sample(scene, replay, k), scene
