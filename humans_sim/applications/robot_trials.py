# SPDX-License-Identifier: Apache-2.0
"""Trials of robots: do they make the steps that they are told, one or all of a folder.

A robot without a file of its own beside its URDF is set up as ``init-robot`` does, in
a folder of links to the files: nothing is written beside it.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from humans_sim.applications.batch.record import Watch
from humans_sim.applications.batch.runner import on_processes
from humans_sim.applications.robot_draft import draft_files, draft_robot
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import sole_legs
from humans_sim.core.errors import HumansError, ModelFileWarning, ParameterError
from humans_sim.core.files import read_text
from humans_sim.models import Model, load_model

Draw = Callable[[Model, WalkSettings, str], None]
"""Draws a robot; called with the path of its file in the folder."""
ACTUATIONS = ("torque", "servo")
_STANDING = 0.5
"""Time of a trial beyond its steps [s]."""
_ROBOTS = (".urdf", ".urdf.xacro", ".xml")
_MJCF = re.compile(r"<mujoco\b.*<body\b", re.DOTALL)


@dataclass(frozen=True)
class Trial:
    """What a robot did in the first steps of its walk.

    Attributes:
        actuation: ``torque`` or ``servo``.
        ok: whether it made the steps, stayed on its feet, and the run is physically
            right.
        outcome: what happened, for people: how far it went, or what stopped it.
        seconds: processor time that it took [s].
    """

    actuation: str
    ok: bool
    outcome: str
    seconds: float = 0.0


def try_robot(
    robot: Path,
    actuation: str,
    progress: Callable[[int, int], None] | bool | None = None,
    steps: int = 2,
) -> Trial:
    """Let a robot stand and make some steps.

    Args:
        robot: its file, with the files beside it.
        actuation: ``torque`` or ``servo``.
        progress: as of :meth:`~humans_sim.dynamics.simulation.Simulation.run`.
        steps: how many.
    """
    from humans_sim.analysis.gait import WalkSummary
    from humans_sim.analysis.summary import incident_lines, incidents_of
    from humans_sim.applications.scenarios import read_scenario

    begin = time.process_time()

    def trial(ok: bool, outcome: str) -> Trial:
        return Trial(actuation, ok, outcome, time.process_time() - begin)

    try:
        walk = WalkSettings.of_model(load_model(robot))
        end = _STANDING + 2.0 * walk.shift_duration + steps * walk.step_duration
        scenario = read_scenario("walk").with_changes(
            model=str(robot), actuation=actuation, end=end
        )
        run = scenario.run(progress)
        walked, check = WalkSummary.of_run(run), run.check()
    except HumansError as error:
        return trial(False, str(error))
    upright = [f.ok for f in check.findings if f.name.startswith("stays on its feet")]
    if check.ok and any(upright) and len(walked.steps) >= steps:
        tilt = math.degrees(walked.largest_tilt)
        return trial(True, f"{walked.headline}, tilts by {tilt:.3g} degrees at most")
    lines = incident_lines(incidents_of(run))
    words = [f"{f.name} {f.value_text} {f.unit} ({f.where})" for f in check.failed]
    unknown = [f"{f.name}: {f.where}" for f in check.findings if f.ok is None]
    said = [walked.headline, *words, *lines]
    return trial(False, "; ".join(said if check.failed else [*said, *unknown]))


@dataclass(frozen=True)
class TriedRobot:
    """A robot of a folder, and what it did.

    Attributes:
        name: path of its file in the folder.
        refusal: why it was not tried; empty where it was.
        mass: [kg].
        joints: of a leg.
        doubts: what is not sure about it, and what was left out.
        trials: by the actuations that were asked for.
    """

    name: str
    refusal: str = ""
    mass: float = 0.0
    joints: int = 0
    doubts: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()

    @property
    def walks(self) -> bool:
        """Whether it walks by one of the actuations."""
        return any(trial.ok for trial in self.trials)


def find_robots(folder: Path) -> list[Path]:
    """Files of robots in a folder and those below: URDF, xacro and MJCF with bodies.

    Raises:
        ParameterError: there are none.
    """
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.name.lower().endswith(_ROBOTS) and path.is_file() and _is_robot(path)
    ]
    if not found:
        raise ParameterError(f"{folder}: no robots ({', '.join(_ROBOTS)}) are in there")
    return found


def _is_robot(path: Path) -> bool:
    if path.suffix.lower() != ".xml":
        return True
    try:
        return _MJCF.search(read_text(path)) is not None
    except HumansError:
        return True  # the trial says what is wrong with it


class _TooLongError(HumansError):
    """A trial took too much time."""


@dataclass(frozen=True)
class _Task:
    """A robot to try, in a process of its own."""

    path: Path
    folder: Path
    steps: int
    limit: float
    actuations: tuple[str, ...]
    draw: Draw | None

    @property
    def label(self) -> str:
        """Of its row."""
        return self.path.relative_to(self.folder).as_posix()

    def failure(self, message: str, detail: str = "") -> TriedRobot:
        """A robot whose process was lost."""
        return TriedRobot(self.label, self._said(message))

    def _said(self, message: str) -> str:
        """Words that name files as the folder has them."""
        return message.replace(f"{self.folder}/", "")

    def run(self, watch: Watch | None = None) -> TriedRobot:
        """Draft it, draw it, let it walk; errors become its refusal."""
        with warnings.catch_warnings():  # they are the model's notes, too
            warnings.simplefilter("ignore", ModelFileWarning)
            return self._tried()

    def _tried(self) -> TriedRobot:
        doubts: tuple[str, ...] = ()
        try:
            if not draft_files(self.path)[0].exists():
                draft = draft_robot(self.path)
                doubts = draft.doubts
                draft.save()
            model = load_model(self.path)
            settings = WalkSettings.of_model(model)
            legs = sole_legs(model, settings.left, settings.right)
            if self.draw is not None:
                self.draw(model, settings, self.label)
        except HumansError as error:
            return self.failure(str(error))
        trials = []
        for actuation in self.actuations:
            done = try_robot(self.path, actuation, self._within_limit(), self.steps)
            trials.append(replace(done, outcome=self._said(done.outcome)))
        joints = len(legs[0].names)
        notes = (*model.notes, *doubts)
        return TriedRobot(self.label, "", model.mass, joints, notes, tuple(trials))

    def _within_limit(self) -> Callable[[int, int], None]:
        begin = time.process_time()

        def look(done: int, total: int) -> None:
            if time.process_time() - begin > self.limit:
                raise _TooLongError(
                    f"stopped after {self.limit:g} s of processor time, "
                    f"{done / total:.0%} done"
                )

        return look


def try_robots(
    folder: Path,
    *,
    steps: int = 20,
    limit: float = 300.0,
    actuations: Sequence[str] = ACTUATIONS,
    draw: Draw | None = None,
    workers: int = 1,
) -> Iterator[TriedRobot]:
    """Try the robots of a folder, each in a process of its own; rows as they come.

    Args:
        folder: searched with those below it.
        steps: of each trial.
        limit: processor time of one trial [s].
        actuations: that are tried.
        draw: makes a picture of each robot that is understood, in its process.
        workers: processes.
    """
    robots = find_robots(folder)
    with tempfile.TemporaryDirectory() as place:
        links = Path(place, "robots")
        shutil.copytree(folder, links, symlinks=True, copy_function=_link)
        tasks = []
        for robot in robots:
            path = links / robot.relative_to(folder)
            tasks.append(_Task(path, links, steps, limit, tuple(actuations), draw))
        yield from on_processes(tasks, workers)


def _link(source: str, target: str) -> None:
    os.symlink(os.path.abspath(source), target)


def robot_table(robots: Sequence[TriedRobot], steps: int) -> str:
    """A table of robots, in Markdown."""
    lines = [
        f"{steps} steps; largest tilt of the base, or what stops it.",
        "",
        "| robot | mass [kg] | joints of a leg | by torques | by servos | not sure |",
        "|---|---|---|---|---|---|",
    ]
    for robot in robots:
        if robot.refusal:
            cells = ["", "", f"refused: {robot.refusal}", "", ""]
        else:
            done = {trial.actuation: trial for trial in robot.trials}
            said = [_words(done.get(actuation)) for actuation in ACTUATIONS]
            doubts = "; ".join(robot.doubts)
            cells = [f"{robot.mass:.1f}", str(robot.joints), *said, doubts]
        safe = (
            " ".join(cell.replace("|", "/").split()) for cell in [robot.name, *cells]
        )
        lines.append(f"| {' | '.join(safe)} |")
    return "\n".join(lines) + "\n"


def _words(trial: Trial | None) -> str:
    if trial is None:
        return "not tried"
    verdict = "" if trial.ok else "failed: "
    return f"{verdict}{trial.outcome} ({trial.seconds:.0f} s)"
