# SPDX-License-Identifier: Apache-2.0
"""The run of a wrist moved by its metacarpals, and the joints between its bones.

A joint is two bones that are neighbours at rest, with the gap between them. Bones that
travel with the hand are not dislocated, and bones that lose their neighbours are,
however little they travel: the gaps tell it.

*Files* hold all of a motion, so that nothing else is needed to show it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import cdist

from humans_sim.anatomy.balls.ball_model import BallModel
from humans_sim.anatomy.detection.contacts import Contacts
from humans_sim.anatomy.errors import AnatomyError, WristRunFileError
from humans_sim.anatomy.mechanics.ligaments import Ligament, Ligaments
from humans_sim.anatomy.wrist.bone_steps import BoneSteps, StepNumbers, StepRecord
from humans_sim.anatomy.wrist.hand_motion import HandMotion
from humans_sim.anatomy.wrist.wrist import Bone, Wrist
from humans_sim.bodies.loads import Moving
from humans_sim.bodies.mass_properties import MassProperties
from humans_sim.core.budget import SAMPLES
from humans_sim.core.errors import HumansError
from humans_sim.core.npz_file import read_npz, write_npz

if TYPE_CHECKING:
    import trimesh

    from humans_sim.results.check import Check


TOUCHING_GAP = 1e-6
"""Gap up to which balls touch [m]."""
_DEEP = 2 / 3
"""Distance of two balls over the sum of radii from which a contact is not deep."""
_ROUGH = 1e-5
"""Residual of the contact problem from which a step counts as unsettled."""
KIND = "humans-sim wrist motion"
"""First words of the header."""
_FORMAT = 1
_SAMPLES = ("t", "angles", "x", "frames", "tensions", "forces", "depths")
_MORE = ("touching", "deep", "friction", "energy", "steps")
_BONES = ("vertices", "faces", "balls", "sizes", "masses", "inertias")
_TIES = ("tie_bones", "tie_points", "tie_laws")
_MOTION = ("angle", "duration", "settling", "holding")
_FAULTS = (AttributeError, LookupError, TypeError, ValueError, OverflowError)


@dataclass(frozen=True)
class WristRun:
    """A motion of a wrist.

    Attributes:
        wrist: that moved.
        motion: of the hand.
        method: ``complementarity``, ``penalty`` or ``quasistatic``.
        t: times, from the beginning of the ramp (n,) [s].
        angles: of the hand (n,) [rad].
        x: centres of mass (n, b, 3) [m].
        frames: rotations (n, b, 3, 3).
        tensions: of the ligaments (n, l) [N].
        forces: greatest normal force of a pair of balls (n,) [N].
        depths: greatest overlap of balls (n,) [m].
        touching: share of each bone's balls that touch another bone (n, b).
        deep: share of the touching pairs that are deep (n,).
        friction: greatest tangential force over normal force (n,).
        energy: kinetic, and stored in the ligaments (and in overlaps, where balls push
            by them) (n, 2) [J].
        steps: lengths of the steps (m,) [s].
        unsettled: steps in which Newton's method came to no end, or contact forces
            were rough.
        wall: time that it took [s].
        frictionless: steps in which no friction forces were found and none were taken.
        newton: steps of Newton's method in all.
        numbers: friction and viscosity; None where the method has others.
        loads: normal forces between bones (n, b, b) [N]; None where not known.
    """

    wrist: Wrist
    motion: HandMotion
    method: str
    t: np.ndarray
    angles: np.ndarray
    x: np.ndarray
    frames: np.ndarray
    tensions: np.ndarray
    forces: np.ndarray
    depths: np.ndarray
    touching: np.ndarray
    deep: np.ndarray
    friction: np.ndarray
    energy: np.ndarray
    steps: np.ndarray
    unsettled: int
    wall: float
    frictionless: int = 0
    newton: int = 0
    numbers: StepNumbers | None = None
    loads: np.ndarray | None = None

    @property
    def info(self) -> dict[str, Any]:
        """Its description, as of runs of other systems."""
        kind, title = self.motion.kind, self.wrist.title
        return {"system": title, "wrist": kind, "method": self.method}

    @property
    def events(self) -> tuple[()]:
        """None: bones have no discrete events here."""
        return ()

    def bone(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Centres of mass (n, 3) [m] and rotations (n, 3, 3) of a bone."""
        n = self.wrist.number(name)
        return self.x[:, n], self.frames[:, n]

    def shifts(self) -> np.ndarray:
        """Distances of the bones' centres from their places at rest (n, b) [m]."""
        return np.asarray(np.linalg.norm(self.x - self.wrist.centres, axis=2))

    def moving(self, k: int) -> Moving:
        """Bones at a sample; without velocities."""
        still = np.zeros_like(self.x[k])
        return Moving(self.x[k], self.frames[k], still, still)

    def save(self, path: Path | str) -> Path:
        """Write the motion as ``.npz``, its bones and ligaments included."""
        wrist, motion, numbers = self.wrist, self.motion, self.numbers
        header = {
            "kind": KIND,
            "format": _FORMAT,
            "title": wrist.title,
            "synthetic": wrist.synthetic,
            "method": self.method,
            "motion": {"kind": motion.kind, **{k: getattr(motion, k) for k in _MOTION}},
            "bones": list(wrist.names),
            "roles": list(wrist.roles),
            "ligaments": list(wrist.ligaments.names),
            "numbers": list(wrist.numbers),
            "centre": np.asarray(wrist.centre).tolist(),
            "unsettled": self.unsettled,
            "wall": self.wall,
            "law": None if numbers is None else [numbers.friction, numbers.viscosity],
        }
        content = {name: getattr(self, name) for name in (*_SAMPLES, *_MORE)}
        if self.loads is not None:
            content["loads"] = self.loads
        return write_npz(Path(path), header, {**content, **_wrist_arrays(wrist)})

    def check(self) -> Check:
        """Examine gaps, friction, contacts, energy, and whether bones left."""
        from humans_sim.anatomy.wrist.wrist_check import check_wrist_run

        return check_wrist_run(self)


def load_wrist_run(path: Path | str) -> WristRun:
    """Read a motion that :meth:`WristRun.save` wrote.

    Args:
        path: of the file (``.npz``).

    Raises:
        WristRunFileError: the file is missing, damaged or of another kind.
    """
    path = Path(path)
    names = (*_SAMPLES, *_MORE, *_BONES, *_TIES)
    header, arrays = read_npz(
        path, WristRunFileError, "a motion of a wrist", names, ("loads",)
    )
    try:
        return _run_of(header, arrays)
    except (*_FAULTS, HumansError) as fault:
        raise WristRunFileError(f"not a motion of a wrist: {fault}", path) from fault


def _wrist_arrays(wrist: Wrist) -> dict[str, np.ndarray]:
    bones, ties = wrist.bones, wrist.ligaments.ligaments
    balls = [np.column_stack([b.model.centres, b.model.radii]) for b in bones]
    sizes = [(len(b.mesh.vertices), len(b.mesh.faces), len(b.model)) for b in bones]
    masses = [(bone.mass.mass, *bone.mass.center) for bone in bones]
    laws = [(one.slack, one.greatest, one.stiffness, one.damping) for one in ties]
    ends = [(one.body_i, one.body_j) for one in ties]
    points = [(one.point_i, one.point_j) for one in ties]
    return {
        "vertices": np.concatenate([np.asarray(b.mesh.vertices, float) for b in bones]),
        "faces": np.concatenate([np.asarray(b.mesh.faces, np.int32) for b in bones]),
        "balls": np.concatenate(balls),
        "sizes": np.array(sizes, dtype=np.int64),
        "masses": np.array(masses),
        "inertias": np.array([bone.mass.inertia for bone in bones]),
        "tie_bones": np.array(ends, dtype=np.int64).reshape(-1, 2),
        "tie_points": np.array(points, dtype=float).reshape(-1, 2, 3),
        "tie_laws": np.array(laws, dtype=float).reshape(-1, 4),
    }


def is_wrist_run(path: Path | str) -> bool:
    """Whether a file is a motion of a wrist, by its header; others may be anything."""
    try:
        header, _ = read_npz(Path(path), WristRunFileError, "", ())
    except WristRunFileError:
        return False
    return isinstance(header, dict) and header.get("kind") == KIND


def _run_of(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> WristRun:
    if header["kind"] != KIND or header["format"] != _FORMAT:
        raise ValueError("it is of another kind or format")
    wrist = _wrist(header, arrays)
    law, given = header["law"], header["motion"]
    samples: dict[str, Any] = {name: arrays[name] for name in (*_SAMPLES, *_MORE)}
    _check(arrays, len(wrist.bones), len(wrist.ligaments))
    return WristRun(
        wrist=wrist,
        motion=HandMotion(str(given["kind"]), *(float(given[key]) for key in _MOTION)),
        method=str(header["method"]),
        **samples,
        unsettled=int(header["unsettled"]),
        wall=float(header["wall"]),
        numbers=None if law is None else StepNumbers(float(law[0]), float(law[1])),
        loads=arrays.get("loads"),
    )


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


class Recorder:
    """Collects samples of a moving wrist."""

    def __init__(self, wrist: Wrist, motion: HandMotion, method: str) -> None:
        self._wrist, self._motion, self._method = wrist, motion, method
        self._detector, self._bodies = wrist.detector(), wrist.bodies()
        self._rows: list[dict[str, Any]] = []
        self._loads: list[np.ndarray] = []
        self._sizes = np.array([len(bone.model) for bone in wrist.bones])
        self._began = time.perf_counter()

    def add(
        self,
        t: float,
        moving: Moving,
        tensions: np.ndarray,
        force: float,
        mu: float,
        contacts: Contacts | None = None,
        loads: np.ndarray | None = None,
    ) -> None:
        """Keep a sample: bones, ligaments, greatest force and friction, contacts."""
        if loads is not None:
            self._loads.append(loads)
        if contacts is None:
            poses = self._wrist.poses(moving.x, moving.frames)
            contacts = self._detector.detect(poses, margin=TOUCHING_GAP)
        touching = np.zeros(len(self._sizes))
        c = contacts
        for bodies, balls in ((c.body_i, c.ball_i), (c.body_j, c.ball_j)):
            for bone in np.unique(bodies):
                touching[bone] += len(np.unique(balls[bodies == bone]))
        deep = float(np.mean(contacts.relative < _DEEP)) if contacts.count else 0.0
        depth = float(contacts.depth.max()) if contacts.count else -TOUCHING_GAP
        state = self._bodies.state(moving.x, moving.frames, moving.v, moving.w)
        kinetic = self._bodies.kinetic_energy(state)[self._wrist.free].sum()
        stored = self._wrist.ligaments.energy(moving)
        self._rows.append(
            {
                "t": t,
                "angles": self._motion.angle_at(t),
                "x": moving.x.copy(),
                "frames": moving.frames.copy(),
                "tensions": np.array(tensions),
                "forces": force,
                "depths": depth,
                "touching": touching / self._sizes,
                "deep": deep,
                "friction": mu,
                "energy": (kinetic, stored),
            }
        )

    def run(self, steps: np.ndarray, unsettled: int) -> WristRun:
        """All samples as a run."""
        rows, loads = self._rows, self._loads
        samples: dict[str, Any] = {
            name: np.array([row[name] for row in rows], float) for name in rows[0]
        }
        return WristRun(
            wrist=self._wrist,
            motion=self._motion,
            method=self._method,
            **samples,
            steps=steps,
            unsettled=unsettled,
            wall=time.perf_counter() - self._began,
            loads=np.array(loads) if len(loads) == len(rows) else None,
        )


def resting_run(wrist: Wrist, motion: HandMotion) -> WristRun:
    """A wrist where its file has it, as a run of one sample."""
    recorder = Recorder(wrist, motion, "rest")
    x = wrist.centres
    still = np.zeros_like(x)
    moving = Moving(x, np.tile(np.eye(3), (len(x), 1, 1)), still, still)
    recorder.add(0.0, moving, wrist.ligaments.tensions(moving), 0.0, 0.0)
    return recorder.run(np.zeros(0), 0)


def move_wrist(
    wrist: Wrist,
    motion: HandMotion | None = None,
    step: float = 0.01,
    numbers: StepNumbers | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WristRun:
    """Move a wrist by its driven bones, in the project's contact problem.

    Args:
        wrist: its bones and ligaments.
        motion: of the hand; adduction by 30 degrees unless given.
        step: length of the steps [s]; each is a sample.
        numbers: friction and viscosity.
        progress: called with the steps made and their number.

    Raises:
        AnatomyError: the step is not positive, or there are too many.
        ContactProblemError: no contact forces were found.
    """
    motion = HandMotion() if motion is None else motion
    if not (np.isfinite(step) and 0 < step <= motion.duration):
        raise AnatomyError(f"steps lie between 0 and the duration, not {step} s")
    length = motion.settling + motion.end
    SAMPLES.check("a wrist's motion", length / step, error=AnatomyError)
    recorder = Recorder(wrist, motion, "complementarity")
    steps = BoneSteps(wrist, numbers)
    before, count = round(motion.settling / step), round(motion.end / step)
    unsettled = frictionless = newton = 0
    for k in range(-before, count):
        t = (k + 1) * step
        record = steps.step(step, motion.places(wrist, t))
        unsettled += not (record.settled and record.residual < _ROUGH)
        frictionless += record.frictionless
        newton += record.newton
        if k >= -1:
            touching, force = steps.touching(TOUCHING_GAP), _greatest(record)
            loads = _between(record, len(wrist.bones))
            bones, tensions = steps.moving(), record.tensions
            recorder.add(t, bones, tensions, *force, touching, loads)
        if progress is not None:
            progress(k + before + 1, count + before)
    if before == 0 and count == 0:
        raise AnatomyError("the motion has no step")
    run = recorder.run(np.full(count + before, step), unsettled)
    return replace(run, frictionless=frictionless, newton=newton, numbers=steps.numbers)


def _between(record: StepRecord, count: int) -> np.ndarray:
    """Normal forces between bones, sums over their balls (b, b) [N]."""
    loads = np.zeros((count, count))
    one = record.contacts.body_i[record.rows]
    other = record.contacts.body_j[record.rows]
    if len(record.forces):
        np.add.at(loads, (one, other), record.forces[:, 0])
        np.add.at(loads, (other, one), record.forces[:, 0])
    return loads


def _greatest(record: StepRecord) -> tuple[float, float]:
    """Greatest normal force [N], and tangential over normal force of those above."""
    if not len(record.forces):
        return 0.0, 0.0
    normal = record.forces[:, 0]
    tangent = np.linalg.norm(record.forces[:, 1:], axis=1)
    pressed = normal > 1e-9 * max(float(normal.max()), 1e-300)
    ratios = tangent[pressed] / normal[pressed]
    return float(normal.max()), float(ratios.max()) if len(ratios) else 0.0


_NEIGHBOURS = 1e-3
"""Gap at rest up to which bones are neighbours [m]."""


class Joints:
    """Pairs of neighbouring bones, one of them free at least.

    They are neighbours up to a gap at rest [m].

    Attributes:
        pairs: numbers of the bones (p, 2).
        names: e.g. ``scaphoid-lunate``.

    Raises:
        AnatomyError: no bone has a neighbour.
    """

    def __init__(self, wrist: Wrist, within: float = _NEIGHBOURS) -> None:
        self._wrist = wrist
        rest = wrist.rest()
        near = wrist.detector().detect(wrist.poses(rest.x, rest.R), margin=within)
        pairs = np.unique(np.stack([near.body_i, near.body_j], axis=1), axis=0)
        if not len(pairs):
            raise AnatomyError("no bone of the wrist has a neighbour")
        self.pairs = pairs
        self.names = tuple("-".join(wrist.names[n] for n in pair) for pair in pairs)

    def gaps(self, x: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Least gaps between balls of the pairs, negative where they overlap (p,) [m].

        Of centres of mass (b, 3) [m] and rotations (b, 3, 3).
        """
        poses = self._wrist.poses(x, frames)
        where = zip(self._wrist.bones, poses.rotations, poses.positions, strict=True)
        models = [bone.model.moved(turn, shift) for bone, turn, shift in where]
        gaps = np.empty(len(self.pairs))
        for n, (i, j) in enumerate(self.pairs):
            one, other = models[i], models[j]
            apart = cdist(one.centres, other.centres)
            gaps[n] = (apart - one.radii[:, None] - other.radii).min()
        return gaps

    def opened(self, run: WristRun, sample: int = -1) -> np.ndarray:
        """By how much the gaps are wider than at rest (p,) [m]."""
        rest = self._wrist.rest()
        now = self.gaps(run.x[sample], run.frames[sample])
        return np.asarray(now - self.gaps(rest.x, rest.R))

    def parted(self, run: WristRun, by: float = 2e-3) -> tuple[str, ...]:
        """Names of the joints that have opened by more than a length at the end."""
        wide = self.opened(run) > by
        return tuple(name for name, far in zip(self.names, wide, strict=True) if far)
