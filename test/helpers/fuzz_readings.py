# SPDX-License-Identifier: Apache-2.0
"""Readers of the package on one file each: what must hold of what they accept."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import fuzz_meanings as simple
import numpy as np
from fuzz_meanings import Meaning, table, trajectory_of
from urdf_reading import read_independently, same

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.anatomy import load_ball_model, load_wrist_run, read_stack
from humans_sim.anatomy.volumes.mesh_repair import read_bone
from humans_sim.anatomy.wrist.wrist_files import load_wrist
from humans_sim.applications.batch.record import Ledger
from humans_sim.applications.batch.trial import Job, TrialSettings, previous_outcome
from humans_sim.applications.graphs import read_graph
from humans_sim.applications.person import Person
from humans_sim.applications.robot_draft import draft_robot
from humans_sim.applications.scenarios import read_scenario
from humans_sim.applications.scene_files import read_ground
from humans_sim.applications.scene_setup import read_body, read_scene
from humans_sim.contact import Box
from humans_sim.contact.geometry.terrain import HeightField, TriangleMesh
from humans_sim.control.trajectories.trajectory import Sway, read_traj3
from humans_sim.control.walking.settings import DEGREES, WalkSettings
from humans_sim.core.expressions import evaluate
from humans_sim.core.files import read_text
from humans_sim.core.yaml_file import read_yaml
from humans_sim.dynamics.sensors import read_sensors
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.motion.motion_file import read_motion
from humans_sim.models.collision_shapes import MeshFile, read_mesh
from humans_sim.models.conventions import load_convention
from humans_sim.models.files.named_models import build
from humans_sim.models.files.tree_file import TreeFile
from humans_sim.observation.markers.marker_set import load_correspondence
from humans_sim.observation.markers.pipeline import PipelineSettings, read_frame
from humans_sim.observation.posture.humans_tables import read_rec_pos, read_rec_pos_bin
from humans_sim.results.record import recorded_ground, recorded_model
from humans_sim.soft import load_network


@cache
def loaded_model(name: str) -> hs.Model:
    """A model of the package, loaded once."""
    return hs.load_model(name)


def _finite(*arrays: Any) -> None:
    for array in arrays:
        assert np.isfinite(np.asarray(array, float)).all(), "not finite"


def check_run(path: Path, lazy: bool = False) -> Meaning:
    """A run, loaded whole or left on the disk."""
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
    return table("t", run.t) | table("q", run.q) | table("v", run.v)


def check_lazy_run(path: Path) -> Meaning:
    """A run that is left on the disk."""
    return check_run(path, lazy=True)


def check_wrist_run(path: Path) -> Meaning:
    """A run of a wrist."""
    run = load_wrist_run(path)
    assert (np.diff(run.t) >= 0).all(), "times fall"
    _finite(run.x, run.frames, run.tensions, run.energy)
    run.check()
    return table("t", run.t) | table("x", run.x)


def check_reconstruction(path: Path) -> Meaning:
    """A reconstruction."""
    result = hs.load_reconstruction(path)
    _finite(result.q, result.t)
    assert (np.diff(result.t) > 0).all(), "times fall"
    assert result.status.max() <= 4
    assert result.rms >= 0 or math.isnan(result.rms)
    return table("times", result.t) | table("q", result.q)


def check_urdf_numbers(path: Path) -> Meaning:
    """A URDF with damaged numbers: what is taken is what a second reading says."""
    loaded = hs.load_model(path)
    assert same(loaded, read_independently(read_text(path))), "not the file's numbers"
    return {"mass": loaded.mass}


def check_scenario(path: Path) -> Meaning:
    """A scenario, put together with its start."""
    scenario = read_scenario(str(path))
    assert 0 < scenario.end < math.inf and scenario.sampling_period > 0
    meaning = {"end": scenario.end, "period": scenario.sampling_period}
    if scenario.has_wrist:
        assert 0 < scenario.wrist().motion.duration < math.inf
        return meaning
    if not scenario.has_network:
        _, q, v = scenario.prepare()
        _finite(q, v)
        meaning |= {"coordinates": len(q), "speeds": float(np.square(v).sum())}
    return meaning


def check_graph(path: Path) -> Meaning:
    """A graph of nodes."""
    graph = read_graph(str(path))
    assert graph.parameters.is_file()
    return {"nodes": len(graph.nodes), "topics": len(graph.topics)}


def check_subject(path: Path) -> Meaning:
    """A person."""
    subject = hs.load_subject(path)
    _finite(subject.height, subject.mass, *(m.at for m in subject.markers))
    _finite(subject.model().inertia(subject.model().neutral()))
    lengths = sum(subject.lengths.values())
    places = float(sum(marker.at.sum() for marker in subject.markers))
    return {
        **{"height": subject.height, "mass": subject.mass, "lengths": lengths},
        **{"markers": len(subject.markers), "places": places},
    }


def check_marker_set(path: Path) -> Meaning:
    """A marker set of Human36."""
    marker_set = hs.load_marker_set(path, loaded_model("human36"))
    for marker in marker_set.markers:
        _finite(marker.at, marker.weight)
    places = float(sum(np.square(marker.at).sum() for marker in marker_set.markers))
    return {"markers": len(marker_set.markers), "places": places}


def check_pipeline(path: Path) -> Meaning:
    """Settings of a reconstruction."""
    settings = PipelineSettings.load(path)
    assert 0 < settings.cutoff < math.inf and 1 <= settings.order <= 20
    return {
        **{"cutoff": settings.cutoff, "order": settings.order},
        **{"max_gap": settings.max_gap, "jump": settings.jump},
    }


def check_robot(path: Path) -> Meaning:
    """Channels and limits of the Kondo boards."""
    settings = load_robot(path)
    assert settings.limits.speed <= 2000 and settings.limits.step <= 180
    for channel in settings.channels.channels.values():
        assert 0 <= channel.lower <= channel.home <= channel.upper <= 180
        assert channel.sense in (1, -1)
    channels = settings.channels.channels.values()
    return {
        **{"channels": len(channels), "speed": settings.limits.speed},
        "homes": sum(channel.home for channel in channels),
    }


def check_robot_setup(path: Path) -> Meaning:
    """Servos and floor of a robot."""
    setup = RobotSetup.from_file(path)
    _finite(setup.friction, setup.fall_tilt, *vars(setup.servo).values())
    assert setup.time_step > 0 and setup.sampling_period > 0
    names = ("friction", "time_step", "sampling_period")
    return {name: float(getattr(setup, name)) for name in names}


def check_walking(path: Path) -> Meaning:
    """Settings of a walk."""
    name = path.stem if path.stem in ("bip", "human", "human36") else "khr1"
    settings = WalkSettings.from_file(loaded_model(name), path)
    for field in fields(settings):
        if field.type == "float":
            _finite(getattr(settings, field.name))
    assert 2 <= settings.horizon_knots <= 10_000
    return _settings(settings)


def _settings(settings: WalkSettings) -> Meaning:
    """Numbers as a file of a walk has them: angles in degrees."""
    names = [field.name for field in fields(settings) if field.type == "float"]
    values = {name: float(getattr(settings, name)) for name in names}
    return {k: math.degrees(v) if k in DEGREES else v for k, v in values.items()}


def check_sway(path: Path) -> Meaning:
    """A sway of a model."""
    name = path.stem if path.stem in ("bip", "human", "human36") else "khr1"
    sway = Sway.from_file(loaded_model(name), path)
    _finite(sway.period, *sway.at(0.3))
    return {"period": sway.period, "angles": float(np.square(sway.at(0.3)[0]).sum())}


def check_model(path: Path) -> Meaning:
    """A model of the package's own kind."""
    file = TreeFile(path)
    _finite(*file.parameters.values(), *file.lengths.values())
    made = build(file.describe())
    _finite(*(inertia.mass for inertia in made.inertias))
    return check_urdf(path)


def check_urdf(path: Path) -> Meaning:
    """A model of any kind."""
    loaded = hs.load_model(path)
    q = loaded.neutral()
    _finite(loaded.mass, q)
    assert loaded.mass >= 0, "negative mass"
    assert (loaded.lower_limits <= loaded.upper_limits).all(), "limits exchanged"
    values = np.linalg.eigvalsh(loaded.inertia(q))
    assert values[0] >= -1e-8 * max(values[-1], 1.0), "negative kinetic energy"
    return {
        **{"mass": loaded.mass, "coordinates": loaded.nv, "inertia": values.sum()},
        **{"joints": len(loaded.joint_names), "tags": len(loaded.tag_names)},
    }


def check_init_robot(path: Path) -> Meaning:
    """Files are written that load, or none at all."""
    try:
        drafted = draft_robot(path)
    except hs.HumansError:
        assert [file.name for file in path.parent.iterdir()] in ([path.name], [])
        raise
    drafted.save()
    meaning = check_urdf(path)
    walk = _settings(WalkSettings.of_model(hs.load_model(path)))
    _finite(*walk.values())
    return meaning | walk


def check_side(path: Path) -> Meaning:
    """A file beside a URDF."""
    return check_urdf(path.with_suffix(".urdf"))


def check_mesh(path: Path) -> Meaning:
    """A mesh that a URDF names."""
    from humans_sim.view.browser.scene_layers import solids

    faces = 0
    for solid in solids(hs.load_model(path.parent / "robot.urdf")):
        _finite(solid.mesh.vertices)
        faces += len(solid.mesh.faces)
    return {"faces": faces}


def check_drawn(path: Path) -> Meaning:
    """A mesh by itself, with the files that it names."""
    mesh = read_mesh(MeshFile(path, path.parent), np.ones(3))
    _finite(mesh.vertices)
    return simple.triangles(mesh.triangles)


def check_buffer(path: Path) -> Meaning:
    """A buffer that a glTF file names."""
    return check_drawn(next(path.parent.glob("*.gltf")))


def check_material(path: Path) -> Meaning:
    """Materials that an OBJ file names."""
    return check_drawn(next(path.parent.glob("*.obj")))


def check_markers(path: Path) -> Meaning:
    """A recording of markers."""
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
    if trial.notes:  # what is doubtful is said: nothing is silent
        return {}
    squares = float(np.square(seen).sum())
    return trajectory_of(trial.positions) | {"squares": squares}


def check_forces(path: Path) -> Meaning:
    """Forces of plates."""
    reactions = hs.read_force_file(path)
    for reaction in reactions:
        _finite(reaction.times, reaction.force, reaction.torque)
        _finite(reaction.wrench(np.zeros(3)))
    squares = sum(float(np.square(reaction.force).sum()) for reaction in reactions)
    return {"rows": len(reactions[0].times), "squares": squares}


def check_rec_pos(path: Path) -> Meaning:
    """Coordinates of HuMAnS, as text."""
    samples, values = read_rec_pos(path)
    _finite(values)
    assert (np.diff(samples) > 0).all()
    return {"rows": len(values), "sum": float(values.sum() + samples.sum())}


def check_rec_pos_bin(path: Path) -> Meaning:
    """Coordinates of HuMAnS, binary."""
    values = read_rec_pos_bin(path)
    _finite(values)
    return {"rows": len(values)} | table("values", values)


def check_parameters(path: Path) -> Meaning:
    """Sizes of people."""
    subjects = hs.read_reconstruction_parameters(path).values()
    for subject in subjects:
        _finite(subject.height, *subject.lengths.values())
        assert subject.height > 0
    lengths = sum(sum(subject.lengths.values()) for subject in subjects)
    return {"subjects": len(subjects), "lengths": lengths}


def check_motion(path: Path) -> Meaning:
    """A motion of the Kondo boards."""
    poses = read_motion(path).poses
    for pose in poses:
        assert all(0 <= value <= 180 or value == 225 for value in pose.channels)
    channels = sum(sum(pose.channels) for pose in poses)
    return {"poses": len(poses), "channels": channels}


def check_traj3(path: Path) -> Meaning:
    """A trajectory."""
    path_read = read_traj3(path)
    _finite(path_read.positions, path_read.times)
    positions = path_read.positions
    return {"points": len(positions), "sum": float(positions.sum())}


def check_correspondence(path: Path) -> Meaning:
    """Labels for markers."""
    labels = load_correspondence(path, ("a", "b", "c", "d")).labels
    for label in labels.values():
        assert label is None or isinstance(label, str) or label >= 1
    numbers = [label for label in labels.values() if isinstance(label, int)]
    return {"labels": len(labels), "numbers": sum(numbers)}


def check_frame(path: Path) -> Meaning:
    """A change of frames."""
    frame = read_frame(read_yaml(path))
    _finite(frame.translation)
    assert np.allclose(frame.rotation @ frame.rotation.T, np.eye(3), atol=1e-6)
    return {"translation": float(np.sum(frame.translation))}


def check_record(path: Path) -> Meaning:
    """The record of a trial of a batch."""
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
    return {} if outcome is None else {"frames": outcome.summary["frames"]}


def check_expression(path: Path) -> Meaning:
    """An expression of a model file."""
    value = evaluate(read_text(path), {"h": 1.7, "zhip": 0.2})
    assert math.isfinite(value)
    return {"value": value}


def check_terrain(mesh: TriangleMesh) -> Meaning:
    """A mesh to stand on."""
    _finite(mesh.vertices, mesh.data, mesh.row())
    assert mesh.faces.min() >= 0 and mesh.faces.max() < len(mesh.vertices)
    assert mesh.thickness() > 0
    return simple.triangles(mesh.vertices[mesh.faces])


def check_picture(path: Path) -> Meaning:
    """A picture as terrain."""
    return check_terrain(HeightField.from_image(path, (1, 1), 0.1))


def check_terrain_mesh(path: Path) -> Meaning:
    """A mesh as terrain."""
    return check_terrain(TriangleMesh.from_file(path))


def check_heights(path: Path) -> Meaning:
    """A field of heights."""
    field = HeightField.from_file(path, 0.05)
    _finite(field.heights)
    check_terrain(field)
    return table("heights", field.heights)


def check_network(path: Path) -> Meaning:
    """A network of masses."""
    network = load_network(path).network
    _finite(*network.positions, *network.velocities)
    return {"masses": len(network.masses), "mass": sum(network.masses)}


def check_stack(path: Path) -> Meaning:
    """A stack of slices."""
    stack = read_stack(path, (1e-3, 1e-3, 1e-3))
    _finite(stack.positions, stack.pixel)
    return table("levels", stack.values)


def check_series(path: Path) -> Meaning:
    """A file of a DICOM series, the others beside it."""
    return check_stack(path.parent)


def check_ground(path: Path) -> Meaning:
    """The ground of a scene, with terrain."""
    ground = read_ground(path)
    meshes = ground.mesh_data()
    _finite(ground.table(1.0), () if meshes is None else meshes)
    boxes = [solid for solid in ground.solids if isinstance(solid, Box)]
    return {"friction": ground.friction, "boxes": len(boxes)}


def check_scene(path: Path) -> Meaning:
    """A scene of free bodies."""
    scene = read_scene(str(path))
    system = scene.system(scene.ground(0.5))
    q, v = scene.start(system)
    _finite(q, v)
    masses = [body.properties.mass for body in scene.bodies]
    return {"bodies": len(masses), "mass": sum(masses)}


def check_body(path: Path) -> Meaning:
    """A free body."""
    return {"mass": read_body(read_text(path), path).properties.mass}


def check_sensors(path: Path) -> Meaning:
    """Sensors of a robot."""
    sensors = read_sensors(path)
    return {"sensors": len(sensors), "rates": sum(1.0 / s.period for s in sensors)}


def check_convention(path: Path) -> Meaning:
    """Angles of a convention."""
    convention = load_convention(path, loaded_model("human36"))
    return {"groups": len(convention.groups), "places": len(convention.position)}


def check_wrist(path: Path) -> Meaning:
    """A wrist."""
    wrist = load_wrist(path, 1e-3)
    masses = [bone.mass.mass for bone in wrist.bones]
    _finite(*masses, *(bone.mesh.vertices for bone in wrist.bones))
    return {"bones": len(masses), "mass": sum(masses)}


def check_ball_model(path: Path) -> Meaning:
    """A ball model of a bone."""
    balls = load_ball_model(path)
    _finite(balls.centres, balls.radii)
    return table("centres", balls.centres) | table("radii", balls.radii)


def check_bone(path: Path) -> Meaning:
    """A bone."""
    mesh = read_bone(path).mesh
    _finite(mesh.vertices)
    assert mesh.is_watertight and mesh.volume > 0, "no solid"
    return {"volume": float(mesh.volume)}
