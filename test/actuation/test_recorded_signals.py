# SPDX-License-Identifier: Apache-2.0
"""What runs keep of their actuation: named, with units, as it acted; in all files."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader

import humans_sim as hs
from humans_sim.view.plots.run_plots import actuation_panels, plot_run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # this module of mcap_ros2 warns when imported
    from mcap_ros2.reader import read_ros2_messages

PERIOD, SAMPLING = 0.02, 0.005


def run_of(model: hs.Model, actuation: hs.Actuation, law: Any, **scene: Any) -> hs.Run:
    """A short run in the air, its base held."""
    simulation = hs.Simulation(
        model,
        actuation,
        law,
        hs.Ground.empty(),
        locked=scene.get("locked", ["base"]),
        contacts=hs.Contacts(limits=False),
        control_period=PERIOD,
    )
    return simulation.run(
        model.neutral(), t_end=0.1, sampling_period=SAMPLING, progress=False
    )


def unit_of(run: hs.Run, name: str) -> str:
    """The unit of a signal."""
    units: list[str] = run.info["signal_units"]
    return units[run.info["signal_names"].index(name)]


@pytest.fixture(scope="module")
def motors(bip: hs.Model) -> hs.Run:
    """Bip under voltages that grow with time, 10 ms late."""
    count = len(bip.joint_names)
    drive = hs.ScrewDriveMotors(bip, delay=0.01)
    return run_of(bip, drive, lambda t, state: np.full(count, 0.1 + t))


@pytest.fixture(scope="module")
def muscles(human: hs.Model) -> hs.Run:
    """A knee, all else locked, whose quadriceps is stimulated, 30 ms late."""
    others = [name for name in human.joint_names if name != "r_knee"]
    drive = hs.FesMuscles(human, sides=("r",), delay=0.03)
    pulses = np.array([2e-5, 0.0])
    return run_of(human, drive, lambda t, state: pulses, locked=["base", *others])


def test_voltages_act_after_their_delay(motors: hs.Run, bip: hs.Model) -> None:
    """Command and voltage, the queue between them, and the next call of the law."""
    name = f"motors/{bip.rotors.names[2]}"
    t, voltage = motors.t, motors.signal(f"{name}/voltage")
    calls = np.floor(t / PERIOD + 1e-9) * PERIOD
    np.testing.assert_allclose(motors.signal(f"{name}/command"), 0.1 + calls)
    # The first command acts at once, as in the manual, the others after 10 ms.
    acting = np.maximum(np.floor((t - 0.01) / PERIOD + 1e-9) * PERIOD, 0.0)
    np.testing.assert_allclose(voltage, 0.1 + acting, atol=1e-12)
    waits = motors.signal("motors/waiting_commands")
    due = motors.signal("motors/next_effect")
    np.testing.assert_array_equal(waits == 1, np.isfinite(due))
    np.testing.assert_allclose(due[waits == 1], (calls + 0.01)[waits == 1])
    assert set(waits.tolist()) == {0.0, 1.0}
    np.testing.assert_allclose(motors.signal("control/next_call"), calls + PERIOD)
    assert unit_of(motors, f"{name}/voltage") == "V"
    assert unit_of(motors, "control/next_call") == "s"


def test_currents_obey_ohm(motors: hs.Run, bip: hs.Model) -> None:
    """R i = u - k theta', motor by motor; powers are u i."""
    drive = hs.ScrewDriveMotors(bip)
    for name, motor in zip(drive.names, drive.motors, strict=True):
        u, i, speed, power = (
            motors.signal(f"motors/{name}/{word}")
            for word in ("voltage", "current", "rotor_speed", "electrical_power")
        )
        drop = u - motor.torque_constant * speed
        np.testing.assert_allclose(motor.resistance * i, drop, atol=1e-9)
        np.testing.assert_allclose(power, u * i, atol=1e-12)
        assert np.abs(speed).max() > 0.1
    assert unit_of(motors, f"motors/{name}/current") == "A"


def test_set_points_run_to_their_commands(khr1: hs.Model) -> None:
    """Evenly over the time between two commands; torque sources keep theirs."""
    count = len(khr1.joint_names)
    law = lambda t, state: np.full(count, 0.5 * (t + PERIOD))  # noqa: E731
    run = run_of(khr1, hs.Servo(khr1), law)
    for joint in (khr1.joint_names[0], khr1.joint_names[-1]):
        point = run.signal(f"servos/{joint}/set_point")
        np.testing.assert_allclose(point, 0.5 * run.t, atol=1e-12)
        assert set(run.signal(f"servos/{joint}/saturated").tolist()) <= {0.0, 1.0}
    assert unit_of(run, f"servos/{joint}/command") == "rad"
    torques = np.linspace(-0.01, 0.01, count)
    run = run_of(khr1, hs.IdealTorque(khr1), lambda t, state: torques)
    kept = [run.signal(f"torques/{name}/torque")[-1] for name in khr1.joint_names]
    np.testing.assert_allclose(kept, torques)


def test_muscles_keep_the_state_of_the_manual(muscles: hs.Run) -> None:
    """S, calcium, pulses, clocks and the stack of pulses on their way."""
    name, t = "muscles/r_quadriceps", muscles.t
    acts = t >= 0.03 - 1e-9
    calcium = muscles.signal(f"{name}/calcium_state")
    np.testing.assert_array_equal(calcium, np.where(acts, 2.0, 0.0))
    u = muscles.signal(f"{name}/u")
    np.testing.assert_allclose(u, np.where(acts, 5.0, -5.0))
    np.testing.assert_allclose(muscles.signal(f"{name}/charge"), 2e-5 * acts)
    np.testing.assert_allclose(muscles.signal(f"{name}/next_charge"), 2e-5)
    alpha = muscles.signal(f"{name}/alpha")
    assert (alpha[acts] > 0).all() and not alpha[~acts].any()
    # The pulse is repeated before the plateau of 20 ms ends.
    switch = muscles.signal(f"{name}/next_calcium_switch")
    pulses = np.floor((t - 0.03) / PERIOD + 1e-9) * PERIOD + 0.03
    np.testing.assert_allclose(switch[acts], (pulses + 0.02)[acts])
    assert np.isnan(switch[~acts]).all()
    assert set(muscles.signal(f"{name}/S").tolist()) <= {-1.0, 1.0}
    np.testing.assert_array_equal(muscles.signal(f"{name}/F_c"), muscles.z[:, 2])
    assert muscles.signal("muscles/waiting_commands").max() == 2
    other = "muscles/r_hamstrings"
    assert not muscles.signal(f"{other}/charge").any()
    assert unit_of(muscles, f"{name}/charge") == "A s"


def test_parts_stand_one_after_the_other(human: hs.Model) -> None:
    """Several actuations of one model keep the signals of each."""
    both = hs.CompositeActuation([hs.FesMuscles(human), hs.IdealTorque(human)])
    law = lambda t, state: (np.zeros(4), np.ones(36))  # noqa: E731
    run = run_of(human, both, law)
    assert run.signal("torques/l_elbow_pitch/torque")[-1] == 1.0
    assert run.signal("muscles/l_quadriceps/u")[-1] == -5.0
    names = run.info["signal_names"]
    assert len(set(names)) == len(names) == run.signals.shape[1]


@pytest.mark.parametrize("which", ["motors", "muscles"])
def test_in_every_file(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Run file, table and messages hold the same numbers by the same names."""
    run: hs.Run = request.getfixturevalue(which)
    run.save(tmp_path / "run.npz")
    again = hs.load_run(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.signals, run.signals)
    run.to_csv(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open() as lines:
        rows = list(csv.reader(lines))
    run.to_mcap(tmp_path / "run.mcap")
    topics: dict[str, list[float]] = {}
    for message in read_ros2_messages(str(tmp_path / "run.mcap")):
        if message.channel.topic.startswith(("/signals/", "/states/")):
            data = message.ros_msg.data
            topics.setdefault(message.channel.topic, []).append(data)
    names, units = run.info["signal_names"], run.info["signal_units"]
    for name, unit in zip(names, units, strict=True):
        column = rows[0].index(f"{name} [{unit}]")
        written = [float(row[column]) for row in rows[1:]]
        np.testing.assert_array_equal(written, run.signal(name))
        np.testing.assert_array_equal(topics[f"/signals/{name}"], run.signal(name))
    for k, name in enumerate(run.info["z_names"]):
        np.testing.assert_array_equal(topics[f"/states/{name}"], run.z[:, k])
    with (tmp_path / "run.mcap").open("rb") as stream:
        (record,) = make_reader(stream).iter_metadata()
    assert json.loads(record.metadata["signal_units"]) == units


def test_pictures_show_them(motors: hs.Run, muscles: hs.Run) -> None:
    """Voltages and currents of motors, command signals and recruitment of muscles."""
    titles = [panel.get_title() for panel in plot_run(motors).axes]
    assert {"voltages of the motors", "currents of the motors"} <= set(titles)
    shown = actuation_panels(muscles)
    assert [panel.label for panel in shown] == ["u [1/s]", "alpha [1]"]
    np.testing.assert_array_equal(
        shown[0].values[:, 0], muscles.signal("muscles/r_quadriceps/u")
    )
