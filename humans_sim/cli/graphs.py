# SPDX-License-Identifier: Apache-2.0
"""``humans-sim up``, ``doctor``, ``models`` and ``compile``.

Graphs of ROS 2 nodes in one process; and a list of what is installed and ready.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from humans_sim.cli.options import (
    Seconds,
    checked_option,
    flag,
    graph_names,
    model_names,
    number,
    output_folder,
)
from humans_sim.cli.output import console, print_titles, result, say, table_of
from humans_sim.cli.signals import at_end, own_handling
from humans_sim.core.doctor import no_ros
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.files import make_output_folder

if TYPE_CHECKING:
    from humans_sim.applications.graphs import Graph, Placing
    from humans_sim.nodes.common.compose import Flow


_WALK_RESULT = (
    *("outcome", "message", "steps", "forwards", "sideways", "turn", "duration"),
    *("speed", "wall_time", "real_time_factor"),
)
"""What ``--json`` has of a walk of some steps."""
LONGEST_WALK = 600.0
"""Wall time after which a walk of some steps is given up [s]."""


def up(
    graph: Annotated[
        str,
        typer.Argument(
            help="Name of a graph, or a graph file of your own.",
            autocompletion=graph_names,
        ),
    ] = "",
    model: Annotated[
        str | None, typer.Option(help="Another model.", autocompletion=model_names)
    ] = None,
    headless: Annotated[bool, flag("--headless", "Without the browser page.")] = False,
    seconds: Seconds = None,
    check: Annotated[
        bool, flag("--check", "Count messages; fail where a topic is silent.")
    ] = False,
    ros_args: Annotated[
        list[str] | None,
        typer.Option("--ros", help="A ROS argument pair, e.g. 'p viewer:port:=8090'."),
    ] = None,
    namespace: Annotated[
        str, typer.Option(help="Of nodes and topics, as robot1.")
    ] = "",
    frame_prefix: Annotated[
        str,
        typer.Option(help="Before names of frames, as robot1/: robots share one TF."),
    ] = "",
    steps: Annotated[
        int | None,
        checked_option("Walk so many steps, then end (graph walk).", number(least=1)),
    ] = None,
    speed: Annotated[
        float, checked_option("Forwards, with --steps [m/s].", number())
    ] = 0.05,
    folder: Annotated[
        Path | None,
        checked_option("With --steps: where run.npz is written.", output_folder),
    ] = None,
) -> None:
    """Run a graph of ROS 2 nodes in this process (without a name: list them)."""
    from humans_sim.applications.graphs import Placing, read_graph
    from humans_sim.applications.graphs import graph_names as all_names

    if not graph:
        print_titles("graphs", "what it runs", all_names(), read_graph)
        return
    chosen = read_graph(graph)
    arguments: list[str] = []
    if model is not None:
        from humans_sim.models import load_model

        load_model(model)
        arguments += ["-p", f"model:={model}"]
    placing = Placing.of(namespace, frame_prefix)
    for pair in ros_args or []:
        flag, _, value = pair.partition(" ")
        arguments += [f"-{flag.lstrip('-')}", value]
    if folder is not None and steps is None:
        raise ParameterError("--folder is for a walk of some steps: add --steps")
    result(graph=chosen.name, title=chosen.title)
    with own_handling():
        if steps is None:
            _run_graph(chosen, arguments, placing, headless, seconds, check)
        else:
            limit = LONGEST_WALK if seconds is None else seconds
            _walk(chosen, arguments, placing, headless, steps, speed, folder, limit)


def _walk(
    graph: Graph,
    arguments: list[str],
    placing: Placing,
    headless: bool,
    steps: int,
    speed: float,
    folder: Path | None,
    limit: float,
) -> None:
    """Let a graph walk, and print how it went."""
    try:
        from humans_sim.control.walking import Velocity
        from humans_sim.nodes.walk.trial import walk_trial
    except ImportError as error:
        raise no_ros(error) from None
    if folder is not None and make_output_folder(folder):
        say(f"folder made: {folder}")
    say(f"{graph.title}: {steps} steps at {speed:g} m/s")
    walk = walk_trial(
        graph,
        arguments,
        not headless,
        steps=steps,
        velocity=Velocity(speed),
        folder=folder,
        timeout=limit,
        defer=at_end,
        placing=placing,
    )
    result(
        **{name: getattr(walk, name) for name in _WALK_RESULT},
        written=[] if walk.run is None else [walk.run],
    )
    _print_flows(walk.flows)
    say(
        f"{walk.outcome}: {walk.steps} steps, {walk.forwards:.3f} m forwards, "
        f"{1000 * walk.sideways:.0f} mm to the left, turned by "
        f"{math.degrees(walk.turn):.1f} degrees; {walk.duration:.2f} s at "
        f"{walk.speed:.3f} m/s, real-time factor {walk.real_time_factor:.2f}"
    )
    if walk.run is not None:
        say(f"written: {walk.run}")
    if not walk.done:
        raise HumansError(f"the walk {walk.outcome}: {walk.message}")


def _run_graph(
    graph: Graph,
    arguments: list[str],
    placing: Placing,
    headless: bool,
    seconds: float | None,
    check: bool,
) -> None:
    """Run a graph until it is asked to end."""
    try:
        from humans_sim.nodes.common.compose import run_graph
    except ImportError as error:
        raise no_ros(error) from None
    say(f"{graph.title} (Ctrl-C ends)")
    flows = run_graph(
        graph,
        arguments,
        not headless,
        seconds,
        check,
        defer=at_end,
        placing=placing,
    )
    if check:
        _print_flows(flows)
        console.print("[green]All topics flowed.")


def _print_flows(flows: Sequence[Flow]) -> None:
    """Print what was seen on topics; a silent one is an error."""
    result(
        topics=[
            {"topic": flow.topic, "messages": flow.count, "rate": flow.rate}
            for flow in flows
        ]
    )
    table = table_of("topics", "topic", right=("messages", "rate [Hz]"))
    for flow in flows:
        table.add_row(flow.topic, str(flow.count), f"{flow.rate:.1f}")
    console.print(table)
    silent = [flow.topic for flow in flows if flow.count == 0]
    if silent:
        raise HumansError(f"nothing came on {', '.join(silent)}")


_FIRST_COMMANDS = (
    "run drop",
    "reconstruct --example",
    "run khr1-walk --end 2",
    "run bip-one-step",
    "run fes-sit-to-stand",
    "run carpus-adduction",
    "run sand-walk --end 2",
)
"""What needs all kernels of the first simulations, walks as far as they need new ones.
Neighbours share few: side by side one would wait for the other's."""
_POLLING = 0.2
"""Time between two looks at the commands that run [s]."""


def doctor() -> None:
    """Report what is installed, what is missing and how to fix it."""
    from humans_sim.core.doctor import examine

    findings = examine()
    result(findings=findings)
    table = table_of("humans-sim doctor", "", "what", "found", "what to do")
    group, missing = "", 0
    for finding in findings:
        if finding.group != group:
            group = finding.group
            table.add_section()
        ok = finding.found is not None
        missing += finding.needed and not ok
        mark = "[green]ok" if ok else "[red]no" if finding.needed else "[yellow]--"
        found = finding.found or "missing"
        table.add_row(mark, finding.name, found, "" if ok else finding.fix)
    console.print(table)
    if missing:
        raise HumansError(f"{missing} needed part(s) missing: see the table")
    console.print("Everything that is needed is here.")


def models() -> None:
    """List the models that come with the package."""
    from humans_sim.models import NAMES, load_model

    numbers = ("joints", "mass [kg]", "height [m]", "tags", "contacts")
    table = table_of("models", "name", "what it is", right=numbers)
    listed = []
    for name in NAMES:
        model = load_model(name)
        height = model.tags(model.neutral())[:, 2].max()
        table.add_row(
            name,
            model.title,
            str(len(model.joint_names)),
            f"{model.mass:.2f}",
            f"{height:.3f}",
            str(len(model.tag_names)),
            str(len(model.contact_names)),
        )
        listed.append(
            {
                "name": name,
                "title": model.title,
                "mass": model.mass,
                "height": height,
                "joints": model.joint_names,
                "tags": model.tag_names,
                "contacts": model.contact_names,
            }
        )
    result(models=listed)
    console.print(table)
    console.print("Any two-legged URDF or table (.yaml) is a model too: give its path.")


class _Ended(NamedTuple):
    """A command that ended: its words, its exit code, what it printed, the time [s]."""

    words: str
    code: int
    printed: str
    wall: float


def compile(
    commands: Annotated[
        list[str] | None,
        typer.Argument(help='Commands that shall compile nothing: "run human-gait".'),
    ] = None,
    workers: Annotated[
        int | None,
        checked_option("Commands side by side; default: one a core.", number(least=1)),
    ] = None,
) -> None:
    """Compile the kernels that the first simulations need; it takes some minutes.

    Runs of some scenarios and of a reconstruction do it, in several processes, or the
    commands that are named. What is compiled is kept, so that it can be interrupted,
    and done again after an update.
    """
    from humans_sim.cli.output import Display
    from humans_sim.core.kernels import are_kernels_kept, cache_root
    from humans_sim.core.processors import cores

    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)

    def kept() -> set[str]:
        names: set[str] = set()
        for place in root.iterdir():
            with suppress(OSError):  # old ones are removed meanwhile
                names.update(f"{place.name}/{name}" for name in os.listdir(place))
        return {name for name in names if name.endswith(".nbc")}

    if not are_kernels_kept():
        raise HumansError(
            "machine code cannot be kept, as nothing can be written: set "
            "NUMBA_CACHE_DIR to a folder"
        )
    chosen = commands or _FIRST_COMMANDS
    total, before, start = len(chosen), kept(), time.perf_counter()
    note = "" if commands else ": about 7 minutes of processor time if none is kept yet"
    say(f"compiling kernels, once{note}")
    shown, failed = Display(), []
    with shown.bars, tempfile.TemporaryDirectory() as folder:
        done = 0
        for ended in _side_by_side(chosen, Path(folder), workers or cores()):
            if ended is not None:
                done += 1
                failed += [ended] if ended.code else []
                say(f"{done} of {total}: humans-sim {ended.words}, {ended.wall:.0f} s")
            shown.rate(
                "commands", done, total, f"{len(kept() - before)} kernels compiled"
            )
    wall, count = time.perf_counter() - start, len(kept() - before)
    result(kernels=count, wall_time=wall, failed=[ended.words for ended in failed])
    say(f"compiled {count} kernels in {wall:.0f} s, kept in {root}")
    if failed:
        lines = failed[0].printed.strip().splitlines() or ["it printed nothing"]
        raise HumansError(
            f"humans-sim {failed[0].words} ended with {failed[0].code}: {lines[-1]}"
        )


def _side_by_side(
    commands: Sequence[str], folder: Path, workers: int
) -> Iterator[_Ended | None]:
    """Run commands, some at a time; None now and then, while none ends."""
    waiting = deque(enumerate(commands))
    running: dict[str, tuple[subprocess.Popen[bytes], Path, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                k, words = waiting.popleft()
                printed = folder / f"{k}.txt"
                typed = words.split()
                if typed[0] == "reconstruct":
                    typed += ["--output", str(folder / "reconstructed")]
                with printed.open("wb") as stream:
                    process = subprocess.Popen(
                        [sys.executable, "-m", "humans_sim", *typed],
                        stdout=stream,
                        stderr=stream,
                    )
                running[words] = process, printed, time.perf_counter()
            time.sleep(_POLLING)
            yield None
            for words, (process, printed, start) in list(running.items()):
                code = process.poll()
                if code is not None:
                    del running[words]
                    text = printed.read_text("utf-8", "replace")
                    yield _Ended(words, code, text, time.perf_counter() - start)
    finally:
        for process, _, _ in running.values():
            process.terminate()
        for process, _, _ in running.values():
            process.wait()
