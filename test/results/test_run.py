# SPDX-License-Identifier: Apache-2.0
"""Runs on disk: saved whole or not at all, damaged files refused."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.core import npz_file
from humans_sim.dynamics import problems


@pytest.fixture(scope="module")
def run() -> hs.Run:
    """A short run with impacts."""
    return hs.Simulation(problems.bouncing_ball(0.5)).run(np.array([0.2]), t_end=0.6)


def test_round_trip(run: hs.Run, tmp_path: Path) -> None:
    """Everything comes back, bit for bit."""
    loaded = hs.load_run(run.save(tmp_path / "deep" / "run.npz"))
    for name in ("t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy"):
        assert np.array_equal(getattr(loaded, name), getattr(run, name)), name
    assert loaded.events == run.events
    assert loaded.info == json.loads(json.dumps(run.info))
    assert loaded.table.names == run.table.names
    assert np.array_equal(loaded.table.friction, run.table.friction)
    assert loaded.check().ok
    assert "ball" in repr(loaded)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["run.npz"]


def test_damaged_files(run: hs.Run, tmp_path: Path) -> None:
    """Missing, cut, foreign, lying files: one clear error."""
    path = run.save(tmp_path / "run.npz")
    whole = path.read_bytes()
    with pytest.raises(hs.errors.RunFileError, match="no such file"):
        hs.load_run(tmp_path / "none.npz")
    for name, content in (("cut", whole[: len(whole) // 2]), ("text", b"hello")):
        bad = tmp_path / f"{name}.npz"
        bad.write_bytes(content)
        with pytest.raises(hs.errors.RunFileError, match="not a run file"):
            hs.load_run(bad)
    with np.load(path) as stored:
        arrays = dict(stored)
    for change in (
        {"gaps": arrays["gaps"][:-1]},
        {"forces": arrays["forces"][:, :, :2]},
        {"header": np.array(json.dumps({"format": 99}))},
        {"header": np.array("{")},
    ):
        np.savez(tmp_path / "lying.npz", **{**arrays, **change})
        with pytest.raises(hs.errors.RunFileError):
            hs.load_run(tmp_path / "lying.npz")
    missing = {key: value for key, value in arrays.items() if key != "q"}
    np.savez(tmp_path / "missing.npz", **missing)
    with pytest.raises(hs.errors.RunFileError):
        hs.load_run(tmp_path / "missing.npz")


def test_values_that_cannot_be(run: hs.Run, tmp_path: Path) -> None:
    """NaN, times that fall, text, modes that are none: refused by name."""
    path = run.save(tmp_path / "run.npz")
    with np.load(path) as stored:
        arrays = dict(stored)
    header = json.loads(str(arrays["header"]))

    def changed(name: str, place: object, value: float) -> dict[str, np.ndarray]:
        array = arrays[name].copy()
        array[place] = value
        return {name: array}

    def said(**parts: object) -> dict[str, np.ndarray]:
        return {"header": np.array(json.dumps({**header, **parts}))}

    detail = {"energy_before [J]": "x"}
    impact = {"time": 1.0, "kind": "impact", "subject": "", "detail": detail}
    for change, message in (
        (changed("q", (3, 0), np.nan), "q has a value"),
        (changed("forces", (3, 0, 1), np.inf), "forces has a value"),
        (changed("t", 3, 0.0), "backwards"),
        (changed("contacts", (3, 0), 7), "neither open"),
        (changed("tangents", 0, 9), "tangents"),
        ({"v": arrays["v"].astype("U8")}, "no numbers"),
        ({"t": arrays["t"].astype(int)}, "another kind"),
        ({name: arrays[name][:0] for name in arrays if arrays[name].ndim}, "samples|1"),
        (said(position_names=[]), "q has shape"),
        (said(names=[1]), "no list of words"),
        (said(events=[{"time": 1}]), "missing"),
        (said(info=[]), "no mapping"),
        (said(info={"gap_tolerance": "x"}), "gap_tolerance"),
        (said(info={"energy_tolerance": np.nan}), "energy_tolerance"),
        (said(info={"radii": {"toe": "x"}}), "toe is no number"),
        (said(info={"z_names": [1]}), "z_names"),
        (said(events=[impact]), "is no number"),
    ):
        np.savez(tmp_path / "odd.npz", **{**arrays, **change})
        with pytest.raises(hs.errors.RunFileError, match=message):
            hs.load_run(tmp_path / "odd.npz")


def test_failed_write_leaves_the_old_file(
    run: hs.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up: the old run stays, nothing else is left."""
    path = run.save(tmp_path / "run.npz")
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(npz_file, "_pieces", full)
    with pytest.raises(OSError, match="no space"):
        run.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_check_is_not_blind(run: hs.Run) -> None:
    """A penetration, a pulling force, energy out of nothing: each is found."""
    from dataclasses import replace

    def spoiled(name: str, value: float, place: tuple[int, ...]) -> hs.Run:
        array = getattr(run, name).copy()
        array[place] = value
        return replace(run, **{name: array})

    assert run.check()
    assert not spoiled("gaps", -1e-6, (5, 0)).check()["least gap"].ok
    pulling = spoiled("forces", -1e-6, (5, 0, 0)).check()
    assert not pulling["least normal force"].ok
    far = spoiled("forces", 1.0, (5, 0, 0)).check()
    assert not far["largest gap x force"].ok
    assert not spoiled("forces", 1.0, (5, 0, 1)).check().ok
    grown = spoiled("energy", run.energy[-1, 0] + 1.0, (-1, 0)).check()
    assert not grown["largest growth of energy"].ok
    from humans_sim.results.records import Event

    detail = {
        "energy_before [J]": 1.0,
        "energy_after [J]": 0.9,
        "work_of_impulses [J]": -0.2,
    }
    lying = replace(run, events=(Event(0.1, "impact", "floor", detail),)).check()
    assert not lying["impact energy minus work of impulses"].ok


def same(one: hs.Run, other: hs.Run) -> bool:
    """Whether two runs have the same samples and events."""
    names = ("t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy")
    arrays = (np.array_equal(getattr(one, n), getattr(other, n)) for n in names)
    return all(arrays) and one.events == other.events


@given(st.lists(st.integers(1, 60), max_size=3))
def test_parts_of_a_run(run: hs.Run, cuts: list[int]) -> None:
    """Consecutive parts hold each sample and each event once."""
    assert len(run) == 61
    parts = [run[a:b] for a, b in pairwise(sorted({0, *cuts, 61}))]
    assert np.array_equal(np.concatenate([part.t for part in parts]), run.t)
    assert [event for part in parts for event in part.events] == list(run.events)


@given(st.integers(0, 58), st.integers(3, 61), st.integers(0, 2), st.integers(1, 3))
def test_slices_of_slices(run: hs.Run, start: int, stop: int, a: int, n: int) -> None:
    """A slice of a slice is a slice of the run."""
    stop = max(stop, start + 3)
    end = min(start + a + n, stop)
    assert same(run[start:stop][a : a + n], run[start + a : end])
    assert same(run[:], run)


def test_a_part_is_a_run(run: hs.Run, tmp_path: Path) -> None:
    """A part is stored, checked and sliced further like any run."""
    part = run[20:50:2]
    assert len(part) == 15
    assert same(hs.load_run(part.save(tmp_path / "part.npz")), part)
    assert part.check().ok
    for wrong in (slice(5, 5), slice(None, None, -1), 3, "t"):
        with pytest.raises(hs.errors.ParameterError, match=r"run\["):
            run[wrong]


def test_joint_by_name(run: hs.Run) -> None:
    """A coordinate is found by its name; the error lists the names."""
    assert np.array_equal(run.joint("height"), run.q[:, 0])
    with pytest.raises(
        hs.errors.ParameterError, match=r"no joint 'r_knee', only height"
    ):
        run.joint("r_knee")


def test_summary_reports_what_happened(run: hs.Run) -> None:
    """Events are counted and the checks reported: those that hold, and those not."""
    impacts = sum(event.kind == "impact" for event in run.events)
    assert f"{impacts} impact" in run.summary()
    assert f"all {len(run.check().held)} hold; n/a: deepest" in run.summary()
    sunk = replace(run, gaps=run.gaps - 0.01)
    assert "do not hold" in sunk.summary()
    assert "least gap: -9.9" in sunk.summary()
