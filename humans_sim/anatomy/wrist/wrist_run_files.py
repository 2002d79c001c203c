# SPDX-License-Identifier: Apache-2.0
"""Motions of a wrist as files: all of it, so that nothing else is needed to show it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from humans_sim.anatomy.balls.ball_model import BallModel
from humans_sim.anatomy.errors import AnatomyError, WristRunFileError
from humans_sim.anatomy.mechanics.ligaments import Ligament, Ligaments
from humans_sim.anatomy.wrist.bone_steps import StepNumbers
from humans_sim.anatomy.wrist.hand_motion import HandMotion
from humans_sim.anatomy.wrist.wrist import Bone, Wrist
from humans_sim.bodies.mass_properties import MassProperties
from humans_sim.core.errors import HumansError
from humans_sim.core.npz_file import read_npz, write_npz

if TYPE_CHECKING:
    import trimesh

    from humans_sim.anatomy.wrist.wrist_run import WristRun

KIND = "humans-sim wrist motion"
"""First words of the header."""
_FORMAT = 1
_SAMPLES = ("t", "angles", "x", "frames", "tensions", "forces", "depths")
_MORE = ("touching", "deep", "friction", "energy", "steps")
_BONES = ("vertices", "faces", "balls", "sizes", "masses", "inertias")
_TIES = ("tie_bones", "tie_points", "tie_laws")
_MOTION = ("angle", "duration", "settling", "holding")
_FAULTS = (AttributeError, LookupError, TypeError, ValueError, OverflowError)


def save_wrist_run(run: WristRun, path: Path) -> Path:
    """Write a motion (``.npz``): samples, bones with meshes and balls, ligaments."""
    wrist, motion, numbers = run.wrist, run.motion, run.numbers
    header = {
        "kind": KIND,
        "format": _FORMAT,
        "title": wrist.title,
        "synthetic": wrist.synthetic,
        "method": run.method,
        "motion": {"kind": motion.kind, **{k: getattr(motion, k) for k in _MOTION}},
        "bones": list(wrist.names),
        "roles": list(wrist.roles),
        "ligaments": list(wrist.ligaments.names),
        "numbers": list(wrist.numbers),
        "centre": np.asarray(wrist.centre).tolist(),
        "unsettled": run.unsettled,
        "wall": run.wall,
        "law": None if numbers is None else [numbers.friction, numbers.viscosity],
    }
    content = {name: getattr(run, name) for name in (*_SAMPLES, *_MORE)}
    if run.loads is not None:
        content["loads"] = run.loads
    return write_npz(path, header, {**content, **_bone_arrays(wrist), **_ties(wrist)})


def _bone_arrays(wrist: Wrist) -> dict[str, np.ndarray]:
    bones = wrist.bones
    balls = [np.column_stack([b.model.centres, b.model.radii]) for b in bones]
    sizes = [(len(b.mesh.vertices), len(b.mesh.faces), len(b.model)) for b in bones]
    masses = [(bone.mass.mass, *bone.mass.center) for bone in bones]
    return {
        "vertices": np.concatenate([np.asarray(b.mesh.vertices, float) for b in bones]),
        "faces": np.concatenate([np.asarray(b.mesh.faces, np.int32) for b in bones]),
        "balls": np.concatenate(balls),
        "sizes": np.array(sizes, dtype=np.int64),
        "masses": np.array(masses),
        "inertias": np.array([bone.mass.inertia for bone in bones]),
    }


def _ties(wrist: Wrist) -> dict[str, np.ndarray]:
    ties = wrist.ligaments.ligaments
    laws = [(one.slack, one.greatest, one.stiffness, one.damping) for one in ties]
    ends = [(one.body_i, one.body_j) for one in ties]
    points = [(one.point_i, one.point_j) for one in ties]
    return {
        "tie_bones": np.array(ends, dtype=np.int64).reshape(-1, 2),
        "tie_points": np.array(points, dtype=float).reshape(-1, 2, 3),
        "tie_laws": np.array(laws, dtype=float).reshape(-1, 4),
    }


def read_wrist_run(path: Path) -> dict[str, Any]:
    """Attributes of a motion that :func:`save_wrist_run` wrote; WristRunFileError."""
    names = (*_SAMPLES, *_MORE, *_BONES, *_TIES)
    header, arrays = read_npz(
        path, WristRunFileError, "a motion of a wrist", names, ("loads",)
    )
    try:
        return _attributes(header, arrays)
    except (*_FAULTS, HumansError) as fault:
        raise WristRunFileError(f"not a motion of a wrist: {fault}", path) from fault


def is_wrist_run(path: Path | str) -> bool:
    """Whether a file is a motion of a wrist, by its header; others may be anything."""
    try:
        header, _ = read_npz(Path(path), WristRunFileError, "", ())
    except WristRunFileError:
        return False
    return isinstance(header, dict) and header.get("kind") == KIND


def _attributes(
    header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    if header["kind"] != KIND or header["format"] != _FORMAT:
        raise ValueError("it is of another kind or format")
    wrist = _wrist(header, arrays)
    law, given = header["law"], header["motion"]
    motion = HandMotion(str(given["kind"]), *(float(given[key]) for key in _MOTION))
    _check(arrays, len(wrist.bones), len(wrist.ligaments))
    samples = {name: arrays[name] for name in (*_SAMPLES, *_MORE)}
    return {
        "wrist": wrist,
        "motion": motion,
        "method": str(header["method"]),
        **samples,
        "unsettled": int(header["unsettled"]),
        "wall": float(header["wall"]),
        "numbers": None if law is None else StepNumbers(float(law[0]), float(law[1])),
        "loads": arrays.get("loads"),
    }


def _check(arrays: dict[str, np.ndarray], bones: int, ties: int) -> None:
    """Shapes fit each other, numbers are finite."""
    n = len(arrays["t"])
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("t", "angles", "forces", "depths", "deep", "friction"), (n,)),
        "x": (n, bones, 3),
        "frames": (n, bones, 3, 3),
        "tensions": (n, ties),
        "touching": (n, bones),
        "energy": (n, 2),
        "steps": arrays["steps"].shape[:1],
    }
    if "loads" in arrays:
        shapes["loads"] = (n, bones, bones)
    if n == 0:
        raise ValueError("it has no samples")
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
        if arrays[name].dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} has a value that is no finite number")
    if (np.diff(arrays["t"]) < 0).any():
        raise ValueError("its times go backwards")


def _wrist(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Wrist:
    names, roles = header["bones"], header["roles"]
    sizes = arrays["sizes"]
    if sizes.shape != (len(names), 3) or len(roles) != len(names):
        raise ValueError("its bones do not fit")
    if sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise ValueError("a bone has no mesh or no balls")
    first = np.concatenate([np.zeros((1, 3), int), np.cumsum(sizes, axis=0)])
    for column, name in enumerate(("vertices", "faces", "balls")):
        if len(arrays[name]) != first[-1, column]:
            raise ValueError(f"its {name} do not fit")
    bones = []
    for k, ((v, f, b), (v_end, f_end, b_end)) in enumerate(pairwise(first)):
        balls, row = arrays["balls"][b:b_end], arrays["masses"][k]
        model = BallModel(balls[:, :3], balls[:, 3])
        mass = MassProperties(float(row[0]), row[1:], arrays["inertias"][k])
        mesh = _mesh(arrays["vertices"][v:v_end], arrays["faces"][f:f_end])
        bones.append(Bone(str(names[k]), str(roles[k]), mesh, model, mass))
    ligaments = _ligaments(header["ligaments"], arrays, len(bones))
    numbers = tuple(int(number) for number in header["numbers"])
    centre = np.array(header["centre"], dtype=float)
    if len(numbers) != len(ligaments) or centre.shape != (3,):
        raise ValueError("its ligaments or its centre do not fit")
    title, synthetic = str(header["title"]), bool(header["synthetic"])
    return Wrist(title, tuple(bones), ligaments, numbers, centre, synthetic)


def _mesh(vertices: np.ndarray, faces: np.ndarray) -> trimesh.Trimesh:
    import trimesh

    if vertices.shape[1:] != (3,) or not np.isfinite(vertices).all():
        raise AnatomyError("a mesh has a vertex that is no point")
    if faces.shape[1:] != (3,) or faces.dtype.kind not in "iu":
        raise AnatomyError("a mesh has faces that are no triangles")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise AnatomyError("a mesh has a face without its vertex")
    return trimesh.Trimesh(vertices, faces, process=False)


def _ligaments(
    names: list[Any], arrays: dict[str, np.ndarray], bones: int
) -> Ligaments:
    ends, points, laws = (arrays[name] for name in _TIES)
    n = len(names)
    if ends.shape != (n, 2) or points.shape != (n, 2, 3) or laws.shape != (n, 4):
        raise ValueError("its ligaments do not fit")
    if n and not (ends.dtype.kind in "iu" and 0 <= ends.min() and ends.max() < bones):
        raise ValueError("a ligament has no bone")
    ties = []
    for k, name in enumerate(names):
        one, other = (int(ends[k, 0]), points[k, 0]), (int(ends[k, 1]), points[k, 1])
        ties.append(Ligament(str(name), *one, *other, *map(float, laws[k])))
    return Ligaments(ties)
