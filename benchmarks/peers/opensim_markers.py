# SPDX-License-Identifier: Apache-2.0
"""OpenSim on the markers of a trial: its inverse kinematics, tool and solver.

The model is ours, body by body and joint by joint, built through OpenSim's interface:
a free joint, then pins with the same axes, places and limits; the same markers with the
same weights. So both solve the same problem. Somebody else's model may be given too.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import opensim
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.tree_kernels import Tree, marker_bodies

VERSION: str = opensim.GetVersion()
_MASS = 1e-3
"""Of every body, as OpenSim wants one; it has no part in inverse kinematics [kg]."""
_TOOL = "trial"

Clock = Callable[[], float]
Times = tuple[float, float, float, float]
"""Of the first frame and all before it, of the others, of a usual one [s]; rms [m]."""

opensim.Logger.setLevelString("Off")
opensim.Logger.removeFileSink()  # else opensim.log is left behind


class Peer:
    """An OpenSim model with its markers, ready for a trial."""

    def __init__(
        self,
        model: opensim.Model,
        trial: MarkerTrial,
        weights: dict[str, float],
        folder: Path,
        clock: Clock,
    ) -> None:
        """Prepare.

        Args:
            model: OpenSim's.
            trial: in the axes of the model.
            weights: of the markers that are used.
            folder: for files that OpenSim reads and writes.
            clock: [s].
        """
        self._clock = clock
        self.model, self.trial, self.folder = model, trial, folder
        self._weights = weights
        self._file = folder / f"{_TOOL}.trc"
        write_trc(self._file, trial.select(list(weights)))
        self.state = model.initSystem()

    @property
    def freedom(self) -> int:
        """Coordinates of the model."""
        return int(self.model.getCoordinateSet().getSize())

    @property
    def markers(self) -> int:
        """Markers used."""
        return len(self._weights)

    def tool(self) -> Times:
        """InverseKinematicsTool as it comes.

        A run of the first frame alone tells what reading and preparing take.
        """
        first, last = float(self.trial.times[0]), float(self.trial.times[-1])
        alone = self._run(first, first)
        whole = self._run(first, last)
        rows = (self.folder / f"{_TOOL}_ik_marker_errors.sto").read_text().splitlines()
        start = next(i for i, row in enumerate(rows) if row.startswith("time")) + 1
        column = rows[start - 1].split("\t").index("marker_error_RMS")
        rms = np.array([float(row.split("\t")[column]) for row in rows[start:]])
        if len(rms) != len(self.trial):
            raise RuntimeError(f"OpenSim solved {len(rms)} of {len(self.trial)} frames")
        frame = (whole - alone) / (len(rms) - 1)
        return alone, whole - alone, frame, float(np.sqrt((rms**2).mean()))

    def _run(self, first: float, last: float) -> float:
        tool = opensim.InverseKinematicsTool()
        tool.setName(_TOOL)
        tool.setModel(self.model)
        tool.setMarkerDataFileName(str(self._file))
        tool.setStartTime(first)
        tool.setEndTime(last)
        tool.setResultsDir(str(self.folder))
        tool.setOutputMotionFileName(str(self.folder / f"{_TOOL}.mot"))
        tasks = tool.upd_IKTaskSet()
        for name, weight in self._weights.items():
            task = opensim.IKMarkerTask()
            task.setName(name)
            task.setApply(True)
            task.setWeight(weight)
            tasks.cloneAndAppend(task)
        with _silence():
            begun = self._clock()
            done = tool.run()
            seconds = self._clock() - begun
        if not done:
            raise RuntimeError("OpenSim's InverseKinematicsTool failed")
        return seconds

    def solver(self) -> Times:
        """InverseKinematicsSolver, frame by frame: no file is read or written."""
        weights = opensim.SetMarkerWeights()
        for name, weight in self._weights.items():
            weights.cloneAndAppend(opensim.MarkerWeight(name, weight))
        reference = opensim.MarkersReference(str(self._file), weights)
        coordinates = opensim.SimTKArrayCoordinateReference()
        state = self.model.initSystem()
        solver = opensim.InverseKinematicsSolver(
            self.model, reference, coordinates, math.inf
        )
        tool = opensim.InverseKinematicsTool()
        solver.setAccuracy(tool.get_accuracy())
        solver.setAdvanceTimeFromReference(False)
        times, squares = [], []
        for row, t in enumerate(self.trial.times):
            begun = self._clock()
            state.setTime(float(t))
            if row == 0:
                solver.assemble(state)
            else:
                solver.track(state)
            times.append(self._clock() - begun)
            for name in self._weights:
                squares.append(solver.computeCurrentSquaredMarkerError(name))
        rms = float(np.sqrt(np.nanmean(squares)))
        return times[0], sum(times[1:]), float(np.median(times[1:])), rms


def same_model(
    model: hs.Model,
    marker_set: MarkerSet,
    trial: MarkerTrial,
    start: np.ndarray,
    folder: Path,
    clock: Clock,
) -> Peer:
    """Our model in OpenSim.

    Args:
        model: ours.
        marker_set: where its markers are.
        trial: to be solved.
        start: posture from which OpenSim begins (nq,); it looks for no other.
        folder: for its files.
        clock: [s].
    """
    tree = Tree.of(model)
    names = [m.name for m in marker_set.markers if m.name in trial.names]
    markers = [marker_set[name] for name in names]
    built = opensim.Model()
    built.setName(model.name)
    links = [_body(built, name) for name in ("base", *model.joint_names)]
    free = opensim.FreeJoint("free", built.getGround(), links[0])
    built.addJoint(free)
    turn = _angles(Rotation.from_quat(start[3:7]))
    for i, value in enumerate([*turn, *start[:3]]):
        free.upd_coordinates(i).set_default_value(float(value))
    for i, name in enumerate(model.joint_names, start=1):
        axis, _ = Rotation.align_vectors([tree.axis[i]], [[0.0, 0.0, 1.0]])
        placed = Rotation.from_matrix(tree.rotation[i]) * axis
        joint = opensim.PinJoint(
            f"{name}_joint",
            links[tree.parent[i]],
            opensim.Vec3(*tree.origin[i]),
            opensim.Vec3(*_angles(placed)),
            links[i],
            opensim.Vec3(0.0),
            opensim.Vec3(*_angles(axis)),
        )
        coordinate = joint.upd_coordinates(0)
        coordinate.setName(name)
        coordinate.setRangeMin(float(tree.lower[i - 1]))
        coordinate.setRangeMax(float(tree.upper[i - 1]))
        coordinate.set_clamped(True)
        coordinate.set_default_value(float(start[6 + i]))
        built.addJoint(joint)
    body, local = marker_bodies(model, markers)
    for name, b, at in zip(names, body, local, strict=True):
        built.addMarker(opensim.Marker(name, links[b], opensim.Vec3(*at)))
    built.finalizeConnections()
    weights = {marker.name: marker.weight for marker in markers}
    return Peer(built, trial, weights, folder, clock)


def own_model(
    path: Path,
    marker_set: MarkerSet,
    trial: MarkerTrial,
    folder: Path,
    clock: Clock,
) -> Peer:
    """A model of OpenSim's own, y up, with the markers that the trial has too."""
    model = opensim.Model(str(path))
    model.initSystem()
    markers = model.getMarkerSet()
    there = {markers.get(i).getName() for i in range(markers.getSize())}
    weights = {
        m.name: m.weight
        for m in marker_set.markers
        if m.name in trial.names and m.name in there
    }
    if not weights:
        raise RuntimeError(f"{path} has none of the markers of the trial")
    upright = trial.positions[..., [0, 2, 1]] * [1.0, 1.0, -1.0]
    return Peer(model, trial.moved(upright), weights, folder, clock)


def marker_places(peer: Peer, names: Sequence[str]) -> np.ndarray:
    """Where OpenSim has the markers at its start (m, 3) [m]."""
    peer.model.realizePosition(peer.state)
    markers = peer.model.getMarkerSet()
    places = (markers.get(name).getLocationInGround(peer.state) for name in names)
    return np.array([[at.get(i) for i in range(3)] for at in places])


def write_trc(path: Path, trial: MarkerTrial) -> None:
    """Write markers as OpenSim reads them, in metres; nothing where not seen."""
    n, m = trial.positions.shape[:2]
    rate = f"{trial.rate:.9g}"
    head = [
        f"PathFileType\t4\t(X/Y/Z)\t{path.name}",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\t"
        "OrigDataStartFrame\tOrigNumFrames",
        f"{rate}\t{rate}\t{n}\t{m}\tm\t{rate}\t1\t{n}",
        "Frame#\tTime\t" + "\t\t\t".join(trial.names) + "\t\t",
        "\t\t" + "\t".join(f"{c}{i + 1}" for i in range(m) for c in "XYZ"),
        "",
    ]
    rows = [
        "\t".join(
            [str(i + 1), f"{t:.9g}"] + ["" if math.isnan(x) else f"{x:.9g}" for x in at]
        )
        for i, (t, at) in enumerate(
            zip(trial.times, trial.positions.reshape(n, -1), strict=True)
        )
    ]
    path.write_text("\n".join([*head, *rows]) + "\n")


def _angles(turn: Rotation) -> np.ndarray:
    """OpenSim's angles of a frame in another: they turn with the body."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Gimbal lock")  # any of the answers will do
        return turn.as_euler("XYZ")


@contextmanager
def _silence() -> Iterator[None]:
    """The tool prints the model's contents past Python: let it do so to nobody."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "w") as nobody:
        os.dup2(nobody.fileno(), 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _body(model: opensim.Model, name: str) -> opensim.Body:
    inertia = opensim.Inertia(_MASS, _MASS, _MASS)
    body = opensim.Body(f"{name}_body", _MASS, opensim.Vec3(0.0), inertia)
    model.addBody(body)
    return body
