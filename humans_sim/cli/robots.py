# SPDX-License-Identifier: Apache-2.0
"""``init-robot`` and ``tune-servos``: what a URDF needs to walk."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD

from humans_sim.cli.options import (
    checked_option,
    flag,
    number,
    output_file,
    output_option,
    picture_option,
    positive,
)
from humans_sim.cli.output import (
    console,
    described_os_errors,
    progress,
    result,
    say,
    table_of,
)
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import (
    check_output_file,
    make_output_folder,
    write_atomically,
)

if TYPE_CHECKING:
    from humans_sim.actuation.servo_set import ServoNumbers
    from humans_sim.applications.robot_draft import RobotDraft
    from humans_sim.control.walking import WalkSettings
    from humans_sim.models import Model

_WITH_SERVOS = " --actuation servo"


def init_robot(
    urdf: Annotated[
        Path | None, typer.Argument(help="The robot: .urdf, .xacro or MJCF (.xml).")
    ] = None,
    picture: Annotated[Path | None, picture_option("Draw what was understood")] = None,
    overwrite: Annotated[
        bool, flag("--overwrite", "Over files that are there.")
    ] = False,
    trial: Annotated[
        bool,
        typer.Option(
            "--trial/--no-trial", help="Let it make two steps, by torques and servos."
        ),
    ] = True,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--try",
            help="Instead: try all robots of a folder; nothing is written in it.",
        ),
    ] = None,
    output: Annotated[
        Path,
        output_option("With --try: the table, .md; pictures beside it.", ".md"),
    ] = Path("robots.md"),
    steps: Annotated[
        int, checked_option("With --try: steps of a trial.", number(least=1))
    ] = 20,
    limit: Annotated[
        float,
        checked_option("With --try: processor time of a trial in seconds.", positive),
    ] = 300.0,
) -> None:
    """Find legs and soles of a URDF, write how it walks beside it, and try it."""
    if (urdf is None) == (folder is None):
        raise ParameterError("give either the file of a robot or --try FOLDER")
    if folder is not None:
        _try_folder(folder, output, steps, limit)
        return
    assert urdf is not None
    from humans_sim.applications.robot_draft import draft_files, draft_robot
    from humans_sim.applications.robot_trials import ACTUATIONS, try_robot

    for path in draft_files(urdf):
        check_output_file(path, (".yaml",), overwrite)
    drafted = draft_robot(urdf)
    _print_draft(drafted)
    for doubt in drafted.doubts:
        say(f"not sure: {doubt}")
    with described_os_errors(urdf.parent):
        written = drafted.save()
    if picture is not None:
        _draw(drafted.model, drafted.settings, picture)
        written.append(picture)
    for path in written:
        say(f"written: {path}")
    trials = []
    for actuation in ACTUATIONS if trial else ():
        with progress(f"two steps by {actuation}s") as watch:
            trials.append(done := try_robot(urdf, actuation, watch))
        verdict = "" if done.ok else "failed: "
        say(f"trial by {actuation}s: {verdict}{done.outcome}")
    works = [done for done in trials if done.ok]
    if works or not trial:
        chosen = "" if not works or works[0].actuation == "torque" else _WITH_SERVOS
        say(f"try: humans-sim run walk --model {urdf}{chosen}")
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
        trials={done.actuation: vars(done) for done in trials},
        written=written,
    )


def _try_folder(folder: Path, output: Path, steps: int, limit: float) -> None:
    """Try its robots one after the other; the table is whole after each."""
    from humans_sim.applications.robot_trials import robot_table, try_robots

    pictures = output.with_suffix("")
    make_output_folder(pictures)
    tried = []
    draw = partial(_draw_into, pictures)
    for robot in try_robots(folder, steps=steps, limit=limit, draw=draw):
        tried.append(robot)
        say(f"{robot.name}: {robot.refusal or ('walks' if robot.walks else 'fails')}")
        for done in robot.trials:
            say(
                f"  by {done.actuation}s: {'' if done.ok else 'failed: '}{done.outcome}"
            )
        with described_os_errors(output):
            write_atomically(output, robot_table(tried, steps))
    walking = sum(robot.walks for robot in tried)
    say(f"{walking} of {len(tried)} robots walk; written: {output}")
    result(robots=[asdict(robot) for robot in tried], written=[output])


def _draw(model: Model, settings: WalkSettings, path: Path) -> None:
    from humans_sim.view.plots.figure_panels import save_figure
    from humans_sim.view.plots.robot_plots import draw_robot

    save_figure(draw_robot(model, settings), path)


def _draw_into(folder: Path, model: Model, settings: WalkSettings, name: str) -> None:
    """A picture called by the path of the robot's file."""
    _draw(model, settings, folder / f"{name.replace('/', '_')}.png")


def _print_draft(drafted: RobotDraft) -> None:
    table = table_of(drafted.model.title, "", "left", "right", box=SIMPLE_HEAD)
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


def tune_servos(
    model: Annotated[str, typer.Argument(help="The robot: a name, or its .urdf.")],
    bandwidth: Annotated[
        float | None,
        checked_option("Gains for this bandwidth in rad/s; default: own.", positive),
    ] = None,
    ratio: Annotated[
        float, checked_option("Damping ratio; 1 is critical.", positive)
    ] = 0.7,
    step: Annotated[
        float, checked_option("Step of the commands in degrees.", positive)
    ] = 5.0,
    plot: Annotated[Path | None, picture_option("Draw the step responses")] = None,
    save: Annotated[
        Path | None,
        checked_option("Write the servos: .yaml.", output_file(".yaml")),
    ] = None,
) -> None:
    """Step responses of a robot's servos; gains from what their joints carry."""
    from humans_sim.actuation.servo_set import (
        ServoSet,
        reflected_inertias,
        step_response,
        tuned_servos,
    )
    from humans_sim.models import load_model

    robot = load_model(model)
    own = ServoSet.of_model(robot)
    servos = {name: own.of_joint(name) for name in robot.joint_names}
    if bandwidth is not None:
        servos = tuned_servos(robot, bandwidth, ratio)
    inertias = dict(zip(robot.joint_names, reflected_inertias(robot), strict=True))
    size = math.radians(step)
    responses = {
        name: step_response(numbers, float(inertias[name]), size)
        for name, numbers in servos.items()
    }
    columns = ("inertia", "gain", "damping", "rise [ms]", "overshoot", "limited")
    title = f"{robot.title}: steps of {step:g} degrees"
    table = table_of(title, "joint", right=columns, box=SIMPLE_HEAD)
    for name, response in responses.items():
        numbers = servos[name]
        rise = response.rise_time
        table.add_row(
            name,
            f"{inertias[name]:.3g}",
            f"{numbers.gain:.3g}",
            f"{numbers.damping:.3g}",
            f"{1e3 * rise:.0f}" if math.isfinite(rise) else "-",
            f"{100 * response.overshoot:.0f} %",
            f"{100 * response.limited:.0f} %",
        )
    console.print(table)
    slow = [name for name, found in responses.items() if found.limited > 0.5]
    if slow:
        say(f"at their torque limits for most of the rise: {', '.join(slow)}")
    written = []
    if plot is not None:
        from humans_sim.view.plots.figure_panels import save_figure
        from humans_sim.view.plots.robot_plots import draw_step_responses

        save_figure(draw_step_responses(responses, robot.name, size), plot)
        written.append(plot)
    if save is not None:
        write_atomically(save, _servo_text(robot.name, servos))
        written.append(save)
    for path in written:
        say(f"written: {path}")
    result(
        name=robot.name,
        joints={
            name: {
                "inertia": float(inertias[name]),
                "gain": servos[name].gain,
                "damping": servos[name].damping,
                "rise_time": found.rise_time
                if math.isfinite(found.rise_time)
                else None,
                "overshoot": found.overshoot,
                "limited": found.limited,
            }
            for name, found in responses.items()
        },
        written=written,
    )


def _servo_text(name: str, servos: dict[str, ServoNumbers]) -> str:
    """A file ``robot.robot.yaml`` with these servos."""
    lines = [
        f"# Servos of {name}; beside its URDF as NAME.robot.yaml they are its own."
    ]
    lines += ["servo:", "  joints:"]
    for joint, numbers in servos.items():
        values = ", ".join(
            f"{key}: {value:.6g}" for key, value in vars(numbers).items()
        )
        lines.append(f"    {joint}: {{{values}}}")
    return "\n".join(lines) + "\n"
