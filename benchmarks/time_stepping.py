# SPDX-License-Identifier: Apache-2.0
"""Cost of a time step of the walking or standing KHR-1: humans_sim beside MuJoCo.

Both follow the same angles of a walking pattern with the same drives (a spring and a
damper in every joint, the inertia of the rotors), on the same eight corners with the
same friction and the same time step; a second row of humans_sim has the whole body
touch the ground and itself, as it does by default. Timed are the steps between two
commands, over their number, in one run, in turns and by the processor's time:
humans_sim from Python with all it does there, MuJoCo's in C. The laws of contact
differ: rigid here, gaps end at zero; MuJoCo's contacts give way.

Beside the cost stand what each sees: the deepest penetration, the slip of the feet as
the distance that the base falls behind the pattern, and the contact problems that kept
a residual above 1e-8. Who stands turns the head by a tenth of a milliradian in a
period: steps of what is at rest are not computed (``--still`` shows that).
"""

from __future__ import annotations

import argparse
import platform
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.control.walking import WalkPattern
from humans_sim.dynamics.actuation_interface import Actuation, DriveTable, table_torques
from humans_sim.dynamics.simulation import Simulation
from humans_sim.dynamics.time_stepping.time_stepper import TimeStepper

try:
    from peers import mujoco_biped as peer
except ImportError:
    peer = None  # type: ignore[assignment]

GAIN, DAMPING, ROTOR = 22.0, 0.5, 1.5e-3
"""Of the drives [N m/rad, N m s/rad, kg m^2]; no robot's: the larger step is too long
for the damping of the KHR-1's servos."""
FRICTION, SPEED, PERIOD = 0.7, 0.05, 0.02
STEPS = (1e-3, 2e-3)
HEAD, TURN = 0, 1e-4
"""Joint of the head; what it turns in a period where the robot stands [rad]."""


class Drives(Actuation):
    """A spring and a damper in every joint, to angles that follow a table.

    Each step takes them where it begins, as MuJoCo's takes its controls. They run along
    a line of the table from one command to the next, as the set points of servos do.
    """

    def __init__(self, model: hs.Model, angles: np.ndarray) -> None:
        """Angles (n, njoints) every PERIOD, lines between them [rad]."""
        self.armature = np.concatenate([np.zeros(6), np.full(angles.shape[1], ROTOR)])
        self._angles, self._locked = angles, np.zeros(0, dtype=np.int64)
        # Torque and speed without limits, no dead band, no friction.
        row = [GAIN, DAMPING, 1e9, 1e9, 0.0, 0.0, 0.0, 1.0]
        self._parameters = np.tile(row, (angles.shape[1], 1))
        self.begin(0)

    def point(self, t: float) -> np.ndarray:
        """Angles where the springs are without force; they lead by the damping."""
        row = min(int(t / PERIOD), len(self._angles) - 2)
        rate = (self._angles[row + 1] - self._angles[row]) / PERIOD
        lead = t - row * PERIOD + DAMPING / GAIN
        return np.asarray(self._angles[row] + rate * lead)

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques of the drives."""
        return table_torques(tuple(self._table), self._locked, t, q, v), z

    def begin(self, row: int) -> None:
        """Follow a line of the table from now on."""
        row = min(row, len(self._angles) - 2)
        rate = (self._angles[row + 1] - self._angles[row]) / PERIOD
        start = row * PERIOD
        self._table = DriveTable(start, self._angles[row], rate, self._parameters)

    def drives(self) -> DriveTable:
        """The same for kernels."""
        return self._table


def angles_of_walk(
    model: hs.Model, seconds: float, speed: float = SPEED
) -> tuple[np.ndarray, np.ndarray]:
    """Angles of the pattern every PERIOD, and where it has its base at the end."""
    pattern, rows = WalkPattern(model), []
    for k in range(round(seconds / PERIOD) + 2):
        if k == 5 and speed > 0.0:
            pattern.command(speed, 0.0, 0.0)
        tick = pattern.tick(k * PERIOD)
        rows.append(tick.joints)
    return np.array(rows), tick.q


def library_steps(
    model: hs.Model, angles: np.ndarray, step: float, body: bool = False
) -> tuple[np.ndarray, float, float, int]:
    """Times of the steps [s], deepest gap [m], way [m], rough steps."""
    drives = Drives(model, angles)
    simulation = Simulation(
        model,
        drives,
        ground=hs.Ground(friction=FRICTION),
        method="time_stepping",
        time_step=step,
        contacts=hs.Contacts(whole_body=body, self_collision=body),
    )
    stepper = simulation.start(model.standing(angles[0]))
    assert isinstance(stepper, TimeStepper)
    times, deepest = [], 0.0
    for k in range(len(angles) - 2):
        drives.begin(k)
        before, begun = stepper.evaluations, time.thread_time()
        stepper.advance((k + 1) * PERIOD)
        spent, made = time.thread_time() - begun, stepper.evaluations - before
        times += [spent / made] * made
        deepest = min(deepest, float(stepper.sample().gaps.min()))
    return np.array(times), deepest, float(stepper.q[0]), stepper.steps.rough_steps


def peers(
    model: hs.Model, angles: np.ndarray, step: float
) -> tuple[np.ndarray, float, float]:
    """The same of MuJoCo, without rough steps."""
    biped = peer.biped(model, step, FRICTION, GAIN, DAMPING, ROTOR)
    data, drives = peer.mujoco.MjData(biped), Drives(model, angles)
    data.qpos[:] = peer.positions(model.standing(angles[0]))
    times, deepest, block = [], 0.0, round(PERIOD / step)
    for k in range(0, (len(angles) - 2) * block, block):
        spent = 0.0
        for i in range(k, k + block):
            data.ctrl[:] = drives.point(i * step)
            begun = time.thread_time()
            peer.mujoco.mj_step(biped, data)
            spent += time.thread_time() - begun
            if data.ncon:
                deepest = min(deepest, float(data.contact.dist[: data.ncon].min()))
        times += [spent / block] * block
    return np.array(times), deepest, float(data.qpos[0])


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6.0, help="of the walk")
    parser.add_argument(
        "--speed", type=float, default=SPEED, help="of the walk [m/s]; 0: it stands"
    )
    parser.add_argument(
        "--still", action="store_true", help="who stands does not turn the head either"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="in turns: the machine's speed changes"
    )
    options = parser.parse_args()
    seconds = options.seconds
    console = Console(width=100)
    machine = f"On {platform.machine()}, Python {platform.python_version()}"
    console.print(machine if peer is None else f"{machine}, MuJoCo {peer.VERSION}")
    model = hs.load_model("khr1")
    angles, end = angles_of_walk(model, seconds, options.speed)
    if not options.speed and not options.still:
        angles[:, HEAD] += TURN * np.arange(len(angles))
    library_steps(model, angles, STEPS[0])  # compiles
    title = f"KHR-1 {'walks' if options.speed > 0.0 else 'stands'} {seconds:g} s"
    table = Table("step", "method", title=title, title_justify="left")
    for column in (
        "median us",
        "mean us",
        "ratio",
        "x real time",
        "deepest [m]",
        "way [m]",
        "rough",
    ):
        table.add_column(column, justify="right")
    for step in STEPS:
        results: dict[str, tuple[list[np.ndarray], list[float], str]] = {}
        for _ in range(options.rounds):
            for body, name in ((True, "whole body"), (False, "eight corners")):
                times, *seen, rough = library_steps(model, angles, step, body)
                results.setdefault(name, ([], seen, str(rough)))[0].append(times)
            if peer is not None:
                times, *seen = peers(model, angles, step)
                results.setdefault("MuJoCo", ([], seen, ""))[0].append(times)
        spent = {name: np.concatenate(rounds) for name, (rounds, *_) in results.items()}
        least = float(np.median(list(spent.values())[-1]))
        for name, (_, (deepest, distance), rough) in results.items():
            times = spent[name]
            table.add_row(
                f"{1e3 * step:g} ms",
                name,
                f"{1e6 * np.median(times):.0f}",
                f"{1e6 * np.mean(times):.0f}",
                f"{np.median(times) / least:.2f}",
                f"{seconds * options.rounds / np.sum(times):.1f}",
                f"{deepest:.0e}",
                f"{distance:.3f} of {end[0]:.3f}",
                rough,
            )
        table.add_section()
    console.print(table)


if __name__ == "__main__":
    main()
