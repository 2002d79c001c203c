# SPDX-License-Identifier: Apache-2.0
"""``humans-sim retarget``: from markers of a person to the motion of a robot."""

from __future__ import annotations

from dataclasses import replace
from math import degrees
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD

from humans_sim.cli.options import (
    ANIMATIONS,
    checked_option,
    flag,
    model_names,
    number,
    options_of,
    output_file,
    picture_option,
)
from humans_sim.cli.output import console, described_os_errors, result, say, table_of
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.observation.reconstruction_options import ReconstructionOptions

if TYPE_CHECKING:
    from humans_sim.applications.retarget_simulation import RetargetTrial
    from humans_sim.control.retargeting.robot_motion import RobotMotion

_ENDINGS = (".csv", ".yaml", ".yml", ".mcap")
_WHO = ("subject", "marker_set", "height", "mass")
"""What is said of the person in a recording."""


def _outputs(param: typer.CallbackParam, values: list[Path] | None) -> list[Path]:
    return [output_file(*_ENDINGS)(param, value) for value in values or []]


@options_of(ReconstructionOptions, *_WHO)
def retarget(
    source: Annotated[
        Path | None,
        typer.Argument(help="A recording, or a reconstruction .npz."),
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(help="A synthetic recording instead: squat or wave."),
    ] = None,
    robot: Annotated[
        str,
        typer.Option(help="Model, or the path of a URDF.", autocompletion=model_names),
    ] = "khr1",
    *,
    options: ReconstructionOptions,
    start: Annotated[
        float, checked_option("First frame [s].", number(least=0.0))
    ] = 0.0,
    end: Annotated[
        float, checked_option("Last frame [s]; 0: to the end.", number(least=0.0))
    ] = 0.0,
    slowest: Annotated[
        float,
        checked_option("The robot may take so many times as long.", number(least=1.0)),
    ] = 4.0,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Kondo's .csv, a JointTrajectory .yaml, or .mcap; may be repeated.",
            callback=_outputs,
        ),
    ] = None,
    simulate: Annotated[
        bool, typer.Option(help="Try it on the simulated robot before it is written.")
    ] = True,
    plot: Annotated[Path | None, picture_option("Draw the motion")] = None,
    animate: Annotated[
        Path | None,
        checked_option(
            "The simulated robot: .html, .gif, .png, or a scene .glb, .x3d, .wrl.",
            output_file(*ANIMATIONS),
        ),
    ] = None,
    force: Annotated[
        bool, flag("--force", "Write also what fails in simulation.")
    ] = False,
) -> None:
    """Take a person's motion over to a robot, within its limits and balance."""
    from humans_sim.applications.retarget import (
        captured,
        captured_motion,
        retarget_person,
    )
    from humans_sim.control.retargeting.settings import RetargetSettings
    from humans_sim.models import load_model

    if animate is not None and not simulate:
        raise ParameterError("--animate shows the simulation: leave --no-simulate out")
    model = load_model(robot)
    if any(path.suffix.lower() == ".csv" for path in output or []):
        from humans_sim.applications.retarget import board_settings

        board_settings(model)
    name, recording = _recording(source, example)
    if example is not None:
        if options.has(_WHO):
            raise ParameterError("--example has a person of its own")
        from humans_sim.applications.example_recordings import WHO

        options = replace(options, **WHO)
    say(f"{name}: postures")
    postures = captured(recording, **{word: getattr(options, word) for word in _WHO})
    verdict = postures.verdict
    if verdict.grade == "failed":
        raise HumansError(f"{name}: {'; '.join(verdict.reasons)}")
    for reason in verdict.reasons:
        say(f"doubtful: {reason}")
    motion = retarget_person(
        captured_motion(postures, start, end),
        model,
        RetargetSettings(slowest=slowest),
    )
    trial = _tried(motion, output or []) if simulate else None
    _print(motion, trial)
    written: list[Path] = []
    if plot is not None:
        from humans_sim.view.plots.figure_panels import save_figure
        from humans_sim.view.plots.robot_plots import plot_retarget

        save_figure(plot_retarget(motion, trial.run if trial else None), plot)
        written.append(plot)
    if animate is not None and trial is not None:
        from humans_sim.view.film.animation import animate as draw

        draw(trial.run, animate)
        written.append(animate)
    fault = trial.fault if trial is not None else ""
    if not fault or force:
        written += _write(motion, output or [])
    for path in written:
        say(f"written: {path}")
    result(**_contents(motion, trial), written=written)
    if fault:
        hint = "" if force else "; nothing is written that a robot could play"
        raise HumansError(f"{fault}{hint}")


def _recording(source: Path | None, example: str | None) -> tuple[str, Any]:
    """Name and content of what is taken over."""
    if (source is None) == (example is None):
        raise typer.BadParameter(
            "give a recording or a reconstruction, or --example (one of the two)"
        )
    if source is not None:
        return source.name, source
    from humans_sim.applications.example_recordings import example_markers

    say("the example is synthetic: a simulated person with markers")
    assert example is not None
    return example, example_markers(example)


def _tried(motion: RobotMotion, output: list[Path]) -> RetargetTrial:
    """The motion on the simulated robot, as its file makes it move."""
    from humans_sim.applications.retarget_simulation import (
        simulate_boards,
        simulate_motion,
    )

    say("simulating")
    if any(path.suffix.lower() == ".csv" for path in output):
        from humans_sim.applications.retarget import board_motion

        return simulate_boards(motion, board_motion(motion, "motion"))
    return simulate_motion(motion)


def _write(motion: RobotMotion, output: list[Path]) -> list[Path]:
    from humans_sim.applications.retarget import write_robot_motion

    for path in output:
        with described_os_errors(path):
            write_robot_motion(motion, path)
    return list(output)


def _contents(motion: RobotMotion, trial: RetargetTrial | None) -> dict[str, Any]:
    """The result of the motion, for ``--json``."""
    words = ("fallen", "slip", "tilt", "tracking")
    return {
        "robot": motion.model.name,
        "duration": motion.duration,
        "steps": motion.plan.steps,
        "slowdown": motion.plan.slowdown,
        "remarks": list(motion.remarks),
        "direction_error": motion.median_error,
        "limb_errors": motion.limb_errors,
        "zmp_margin": float(motion.zmp_margin.min()),
        "frame_time": motion.frame_time,
        **{word: getattr(trial, word) if trial else None for word in words},
    }


def _print(motion: RobotMotion, trial: RetargetTrial | None) -> None:
    from humans_sim.control.retargeting.robot_motion import nearest_limit

    model = motion.model
    title = f"{model.name}: {motion.duration:.1f} s"
    table = table_of(title, "", right=("value", "limit"), box=SIMPLE_HEAD)
    table.add_row("steps", str(motion.plan.steps), "")
    table.add_row(
        "limbs to the person's (deg)", f"{degrees(motion.median_error):.1f}", ""
    )
    for name, angle in motion.limb_errors.items():
        table.add_row(f"  {name}", f"{degrees(angle):.1f}", "")
    for word, values, limits in (
        ("speed", motion.v[:, 6:], model.velocity_limits),
        ("torque", motion.torques, model.effort_limits),
    ):
        k, j, _ = nearest_limit(values, limits)
        table.add_row(
            f"largest {word}, {model.joint_names[j]} at {motion.t[k]:.2f} s",
            f"{abs(values[k, j]):.2f}",
            f"{limits[j]:.2f}",
        )
    table.add_row(
        "zero-moment point inside by (mm)", f"{1e3 * motion.zmp_margin.min():.1f}", "0"
    )
    if trial is not None:
        table.add_row("simulated: falls", "1" if trial.fallen else "0", "0")
        table.add_row("  slip of a standing foot (mm)", f"{1e3 * trial.slip:.2f}", "3")
        table.add_row("  tilt off the plan (deg)", f"{degrees(trial.tilt):.1f}", "")
        table.add_row(
            "  joints off the plan (deg)", f"{degrees(trial.tracking):.2f}", ""
        )
    console.print(table)
    for remark in motion.remarks:
        say(remark)
    say(f"{1e3 * motion.frame_time:.1f} ms a frame")
