# SPDX-License-Identifier: Apache-2.0
"""Sweeps: each run once, resumed after a kill, on processes and a cluster."""

from __future__ import annotations

import csv
import json
import math
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from processes import group_alive
from typer.testing import CliRunner

import humans_sim as hs
from humans_sim.applications.batch.record import Ledger
from humans_sim.applications.batch.sweep_table import COLUMNS, write_table
from humans_sim.applications.batch.sweeps import (
    FRICTION,
    JOINTS,
    PUSH_SPAN,
    SweptRun,
    plan_sweep,
    prepare_seeded,
    run_sweep,
    table_rows,
)
from humans_sim.applications.batch.variations import Variation, varied_scenario
from humans_sim.cli.commands import app

BOUNCE = """title: A ball bounces
problem: bouncing_ball
parameters: {restitution: 0.5, mass: 1.0}
start: {q: [1.0]}
time: {end: 0.6, sampling_period: 0.02}
"""
COUNT = 16
PATIENCE = 300.0
"""Longest wait for what does come, on any machine [s]."""
HEIGHTS = Variation("start.q.0", tuple(0.1 * k for k in range(1, COUNT + 1)))
TIMES = ("wall_time", "cpu_time")
WALK = (("end", 1.2),)


@pytest.fixture
def ball(tmp_path: Path) -> str:
    """A scenario that takes no time."""
    path = tmp_path / "ball.yaml"
    path.write_text(BOUNCE)
    return str(path)


def numbers(rows: list[dict]) -> list[dict]:
    """Rows without what depends on the machine."""
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


def done_rows(runs: list[SweptRun], **options) -> list[dict]:
    """The table of a sweep."""
    return table_rows(runs, list(run_sweep(runs, **options)))


def test_each_run_once(ball: str, tmp_path: Path) -> None:
    """Kept while nothing changed; more values keep what is done; --again redoes."""
    out = tmp_path / "out"

    def states(values: int, **options) -> Counter[str]:
        heights = Variation("start.q.0", HEIGHTS.values[:values])
        runs = plan_sweep(ball, [heights], output=out)
        return Counter(o.state for o in run_sweep(runs, workers=0, **options))

    assert states(2) == {"done": 2}
    assert states(2) == {"kept": 2}
    assert states(3) == {"kept": 2, "done": 1}
    record = next(out.rglob("records/**/*.json"))
    record.write_text(record.read_text()[:50])
    assert states(3) == {"kept": 2, "done": 1}
    damaged = json.loads(record.read_text())
    damaged["row"]["outcome"] = 3
    record.write_text(json.dumps(damaged))
    assert states(3) == {"kept": 2, "done": 1}
    assert states(3, again=True) == {"done": 3}
    Path(ball).write_text(BOUNCE.replace("mass: 1.0", "mass: 2.0"))
    assert states(3) == {"done": 3}  # another scenario


def test_the_table(ball: str, tmp_path: Path) -> None:
    """One row a run in the order of the values; numbers are read back as they were."""
    runs = plan_sweep(ball, [HEIGHTS], output=tmp_path / "out")
    rows = done_rows(runs, workers=0)
    path = write_table(rows, tmp_path / "table.csv")
    with path.open() as stream:
        read = list(csv.DictReader(stream))
    assert list(read[0]) == ["start.q.0", "seed", *COLUMNS]
    assert [float(row["start.q.0"]) for row in read] == list(HEIGHTS.values)
    assert [float(row["wall_time"]) for row in read] == [r["wall_time"] for r in rows]
    assert {row["outcome"] for row in read} == {"finished"}
    assert {row["check"] for row in read} == {"clean"}
    assert {row["distance"] for row in read} == {""}  # a ball does not walk
    with pytest.raises(hs.errors.ParameterError, match="1 runs are not done"):
        table_rows(runs, list(run_sweep(runs[1:], workers=0)))


def test_parquet(ball: str, tmp_path: Path) -> None:
    """The same table, with types; without pyarrow the error says what to install."""
    rows = [{"friction": 0.2, "seed": None, "check": "clean", "steps": 3}] * 2
    try:
        import_module = __import__("importlib").import_module
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        with pytest.raises(
            hs.errors.MissingDependencyError, match=r"humans-sim\[tables\]"
        ):
            write_table(rows, tmp_path / "table.parquet")
    else:
        write_table(rows, tmp_path / "table.parquet")
        assert parquet.read_table(tmp_path / "table.parquet").to_pylist() == rows
    assert not list(tmp_path.glob(".*"))
    with pytest.raises(hs.errors.ParameterError, match="csv or .parquet"):
        write_table(rows, tmp_path / "table.txt")


def test_an_error_is_a_row(ball: str, tmp_path: Path) -> None:
    """What fails in one run does not end the others, and is not tried for ever."""
    heights = Variation("start.q.0", (1.0, 0.5))
    runs = plan_sweep(ball, [heights], output=tmp_path / "out")
    Path(ball).write_text(BOUNCE.replace("bouncing_ball", "no_such_problem"))
    rows = done_rows(runs, workers=0)
    assert [row["outcome"] for row in rows] == ["error"] * 2
    assert "no_such_problem" in rows[0]["message"]
    assert "\n" not in rows[0]["message"]
    assert {o.state for o in run_sweep(runs, workers=0)} == {"kept"}


def test_seeds_that_change_nothing(ball: str, tmp_path: Path) -> None:
    """Seeds are of bipeds; a wrong key is found before anything is run."""
    with pytest.raises(hs.errors.ParameterError, match="no biped alone"):
        plan_sweep(ball, [HEIGHTS], 3, tmp_path / "out")
    with pytest.raises(hs.HumansError, match="did you mean 'mass'"):
        plan_sweep(ball, [Variation("parameters.mas", (1.0,))], 0, tmp_path / "out")
    with pytest.raises(hs.errors.ParameterError, match="no scenario is called"):
        plan_sweep("balls", [HEIGHTS], 0, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.study
def test_what_a_seed_changes() -> None:
    """Joints, friction and the push are within what is documented, feet on the floor.

    A seed draws the same for other values.
    """
    nominal, q0, _ = varied_scenario("khr1-walk", WALK).prepare()
    lowest = np.nanmin(nominal.system.gaps(q0))
    seen = []
    for seed in range(4):
        values = (*WALK, ("push", 0.1))
        scenario, (simulation, q, v) = prepare_seeded("khr1-walk", values, seed)
        assert 0 < np.abs(q[7:] - q0[7:]).max() <= JOINTS + 1e-12
        assert np.nanmin(simulation.system.gaps(q)) == pytest.approx(lowest, abs=1e-9)
        ratio = simulation.system.ground.friction / nominal.system.ground.friction
        assert 0 < abs(ratio - 1) <= FRICTION and not v.any()
        (push,) = simulation.pushes
        assert math.hypot(*push.impulse) == pytest.approx(0.1) and not push.impulse[2]
        assert PUSH_SPAN[0] <= push.time / scenario.end <= PUSH_SPAN[1]
        varied = (*WALK, ("friction", 0.5), ("push", 0.3))
        _, (other, same, _) = prepare_seeded("khr1-walk", varied, seed)
        assert (same[7:] == q[7:]).all() and other.system.ground.friction == 0.5
        assert np.allclose(np.array(other.pushes[0].impulse) / 3, push.impulse)
        seen.append((ratio, push.time, *push.impulse, *q[7:]))
    assert (np.ptp(np.array(seen)[:, [0, 1, 2, 3, 8]], axis=0) > 0).all()


@pytest.mark.study
def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    """Bit for bit, in this process and in another."""
    values = Variation("push", (0.2,))
    rows = []
    for folder, workers in (("here", 0), ("there", 1)):
        runs = plan_sweep("khr1-walk", [values], 2, tmp_path / folder, WALK)
        rows.append(numbers(done_rows(runs, workers=workers)))
    assert rows[0] == rows[1]
    assert rows[0][0]["largest_tilt_deg"] != rows[0][1]["largest_tilt_deg"]
    assert all(row["outcome"] == "finished" for row in rows[0])


def words(scenario: str, table: Path, workers: int) -> list[str]:
    """A sweep as a person types it."""
    text = ",".join(map(repr, HEIGHTS.values))
    line = ["sweep", scenario, "--vary", f"{HEIGHTS.key}={text}"]
    return [*line, "--workers", str(workers), "-o", str(table)]


def done_names(folder: Path) -> list[str]:
    """Runs that the journal says are done."""
    return [e["name"] for e in Ledger(folder).entries() if e["state"] == "done"]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come to this"
        time.sleep(0.01)


def test_seeds_as_worlds_are_those_by_themselves(tmp_path: Path) -> None:
    """The same rows as one by one, with friction of their own, and records of each."""
    path = tmp_path / "tilt.yaml"
    path.write_text(
        "title: It tilts\nmodel: khr1\nmethod: time_stepping\nlocked: ['*']\n"
        "ground: {friction: 0.4}\nstart: {height: 0.02, tilt: [0, -12, 0]}\n"
        "time: {end: 0.2, sampling_period: 0.01}\n"
    )
    runs = plan_sweep(str(path), [], seeds=3, output=tmp_path / "worlds")
    outcomes = list(run_sweep(runs, workers=0))
    alone = plan_sweep(str(path), [], seeds=3, output=tmp_path / "alone")
    rows = table_rows(runs, outcomes)
    assert len({row["wall_time"] for row in rows}) == 1  # side by side
    assert numbers(rows) == numbers(table_rows(alone, [run.run() for run in alone]))
    assert len({row["largest_tilt_deg"] for row in rows}) == 3, rows
    assert {o.state for o in run_sweep(runs, workers=0)} == {"kept"}


@pytest.mark.study
def test_killed_half_way_and_resumed(ball: str, tmp_path: Path) -> None:
    """Nothing is lost, nothing is run twice, and the table comes at the end alone."""
    table, folder = tmp_path / "table.csv", tmp_path / "table.runs"
    middle = plan_sweep(ball, [HEIGHTS], output=folder)[COUNT // 2 :][:2]
    # Workers take runs in their order: they cannot get beyond those that are claimed.
    with (
        Ledger(folder).claim(middle[0].name),
        Ledger(folder).claim(middle[1].name),
        subprocess.Popen(
            [sys.executable, "-m", "humans_sim", *words(ball, table, workers=2)],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        ) as batch,
    ):
        wait_for(lambda: len(done_names(folder)) >= COUNT // 2)
        batch.kill()
    wait_for(lambda: not group_alive(batch.pid))  # workers end with their parent
    assert batch.returncode == -signal.SIGKILL and not table.exists()
    records = {p: p.stat().st_mtime_ns for p in folder.rglob("records/**/*.json")}
    assert len(records) == COUNT // 2
    again = CliRunner().invoke(app, words(ball, table, workers=0))
    assert again.exit_code == 0, again.output
    assert f"{COUNT // 2} done before" in again.output
    assert all(path.stat().st_mtime_ns == when for path, when in records.items())
    counts = Counter(done_names(folder))
    assert len(counts) == COUNT and set(counts.values()) == {1}
    with table.open() as stream:
        assert len(list(csv.DictReader(stream))) == COUNT


@pytest.mark.study
def test_on_a_cluster(ball: str, tmp_path: Path) -> None:
    """A real cluster of two workers gives what this process gives, each run once."""
    distributed = pytest.importorskip("distributed")
    here = plan_sweep(ball, [HEIGHTS], output=tmp_path / "here")
    there = plan_sweep(ball, [HEIGHTS], output=tmp_path / "there")
    local = numbers(done_rows(here, workers=0))
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        address = cluster.scheduler_address
        half = there[: COUNT // 2]
        assert {o.state for o in run_sweep(half, cluster=address)} == {"done"}
        outcomes = list(run_sweep(there, cluster=address))
    assert Counter(o.state for o in outcomes) == {
        "kept": COUNT // 2,
        "done": COUNT // 2,
    }
    assert numbers(table_rows(there, outcomes)) == local
    counts = Counter(done_names(tmp_path / "there"))
    assert len(counts) == COUNT and set(counts.values()) == {1}
