# SPDX-License-Identifier: Apache-2.0
"""``init-robot`` and ``tune-servos``: what a URDF needs to walk."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD

from humans_sim.cli.options import (
    checked_option,
    flag,
    output_file,
    picture_option,
    positive,
)
from humans_sim.cli.output import console, described_os_errors, result, say, table_of
from humans_sim.core.files import check_output_file, write_atomically

if TYPE_CHECKING:
    from humans_sim.actuation.servo_set import ServoNumbers
    from humans_sim.applications.robot_draft import RobotDraft


def init_robot(
    urdf: Annotated[Path, typer.Argument(help="The robot: .urdf or .xacro.")],
    picture: Annotated[Path | None, picture_option("Draw what was understood")] = None,
    overwrite: Annotated[
        bool, flag("--overwrite", "Over files that are there.")
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
