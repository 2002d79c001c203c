# SPDX-License-Identifier: Apache-2.0
"""Tests of verdicts on runs: shapes below the ground, falls, what was not checked."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.results.check import Check, Finding, _feet
from humans_sim.results.record import model_and_ground, recorded_model
from humans_sim.results.records import POINT

SHAPES = "deepest overlap of solids"
STANDS = "stays on its feet: tilt of the base"


def finding(ok: bool | None) -> Finding:
    """A finding of a state."""
    return Finding("a", 0.0, 1.0, "m", "", ok)


@pytest.fixture(scope="module")
def standing() -> hs.Run:
    """The KHR-1 in one piece stands for some samples."""
    robot = hs.load_model("khr1")
    sim = hs.Simulation(robot, locked=["*"], stands=True)
    return sim.run(robot.neutral(), t_end=0.05)


def moved(run: hs.Run, angle: float, height: float) -> hs.Run:
    """The run with its last sample turned about x and raised."""
    q = run.q.copy()
    turn = pin.Quaternion(pin.rpy.rpyToMatrix(angle, 0.0, 0.0))
    q[-1, 3:7] = (turn * pin.Quaternion(q[-1, 3:7])).coeffs()
    q[-1, 2] += height
    return replace(run, q=q)


def test_nothing_checked_is_not_ok() -> None:
    """A check is right where something holds and nothing fails."""
    assert not Check(()).ok
    assert not Check((finding(None),)).ok
    assert Check((finding(None), finding(True))).ok
    assert not Check((finding(False), finding(True))).ok
    assert [finding(ok).word for ok in (True, False, None)] == ["ok", "no", "n/a"]


def test_a_check_prints_as_a_table() -> None:
    """A line a finding, numbers below each other at their right ends."""
    check = Check(
        (
            Finding("energy", 1.25, 20.0, "J", "t = 0.5 s", True),
            Finding("deepest overlap", 3.0, 1e-3, "m", "l_foot", False),
            Finding("fall", 0.0, 1.0, "rad", "", None),
        )
    )
    assert str(check).splitlines() == [
        "     what             worst  limit  unit  where",
        "ok   energy            1.25     20  J     t = 0.5 s",
        "no   deepest overlap      3  0.001  m     l_foot",
        "n/a  fall                        1  rad",
    ]


def test_standing_is_clean(standing: hs.Run) -> None:
    """A robot on its feet: no shape below the ground, no fall."""
    check = standing.check()
    assert check.ok and check[SHAPES].ok and check[STANDS].ok
    assert check[STANDS].value == pytest.approx(0.0, abs=1e-4)


def test_shapes_below_the_ground_fail(standing: hs.Run) -> None:
    """A robot put lower in one sample fails by that depth, with link and time."""
    sunk = moved(standing, 0.0, -0.02).check()[SHAPES]
    assert sunk.ok is False
    assert sunk.value == pytest.approx(0.02, abs=1e-6)
    assert "foot" in sunk.where and f"{standing.t[-1]:.6g} s" in sunk.where


def test_gaps_to_soft_ground_are_not_said_to_hold(standing: hs.Run) -> None:
    """Only how deep its points are is looked at there: rigid laws do not apply."""
    surface = {"name": "sand", "compliance": 1e-6}
    check = replace(standing, info={**standing.info, "surface": surface}).check()
    assert check["deepest in soft ground"].ok
    rigid = [check[name] for name in ("least gap", "largest gap x force")]
    points = [kind == POINT for kind in standing.table.kinds]
    for found in rigid:
        assert found.ok is (None if all(points) else True)
        assert "foot" not in found.where
    assert check["least normal force"].ok


def test_a_body_in_the_floor_is_found_whatever_touches() -> None:
    """With the feet as the only contacts a falling robot fails, and says where."""
    robot = hs.load_model("khr1")
    q = robot.neutral()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.6, 0.0)).coeffs()
    q[2] -= robot.contact(q)[:, 2].min()
    sim = hs.Simulation(robot, locked=["*"], contacts=hs.Contacts(whole_body=False))
    check = sim.run(q, t_end=1.0, sampling_period=0.05).check()
    assert check["least gap"].ok and check[SHAPES].ok is False
    assert check[SHAPES].value > 0.05


@pytest.mark.parametrize("angle, height", [(0.7, 0.2), (0.0, -0.16)])
def test_falls_fail(standing: hs.Run, angle: float, height: float) -> None:
    """Tilted beyond 35 degrees, or sunk to half the height: it fell."""
    fallen = moved(standing, angle, height)
    assert fallen.check()[STANDS].ok is False
    info = {k: v for k, v in standing.info.items() if k != "stands"}
    names = [f.name for f in replace(fallen, info=info).check().findings]
    assert STANDS not in names


def test_who_walks_down_does_not_fall(standing: hs.Run) -> None:
    """The base is low above the ground below it, not below where it began."""
    slope = hs.Ground.slope(math.radians(-30.0))
    info = {**standing.info, **model_and_ground(None, slope)}
    below = replace(moved(standing, 0.0, -0.16), info=info)
    below.q[-1, 0] += 0.16 / math.tan(math.radians(30.0))
    assert below.check()[STANDS].ok
    below.q[-1, 0] = standing.q[-1, 0]
    assert below.check()[STANDS].ok is False


def test_a_hand_on_the_floor_is_a_fall(standing: hs.Run) -> None:
    """Something other than a foot that touches is a fall, and is named."""
    names = standing.table.names
    contacts = standing.contacts.copy()
    contacts[-1, names.index("r_foot.0")] = 1
    assert replace(standing, contacts=contacts).check()[STANDS].ok
    contacts[-1, names.index("r_hand/ground.0")] = 1
    fall = replace(standing, contacts=contacts).check()[STANDS]
    assert fall.ok is False and "r_hand/ground.0" in fall.where


def test_without_its_model_shapes_are_not_checked(standing: hs.Run) -> None:
    """A run whose model is gone: n/a, neither right nor wrong."""
    info = {**standing.info, "model": {"name": "gone.urdf"}}
    check = replace(standing, info=info).check()
    assert check[SHAPES].ok is None and check[STANDS].ok is None and check.ok


def test_energy_under_actuation_is_not_checked() -> None:
    """Servos feed energy in: n/a."""
    robot = hs.load_model("khr1")
    sim = hs.Simulation(robot, hs.Servo(robot), method="time_stepping")
    check = sim.run(robot.neutral(), t_end=0.02).check()
    assert check["largest growth of energy"].ok is None
    assert np.isfinite(check["largest growth of energy"].value)


def test_failures_of_control_are_said(standing: hs.Run) -> None:
    """Calls of whole-body control without an answer fail, with number and time."""
    name = "calls of whole-body control without torques"
    info = {**standing.info, "signal_names": ["whole_body/failures"]}
    counts = np.zeros((len(standing.t), 1))
    assert replace(standing, info=info, signals=counts).check()[name].ok
    counts[2:] = 3.0
    found = replace(standing, info=info, signals=counts).check()[name]
    assert found.ok is False and found.value == 3.0
    assert found.where == f"first at {standing.t[2]:.6g} s"


@pytest.mark.parametrize(
    ("value", "limit", "texts"),
    [
        (1.3589, 45.0, ("1.36", "45")),
        (-5.852e-12, -1e-8, ("-5.85e-12", "-1e-08")),
        (-0.0, 0.0, ("0", "0")),
        (0.00999, 0.02, ("9.99e-03", "0.02")),
    ],
)
def test_numbers_as_a_person_reads_them(
    value: float, limit: float, texts: tuple[str, str]
) -> None:
    """A limit of 45 degrees is no 4e+01."""
    shown = Finding("a", value, limit, "m", "", True)
    assert (shown.value_text, shown.limit_text) == texts
    assert not Finding("a", value, limit, "m", "", None).value_text


def test_an_ankle_that_touches_is_no_fall(bip: hs.Model, khr1: hs.Model) -> None:
    """Its parts count as feet where they are at one place, and no others do."""
    feet = _feet(bip, set(bip.contact_names))
    assert {"l_foot", "r_foot", "l_cardan", "r_cardan"} <= feet
    assert "l_shank" not in feet
    assert "l_foot" in _feet(bip, set())  # on the joint of a sole
    assert _feet(khr1, set(khr1.contact_names)) == {"l_foot", "r_foot"}


def test_a_xacro_that_the_user_named(khr1: hs.Model, tmp_path: Path) -> None:
    """The record of a run finds it again; one that only a file names is refused."""
    named, other = tmp_path / "named.urdf.xacro", tmp_path / "other.urdf.xacro"
    for path in (named, other):
        path.write_text(khr1.save(tmp_path / "plain.urdf").read_text())
    model = hs.load_model(named)
    run = hs.Simulation(model, method="time_stepping").run(model.neutral(), t_end=0.01)
    assert recorded_model(run.info).mass == pytest.approx(model.mass)
    run.info["model"]["name"] = str(other)
    with pytest.raises(hs.errors.RunFileError, match="cannot name a .xacro"):
        recorded_model(run.info)
