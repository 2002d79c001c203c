# SPDX-License-Identifier: Apache-2.0
"""Sound files of every kind that the package reads, most by its own writers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from plate_files import plate_bytes, walking_load
from small_wrists import NAMES, OWN, small_run

import humans_sim as hs
from humans_sim.anatomy import ball_model
from humans_sim.anatomy.volumes.volume import of_ball
from humans_sim.applications.batch.trial import DONE, Outcome
from humans_sim.control.trajectories.trajectory import Trajectory, write_traj3
from humans_sim.core.resources import resource
from humans_sim.dynamics import problems
from humans_sim.kondo.motion.motion_file import load_motion, write_motion
from humans_sim.observation.markers import MarkerTrial, write_trc
from humans_sim.observation.markers.c3d_writer import write_c3d
from humans_sim.observation.posture.humans_tables import (
    read_rec_pos,
    write_humans_csv,
    write_rec_pos_bin,
)
from humans_sim.observation.posture.subject import Subject

EVENTS = {
    "EVENT:USED": 2,
    "EVENT:TIMES": np.array([[0.0, 0.02], [0.0, 0.04]]),
    "EVENT:LABELS": ["Foot Strike", "Foot Off"],
    "EVENT:CONTEXTS": ["Left", "Right"],
    "FORCE_PLATFORM:ZERO": np.array([1, 2]),
}
FORCES = """forces
version=1
nRows=2
nColumns=10
inDegrees=no
endheader
time ground_force_vx ground_force_vy ground_force_vz ground_force_px ground_force_py \
ground_force_pz ground_torque_x ground_torque_y ground_torque_z
0.0 10 700 3 0.4 0 0.1 0 5 0
0.01 11 5.5 3 0.41 0 0.1 0 0 0
"""
ROBOT = """<robot name="two_link">
  <link name="base_link">
    <visual><geometry>
    <mesh filename="package://box.obj" scale="1 1 1"/></geometry></visual>
    <inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="leg"><inertial><origin xyz="0 0 -0.2"/><mass value="0.5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.4"/></geometry></visual></link>
  <joint name="hip" type="revolute"><parent link="base_link"/><child link="leg"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""
SIDE = """title: two links
tags:
  - {name: toe, link: leg, xyz: [0, 0, -0.4]}
contacts: [toe]
frames: [{name: r_sole, link: leg, xyz: [0, 0, -0.4], rpy: [0, 0, 0.1]}]
soles: {r_sole: [toe]}
limits: {hip: [-30, 40]}
humans: {joints: [hip], base_rotation: zyx, base_height: 1, segments: [leg]}
"""
XACRO = """<robot name="one" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="size" default="0.25"/>
<xacro:property name="w" value="${2*h}"/><xacro:property name="h" value="$(arg size)"/>
<xacro:macro name="leg" params="side reflect:=1 *org">
 <link name="${side}_leg"><inertial><xacro:insert_block name="org"/>
 <mass value="${w*max(1, 0.5)}"/>
 <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
 <joint name="${side}_hip" type="revolute"><parent link="base_link"/>
 <child link="${side}_leg"/><axis xyz="0 1 0"/><origin xyz="0 ${reflect*w/2} 0"/>
 <xacro:if value="${side == 'l' and reflect > 0}">
 <limit lower="${-pi/2}" upper="${radians(90)}" effort="1" velocity="1"/></xacro:if>
 <xacro:unless value="${side == 'l'}"><limit lower="-1" upper="1" effort="1"
 velocity="1"/></xacro:unless></joint></xacro:macro>
<link name="base_link"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<xacro:leg side="l"><origin xyz="0 0 ${-h**2}"/></xacro:leg>
<xacro:leg side="r" reflect="${-1}"><origin xyz="0 0 0"/></xacro:leg>
</robot>"""
BOX = "\n".join(
    [f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    + ["f 1 2 3", "f 2 3 4", "f 5 6 7", "f 6 7 8", "f 1 2 5", "f 3 4 7", ""]
)
OPTOTRAK = "hip x,hip y,hip z,toe x,toe y,toe z\n" + (
    "".join(f"{k},2.5,900.25,,,\n" for k in range(4))
)
EXPRESSIONS = ("0.0941*h - zhip/2", "-(1 + 2)*3.5e-3/h", "+h", "0.5", "1_0 * 2")
FRAME = "translation: [0, 0.5, 1]\nrpy: [0, 90, 10]\n"
MATRIX = "matrix: [[1,0,0,1],[0,1,0,2],[0,0,1,3],[0,0,0,1]]\n"
NETWORK = """period: 0.001
gravity: [0, 0, -9.81]
floor: {height: 0, stiffness: 1500, viscosity: 2}
laws:
  flesh: {type: visco_spring, stiffness: 1500, viscosity: 1}
  touch: {type: stop, reach: 0.05, stiffness: 500, viscosity: 0.5}
  cord: {type: hollow_stop, reach: 0.2, stiffness: 300, viscosity: 1}
masses:
  bob: {mass: 0.1, at: [1, 0, 0.797], velocity: [0, 0.1, 0]}
fixed:
  hook: [1, 0, 1]
driven:
  hand: [2, 0, 1]
boxes:
  lower: {shape: [3, 3, 2], spacing: 0.05, mass: 0.02, law: flesh, at: [0, 0, 0.02]}
  upper: {shape: [2, 2, 2], spacing: 0.05, mass: 0.03, law: flesh, at: [0, 0, 0.13]}
links:
  - {between: [hook, bob], law: cord}
  - {between: [hand, bob], law: cord, one_way: true}
crowds:
  - {of: [lower, upper], law: touch}
"""
GROUNDS = {
    "stairs": """friction: 0.6
restitution: 0.1
slope: 3
steps: {count: 4, rise: 0.05, depth: 0.3, start: 0.5}
stairs: {count: 3, rise: 0.02, depth: 0.3, start: 2, width: 1}
ramp: {angle: 10, length: 1, start: 4, platform: 0.5}
rubble: {seed: 3, height: 0.01, size: [0.4, 0.2], spacing: 0.05, start: 6}
chair: {x: -1, seat_height: 0.45}
boxes: [{size: [0.1, 0.2, 0.3], centre: [0, 1, 0.15], name: post, friction: 0.2}]
""",
    "meshes": """friction: 0.5
floor: false
height_fields:
  - {heights: [[0, 0.1], [0.1, 0]], spacing: 0.5, name: hill}
  - {image: hill.png, size: [1, 1], height: 0.1, origin: [3, 0, 0], friction: 0.9}
  - {file: hill.csv, spacing: 0.02, origin: [6, 0, 0]}
meshes:
  - {file: text.stl, scale: 0.1, origin: [9, 0, 0]}
  - vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    faces: [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
    origin: [12, 0, 0]
""",
    "sand": """friction: 0.7
deformable:
  law: {mass: 0.01, period: 0.001, ground_stiffness: 400, ground_viscosity: 10}
  shape: [20, 10]
  spacing: 0.02
  patch: 0.04
  origin: [-0.2, -0.1, 0]
  contact: {stiffness: 1000, viscosity: 1}
""",
}
SCENE = """title: two bodies
method: time_stepping
time: {end: 0.1, sampling_period: 0.01}
ground: {friction: 0.5}
gravity: [0, 0, -9.8]
bodies:
  box: {box: [0.1, 0.1, 0.1], mass: 0.5, at: [0, 0, 0.05], velocity: [1, 0, 0]}
  ball: {ball: 0.05, mass: 0.25, at: [1, 0, 0.5], spin: [0, 3, 0], friction: 0.2}
loads:
  wind: {velocity: [1, 0, 0], areas: {ball: 0.01}}
  springs: [{body: box, point: [0, 0, 0], anchor: [0, 0, 1], stiffness: 5}]
  forces: [{body: ball, point: [0, 0, 0], force: [0, 1, 0], start: 0, end: 0.05}]
"""
SENSORS = """pelvis: {kind: imu, frame: base_link, rate: 200, gyroscope: {noise: 0.02}}
joints: {kind: encoders, rate: 100, delay: 0.005, seed: 3, angle: {resolution: 0.01}}
left: {kind: foot, sole: l_sole, rate: 100, threshold: 1, force: {bias: 0.1}}
"""
BODY = """<robot name="crate"><link name="crate"><inertial><mass value="0.5"/>
<inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link></robot>
"""
PIPELINE = """correspondence: names.yaml
fill: true
max_gap: 0.2
frame: standing
standing: {samples: 10, ankles: [a, b], hips: [c, d], tilt: true, ankle_height: 0.1}
filter: true
cutoff: 6
order: 2
"""


def write_seeds(folder: Path) -> None:
    """Write a folder of sound files for each reader."""
    (folder / "wrist_run").mkdir(parents=True, exist_ok=True)
    small_run().save(folder / "wrist_run" / "motion.npz")
    runs = folder / "run"
    ball = hs.Simulation(problems.bouncing_ball(0.5))
    ball.run(np.array([0.2]), t_end=0.3).save(runs / "ball.npz")
    khr1 = hs.load_model("khr1")
    drop = hs.Simulation(khr1, method="time_stepping")
    q = khr1.standing(np.zeros(len(khr1.joint_names)))
    drop.run(q, t_end=0.02, sampling_period=0.005).save(runs / "drop.npz")
    _write(folder / "biped" / "robot.urdf", khr1.urdf().encode())
    _write_markers(folder)
    _write_terrain(folder)
    _write_anatomy(folder)
    _write_drawn(folder)
    folders = ("graphs", "marker_sets", "models", "scenarios", "kondo", "walking")
    for name in (*folders, "robots", "conventions"):
        for path in resource("config", name).glob("*.yaml"):
            if path.stem != "rolling-sphere":  # it names another file by its place
                _write(folder / name / path.name, path.read_bytes())
    table = Path(__file__).parents[2] / "examples" / "mybip.yaml"
    _write(folder / "models" / table.name, table.read_bytes())
    for path in resource("config", "motions").glob("*.yaml"):
        _write(folder / "sway" / path.name, path.read_bytes())
    write_motion(load_motion("greeting"), folder / "motion" / "greeting.csv")
    points = np.arange(12.0).reshape(4, 3)
    path = Trajectory(np.vstack([points, points[:1]]), [0.0, 1.0, 2.5], [1, 2])
    write_traj3(folder / "traj3" / "path.traj3", path)
    for kind, name, text in (
        ("urdf", "robot.urdf", ROBOT),
        ("side", "robot.yaml", SIDE),
        ("xacro", "robot.xacro", XACRO),
        ("mesh", "box.obj", BOX),
        ("pipeline", "pipeline.yaml", PIPELINE),
        ("frame", "frame.yaml", FRAME),
        ("frame", "matrix.yaml", MATRIX),
        ("correspondence", "names.yaml", "a: LASI\nb: 3\nc: -1\nd:\n"),
        ("correspondence", "list.yaml", "[1, 4, -1, 2]\n"),
        ("correspondence", "list.txt", "1, 4; -1\n2\n"),
        ("optotrak", "leds.csv", OPTOTRAK),
        ("networks", "network.yaml", NETWORK),
        *(("grounds", f"{name}.yaml", text) for name, text in GROUNDS.items()),
        ("scenes", "scene.yaml", SCENE),
        ("sensors", "sensors.yaml", SENSORS),
        ("bodies", "body.urdf", BODY),
        *(("expression", f"{k}.txt", text) for k, text in enumerate(EXPRESSIONS)),
    ):
        _write(folder / kind / name, text.encode())
    every = resource("config", "reconstruction", "settings.yaml")
    _write(folder / "pipeline" / every.name, every.read_bytes())


def _write_anatomy(folder: Path) -> None:
    """Stacks of slices, a series, a wrist of three balls and what is made of it."""
    from PIL import Image
    from trimesh.creation import icosphere

    nibabel = pytest.importorskip("nibabel", reason="humans-sim[images] is not there")
    levels = np.arange(5 * 6 * 7, dtype=np.int16).reshape(5, 6, 7)
    stacks = folder / "stacks"
    stacks.mkdir()
    np.save(stacks / "levels.npy", levels)
    pages = [Image.fromarray((plane % 256).astype(np.uint8)) for plane in levels]
    pages[0].save(stacks / "levels.tif", save_all=True, append_images=pages[1:])
    for name, values in (("a.nii", levels), ("b.nii.gz", levels / 7.0)):
        image = nibabel.Nifti1Image(values.astype(np.float32), np.diag([0.3] * 3 + [1]))
        image.header.set_xyzt_units("mm")
        nibabel.save(image, stacks / name)
    plain = nibabel.Nifti1Image(levels, np.diag([0.3, 0.3, 0.3, 1.0]))
    nibabel.save(plain, stacks / "whole.nii.gz")
    for k, plane in enumerate(levels):
        _write_slice(folder / "series" / f"{k}.dcm", plane, 1.2 * k)
    balls = folder / "bones"
    balls.mkdir()
    for k, name in enumerate(NAMES):
        ball = icosphere(subdivisions=1, radius=5.0).apply_translation([0, 10 * k, 0])
        _write(balls / f"{name}.stl", ball.export(file_type="stl"))
    _write(folder / "wrists" / "wrist.yaml", OWN.encode())
    model = ball_model(of_ball(5e-3, 1e-3))
    (folder / "balls").mkdir()
    model.save(folder / "balls" / "ball.npz")


def _write_slice(path: Path, plane: np.ndarray, place: float) -> None:
    pydicom = pytest.importorskip("pydicom", reason="humans-sim[images] is not there")
    path.parent.mkdir(exist_ok=True)
    meta = pydicom.dataset.FileMetaDataset()
    meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = pydicom.uid.CTImageStorage
    meta.MediaStorageSOPInstanceUID = "1.2.3"
    item = pydicom.dataset.FileDataset(
        str(path), {}, file_meta=meta, preamble=b"\0" * 128
    )
    item.SeriesInstanceUID = "1.2.3.4"
    item.Rows, item.Columns = plane.shape
    item.SamplesPerPixel, item.PhotometricInterpretation = 1, "MONOCHROME2"
    item.BitsAllocated = item.BitsStored = 16
    item.HighBit, item.PixelRepresentation = 15, 1
    item.PixelSpacing = [0.3, 0.3]
    item.ImagePositionPatient = [0.0, 0.0, place]
    item.ImageOrientationPatient = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    item.PixelData = plane.astype("<i2").tobytes()
    item.save_as(path, enforce_file_format=True)


def _write_drawn(folder: Path) -> None:
    """Meshes with the files that they name."""
    from trimesh.creation import box

    files = box().export(file_type="gltf")
    for name, data in files.items():
        kind = "drawn" if name.endswith(".gltf") else "buffers"
        _write(folder / kind / name, data)
    _write(folder / "drawn" / "box.glb", box().export(file_type="glb"))
    _write(folder / "drawn" / "box.off", box().export(file_type="off").encode())
    text = f"mtllib box.mtl\nusemtl red\n{BOX}"
    _write(folder / "drawn" / "box.obj", text.encode())
    _write(folder / "materials" / "box.mtl", b"newmtl red\nKd 1 0 0\n")


def _write_terrain(folder: Path) -> None:
    from PIL import Image
    from trimesh.creation import icosphere

    levels = (np.add.outer(np.arange(8), np.arange(6)) * 17).astype(np.uint8)
    (folder / "pictures").mkdir(parents=True)
    for ending in ("png", "tif", "bmp", "pgm", "jpg"):
        Image.fromarray(levels).save(folder / "pictures" / f"hill.{ending}")
    Image.fromarray(levels.astype(np.uint16) * 257).save(
        folder / "pictures" / "deep.png"
    )
    Image.fromarray(np.repeat(levels[:, :, None], 3, axis=2)).save(
        folder / "pictures" / "colours.png"
    )
    (folder / "heights").mkdir()
    np.save(folder / "heights" / "hill.npy", levels / 255.0)
    rows = "\n".join(",".join(f"{x / 255:.3f}" for x in row) for row in levels)
    (folder / "heights" / "hill.csv").write_text(rows + "\n")
    ball = icosphere(subdivisions=1)
    for name, kind, options in (
        ("binary.stl", "stl", {}),
        ("text.stl", "stl_ascii", {}),
        ("text.obj", "obj", {}),
        ("binary.ply", "ply", {}),
        ("text.ply", "ply", {"encoding": "ascii"}),
    ):
        content = ball.export(file_type=kind, **options)
        data = content if isinstance(content, bytes) else content.encode()
        _write(folder / "meshes" / name, data)


def _write_markers(folder: Path) -> None:
    model = hs.load_model("human36", height=1.8, lengths={"yhead": 0.2})
    q = np.array([model.neutral()] * 3)
    tags = np.array([model.tags(row)[:-1] for row in q])
    tags[1, 3] = np.nan
    trial = MarkerTrial(model.tag_names, np.arange(3) / 100, tags, np.arange(3) + 1)
    result = hs.reconstruct(model, trial)
    result.save(folder / "reconstruction" / "result.npz")
    write_trc(trial, folder / "trc" / "trial.trc")
    write_c3d(trial, folder / "c3d" / "trial.c3d")
    for kind in (1, 2, 3, 4):
        data = plate_bytes(walking_load(12), kind, extra=EVENTS)
        _write(folder / "c3d" / f"plate{kind}.c3d", data)
    _write(folder / "forces" / "forces.mot", FORCES.encode())
    rec_pos, tag_pos, _ = write_humans_csv(result, folder / "csv")
    _write(folder / "rec_pos" / "RecPos.csv", rec_pos.read_bytes())
    (folder / "rec_pos_bin").mkdir(exist_ok=True)
    write_rec_pos_bin(folder / "rec_pos_bin" / "RecPosBin", read_rec_pos(rec_pos)[1])
    (folder / "parameters").mkdir(exist_ok=True)
    sizes = folder / "parameters" / "ReconstructionParameters.csv"
    hs.write_reconstruction_parameters(sizes, "01", model)
    _write(folder / "optotrak" / "TagPos.csv", tag_pos.read_bytes())
    markers = hs.load_marker_set("canonical", model).markers[:6]
    subject = Subject("human36", 1.8, 71.0, {"yhead": 0.2}, markers, "a person")
    subject.save(folder / "subject" / "subject.yaml")
    summary = {
        **{"frames": 3, "rms": 0.01, "worst_marker": "a", "worst_marker_mean": None},
        **{"occluded": 0.0, "rejected": 0.0, "converged": 3, "mode": "static"},
        **{"unobservable": [], "missing": ["b"], "ignored": []},
        **{"notes": ["POINT:RATE: missing"], "verdict": "good", "reasons": []},
        "forces": [],
        "markers": [
            {"name": "a", "rms": 1.0, "mean": 1.0, "occluded": 0.0, "rejected": 0.0}
        ],
        "worst_frames": [
            {"frame": 1, "time": 0.0, "rms": 1.0, "marker": "a", "largest": 1.0}
            | {"used": 3}
        ],
    }
    outcome = Outcome("a", "a.trc", DONE, fingerprint="f", mark="m", files=("a.npz",))
    record = asdict(outcome) | {"summary": summary}
    _write(folder / "record" / "a.json", json.dumps(record).encode())


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
