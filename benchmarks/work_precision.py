# SPDX-License-Identifier: Apache-2.0
"""Error against wall time: our two methods and MuJoCo on the same three scenes.

Scenes, all with plastic impacts and Coulomb friction:

* KHR-1 with locked joints falls 1 cm on flat feet: eight corners land at once.
* The same, rolled by 2 degrees about the x axis: the outer edge of one foot lands
  first, then the outer edge of the other, and the robot rocks. The run ends before the
  third impact.
* A block, tilted by 60 degrees about a lower corner, falls, slides, lands, stops.

They are well conditioned, so that errors are those of the methods: rolled about one
axis only, both corners of an edge land together with the centre of mass between them,
and no close call decides which corner is next. The growth of a small change of the
start is measured and printed.

The error is the largest distance of a contact point to where a tight event-driven run
has it, over all samples (the default period of a run). That reference is compared with
one of a tenth of its tolerance. MuJoCo is also compared with its own finest time step:
so its error as a method is seen apart from what tells its model of contact from ours.
Its contacts are as hard as it lets them be (see ``peers/mujoco_scenes.py``), with the
damping ratio of 1, 1.5, 2, 3, 5, 10 and 30 that brought it nearest to the goal on each
scene with each integrator.

Wall time is the best of several runs, of stepping only: models are built and code is
compiled before. MuJoCo steps in C from sample to sample; our methods start with their
search for contacts at the first state, which is timed too.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import HumansError
from humans_sim.dynamics.problems import rocking_block, rocking_block_start
from humans_sim.dynamics.simulation import Simulation

try:
    from peers import mujoco_scenes as peer
except ImportError:
    peer = None  # type: ignore[assignment]

GOAL = 1e-6
"""Error at which the methods are compared [m]."""
OURS, PEER = "event-driven", "MuJoCo"
PERIOD = 0.01
REFERENCE, CHECK = 1e-12, 1e-13
TOLERANCES = [10.0**-k for k in range(3, 12)]
TIME_STEPS = [1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4]
PEER_STEPS = [*TIME_STEPS, 5e-5, 2e-5, 1e-5, 5e-6]
FLOOR = 1e-16
"""Errors below this are rounding; plots and fits end here [m]."""
LEAST_ORDER = 0.3
"""A trend of errors over wall time that falls slower is no trend."""
REPEATS, BUDGET = 15, 2.0
"""Runs of one setting: as many as fit into this time [s], two at least."""
NUDGE = 1e-7

Points = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Scene:
    """A motion that all contenders compute.

    Attributes:
        name: for people.
        end: [s].
        start: configuration.
        simulate: options -> simulation.
        points: configurations (n, nq) -> contact points (n, k, 3) [m].
        nudges: starts that differ by NUDGE [m, rad], to see how errors grow.
        body: what MuJoCo needs to know: keywords of ``rigid_body``.
        to_peer: configuration -> MuJoCo's.
        from_peer: MuJoCo's configurations -> ours, as far as points look at them.
        damping: MuJoCo's damping ratio of contacts, by integrator.
        finest: MuJoCo's finest time step, by integrator [s].
    """

    name: str
    end: float
    start: np.ndarray
    simulate: Callable[..., Simulation]
    points: Points
    nudges: tuple[np.ndarray, ...]
    body: dict[str, Any]
    to_peer: Callable[[np.ndarray], np.ndarray]
    from_peer: Callable[[np.ndarray], np.ndarray]
    damping: dict[str, float]
    finest: dict[str, float]

    @property
    def times(self) -> np.ndarray:
        """Sampling times after the start [s]."""
        return PERIOD * np.arange(1, round(self.end / PERIOD) + 1)


@dataclass
class Row:
    """One setting of one method on one scene.

    Attributes:
        scene: its name.
        method: its name.
        setting: tolerance or time step, with its unit.
        wall: [s]; None where the method gave up.
        error: to the reference [m].
        own: to the method's own finest setting [m].
        note: why it gave up.
    """

    scene: str
    method: str
    setting: str
    wall: float | None = None
    error: float | None = None
    own: float | None = None
    note: str = ""


# -- scenes --------------------------------------------------------------------------


def khr1(name: str, roll: float, damping: dict[str, float]) -> Scene:
    """KHR-1, all joints locked, its lowest corner 1 cm over the floor."""
    model, friction = hs.load_model("khr1"), 0.7
    start = model.neutral()
    start[3:7] = _roll(roll)
    start[2] += 0.01 - model.contact(start)[:, 2].min()
    at_origin = start.copy()
    at_origin[:7] = [0, 0, 0, 0, 0, 0, 1]
    corners = model.contact(at_origin)
    joints = list(range(2, model.pin.njoints))
    rigid = pin.buildReducedModel(model.pin, joints, start).inertias[1]

    def simulate(**options: Any) -> Simulation:
        return Simulation(
            model, ground=Ground(friction=friction), locked=["*"], **options
        )

    def points(qs: np.ndarray) -> np.ndarray:
        turns = [pin.Quaternion(q[3:7]).matrix() for q in qs]
        return np.array([q[:3] + corners @ r.T for q, r in zip(qs, turns, strict=True)])

    raised, rolled = start.copy(), start.copy()
    raised[2] += NUDGE
    rolled[3:7] = _roll(roll + NUDGE)
    rolled[2] += 0.01 - model.contact(rolled)[:, 2].min()
    return Scene(
        name=name,
        end=0.2,
        start=start,
        simulate=simulate,
        points=points,
        nudges=(raised, rolled) if roll else (raised,),
        body={
            "mass": rigid.mass,
            "centre": rigid.lever,
            "inertia": rigid.inertia,
            "points": corners,
            "friction": friction,
            "joints": "FREE",
        },
        to_peer=lambda q: q[[0, 1, 2, 6, 3, 4, 5]],
        from_peer=lambda qs: qs[:, [0, 1, 2, 4, 5, 6, 3]],
        damping=damping,
        finest={"Euler": 1e-6, "RK4": 2e-6},
    )


def block() -> Scene:
    """The rocking block of the classic problems."""
    length, height, mass, friction = 1.0, 0.5, 1.0, 0.5
    corners = np.array([[-length / 2, 0, -height / 2], [length / 2, 0, -height / 2]])

    def points(qs: np.ndarray) -> np.ndarray:
        placed = []
        for x, z, angle in qs:
            c, s = math.cos(angle), math.sin(angle)
            turn = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
            placed.append(np.array([x, 0, z]) + corners @ turn.T)
        return np.array(placed)

    return Scene(
        name="rocking block",
        end=1.5,
        start=rocking_block_start(),
        simulate=lambda **options: Simulation(rocking_block(friction), **options),
        points=points,
        nudges=(rocking_block_start(math.pi / 3 + NUDGE),),
        body={
            "mass": mass,
            "centre": np.zeros(3),
            "inertia": np.eye(3) * mass * (length**2 + height**2) / 12,
            "points": corners,
            "friction": friction,
            "joints": "PLANAR",
        },
        to_peer=lambda q: q,
        from_peer=lambda qs: qs,
        damping={"Euler": 10.0, "RK4": 10.0},
        finest={"Euler": 2e-6, "RK4": 5e-6},
    )


def _roll(angle: float) -> np.ndarray:
    return np.array([math.sin(angle / 2), 0.0, 0.0, math.cos(angle / 2)])


def scenes() -> list[Scene]:
    """All scenes."""
    return [
        khr1("KHR-1, flat feet", 0.0, {"Euler": 2.0, "RK4": 2.0}),
        khr1("KHR-1, edge first", math.radians(2), {"Euler": 2.0, "RK4": 3.0}),
        block(),
    ]


# -- contenders ----------------------------------------------------------------------


def samples(simulation: Simulation, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Configurations at the sampling times (n, nq), as in a run."""
    stepper = simulation.start(start)
    found = []
    for moment in times:
        stepper.advance(moment, times[-1])
        if stepper.t != moment:
            raise RuntimeError(f"{stepper.t} s was reached in place of {moment} s")
        found.append(stepper.q)
    return np.array(found)


def best_time(
    call: Callable[[], np.ndarray], prepare: Callable[[], None] = lambda: None
) -> tuple[float, np.ndarray]:
    """Shortest wall time of several calls [s], and the answer."""
    best, spent, result = math.inf, 0.0, np.zeros(0)
    for k in range(REPEATS):
        prepare()
        begun = time.perf_counter()
        result = call()
        took = time.perf_counter() - begun
        best, spent = min(best, took), spent + took
        if k and spent + took > BUDGET:
            break
    return best, result


def distance(points: np.ndarray, others: np.ndarray) -> float:
    """Largest distance between the same points of two runs [m]."""
    return float(np.linalg.norm(points - others, axis=-1).max())


def _event_driven(scene: Scene, rtol: float) -> Simulation:
    return scene.simulate(rtol=rtol, atol=1e-3 * rtol)


def our_rows(scene: Scene, reference: np.ndarray) -> list[Row]:
    """Both of our methods at several settings."""
    rows = []
    settings = [
        (OURS, f"rtol {rtol:.0e}", _event_driven(scene, rtol)) for rtol in TOLERANCES
    ]
    settings += [
        (
            "time stepping",
            f"step {step:.0e} s",
            scene.simulate(method="time_stepping", time_step=step),
        )
        for step in TIME_STEPS
    ]
    for method, setting, simulation in settings:
        row = Row(scene.name, method, setting)
        rows.append(row)
        call = partial(samples, simulation, scene.start, scene.times)
        try:
            row.wall, found = best_time(call)
        except HumansError as error:
            row.note = str(error)
            continue
        row.error = distance(scene.points(found), reference)
    return rows


def peer_rows(scene: Scene, reference: np.ndarray) -> list[Row]:
    """MuJoCo with each integrator at several time steps."""
    rows = []
    for integrator in peer.INTEGRATORS:
        finest = scene.finest[integrator]
        found = []
        for step in [*(s for s in PEER_STEPS if s > 1.5 * finest), finest]:
            model = peer.rigid_body(
                **{**scene.body, "joints": getattr(peer, scene.body["joints"])},
                damping=scene.damping[integrator],
                step=step,
                integrator=integrator,
            )
            runner = peer.Runner(model, scene.to_peer(scene.start), PERIOD)
            call = partial(runner.run, len(scene.times))
            wall, qs = best_time(call, runner.reset)
            placed = scene.points(scene.from_peer(qs))
            row = Row(scene.name, f"{PEER} {integrator}", f"step {step:.0e} s", wall)
            row.error = distance(placed, reference)
            found.append((row, placed))
        limit = found[-1][1]
        for row, placed in found[:-1]:
            row.own = distance(placed, limit)
        rows += [row for row, _ in found]
    return rows


# -- answers -------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What a method needs for an error.

    Attributes:
        wall: [s]; infinite where its error falls no further.
        kind: ``measured`` (between two points), ``bound`` (the cheapest setting is
            better already) or ``extrapolated``.
        best: smallest error measured [m].
        best_wall: what it took [s].
    """

    wall: float
    kind: str
    best: float
    best_wall: float

    def __str__(self) -> str:
        if self.kind == "measured":
            return f"needs {_ms(self.wall)}"
        if self.kind == "bound":
            return f"needs at most {_ms(self.wall)}"
        text = f"does not reach it: best {self.best:.1e} m at {_ms(self.best_wall)}, "
        if math.isinf(self.wall):
            return text + "and falls no further"
        return text + f"{_ms(self.wall)} by extrapolation"


def _ms(seconds: float) -> str:
    if seconds >= 10:
        return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0e} s"
    return f"{1e3 * seconds:.{1 if seconds < 0.1 else 0}f} ms"


def cost(points: Sequence[tuple[float, float]], goal: float) -> Cost:
    """Wall time at an error, between the measured points (wall, error).

    Only points count that no cheaper one beats. If none is good enough, the trend of
    the four dearest goes on from the best one, where it falls at all.
    """
    points = sorted((wall, max(error, FLOOR)) for wall, error in points)
    front = points[:1]
    for wall, error in points:
        if error < front[-1][1]:
            front.append((wall, error))
    best_wall, best = front[-1]
    if front[0][1] <= goal:
        return Cost(front[0][0], "bound", best, best_wall)
    for (w0, e0), (w1, e1) in zip(front, front[1:], strict=False):
        if e1 <= goal:
            share = math.log(e0 / goal) / math.log(e0 / e1)
            return Cost(w0 * (w1 / w0) ** share, "measured", best, best_wall)
    order = -np.polyfit(*np.log(np.array(points[-4:])).T, 1)[0]
    wall = best_wall * (best / goal) ** (1 / order) if order > LEAST_ORDER else math.inf
    return Cost(wall, "extrapolated", best, best_wall)


def answers(rows: Sequence[Row]) -> dict[str, Cost]:
    """What each method needs for GOAL, on one scene."""
    methods = dict.fromkeys(row.method for row in rows)
    measured = {method: _points(rows, method) for method in methods}
    return {method: cost(points, GOAL) for method, points in measured.items() if points}


def _points(rows: Sequence[Row], method: str) -> list[tuple[float, float]]:
    """Wall times and errors of the methods whose names begin so."""
    return [
        (row.wall, row.error)
        for row in rows
        if row.method.startswith(method)
        and row.wall is not None
        and row.error is not None
    ]


def say(scene: str, rows: Sequence[Row], costs: dict[str, Cost]) -> str:
    """A line that compares the methods, in either one's favour."""
    text = f"{scene}: at {GOAL:.0e} m error, "
    text += "; ".join(f"{name} {needed}" for name, needed in costs.items()) + "."
    theirs = {name: c for name, c in costs.items() if name.startswith(PEER)}
    ours = costs.get(OURS)
    if not theirs or ours is None:
        return text
    about = "at least " if ours.kind == "bound" else ""
    name, least = min(theirs.items(), key=lambda item: item[1].wall)
    if least.kind != "extrapolated":
        text += f" {name} / {OURS}: {about}{least.wall / ours.wall:.2g}."
    else:
        name, closest = min(theirs.items(), key=lambda item: item[1].best)
        text += (
            f" The best of {name}, {closest.best:.1e} m, takes {about}"
            f"{closest.best_wall / ours.wall:.2g} times as long as {OURS} at "
            f"{GOAL:.0e} m."
        )
        if math.isfinite(least.wall):
            ratio = least.wall / ours.wall
            text += f" Extrapolated to {GOAL:.0e} m: {about}{ratio:.2g} times."
    cheapest = min(wall for wall, _ in _points(rows, OURS))
    within = [error for wall, error in _points(rows, PEER) if wall <= cheapest]
    if within:
        text += (
            f" Within {_ms(cheapest)}, the cheapest {OURS} run, {PEER} gets to "
            f"{min(within):.1e} m."
        )
    return text


# -- output --------------------------------------------------------------------------


def table(scene: str, rows: Sequence[Row]) -> Table:
    """The rows of one scene, for a terminal."""
    shown = Table(title=scene, title_justify="left")
    shown.add_column("method", no_wrap=True)
    shown.add_column("setting", no_wrap=True)
    for title in ("wall [ms]", "error [m]", "to own limit [m]"):
        shown.add_column(title, justify="right")
    before = ""
    for row in rows:
        if before and row.method != before:
            shown.add_section()
        shown.add_row(
            row.method if row.method != before else "",
            row.setting,
            "failed" if row.wall is None else f"{1e3 * row.wall:.2f}",
            "" if row.error is None else f"{row.error:.1e}",
            "" if row.own is None else f"{row.own:.1e}",
        )
        before = row.method
    return shown


LOOKS = {
    OURS: ("#0072b2", "o"),
    "time stepping": ("#009e73", "s"),
    f"{PEER} Euler": ("#d55e00", "^"),
    f"{PEER} RK4": ("#cc79a7", "v"),
}


def plot(rows: Sequence[Row], path: Path) -> None:
    """Error over wall time, one panel for each scene."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row.scene for row in rows))
    figure, axes = plt.subplots(
        1, len(names), figsize=(4.6 * len(names), 4.8), sharey=True, squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        for method, (colour, marker) in LOOKS.items():
            own = [r for r in rows if r.scene == name and r.method == method]
            done = [r for r in own if r.wall is not None and r.error is not None]
            if not done:
                continue
            ax.plot(
                [1e3 * r.wall for r in done if r.wall],
                [max(r.error, FLOOR) for r in done if r.error is not None],
                color=colour,
                marker=marker,
                markersize=5,
                linewidth=1.2,
                label=method,
                zorder=3 if method == OURS else 2,
            )
            limit = [r for r in done if r.own is not None]
            if limit:
                ax.plot(
                    [1e3 * r.wall for r in limit if r.wall],
                    [max(r.own, FLOOR) for r in limit if r.own is not None],
                    color=colour,
                    marker=marker,
                    markersize=7,
                    markerfacecolor="none",
                    linestyle=":",
                    linewidth=1.0,
                    label=f"{method}, to its own limit",
                )
        ax.axhline(GOAL, color="0.4", linewidth=0.8, linestyle="--", label="goal")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(name)
        ax.set_xlabel("wall time [ms]")
        ax.grid(alpha=0.3)
    axes[0][0].set_ylabel("largest error of a contact point [m] (from 1e-16)")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="lower center", ncols=len(handles), frameon=False
    )
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure, print, plot."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plot", type=Path, help="picture to write")
    parser.add_argument("--json", type=Path, help="numbers to write")
    arguments = parser.parse_args()
    console = Console()
    if peer is None:
        console.print(
            "MuJoCo cannot be imported: going on without it (make bench)",
            soft_wrap=True,
        )
    rows: list[Row] = []
    remarks, lines, costs = [], [], {}
    for scene in scenes():
        reference, check, *nudged = (
            scene.points(samples(_event_driven(scene, rtol), start, scene.times))
            for rtol, start in [
                (REFERENCE, scene.start),
                (CHECK, scene.start),
                *((REFERENCE, nudge) for nudge in scene.nudges),
            ]
        )
        growth = max(distance(moved, reference) for moved in nudged) / NUDGE
        remarks.append(
            f"{scene.name}: reference rtol {REFERENCE:.0e}, "
            f"{distance(reference, check):.1e} m from rtol {CHECK:.0e}; a small change "
            f"of the start grows {growth:.2g} times"
        )
        own = our_rows(scene, reference)
        if peer is not None:
            own += peer_rows(scene, reference)
        costs[scene.name] = answers(own)
        lines.append(say(scene.name, own, costs[scene.name]))
        rows += own
    for name in costs:
        console.print(table(name, [row for row in rows if row.scene == name]))
    for row in rows:
        if row.note:
            console.print(f"{row.scene}, {row.method}, {row.setting}: {row.note}")
    for text in [*remarks, *lines]:
        console.print(text, soft_wrap=True, highlight=False)
    if arguments.plot:
        plot(rows, arguments.plot)
    if arguments.json:
        stored = {
            "machine": platform.machine(),
            "python": platform.python_version(),
            "mujoco": None if peer is None else peer.VERSION,
            "goal [m]": GOAL,
            "remarks": remarks,
            "rows": [asdict(row) for row in rows],
            "costs": {
                name: {method: asdict(c) for method, c in each.items()}
                for name, each in costs.items()
            },
            "answers": lines,
        }
        arguments.json.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
