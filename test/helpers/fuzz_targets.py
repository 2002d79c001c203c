# SPDX-License-Identifier: Apache-2.0
"""Readers that get damaged files, and what must hold of what they accept."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from mutations import damaged
from urdf_damage import damaged_urdf
from urdf_numbers import damaged_numbers
from urdf_reading import read_independently, same

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.anatomy import load_wrist_run
from humans_sim.applications.batch.record import Ledger
from humans_sim.applications.batch.settings import TrialSettings
from humans_sim.applications.batch.trial import Job, previous_outcome
from humans_sim.applications.graphs import read_graph
from humans_sim.applications.person import Person
from humans_sim.applications.robot_draft import draft_robot
from humans_sim.applications.scenarios import read_scenario
from humans_sim.contact.geometry.terrain import HeightField, TriangleMesh
from humans_sim.control.trajectories.sway import Sway
from humans_sim.control.trajectories.traj3 import read_traj3
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.core.expressions import evaluate
from humans_sim.core.files import read_text
from humans_sim.core.yaml_file import read_yaml
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.motion.motion_file import read_motion
from humans_sim.models.files.builder import build
from humans_sim.models.files.tree_file import TreeFile
from humans_sim.observation.markers.correspondence import load_correspondence
from humans_sim.observation.markers.frame_change import read_frame
from humans_sim.observation.markers.pipeline import PipelineSettings
from humans_sim.observation.posture.humans_csv import read_rec_pos
from humans_sim.observation.posture.humans_tables import read_rec_pos_bin
from humans_sim.results.record import recorded_ground, recorded_model

FAR = 1e7
"""No marker of a person is so far away [m]."""


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes:
        seeds: folder of its sound files.
        read: reads a file; raises AssertionError where it accepts what cannot be.
        cost: of a case, in those of a cheap one.
        name: the file gets; empty: that of its seed.
        beside: files that stand beside it, from other folders of seeds.
        damage: what is done to its files.
    """

    seeds: str
    read: Callable[[Path], Any]
    cost: int = 1
    name: str = ""
    beside: tuple[str, ...] = ()
    damage: Callable[[bytes, random.Random, list[bytes]], bytes] = damaged


@cache
def model(name: str) -> hs.Model:
    """A model of the package, loaded once."""
    return hs.load_model(name)


def _finite(*arrays: Any) -> None:
    for array in arrays:
        assert np.isfinite(np.asarray(array, float)).all(), "not finite"


def _run(path: Path, lazy: bool = False) -> None:
    run = hs.load_run(path, lazy)
    assert (np.diff(run.t) >= 0).all(), "times fall"
    failed = any(event.kind == "failure" for event in run.events)
    _finite(run.t, run.q, run.v, run.z, run.gaps, run.energy)
    if not failed:
        _finite(run.torques, run.forces)
    run.check()
    repr(run)
    if "model" in run.info or run.info.get("system") in ("human36", "bip", "khr1"):
        assert recorded_model(run.info).mass > 0
    recorded_ground(run.info)


def _wrist_run(path: Path) -> None:
    run = load_wrist_run(path)
    assert (np.diff(run.t) >= 0).all(), "times fall"
    _finite(run.x, run.frames, run.tensions, run.energy)
    run.check()


def _reconstruction(path: Path) -> None:
    result = hs.load_reconstruction(path)
    _finite(result.q, result.t)
    assert (np.diff(result.t) > 0).all(), "times fall"
    assert result.status.max() <= 4
    assert result.rms >= 0 or math.isnan(result.rms)


def _scenario(path: Path) -> None:
    scenario = read_scenario(str(path))
    assert 0 < scenario.end < math.inf and scenario.sampling_period > 0
    if scenario.has_wrist:
        assert 0 < scenario.wrist().motion.duration < math.inf
        return
    _, q, v = scenario.prepare()
    _finite(q, v)


def _graph(path: Path) -> None:
    assert read_graph(str(path)).parameters.is_file()


def _subject(path: Path) -> None:
    subject = hs.load_subject(path)
    _finite(subject.height, subject.mass, *(m.at for m in subject.markers))
    _finite(subject.model().inertia(subject.model().neutral()))


def _marker_set(path: Path) -> None:
    marker_set = hs.load_marker_set(path, model("human36"))
    for marker in marker_set.markers:
        _finite(marker.at, marker.weight)


def _pipeline(path: Path) -> None:
    settings = PipelineSettings.load(path)
    assert 0 < settings.cutoff < math.inf and 1 <= settings.order <= 20


def _robot(path: Path) -> None:
    settings = load_robot(path)
    assert settings.limits.speed <= 2000 and settings.limits.step <= 180
    for channel in settings.channels.channels.values():
        assert 0 <= channel.lower <= channel.home <= channel.upper <= 180
        assert channel.sense in (1, -1)


def _robot_setup(path: Path) -> None:
    setup = RobotSetup.from_file(path)
    _finite(setup.friction, setup.fall_tilt, *vars(setup.servo).values())
    assert setup.time_step > 0 and setup.sampling_period > 0


def _walking(path: Path) -> None:
    name = path.stem if path.stem in ("bip", "human", "human36") else "khr1"
    settings = WalkSettings.from_file(model(name), path)
    for field in fields(settings):
        if field.type == "float":
            _finite(getattr(settings, field.name))
    assert 2 <= settings.horizon_knots <= 10_000


def _sway(path: Path) -> None:
    name = path.stem if path.stem in ("bip", "human36") else "khr1"
    sway = Sway.from_file(model(name), path)
    _finite(sway.period, *sway.at(0.3))


def _model(path: Path) -> None:
    file = TreeFile(path)
    _finite(*file.parameters.values(), *file.lengths.values())
    made = build(file.describe())
    _finite(*(inertia.mass for inertia in made.inertias))
    _urdf(path)


def _urdf(path: Path) -> None:
    loaded = hs.load_model(path)
    q = loaded.neutral()
    _finite(loaded.mass, q)
    assert loaded.mass >= 0, "negative mass"
    assert (loaded.lower_limits <= loaded.upper_limits).all(), "limits exchanged"
    values = np.linalg.eigvalsh(loaded.inertia(q))
    assert values[0] >= -1e-8 * max(values[-1], 1.0), "negative kinetic energy"


def _urdf_numbers(path: Path) -> None:
    """What is taken is what a second reading of the file says."""
    loaded = hs.load_model(path)
    assert same(loaded, read_independently(read_text(path))), "not the file's numbers"


def _init_robot(path: Path) -> None:
    """Files are written that load, or none at all."""
    try:
        drafted = draft_robot(path)
    except hs.HumansError:
        assert [file.name for file in path.parent.iterdir()] in ([path.name], [])
        raise
    drafted.save()
    _urdf(path)
    settings = WalkSettings.of_model(hs.load_model(path))
    for field in fields(settings):
        if field.type == "float":
            _finite(getattr(settings, field.name))


def _side(path: Path) -> None:
    _urdf(path.with_suffix(".urdf"))


def _mesh(path: Path) -> None:
    from humans_sim.view.browser.geometry import solids

    for solid in solids(hs.load_model(path.parent / "robot.urdf")):
        _finite(solid.mesh.vertices)


def _markers(path: Path) -> None:
    trial = hs.read_markers(path)
    assert (np.diff(trial.times) > 0).all(), "times fall"
    seen = trial.positions[~np.isnan(trial.positions)]
    _finite(trial.times, seen, [event.time for event in trial.events])
    assert all(note.isprintable() and len(note) < 400 for note in trial.notes)
    assert len(trial.notes) < 30
    if trial.analog is not None:
        assert not np.isinf(trial.analog.values).any(), "infinite channel"
        assert trial.analog.values.size <= path.stat().st_size
    assert sum(plate.force.size for plate in trial.plates) <= path.stat().st_size
    for plate in trial.plates:
        _finite(plate.corners, plate.origin)
        vertical = np.nan_to_num(plate.force[:, 2])
        assert -vertical.min() <= max(vertical.max(), 20), "a plate pulls"
        assert not np.isinf(plate.wrench).any(), "infinite wrench"
        assert len(plate.reaction.point) == len(plate.times)


def _forces(path: Path) -> None:
    for reaction in hs.read_force_file(path):
        _finite(reaction.times, reaction.force, reaction.torque)
        _finite(reaction.wrench(np.zeros(3)))


def _rec_pos(path: Path) -> None:
    samples, values = read_rec_pos(path)
    _finite(values)
    assert (np.diff(samples) > 0).all()


def _rec_pos_bin(path: Path) -> None:
    _finite(read_rec_pos_bin(path))


def _parameters(path: Path) -> None:
    for subject in hs.read_reconstruction_parameters(path).values():
        _finite(subject.height, *subject.lengths.values())
        assert subject.height > 0


def _motion(path: Path) -> None:
    for pose in read_motion(path).poses:
        assert all(0 <= value <= 180 or value == 225 for value in pose.channels)


def _traj3(path: Path) -> None:
    path_read = read_traj3(path)
    _finite(path_read.positions, path_read.times)


def _correspondence(path: Path) -> None:
    for label in load_correspondence(path, ("a", "b", "c", "d")).labels.values():
        assert label is None or isinstance(label, str) or label >= 1


def _frame(path: Path) -> None:
    frame = read_frame(read_yaml(path))
    _finite(frame.translation)
    assert np.allclose(frame.rotation @ frame.rotation.T, np.eye(3), atol=1e-6)


def _record(path: Path) -> None:
    folder = path.parent
    home = folder / ".humans-sim" / "records"
    home.mkdir(parents=True, exist_ok=True)
    (home / "a.json").unlink(missing_ok=True)
    (home / "a.json").symlink_to(path)
    (folder / "a.npz").touch()
    ledger = Ledger(folder)
    job = Job("a", folder / "a.trc", Person(), TrialSettings(), folder)
    outcome = previous_outcome(job, ledger, "f")
    if outcome is not None:
        assert outcome.summary["frames"] >= 0 and outcome.seconds == outcome.seconds
    (ledger.home / "journal.jsonl").unlink(missing_ok=True)
    ledger.journal.symlink_to(path)
    ledger.entries()
    ledger.journal.unlink()


def _expression(path: Path) -> None:
    text = read_text(path)
    assert math.isfinite(evaluate(text, {"h": 1.7, "zhip": 0.2}))


def _terrain(mesh: TriangleMesh) -> None:
    _finite(mesh.vertices, mesh.data, mesh.row())
    assert mesh.faces.min() >= 0 and mesh.faces.max() < len(mesh.vertices)
    assert mesh.thickness() > 0


def _heights(path: Path) -> None:
    field = HeightField.from_file(path, 0.05)
    _finite(field.heights)
    _terrain(field)


TARGETS: dict[str, Target] = {
    "run": Target("run", _run, 4),
    "lazy_run": Target("run", lambda path: _run(path, lazy=True), 4),
    "wrist_run": Target("wrist_run", _wrist_run, 10),
    "reconstruction": Target("reconstruction", _reconstruction, 20),
    "scenario": Target("scenarios", _scenario, 5),
    "graph": Target("graphs", _graph),
    "subject": Target("subject", _subject, 20),
    "marker_set": Target("marker_sets", _marker_set, 4),
    "pipeline": Target("pipeline", _pipeline),
    "robot": Target("kondo", _robot),
    "robot_setup": Target("robots", _robot_setup),
    "walking": Target("walking", _walking),
    "sway": Target("sway", _sway),
    "model": Target("models", _model, 10),
    "urdf": Target("urdf", _urdf, 1, "robot.urdf"),
    "urdf_numbers": Target(
        "biped", _urdf_numbers, 4, "robot.urdf", damage=damaged_numbers
    ),
    "urdf_side": Target("side", _side, 1, "robot.yaml", ("urdf",)),
    "init_robot": Target("biped", _init_robot, 8, "robot.urdf", damage=damaged_urdf),
    "xacro": Target("xacro", _urdf, 1, "robot.xacro"),
    "mesh": Target("mesh", _mesh, 4, "box.obj", ("urdf",)),
    "trc": Target("trc", _markers),
    "c3d": Target("c3d", _markers),
    "forces": Target("forces", _forces),
    "optotrak": Target("optotrak", _markers),
    "rec_pos": Target("rec_pos", _rec_pos),
    "rec_pos_bin": Target("rec_pos_bin", _rec_pos_bin),
    "parameters": Target("parameters", _parameters, 20),
    "motion": Target("motion", _motion),
    "traj3": Target("traj3", _traj3),
    "correspondence": Target("correspondence", _correspondence),
    "frame": Target("frame", _frame),
    "record": Target("record", _record),
    "expression": Target("expression", _expression),
    "terrain_image": Target(
        "pictures", lambda path: _terrain(HeightField.from_image(path, (1, 1), 0.1)), 2
    ),
    "terrain_heights": Target("heights", _heights),
    "terrain_mesh": Target(
        "meshes", lambda path: _terrain(TriangleMesh.from_file(path)), 2
    ),
}
