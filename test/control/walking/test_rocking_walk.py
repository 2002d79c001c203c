# SPDX-License-Identifier: Apache-2.0
"""A walk of ankles that do not roll, on soles that are narrow."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.analysis.gait import WalkSummary
from humans_sim.applications.robot_draft import draft_robot
from humans_sim.applications.scenarios import read_scenario
from humans_sim.control.task.whole_body import JointLimits, WholeBody
from humans_sim.control.walking import WalkPattern, WalkSettings
from humans_sim.control.walking.rocking_walk import LANDS, RockingWalk
from humans_sim.dynamics.model_system import ModelSystem

LEG = (  # link, mass [kg], height of its centre, joint, axis, place of the joint
    ("hip", 3.0, 0.0, "yaw", "0 0 1", "0 {y} -0.15"),
    ("fork", 3.0, 0.0, "roll", "1 0 0", "0 0 0"),
    ("thigh", 5.0, -0.15, "pitch", "0 1 0", "0 0 0"),
    ("shank", 3.0, -0.15, "knee", "0 1 0", "0 0 -0.4"),
    ("foot", 0.8, -0.04, "ankle", "0 1 0", "0 0 -0.4"),
)
LIMITS = {"yaw": 0.4, "roll": 0.4, "pitch": 2.0, "knee": 2.0, "ankle": 0.8}
SOLE = (0.28, 0.03)
"""Length and width of a sole [m]."""


def link(name: str, mass: float, height: float, shape: str = "") -> str:
    """A link of a URDF, with the inertia of a ball."""
    inertia = 0.02 * mass
    turns = f'ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"'
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {height}"/>'
        f'<mass value="{mass}"/><inertia {turns}/></inertial>{shape}</link>'
    )


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tall robot of 50 kg without ankle roll, on narrow soles, set up as a URDF."""
    box = f'<box size="{SOLE[0]} {SOLE[1]} 0.02"/>'
    sole = f'<origin xyz="0.05 0 -0.05"/><geometry>{box}</geometry>'
    parts = [link("pelvis", 20.0, 0.15)]
    for side, y in (("left", 0.2), ("right", -0.2)):
        above = "pelvis"
        for name, mass, height, joint, axis, place in LEG:
            shape = f"<collision>{sole}</collision>" if name == "foot" else ""
            parts.append(link(f"{side}_{name}", mass, height, shape))
            low = -0.1 if joint == "knee" else -LIMITS[joint]
            parts.append(
                f'<joint name="{side}_{joint}" type="revolute">'
                f'<parent link="{above}"/><child link="{side}_{name}"/>'
                f'<origin xyz="{place.format(y=y)}"/><axis xyz="{axis}"/>'
                f'<limit lower="{low}" upper="{LIMITS[joint]}" effort="300" '
                'velocity="20"/></joint>'
            )
            above = f"{side}_{name}"
    path = tmp_path_factory.mktemp("stiff") / "stiff.urdf"
    path.write_text(f'<robot name="stiff">{"".join(parts)}</robot>')
    draft_robot(path).save()
    return path


def test_steps_are_short_and_soles_level(robot: Path) -> None:
    """The pendulum falls little in a step; soles lean by less than a degree.

    Not by nothing: its centre of mass is a little aside of the middle.
    """
    model = hs.load_model(robot)
    settings = WalkSettings.of_model(model)
    time = math.sqrt(settings.com_height / 9.81)
    assert settings.step_duration == pytest.approx(1.25 * time, rel=0.05)
    q = WalkPattern(model, settings).standing()
    for name in (settings.left, settings.right):
        assert model.frame_pose(q, name).rotation[2, 2] > math.cos(math.radians(1.0))


def test_it_rocks_from_foot_to_foot(robot: Path) -> None:
    r"""It goes as fast as it is told, and each foot lands where the body falls.

    When a foot lands, the capture point is :math:`d / (1 + e^{\omega T})` inwards of
    its outer edge in the periodic rocking of the pendulum; soles tip on the way.
    """
    model = hs.load_model(robot)
    settings = WalkSettings.of_model(model)
    ground, speed = hs.Ground(friction=0.7), 0.25
    limits = JointLimits.of_model(model)
    body = WholeBody(ModelSystem(model, ground), 0.5, limits)
    pattern = WalkPattern(model, settings)
    walk = RockingWalk(body, pattern, speed, start=0.1, stop=3.6)
    simulation = hs.Simulation(
        model,
        hs.IdealTorque(model),
        walk,
        method="time_stepping",
        ground=ground,
        stands=True,
    )
    run = simulation.run(pattern.standing(), t_end=4.3, sampling_period=0.01)
    assert run.check(), str(run.check())
    assert walk.stands and walk.guarded.failures == 0
    summary = WalkSummary.of_run(run)
    assert len(summary.steps) >= 9
    assert summary.largest_tilt < math.radians(2.0)
    first, last = (int(np.searchsorted(run.t, when)) for when in (2.2, 3.6))
    ahead = run.q[last, 0] - run.q[first, 0]
    assert ahead / (run.t[last] - run.t[first]) == pytest.approx(speed, rel=0.1)
    assert abs(summary.sideways) < 0.05
    rate = pattern.omega
    outer = 0.5 * SOLE[1]
    apart = settings.stance_width + 2.0 * outer
    lasts = LANDS * settings.step_duration
    wanted = apart / (1.0 + math.exp(rate * lasts))
    offsets = []
    for step in summary.steps[4:-1]:
        row = int(np.searchsorted(run.t, step.landing))
        q, v = run.q[row], run.v[row]
        data = model.data()
        pin.centerOfMass(model.pin, data, q, v)
        capture = data.com[0][1] + data.vcom[0][1] / rate
        side = 1.0 if step.sole == settings.left else -1.0
        foot = model.frame_pose(q, step.sole).translation[1]
        offsets.append(side * (foot - capture) + outer)
    assert np.mean(offsets) == pytest.approx(wanted, rel=0.15)
    rolls = [
        float(model.frame_pose(q, settings.left).rotation[2, 1])
        for q, load in zip(run.q, loads(run, settings.left), strict=True)
        if load > 0.0
    ]
    assert max(np.abs(rolls)) > math.radians(0.5)


def test_it_walks_straight_ahead_only(robot: Path) -> None:
    """Sideways and turns are refused, with the reason."""
    scenario = read_scenario("walk").with_changes(model=str(robot), pace=(0.0, 0.5))
    with pytest.raises(hs.errors.ModelFileError, match="straight ahead"):
        scenario.run()


def loads(run: hs.Run, sole: str) -> np.ndarray:
    """Normal force on a sole (n,) [N]."""
    rows = [k for k, name in enumerate(run.table.names) if name.startswith(sole)]
    return np.asarray(run.forces[:, rows, 0].sum(axis=1))
