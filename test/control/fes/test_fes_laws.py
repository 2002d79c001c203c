# SPDX-License-Identifier: Apache-2.0
"""Stimulation laws: a knee that swings to and fro, and one that stands a body up."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

import humans_sim as hs
from humans_sim.actuation import FesMuscles
from humans_sim.applications.scene_files import ground_of, limits_of
from humans_sim.control.fes import FesPlan, FesStand, KneeSwing
from humans_sim.control.task.whole_body import WholeBody
from humans_sim.control.trajectories.motion import BASE, Curve, Motion, rising_path
from humans_sim.core.resources import named_file
from humans_sim.core.yaml_file import read_yaml
from humans_sim.dynamics.model_system import ModelSystem


def knee_at(model: hs.Model, angle: float, name: str = "r_knee") -> np.ndarray:
    """A configuration with one knee at an angle [rad]."""
    q = model.neutral()
    q[7 + model.joint_names.index(name)] = angle
    return q


def test_swing_turns_round_at_the_limits(human: hs.Model) -> None:
    """Quadriceps up to the extended limit, hamstrings down to the flexed one."""
    muscles = FesMuscles(human, sides=["r"])
    law = KneeSwing(human, muscles, recruitment=0.8, margin=0.02)
    joint, v = human.joint_names.index("r_knee"), np.zeros(human.nv)
    low, high = human.lower_limits[joint], human.upper_limits[joint]
    quadriceps = muscles.muscle_names.index("r_quadriceps")
    expected = muscles.stimulator.charge(0.8)
    fired = []
    for angle in (-1.0, high - 0.03, high - 0.01, -1.0, low + 0.03, low + 0.01, -1.0):
        pulses = law(0.0, hs.ControlState(knee_at(human, angle), v))
        assert np.count_nonzero(pulses) == 1
        assert pulses.max() == expected
        fired.append(pulses[quadriceps] > 0)
    assert fired == [True, True, False, False, False, True, True]


def test_quadriceps_extend(human: hs.Model) -> None:
    """The muscle that is stimulated first turns the knee to its nearer-zero limit."""
    muscles = FesMuscles(human, sides=["r"])
    law, q = KneeSwing(human, muscles), knee_at(human, -1.0)
    pulses = law(0.0, hs.ControlState(q, np.zeros(human.nv)))
    assert muscles.strongest_torques(q)[np.argmax(pulses)] > 1.0


def test_swing_is_for_one_knee(human: hs.Model) -> None:
    """Two knees, or one muscle alone, are refused."""
    with pytest.raises(hs.errors.ParameterError, match="two muscles of one knee"):
        KneeSwing(human, FesMuscles(human))
    with pytest.raises(hs.errors.ParameterError, match="recruitment"):
        KneeSwing(human, FesMuscles(human, sides=["r"]), recruitment=1.5)


class Scene:
    """What the scenario fes-sit-to-stand describes, put together by hand."""

    def __init__(self, model: hs.Model) -> None:
        """Read the file; chair, brace, motion, path and law."""
        path = named_file("scenarios", "fes-sit-to-stand", "scenario")
        fields = read_yaml(path).mapping()
        scenario = yaml.safe_load(path.read_text(encoding="utf-8"))
        control = scenario["controller"]["fes_stand"]
        self.model = model
        self.system = ModelSystem(
            model,
            ground_of(fields["ground"]),
            locked=scenario["locked"],
            contacts=scenario["contacts"],
            radii=scenario["radii"],
            limits=limits_of(fields["limits"]),
        )
        curves = {}
        for name, knots in control["curves"].items():
            scale = 1.0 if name in BASE[:3] else np.pi / 180
            curves[name] = Curve([(t, scale * x) for t, x in knots])
        start = model.standing(np.zeros(len(model.joint_names)))
        feet, self.rise = control["feet"], control["rise"]
        whole = Motion(model, curves, feet, start, control["end"])
        self.seated = Motion(model, curves, feet, start, self.rise)
        self.straight = float(np.radians(scenario["limits"]["l_knee"][1]))
        self.path = rising_path(whole, self.rise, self.straight)
        self.muscles = FesMuscles(model, **scenario["actuation"]["muscles"])
        soles = [f"{c}/ground" for sole in model.soles for c in sole.contacts]
        seat = [f"{side}_trochanterion/chair_seat" for side in "lr"]
        self.contacts = soles + seat, soles

    def law(self, plan: FesPlan | None = None) -> FesStand:
        """A law that has not been called yet."""
        body = WholeBody(self.system, 0.5)
        return FesStand(
            body, self.muscles, self.seated, self.path, *self.contacts, plan
        )


@pytest.fixture(scope="module")
def scene(human: hs.Model) -> Scene:
    """The scenario."""
    return Scene(human)


@pytest.fixture
def law(scene: Scene) -> FesStand:
    """Its law."""
    return scene.law()


def test_torques_that_standing_up_needs(scene: Scene, law: FesStand) -> None:
    """Large in the crouch, falling, next to none with straight knees."""
    start, end = scene.path.ends
    assert end == pytest.approx(scene.straight)
    angles = np.linspace(start, end, 9)
    needed = law.needed(angles)
    assert 40.0 < needed[0] < 80.0 and needed.max() < 80.0
    assert (np.diff(needed[4:]) < 0).all()
    assert abs(needed[-1]) < 5.0
    # Not beyond what the muscles have, at any angle.
    for at, torque in zip(angles, needed, strict=True):
        q = knee_at(scene.model, float(at))
        q[7 + scene.model.joint_names.index("l_knee")] = at
        assert scene.muscles.strongest_torques(q).max() > torque


def test_seated_it_ramps_the_muscles_up(scene: Scene, law: FesStand) -> None:
    """No pulse before the ramp, more and more then, of the extensors alone."""
    q, v = scene.seated.postures[0], np.zeros(scene.model.nv)
    z = np.zeros(scene.muscles.nz)
    extends = scene.muscles.strongest_torques(q) > 0
    knees = [scene.model.joint_names.index(f"{side}_knee") for side in "lr"]
    seen = []
    for t in (0.0, 0.4, 0.5, 0.6):
        pulses, torques = law(t, hs.ControlState(q, v, z))
        assert pulses is not None and not pulses[~extends].any()
        assert pulses[extends].min() == pytest.approx(pulses[extends].max())
        np.testing.assert_array_equal(torques[knees], 0.0)
        assert np.abs(torques).max() > 1.0
        seen.append(pulses.max())
    assert seen[0] == 0.0 and (np.diff(seen) > 0).all()
    assert law.risen is None


def test_pulses_come_at_their_times(scene: Scene, law: FesStand) -> None:
    """One every 20 ms, however often the law is called; torques each time."""
    q, v = scene.seated.postures[0], np.zeros(scene.model.nv)
    z = np.zeros(scene.muscles.nz)
    given = [law(0.005 * k, hs.ControlState(q, v, z))[0] is not None for k in range(9)]
    assert given == [True, False, False, False] * 2 + [True]


def test_relaxed_knees_do_not_leave_the_seat(scene: Scene, law: FesStand) -> None:
    """After the ramp's time the seat is still loaded: the body stays on it."""
    q, v = scene.seated.postures[-1], np.zeros(scene.model.nv)
    law(3.0, hs.ControlState(q, v, np.zeros(scene.muscles.nz)))
    assert law.risen is None


def test_plan_counts(scene: Scene) -> None:
    """Another ramp, other pulses."""
    q, v = scene.seated.postures[0], np.zeros(scene.model.nv)
    state = hs.ControlState(q, v, np.zeros(scene.muscles.nz))
    early = scene.law(FesPlan(ramp_start=0.1))(0.6, state)[0]
    late = scene.law(FesPlan(ramp_start=0.5))(0.6, state)[0]
    assert early is not None and late is not None
    assert early.max() > late.max() > 0.0
