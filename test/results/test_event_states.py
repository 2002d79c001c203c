# SPDX-License-Identifier: Apache-2.0
"""States right before and after events: of a ball, of bipeds, in files, in curves."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.core.npz_file import write_npz
from humans_sim.dynamics.problems import bouncing_ball
from humans_sim.results import check as event_check
from humans_sim.results.event_states import (
    EVENT_ARRAYS,
    FILE_ARRAYS,
    samples_at_events,
    with_event_samples,
)
from humans_sim.results.records import IMPACT
from humans_sim.view.plots.run_plots import plot_run

HEIGHT, RESTITUTION, GRAVITY = 1.0, 0.5, 9.81


def dropped(method: str = "event_driven") -> hs.Run:
    """A ball that is dropped and bounces."""
    sim = hs.Simulation(bouncing_ball(RESTITUTION), method=method)
    return sim.run(np.array([HEIGHT]), t_end=1.0, sampling_period=0.01)


@pytest.fixture(scope="module")
def ball() -> hs.Run:
    """The same, by events."""
    return dropped()


@pytest.fixture(scope="module")
def fallen() -> hs.Run:
    """The KHR-1 in one piece falls a little onto an edge of its feet, and pitches."""
    robot = hs.load_model("khr1")
    q = robot.neutral()
    q[2] += 0.03
    q[3:7] = [0.0, np.sin(0.05), 0.0, np.cos(0.05)]
    sim = hs.Simulation(robot, locked=["*"])
    return sim.run(q, t_end=0.25)


def spoiled(run: hs.Run, name: str, place: tuple[int, ...], factor: float) -> hs.Run:
    """A run one of whose numbers at events is another."""
    array = getattr(run.event_states, name).copy()
    array[place] *= factor
    return replace(run, event_states=replace(run.event_states, **{name: array}))


def test_a_dropped_ball(ball: hs.Run) -> None:
    """Time, speed before and after, impulse and energy are those of free fall."""
    states = ball.event_states
    fall = np.sqrt(2 * HEIGHT / GRAVITY)
    times = fall + np.array([0.0, 2 * RESTITUTION * fall])
    assert states.t == pytest.approx(times, abs=1e-9)
    speed = GRAVITY * fall * RESTITUTION ** np.arange(2)
    assert states.v[:, 0, 0] == pytest.approx(-speed, abs=1e-8)
    assert states.v[:, 1, 0] == pytest.approx(RESTITUTION * speed, abs=1e-8)
    mass = 2 * ball.energy[-1, 0] / ball.v[-1, 0] ** 2
    impulse = mass * (1 + RESTITUTION) * speed
    assert states.impulses[:, 0, 0] == pytest.approx(impulse, rel=1e-8)
    kinetic = 0.5 * mass * states.v[:, :, 0] ** 2
    assert states.energy[:, :, 0] == pytest.approx(kinetic, rel=1e-12)
    assert not states.contacts.any() and not states.forces.any()


def test_curves_jump(ball: hs.Run) -> None:
    """Kinetic energy and height are drawn at the impact as they are there."""
    figure = plot_run(ball)
    panels = {axes.get_title(): axes for axes in figure.axes}
    energy = panels["energy, potential from its value at the start"]
    line = next(line for line in energy.lines if line.get_label() == "kinetic")
    t, drawn = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    at_impact = drawn[t == ball.event_states.t[0]]
    assert at_impact == pytest.approx(ball.event_states.energy[0, :, 0], rel=1e-12)
    assert at_impact[1] == pytest.approx(RESTITUTION**2 * at_impact[0], rel=1e-9)
    drawn_run = with_event_samples(ball)
    here = drawn_run.t == ball.event_states.t[0]
    assert drawn_run.v[here, 0] == pytest.approx(ball.event_states.v[0, :, 0])
    assert drawn_run.q[here, 0] == pytest.approx(0.0, abs=1e-9)
    assert len(drawn_run) == len(ball) + 2 * len(ball.event_states)
    assert np.all(np.diff(drawn_run.t) >= 0) and np.all(np.diff(ball.t) > 0)


def test_time_steps_have_no_events() -> None:
    """Nothing is located in time, nothing is stored, nothing is drawn."""
    run = dropped("time_stepping")
    assert not len(run.event_states) and samples_at_events(run) is None
    assert with_event_samples(run) is run
    assert "momentum" not in " ".join(f.name for f in run.check().findings)


def test_files(ball: hs.Run, fallen: hs.Run, tmp_path: Path) -> None:
    """Files give back the same bits; those without are read, too."""
    for run in (ball, fallen):
        again = hs.load_run(run.save(tmp_path / "run.npz"))
        for name in EVENT_ARRAYS:
            stored = getattr(again.event_states, name)
            assert np.array_equal(stored, getattr(run.event_states, name))
        assert again.event_states.contact_count == len(run.table)
        assert again.check().ok
    with np.load(tmp_path / "run.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(str(arrays.pop("header")))
    older = {name: a for name, a in arrays.items() if name not in FILE_ARRAYS}
    read = hs.load_run(write_npz(tmp_path / "older.npz", header, older))
    assert not len(read.event_states) and read.check().ok

    def damaged(**changes: Any) -> None:
        content = {**arrays, **changes}
        content = {name: a for name, a in content.items() if a is not None}
        path = write_npz(tmp_path / "damaged.npz", header, content)
        with pytest.raises(hs.errors.RunFileError, match="event"):
            hs.load_run(path)

    touches = arrays["event_touches"].copy()
    touches[0, 1] = len(fallen.table)
    damaged(event_touches=touches)
    damaged(event_v=None)
    damaged(event_v=arrays["event_v"][:, :1])
    damaged(event_t=arrays["event_t"][::-1] if len(touches) else None, event_q=None)
    damaged(event_q=np.full_like(arrays["event_q"], np.inf))
    damaged(event_energy=arrays["event_energy"].astype(int))


def test_long_runs_in_files(
    tmp_path: Path, ball: hs.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written as samples come has the same states, compressed or not."""
    from humans_sim.core import npz_file
    from humans_sim.dynamics import recording

    sim = hs.Simulation(bouncing_ball(RESTITUTION))
    for limit in (1 << 26, 0):
        monkeypatch.setattr(npz_file, "COMPRESSED", limit)
        monkeypatch.setattr(recording, "COMPRESSED", limit)
        path = tmp_path / f"{limit}.npz"
        run = sim.run(np.array([HEIGHT]), t_end=1.0, save=path)
        for one in (run, hs.load_run(path), hs.load_run(path, lazy=True)):
            assert np.array_equal(one.event_states.v, ball.event_states.v)


def test_parts(ball: hs.Run) -> None:
    """Each state at an event is in one of the consecutive parts of a run."""
    first = int(np.searchsorted(ball.t, ball.event_states.t[0]))
    parts = [ball[: first + 1], ball[first + 1 :]]
    assert [len(part.event_states) for part in parts] == [1, 1]
    assert np.array_equal(parts[1].event_states.v, ball.event_states.v[1:])
    assert parts[1].event_states.impulses[0] == pytest.approx(
        ball.event_states.impulses[1]
    )


def test_momentum_and_energy_of_a_biped(fallen: hs.Run) -> None:
    """Both balances hold within rounding at every event, and so does the floor's."""
    impacts = {event.time for event in fallen.events if event.kind == IMPACT}
    assert impacts and impacts <= set(fallen.event_states.t.tolist())
    check = fallen.check()
    for name in (
        event_check.EVENT_ENERGY,
        event_check.EVENT_MOMENTUM,
        event_check.EVENT_FLOOR,
    ):
        assert check[name].ok and check[name].value < 1e-12
    lost = np.diff(fallen.event_states.energy[:, :, 0], axis=1)
    assert (lost < 1e-12).all()


@pytest.mark.parametrize(
    ("name", "place", "found"),
    [
        ("v", (0, 1, 2), (event_check.EVENT_ENERGY, event_check.EVENT_MOMENTUM)),
        ("v", (0, 0, 2), (event_check.EVENT_ENERGY, event_check.EVENT_MOMENTUM)),
        ("energy", (0, 1, 0), (event_check.EVENT_ENERGY,)),
        ("impulse", (0, 2), (event_check.EVENT_MOMENTUM, event_check.EVENT_FLOOR)),
        ("touches", (0, 10), (event_check.EVENT_FLOOR,)),
    ],
)
def test_tampered_states_are_found(
    fallen: hs.Run, name: str, place: tuple[int, ...], found: tuple[str, ...]
) -> None:
    """A change of one part in a million of any of them fails."""
    check = spoiled(fallen, name, place, 1.0 + 1e-6).check()
    assert not check.ok
    assert set(found) <= {finding.name for finding in check.failed}


def test_other_models_and_damaged_records(fallen: hs.Run) -> None:
    """What cannot be looked at is not right."""
    for change in ({"armature": "much"}, {"armature": [1.0]}, {"model": {"name": "x"}}):
        run = replace(fallen, info={**fallen.info, **change})
        assert run.check()[event_check.EVENT_MOMENTUM].ok is None


def test_drives_have_inertia() -> None:
    """Momentum is that with the rotors of servos, which the run records."""
    robot = hs.load_model("khr1")
    q = robot.neutral()
    q[2] += 0.02
    drives = hs.IdealTorque(robot)
    drives.armature = np.concatenate([np.zeros(6), np.full(robot.nv - 6, 1e-4)])
    run = hs.Simulation(robot, drives).run(q, t_end=0.1)
    check = run.check()[event_check.EVENT_MOMENTUM]
    assert check.ok and check.value < 1e-12
    info = {key: value for key, value in run.info.items() if key != "armature"}
    assert not replace(run, info=info).check()[event_check.EVENT_MOMENTUM].ok


def test_a_push_is_an_impulse() -> None:
    """The momentum that a push gives is in the balance; the floor's is not asked."""
    robot = hs.load_model("khr1")
    push = hs.Push(0.03, (0.3, 0.0, 0.2))
    run = hs.Simulation(robot, locked=["*"], pushes=[push]).run(
        robot.neutral(), t_end=0.05
    )
    states = run.event_states
    row = int(np.flatnonzero(states.t == push.time)[0])
    assert np.abs(np.diff(states.v[row, :, 0])) > 0.01
    check = run.check()
    assert (
        check[event_check.EVENT_MOMENTUM].value < 1e-12
        and check[event_check.EVENT_FLOOR].ok
    )


def test_nothing_of_the_motion_depends_on_it() -> None:
    """A stepper that keeps no states makes the same motion, to the last bit."""
    robot = hs.load_model("khr1")
    q = robot.neutral()
    q[2] += 0.02
    sim = hs.Simulation(robot, locked=["*"])
    run, stepper = sim.run(q, t_end=0.15), sim.start(q)
    stepper.advance(0.15)
    assert not len(stepper.event_states) and len(run.event_states)
    assert list(run.events) == stepper.events


def test_csv(ball: hs.Run, tmp_path: Path) -> None:
    """Two lines an event beside the table; an old table is replaced by an empty one."""
    path = tmp_path / "run.csv"
    ball.to_csv(path)
    with (tmp_path / "run.event_states.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["side"] for row in rows] == ["before", "after"] * 2
    speeds = [float(row["v height"]) for row in rows]
    assert np.array_equal(speeds, ball.event_states.v[:, :, 0].ravel())
    dropped("time_stepping").to_csv(path)
    text = (tmp_path / "run.event_states.csv").read_text(encoding="utf-8")
    assert text.count("\n") == 1
    dropped("time_stepping").to_csv(tmp_path / "steps.csv")
    assert not (tmp_path / "steps.event_states.csv").exists()
