# SPDX-License-Identifier: Apache-2.0
"""Several kinds of drives at once: who drives which joint, and what all of them do."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation.joint_groups import JointGroup, JointGroups, share_joints
from humans_sim.actuation.pulse_trains import PulseTrainMuscles
from humans_sim.actuation.sampled_actuation import JointSample


def sample(model: hs.Model, t: float, bend: float = 0.0) -> JointSample:
    """All joints at one angle and speed [rad, rad/s]."""
    count = len(model.joint_names)
    return JointSample(t, np.full(count, bend), np.full(count, 0.1))


def test_the_rest_of_the_joints(human: hs.Model) -> None:
    """A kind without names has every joint that no other kind has."""
    shared = share_joints(
        human, {"servo": ["head_yaw"], "torque": []}, ["l_knee", "r_knee"]
    )
    assert shared["servo"] == ("head_yaw",)
    others = set(human.joint_names) - {"head_yaw", "l_knee", "r_knee"}
    assert set(shared["torque"]) == others
    both = share_joints(human, {"torque": ["l_knee"]}, ["l_knee"])
    assert both == {"torque": ("l_knee",)}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"servo": ["tail"], "torque": []}, "has no 'tail'"),
        ({"servo": ["l_knee"], "torque": ["l_knee"]}, "one of servo.joints already"),
        ({"servo": [], "torque": []}, "both empty"),
    ],
)
def test_joints_that_cannot_be_shared(
    human: hs.Model, given: dict[str, list[str]], said: str
) -> None:
    """Each fault is named."""
    with pytest.raises(hs.errors.ParameterError, match=said):
        share_joints(human, given)


def test_no_joint_is_left(human: hs.Model) -> None:
    """Where all joints have names, a kind without names has none."""
    with pytest.raises(hs.errors.ParameterError, match="no joint is left"):
        share_joints(human, {"torque": human.joint_names, "servo": []})


def test_torques_add_up_joint_by_joint(human: hs.Model) -> None:
    """Muscles bend the knees and servos hold the rest, as each does alone."""
    knees = {"l_knee", "r_knee"}
    rest = [name for name in human.joint_names if name not in knees]
    muscles, servo = PulseTrainMuscles(human), hs.Servo(human)
    both = JointGroups(
        [
            JointGroup(human, "muscles", muscles),
            JointGroup(human, "servo", servo, rest),
        ]
    )
    alone = [
        JointGroup(human, "muscles", PulseTrainMuscles(human)),
        JointGroup(human, "servo", hs.Servo(human)),
    ]
    trains = np.tile([3e-5, 0.02], (4, 1))
    for group, other in zip(both.groups, alone, strict=True):
        assert group.field == other.field
    for t in (0.0, 0.05, 0.1):
        for drives in (both, *alone):
            (drives.begin if t == 0.0 else _advance(drives))(sample(human, t, -0.3 * t))
        if t == 0.0:
            both.groups[0].command(t, trains)
            alone[0].command(t, trains)
    driven = np.array([name in knees for name in human.joint_names])
    expected = np.where(driven, alone[0].torques(), alone[1].torques())
    np.testing.assert_allclose(both.torques(), expected, atol=1e-12)
    assert np.abs(both.torques()[driven]).min() > 1e-6
    assert both.groups[1].names == tuple(rest)
    assert len(both.states(muscles=True)) == 4
    assert len(both.states(muscles=False)) == len(rest)


def _advance(drives: JointGroup | JointGroups) -> object:
    return drives.sampled.advance if isinstance(drives, JointGroup) else drives.advance


def test_every_group_waits_for_its_own_command(human: hs.Model) -> None:
    """The newest command of all is the oldest of the groups'."""
    names = list(human.joint_names)
    groups = JointGroups(
        [
            JointGroup(human, "servo", hs.Servo(human), names[:3]),
            JointGroup(human, "torque", hs.IdealTorque(human), names[3:]),
        ]
    )
    groups.begin(sample(human, 0.0))
    groups.groups[0].command(0.2, np.zeros(3))
    assert groups.newest == -np.inf
    groups.groups[1].command(0.1, np.ones(len(names) - 3))
    assert groups.newest == 0.1
    groups.advance(sample(human, 0.1))
    np.testing.assert_array_equal(groups.torques()[3:], 1.0)
    np.testing.assert_array_equal(groups.groups[1].last, 1.0)


def test_motors_and_muscles_on_bip(bip: hs.Model) -> None:
    """Motors of other joints are commanded; a shared screw is not cut in two."""
    knees = {"l_knee", "r_knee"}
    rest = [name for name in bip.joint_names if name not in knees]
    motors = JointGroup(bip, "motors", hs.ScrewDriveMotors(bip), rest)
    assert bip.rotors is not None
    assert set(motors.names) == set(bip.rotors.names) - knees
    motors.begin(sample(bip, 0.0))
    motors.command(0.0, np.full(len(motors.names), 10.0))
    torques = dict(zip(bip.joint_names, motors.torques(), strict=True))
    assert torques["l_knee"] == 0.0 and abs(torques["l_hip_pitch"]) > 0.1
    half = [name for name in rest if name != "l_ankle_roll"]
    with pytest.raises(hs.errors.ParameterError, match="name all of them or none"):
        JointGroup(bip, "motors", hs.ScrewDriveMotors(bip), half)


def test_there_must_be_a_group() -> None:
    """A body without drives is refused."""
    with pytest.raises(hs.errors.ParameterError, match="at least one"):
        JointGroups([])
